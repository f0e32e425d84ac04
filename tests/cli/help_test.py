# SPDX-License-Identifier: Apache-2.0
"""Help fits 80 columns, and a word that is unknown gets a suggestion."""

import os
import re

from program import InFolder, start


def commands_in(text):
    """The commands that a help text lists."""
    listed = text.split("Subcommands:")
    return re.findall(r"^  ([a-z]+) ", listed[1].split("\n\n")[0], re.MULTILINE) if len(listed) > 1 else []


def every_command(*command):
    """All commands and those below them, as lists of words."""
    yield [*command]
    for name in commands_in(start(*command, "--help").stdout):
        yield from every_command(*command, name)


class Help(InFolder):
    def said(self, *arguments):
        done = start(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
        self.assertRegex(done.stderr, r"\Abitgraph: [^\n]+\n\Z")
        return done.stderr[len("bitgraph: "):-1]

    def test_lines_have_80_columns(self):
        commands = list(every_command())
        self.assertGreater(len(commands), 20)
        for command in commands:
            with self.subTest(command=command):
                done = start(*command, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 80], [])
                # A command that is cut goes on in the next line, as a shell takes it.
                for example in re.findall(r"^  bitgraph (?:.*\\\n)*.*$", done.stdout, re.MULTILINE):
                    self.assertEqual(len(example.splitlines()), example.count(" \\\n") + 1)
                self.assertEqual(start("help", *command).stdout, done.stdout)

    def test_help_is_no_command_of_its_own_behind_others(self):
        self.assertEqual(self.said("help", "bsf"), "there is no command 'bsf': did you mean 'bfs'?")

    def test_options(self):
        graph = self.write("graph.txt", "0 1\n")
        for option, meant in (("--sorce", "--source"), ("--uot=x.npy", "--out"), ("--ignore-weight", "--ignore-weights"),
                              ("--jason", "--json"), ("--source-node", None), ("--zzzzzz", None)):
            expected = f"did you mean {meant}?" if meant else "see bitgraph bfs --help"
            self.assertEqual(self.said("bfs", graph, option), f"unknown option {option.split('=')[0]}: {expected}")
        self.assertEqual(self.said("--versoin"), "unknown option --versoin: did you mean --version?")
        self.assertIn("not expected: more", self.said("bfs", graph, "more"))

    def test_commands(self):
        self.assertEqual(self.said("pagerak", "x"), "there is no command 'pagerak': did you mean 'pagerank'?")
        self.assertEqual(self.said("xyzzy"), "there is no command 'xyzzy': see bitgraph --help")
        self.assertEqual(self.said("bench", "grahp"), "there is no command 'bench grahp': did you mean 'graph'?")
        self.assertEqual(self.said("bench"), "a command is missing: see bitgraph bench --help")
        self.assertEqual(self.said(), "a command is missing: see bitgraph --help")

    def test_one_thread_is_no_plural(self):
        dataset, model = self.folder / "p.npz", self.folder / "m.st"
        for call in (("generate", "planted-partition", dataset, "--nodes", 200),
                     ("train", dataset, "--epochs", 1, "--hidden", 8, "--out", model)):
            self.assertEqual(start(*call).returncode, 0)
        for threads, said in ((1, "1 thread"), (2, "2 threads")):
            for call in (("infer", model, dataset, "--repeats", 1),
                         ("bench", "graph", "rmat:5", "--algorithms", "bfs", "--repeats", 1)):
                self.assertRegex(start(*call, "--threads", threads).stdout, rf", {said}\b", call)

    def test_tables_have_80_columns(self):
        dataset, model = self.folder / "p.npz", self.folder / "m.st"
        graph = self.folder / "g.mtx"
        calls = [("generate", "grid", graph, "--width", 40), ("pagerank", graph, "--reorder", "auto", "--top", 5),
                 ("msbfs", graph, "--samples", 3), ("bfs", graph, "--reorder", "rcm"), ("info", graph),
                 ("bench", "graph", "grid:20", "--repeats", 1, "--limit", 0.1),
                 ("generate", "planted-partition", dataset, "--nodes", 200), ("doctor",), ("datasets", "list"),
                 ("bench", "gnn", dataset, "--models", "gcn", "--repeats", 1, "--limit", 0.1),
                 ("train", dataset, "--epochs", 2, "--hidden", 16, "--precision", "bin", "--quiet", "--out", model),
                 ("infer", model, dataset, "--form", "all", "--repeats", 3),
                 ("tune", model, dataset, "--repeats", 3, "--seconds", 0.5)]
        for call in calls:
            done = start(*call)
            self.assertEqual((done.returncode, done.stderr), (0, ""), call)
            # Paths are as long as they are.
            long = [line for line in done.stdout.splitlines() if len(line) > 80 and "/" not in line]
            self.assertEqual(long, [], call)

    def test_data_sets_that_are_not_here(self):
        for call in (("datasets", "path", ""), ("train", "", "--out", self.folder / "m.st")):
            self.assertEqual(self.said(*call), "the name of the data set is empty")
        environment = {**os.environ, "BITGRAPH_DATA": str(self.folder), "XDG_CACHE_HOME": str(self.folder)}
        for name, said in ((str(self.folder), f"{self.folder}: a folder without a data set: NAME_edges.csv, "
                            "NAME.json, NAME_target.csv"),
                           ("nosuch", "there is no data set 'nosuch': see bitgraph datasets list"),
                           ("cora", "cora is not under $BITGRAPH_DATA or in the cache: put cora.npz there")):
            done = start("datasets", "path", name, env=environment)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"bitgraph: {said}\n"))
