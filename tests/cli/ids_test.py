# SPDX-License-Identifier: Apache-2.0
"""What a person types and reads is the id that stands in the file, whatever the file and however often it is converted."""

import subprocess
import unittest

import numpy as np

from program import PROGRAM, InFolder, run, start

NAMES = 'from,to,weight\nann,bob,2\nbob,"lee, cy",3\n"lee, cy",ann,1\ndan,bob,5\n'


class Ids(InFolder):
    def text(self, *arguments, code=0, **options):
        done = start(*arguments, **options)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        return done.stdout if code == 0 else done.stderr

    def test_sources_are_ids_of_the_file(self):
        listed = self.write("list.txt", "7 100\n100 200\n")
        matrix = self.write("matrix.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n")
        words = self.write("words.csv", NAMES)
        for graph, source, index in ((listed, "100", 1), (matrix, "2", 1), (words, "bob", 1), (words, "lee, cy", 3)):
            with self.subTest(graph=graph, source=source):
                for command in ("bfs", "sssp"):
                    found = run(command, graph, "--ignore-weights", "--source", source)
                    self.assertEqual((str(found["source"]), found["source_index"]), (source, index))
        self.assertEqual(run("bfs", listed)["source"], 7)
        self.assertEqual(run("bfs", matrix)["source"], 1)
        found = run("diameter", listed)
        self.assertEqual(sorted((found["from"], found["to"])), [7, 200])
        self.assertEqual(sorted((found["from_index"], found["to_index"])), [0, 2])

    def test_an_id_that_no_node_has_exits_2(self):
        listed = self.write("list.txt", "7 100\n100 200\n")
        for source in ("3", "0", "99", "x", "", "-7", "7.0", "18446744073709551616"):
            message = self.text("bfs", listed, "--source", source, code=2)
            self.assertEqual(message, f"bitgraph: {listed} has no node '{source}': its ids are 7, 100, 200\n")
        message = self.text("bfs", self.write("empty.csv", ""), code=2)
        self.assertIn("no nodes", message)

    def test_ids_come_back_through_b2sr_and_reordering(self):
        words = self.write("words.csv", NAMES)
        listed = self.write("list.txt", "7 100\n100 200\n9000000000 7\n")
        for graph in (words, listed):
            expected = self.text("bfs", graph, "--ignore-weights", "--undirected", "--out", "-")
            for reorder in ("original", "degree", "rcm"):
                for tile in ("csr", "8"):
                    packed, back = self.folder / "packed.b2sr", self.folder / "back.csv"
                    self.text("convert", graph, packed, "--ignore-weights", "--reorder", reorder, "--tile", tile)
                    source = expected.split("\n")[1].rsplit(",", 1)[0]
                    found = self.text("bfs", packed, "--undirected", "--source", source, "--out", "-")
                    self.assertEqual(sorted(found.split("\n")), sorted(expected.split("\n")))
                    self.text("convert", packed, back)
                    edges = back.read_text().split("\n")[1:-1]
                    original = [line for line in graph.read_text().split("\n") if line and not line.startswith("from")]
                    wanted = {line.rsplit(",", 1)[0] if graph is words else line.replace(" ", ",") for line in original}
                    self.assertEqual(set(edges), wanted)

    def test_what_cannot_hold_ids_says_so(self):
        done = start("convert", self.write("list.txt", "7 100\n"), self.folder / "g.mtx", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("--id-map", done.stderr)
        self.assertIn('"keeps_ids": false', done.stdout)

    def test_ids_that_change_are_told(self):
        counted = self.write("list.txt", "0 1\n1 2\n")
        for out, kept in (("g.mtx", False), ("g.npz", True), ("g.csv", True), ("g.b2sr", True)):
            done = start("convert", counted, self.folder / out, "--json")
            self.assertEqual((done.returncode, f'"keeps_ids": {str(kept).lower()}' in done.stdout), (0, True), out)
            self.assertEqual(done.stderr == "", kept)

    def test_words_that_look_like_numbers_stay_words(self):
        words = self.write("z.csv", "a,b\n007,7\n7,+5\n10a,bob\n")
        packed, back = self.folder / "z.b2sr", self.folder / "z2.csv"
        self.text("convert", words, packed, "--ids", "words")
        self.text("convert", packed, back)
        for graph in (packed, back):
            found = self.text("bfs", graph, "--undirected", "--source", "007", "--out", "-")
            self.assertEqual(sorted(found.split("\n")[1:-1]), ["+5,2", "007,0", "10a,-1", "7,1", "bob,-1"])
        for content in ("a,b\n1,bob\n", "a,b\n10a,bob\n", 'a,b\n"1","2"\n'):
            self.assertEqual(run("info", self.write("w.csv", content))["ids"]["kind"], "words")
        for content in ("a,b\n-1,2\n", "a,b\n1.5,2\n", "a,b\n1,\n"):
            self.text("info", self.write("w.csv", content), code=3)

    def test_the_id_map_is_always_written(self):
        for name, content, ids in (("gaps.txt", "7 100\n", [7, 100]), ("none.txt", "0 1\n1 2\n", [0, 1, 2]),
                                   ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", [1, 2])):
            graph, out = self.write(name, content), self.folder / "map.npy"
            out.unlink(missing_ok=True)
            self.text("cc", graph, "--id-map", out)
            self.assertEqual((np.load(out).dtype, np.load(out).tolist()), (np.uint64, ids))
            self.text("convert", graph, self.folder / "c.b2sr", "--id-map", out)
            self.assertEqual(np.load(out).tolist(), ids)
        for name in ("map.txt", "map", "-"):
            message = self.text("cc", graph, "--id-map", name, code=2)
            self.assertIn("use a name that ends in .npy or .csv", message)
        words, out = self.write("words.csv", NAMES), self.folder / "map.csv"
        self.text("cc", words, "--ignore-weights", "--id-map", out)
        self.assertEqual(out.read_text(), 'index,id\n0,ann\n1,bob\n2,dan\n3,"lee, cy"\n')
        message = self.text("cc", words, "--ignore-weights", "--id-map", self.folder / "map.npy", code=2)
        self.assertIn("map.npy: ids that are words go into a .csv", message)

    def test_info_says_when_nodes_were_renumbered(self):
        for content, renumbered in (("0 1\n", False), ("7 100\n", True)):
            ids = run("info", self.write("g.txt", content))["ids"]
            self.assertEqual((ids["kind"], ids["renumbered"]), ("numbers", renumbered))
        text = self.text("info", self.write("g.txt", "7 100\n"))
        self.assertIn("ids 7 ... 100, renumbered 0 ... 1", text)
        self.assertIn("ids ann ... lee, cy", self.text("info", self.write("w.csv", NAMES)))

    def test_an_edge_with_a_bad_weight_has_the_ids_of_the_file(self):
        for name, content, edge in (("w.csv", 'from,to,weight\nann,bob,2\nbob,"lee, cy",-3\n', "bob -> lee, cy"),
                                    ("g.txt", "7 100 1\n100 7 -3\n", "100 -> 7"),
                                    ("g.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 -3\n", "1 -> 2")):
            message = self.text("sssp", self.write(name, content), code=3)
            self.assertIn(f"the edge {edge} has the weight -3, expected a positive finite number", message)

    def test_columns_delimiters_and_standard_input(self):
        table = "k;x;y;w\n1;ann;bob;2.5\n2;bob;cy;1\n"
        graph = self.write("table.csv", table)
        self.assertEqual(run("sssp", graph, "--columns", "x,y,w")["weights"], "real")
        self.assertEqual(run("bfs", graph, "--columns", "3,2", "--source", "cy")["reached"], 3)
        self.assertIn("no column 'z'", self.text("bfs", graph, "--columns", "x,z", code=3))
        bars = self.write("bars.txt", "ann|bob\nbob|cy\n")
        self.assertEqual(run("bfs", bars, "--delimiter", "|", "--ids", "words", "--header", "no")["reached"], 3)
        for arguments, content in ((["--format", "list"], "7 100\n100 200\n"), (["--format", "metis"], "3 2\n2\n1 3\n2\n")):
            done = subprocess.run([PROGRAM, "bfs", "-", *arguments, "--out", "-"], input=content, capture_output=True,
                                  text=True, check=True, timeout=60)
            self.assertEqual(len(done.stdout.split("\n")), 5)
        packed = self.folder / "p.b2sr"
        self.text("convert", self.write("words.csv", NAMES), packed, "--ignore-weights")
        for name, form in ((packed, "b2sr"), (self.write("z.txt", "7 100\n"), "list")):
            done = subprocess.run([PROGRAM, "info", "-", "--format", form, "--json"], input=name.read_bytes(),
                                  capture_output=True, check=True, timeout=60)
            self.assertIn(b'"renumbered": true', done.stdout)
        done = subprocess.run([PROGRAM, "info", "-"], input="", capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr),
                         (2, "bitgraph: standard input has no ending that says its format: use --format\n"))

    def test_a_header_that_may_be_an_edge_is_told(self):
        done = start("cc", self.write("w.csv", "ann,bob\nbob,ann\n"), "--json")
        self.assertIn("--header no", done.stderr)
        self.assertEqual(start("cc", self.write("w.csv", NAMES), "--ignore-weights").stderr, "")
        self.assertEqual(run("cc", self.write("w.csv", "ann,bob\n"), "--header", "no")["num_nodes"], 2)


if __name__ == "__main__":
    unittest.main()
