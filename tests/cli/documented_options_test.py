# SPDX-License-Identifier: Apache-2.0
"""docs/cli.md has a section for each command, with the options and defaults that the command has, and no others."""

import pathlib
import re
import unittest

from program import start

COMMANDS = ["info", "convert", "generate", "bfs", "msbfs", "sssp", "diameter", "pagerank", "betweenness", "closeness", "cc",
            "tc", "mis", "color", "partition", "train", "quantize", "infer", "tune", "bench graph", "bench gnn",
            "bench operators", "bench quantized", "datasets", "doctor"]
ALGORITHMS = COMMANDS[3:14]
PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text()


def section(heading):
    """The text under a heading of second order."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no section {heading}"
    return found.group(1)


def documented(heading):
    """{option: default or None} of the tables in a section. Their first column names options, the third a default."""
    options = {}
    for row in re.findall(r"^\| (`-.*) \|$", section(heading), re.MULTILINE):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)]
        default = cells[2].strip("`") if len(cells) > 2 and cells[2] else None
        options.update({name: default for name in re.findall(r"--[a-z][a-z-]*", cells[0])})
    return options


def offered(command):
    """{option: default or None} as --help has them."""
    done = start(*command.split(), "--help")
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    lines = re.findall(r"^  (?:-h,)?(--[a-z][a-z-]*)(.*)$", done.stdout, re.MULTILINE)
    return {name: (re.findall(r"=(\S+)", kind.split("  ")[0]) or [None])[-1] for name, kind in lines}


class DocumentedOptions(unittest.TestCase):
    maxDiff = None

    def test_every_option_and_default(self):
        common = documented("Options of every command")
        for command in COMMANDS:
            with self.subTest(command=command):
                expected = documented(f"`bitgraph {command}`")
                everywhere = dict(common)
                if command in ("datasets", "doctor"):
                    del everywhere["--estimate"]
                if command in ALGORITHMS:
                    everywhere |= documented("Options of an algorithm")
                if command in ALGORITHMS or command in ("info", "convert", "partition"):
                    everywhere |= documented("Options of a graph file")
                self.assertEqual(set(expected) & set(everywhere), set())
                words = ["datasets list", "datasets path", "datasets fetch"] if command == "datasets" else [command]
                for words in words:
                    self.assertEqual(offered(words), expected | everywhere)

    def test_every_command_has_a_section(self):
        listed = start("--help").stdout.split("Subcommands:")[1]
        groups = {command.split()[0] for command in COMMANDS}
        self.assertEqual(set(re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)), groups)
        self.assertEqual(re.findall(r"^## `bitgraph (.+)`$", PAGE, re.MULTILINE), COMMANDS)


if __name__ == "__main__":
    unittest.main()
