# SPDX-License-Identifier: Apache-2.0
"""bitgraph bench graph: keys, table, comparison with the peer where there is one, bad input. No test asserts a time."""

import unittest

import program

ALGORITHMS = ("bfs", "sssp", "pagerank", "cc", "tc", "mxv", "mxm", "msbfs")
KEYS = {"graph", "algorithm", "variant", "format", "tile_dim", "pack_seconds", "seconds", "peer", "peer_calls",
        "peer_seconds", "ratio", "compared"}


def start(*arguments):
    return program.start("bench", "graph", "--threads", 2, *arguments)


def run(*arguments):
    return program.run("bench", "graph", "--threads", 2, *arguments, "--repeats", 2)


class BenchGraph(program.InFolder):
    def check_rows(self, report):
        has_peer = report["peer"]["version"] is not None
        self.assertEqual(has_peer, "absent" not in report["peer"])
        for row in report["results"]:
            self.assertLessEqual(KEYS, set(row))
            self.assertEqual(row["format"] == "csr", row["tile_dim"] == 0)
            self.assertGreater(row["seconds"]["median"], 0)
            self.assertLessEqual(row["seconds"]["least"], row["seconds"]["median"])
            self.assertLessEqual(row["seconds"]["median"], row["seconds"]["most"])
            if has_peer or row["algorithm"] == "msbfs":
                self.assertTrue(row["compared"], row)
                self.assertAlmostEqual(row["ratio"], row["peer_seconds"]["median"] / row["seconds"]["median"])
            else:
                self.assertEqual((row["ratio"], row["peer_seconds"], row["compared"]), (None, None, False))
                self.assertIn("note", row)

    def test_every_algorithm_in_every_format(self):
        report = run("rmat:7", "grid:9", "mycielskian:5", "bruijn:6", "--tile", "auto,csr,4,8,16,32,64", "--seed", 3)
        self.assertEqual({key: report[key] for key in ("benchmark", "device", "threads", "repeats", "seed")},
                         {"benchmark": "graph", "device": "cpu", "threads": 2, "repeats": 2, "seed": 3})
        self.assertEqual({row["algorithm"] for row in report["results"]}, set(ALGORITHMS))
        self.assertEqual({row["graph"] for row in report["results"]}, {"rmat:7", "grid:9", "mycielskian:5", "bruijn:6"})
        self.assertEqual({row["tile_dim"] for row in report["results"]}, {0, 4, 8, 16, 32, 64})
        self.check_rows(report)
        self.assertIn("msbfs", report["geometric_mean"])

    def test_files(self):
        # Directed, with loops, isolated nodes and several components; what needs it takes both directions.
        arcs = self.write("arcs.mtx", "%%MatrixMarket matrix coordinate pattern general\n9 9 7\n2 1\n3 2\n1 3\n6 5\n5 5\n"
                          "6 5\n8 1\n")
        self.check_rows(run(arcs, "--tile", "csr,8"))
        wide = self.write("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 70 4\n1 3\n1 70\n3 1\n3 64\n")
        self.check_rows(run(wide, "--algorithms", "mxv", "--tile", "auto,csr,16"))

    def test_table(self):
        done = start("grid:8", "--algorithms", "bfs,mxv", "--repeats", 1)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("SuiteSparse:GraphBLAS", "grid:8", "64 nodes", "bfs", "bin_full_full min_plus", "ours", "peer",
                     "ratio", "packing"):
            self.assertIn(word, done.stdout)

    def check_refused(self, code, words, *arguments):
        done = start(*arguments)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_bad_input(self):
        bare = program.start("bench")
        self.assertEqual((bare.returncode, bare.stdout), (2, ""))
        wide = self.write("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n")
        empty = self.write("empty.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 0\n")
        self.check_refused(2, ["'dijkstra'", "bfs, sssp"], "grid:8", "--algorithms", "bfs,dijkstra")
        self.check_refused(2, ["--algorithms"], "grid:8", "--algorithms", "")
        self.check_refused(2, ["'5'", "csr"], "grid:8", "--tile", "5")
        self.check_refused(2, ["--repeats"], "grid:8", "--repeats", "0")
        for spec in ("ring:8", "rmat:", "rmat:x", "rmat:99", "grid:0", "grid:-3", "mycielskian:1"):
            self.check_refused(2, [f"'{spec}'", "rmat:SCALE"], spec)
        self.check_refused(2, ["tpu", "cuda"], "grid:8", "--device", "tpu")
        self.check_refused(3, ["absent.mtx"], self.folder / "absent.mtx")
        self.check_refused(3, ["no_such_name"], "no_such_name")
        self.check_refused(3, ["wide.mtx", "2 x 3", "square"], wide)
        self.check_refused(3, ["empty.mtx", "no edges"], empty)

    def test_help(self):
        done = start("--help")
        self.assertEqual(done.returncode, 0)
        for word in ("Examples:", "--algorithms", "--repeats", "rmat:SCALE"):
            self.assertIn(word, done.stdout)


if __name__ == "__main__":
    unittest.main()
