# SPDX-License-Identifier: Apache-2.0
"""What every command that runs a graph algorithm has: keys, formats, orders, numbers of the file, errors."""

import gzip
import pathlib
import struct
import unittest

from program import SANITIZED, InFolder, run, start

KEYS = {"algorithm", "num_nodes", "num_edges", "num_entries", "undirected", "device", "format", "tile_dim", "reorder", "bytes", "seconds"}
COMMANDS = ("cc", "tc", "pagerank", "mis", "color", "bfs", "sssp", "diameter", "betweenness", "closeness")
# Two components and an isolated node; directed, with a loop.
ARCS = "%%MatrixMarket matrix coordinate pattern general\n7 7 6\n2 1\n3 2\n1 3\n6 5\n5 5\n6 5\n"


def read_npy(path):
    """(type, values) of a one-dimensional .npy of version 1."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    length = struct.unpack_from("<H", data, 8)[0]
    header = eval(data[10:10 + length].decode(), {"__builtins__": {}})  # a dictionary of literals
    code = {"<i4": "i", "|u1": "B", "<f8": "d", "<u8": "Q", "<f4": "f"}[header["descr"]]
    (size,) = header["shape"]
    return header["descr"], list(struct.unpack_from(f"<{size}{code}", data, 10 + length))


class GraphCommands(InFolder):
    def test_keys_formats_and_orders(self):
        graph = self.write("arcs.mtx", ARCS)
        orders = ("none", "degree", "rcm", "community")
        for number, command in enumerate(COMMANDS):
            tiles = ("auto", "csr", "4", "64") if SANITIZED else ("auto", "csr", "4", "8", "16", "32", "64")
            for place, tile in enumerate(tiles, number):
                for order in orders[place % 4:place % 4 + 1] if SANITIZED else orders:
                    with self.subTest(command=command, tile=tile, order=order):
                        result = run(command, graph, "--tile", tile, "--reorder", order)
                        self.assertLessEqual(KEYS, set(result))
                        self.assertEqual((result["algorithm"], result["num_nodes"], result["device"], result["reorder"]),
                                         (command, 7, "cpu", order))
                        self.assertLessEqual({"load", "pack", "run", "reorder"}, set(result["seconds"]))
                        self.assertEqual(result["format"] == "csr", result["tile_dim"] == 0)
                        if tile != "auto":
                            self.assertEqual(result["tile_dim"], 0 if tile == "csr" else int(tile))

    def test_order_where_it_pays(self):
        graph = self.write("arcs.mtx", ARCS)
        for command in COMMANDS:
            result = run(command, graph, "--reorder", "auto")
            self.assertEqual(result["reorder"], "none")
            self.assertIn("left alone", result["reorder_reason"])
        # A path whose nodes are scattered: side by side, its edges share tiles.
        n = 30011
        edges = "".join(f"{i * 7919 % n} {(i + 1) * 7919 % n}\n" for i in range(n))
        path = self.write("scattered.txt", edges)
        before, after = (run("pagerank", path, "--undirected", "--tile", "4", "--reorder", order) for order in ("none", "rcm"))
        self.assertEqual(before["bytes"]["matrix"], before["bytes"]["original"])
        self.assertEqual(after["bytes"]["original"], before["bytes"]["matrix"])
        self.assertLess(after["bytes"]["matrix"], before["bytes"]["matrix"])
        self.assertGreater(after["seconds"]["reorder"], 0)
        found = run("pagerank", path, "--undirected", "--reorder", "auto")
        self.assertIn("which costs about", found["reorder_reason"])
        self.assertIn(found["reorder"], ("none", "rcm"))

    def test_tables(self):
        graph = self.write("arcs.mtx", ARCS)
        for command in COMMANDS:
            done = start(command, graph)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("nodes 7", done.stdout)
            self.assertIn("seconds", done.stdout)

    def test_weights(self):
        weighted = self.write("weighted.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0.5\n3 2 4\n")
        for command in COMMANDS:
            if command == "sssp":
                continue
            done = start(command, weighted)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1))
            self.assertIn("weighted.mtx", done.stderr)
            self.assertIn("--ignore-weights", done.stderr)
            self.assertEqual(run(command, weighted, "--ignore-weights")["num_entries"], 4)

    def test_rectangular(self):
        wide = self.write("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n")
        for command in COMMANDS:
            done = start(command, wide)
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertEqual(done.stderr, f"bitgraph: {wide}: the matrix is 2 x 3, a graph needs a square one\n")

    def test_empty(self):
        empty = self.write("empty.mtx", "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n")
        for command in COMMANDS:
            if command in ("bfs", "sssp"):
                done = start(command, empty)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
                self.assertIn("no nodes", done.stderr)
                continue
            self.assertEqual(run(command, empty, "--out", self.folder / "out.npy")["num_nodes"], 0)
            self.assertEqual(read_npy(self.folder / "out.npy")[1], [])

    def test_wrong_options(self):
        graph = self.write("arcs.mtx", ARCS)
        for options, code in ((["--tile", "5"], 2), (["--reorder", "random"], 2), (["--device", "tpu"], 2),
                              (["--threads", "-1"], 2)):
            self.assertEqual(start("cc", graph, *options).returncode, code, options)
        self.assertEqual(start("cc", self.folder / "absent.mtx").returncode, 3)
        self.assertNotEqual(start("cc", graph, "--out", self.folder / "no" / "such.npy").returncode, 0)

    def test_bad_sources(self):
        graph = self.write("arcs.mtx", ARCS)
        empty = self.write("empty.mtx", "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n")
        weighted = self.write("weighted.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 0.5\n3 2 4\n")
        for command in ("bfs", "sssp"):
            for source in ("8", "0", "4294967295", "4294967296", "-1", "x", "1.5", ""):
                for options in ([], ["--tile", "16"], ["--reorder", "degree"]):
                    done = start(command, graph, "--source", source, *options)
                    self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), source)
            self.assertIn("has no node '8': its ids are 1, 2 ... 7", start(command, graph, "--source", 8).stderr)
            self.assertEqual(start(command, empty, "--source", 1).returncode, 2)
        done = start("sssp", weighted, "--source", 4)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("ids are 1, 2, 3", done.stderr)
        for options in (["--parents", self.folder / "parent.npy"], ["--out", self.folder / "level.npy"]):
            self.assertEqual(start("bfs", graph, "--source", 8, *options).returncode, 2)
            self.assertFalse(options[1].exists())

    def test_a_device_that_is_not_there(self):
        graph = self.write("arcs.mtx", ARCS)
        for name in ("cuda:", "cuda:x", "cuda:-1", "cudaa", "gpu", ""):
            self.assertEqual(start("cc", graph, "--device", name).returncode, 2, name)
        there = run("doctor")["default_device"].startswith("cuda")
        calls = [(command, graph) for command in COMMANDS] + [("bench", "graph", "grid:8")]
        for call in calls:
            done = start(*call, "--device", "cuda:99" if there else "cuda")
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (4, "", 1), call)
            # What it was, and what can be done.
            self.assertRegex(done.stderr, r"^bitgraph: cuda:\d+: .*\b(use|install)\b.*'cpu'")

    def test_rectangular_and_weighted_files_of_other_kinds(self):
        wide = self.write("wide.mtx.gz", "")
        wide.write_bytes(gzip.compress(b"%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 3 7\n"))
        lists = self.write("weights.csv", "0,1,2.5\n1,2,1\n")
        metis = self.write("weights.graph", "2 1 1\n2 5\n1 5\n")
        for command in COMMANDS:
            for options in ([], ["--ignore-weights"]):
                done = start(command, wide, *options)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1), command)
                self.assertIn("2 x 3", done.stderr)
            for path in (lists, metis):
                if command == "sssp":
                    self.assertEqual(run(command, path)["weights"], "real" if path == lists else "integer")
                    continue
                done = start(command, path)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (3, "", 1), command)
                self.assertIn("--ignore-weights", done.stderr)
                self.assertIn("num_nodes", run(command, path, "--ignore-weights"))

    def test_cc(self):
        graph = self.write("arcs.mtx", ARCS)
        out = self.folder / "component.npy"
        for tile in ("csr", "8"):
            for order in ("none", "degree"):
                result = run("cc", graph, "--tile", tile, "--reorder", order, "--out", out)
                self.assertEqual((result["num_components"], result["num_edges"]), (4, 4))
                self.assertEqual(read_npy(out), ("<i4", [0, 0, 0, 3, 4, 4, 6]))
                result = run("cc", graph, "--tile", tile, "--reorder", order, "--strong", "--out", out)
                self.assertEqual((result["num_components"], result["num_edges"]), (5, 5))
                self.assertEqual(read_npy(out), ("<i4", [0, 0, 0, 3, 4, 5, 6]))

    def test_pagerank(self):
        graph = self.write("arcs.mtx", ARCS)
        out = self.folder / "rank.npy"
        for options in (["--tolerance", "1e-12", "--max-iterations", "500"], ["--iterations", "20", "--tile", "8"]):
            result = run("pagerank", graph, "--out", out, *options)
            kind, ranks = read_npy(out)
            self.assertEqual((kind, len(ranks)), ("<f8", 7))
            self.assertAlmostEqual(sum(ranks), 1, 12)
            if "--iterations" in options:
                self.assertEqual(result["iterations"], 20)
            else:
                self.assertTrue(result["converged"])
                self.assertLessEqual(result["residual"], 1e-12)
                # What flows in along 0 -> 1 -> 2 -> 0, 4 -> 4, 4 <- 5 is nowhere negative; 3 and 6 are alone, alike.
                self.assertAlmostEqual(ranks[3], ranks[6], 12)
                self.assertAlmostEqual(ranks[0], ranks[1], 10)
        self.assertEqual(start("pagerank", graph, "--damping", "1").returncode, 2)

    def test_bfs(self):
        graph = self.write("arcs.mtx", ARCS)
        out, parents = self.folder / "level.npy", self.folder / "parent.npy"
        for options in ([], ["--tile", "8"], ["--reorder", "rcm"]):
            result = run("bfs", graph, "--source", 2, "--out", out, "--parents", parents, *options)
            self.assertEqual((result["levels"], result["reached"], result["source_index"]), (3, 3, 1))
            self.assertEqual(read_npy(out), ("<i4", [1, 0, 2, -1, -1, -1, -1]))
            self.assertEqual(read_npy(parents), ("<i4", [1, 1, 0, -1, -1, -1, -1]))
        self.assertEqual(run("bfs", graph, "--source", 6, "--undirected")["reached"], 2)
        for command in ("bfs", "sssp"):
            done = start(command, graph, "--source", 8)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("ids are 1, 2 ... 7", done.stderr)

    def test_sssp(self):
        out = self.folder / "distance.npy"
        none = 2**31 - 1
        # Of the two edges 1 -> 2 the shorter one counts.
        whole = self.write("whole.mtx", "%%MatrixMarket matrix coordinate integer general\n"
                           "5 5 6\n1 2 9\n1 2 7\n2 3 4\n1 3 255\n4 5 1\n3 1 2\n")
        for options in ([], ["--tile", "16"], ["--reorder", "degree"], ["--delta", "1"], ["--threads", "1"]):
            result = run("sssp", whole, "--out", out, *options)
            self.assertEqual((result["weights"], result["reached"]), ("integer", 3))
            self.assertEqual(read_npy(out), ("<i4", [0, 7, 11, none, none]))
        self.assertEqual(run("sssp", whole, "--out", out, "--ignore-weights")["weights"], "none")
        self.assertEqual(read_npy(out)[1], [0, 1, 1, none, none])
        run("sssp", whole, "--out", out, "--undirected")
        self.assertEqual(read_npy(out)[1], [0, 6, 2, none, none])
        real = self.write("real.txt", "0 1 0.5\n1 2 0.25\n3 4 1000\n")
        result = run("sssp", real, "--out", out)
        self.assertEqual((result["weights"], result["reached"]), ("real", 3))
        self.assertEqual(read_npy(out), ("<f4", [0, 0.5, 0.75, float("inf"), float("inf")]))
        for weight, said in (("-1", "-1"), ("0", "0"), ("nan", "nan")):
            bad = self.write("bad.txt", f"0 1 2\n1 2 {weight}\n")
            done = start("sssp", bad)
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            for text in ("bad.txt", "1 -> 2", f"the weight {said}", "positive", "--ignore-weights"):
                self.assertIn(text, done.stderr)

    def test_diameter(self):
        graph = self.write("path.txt", "0 1\n1 2\n2 3\n5 6\n")
        out = self.folder / "eccentricity.npy"
        result = run("diameter", graph, "--out", out)
        self.assertEqual((result["lower"], result["upper"]), (3, 3))
        self.assertEqual({result["from"], result["to"]}, {0, 3})
        self.assertEqual(read_npy(out), ("<i4", [3, 2, 2, 3, 1, 1]))
        self.assertLessEqual(run("diameter", graph, "--max-searches", 1)["lower"], 3)

    def test_mis_and_color(self):
        graph = self.write("arcs.mtx", ARCS)
        out = self.folder / "out.npy"
        edges = [(0, 1), (1, 2), (0, 2), (4, 5)]
        for seed in ("0", "7"):
            for tile in ("csr", "16"):
                size = run("mis", graph, "--seed", seed, "--tile", tile, "--out", out)["size"]
                kind, member = read_npy(out)
                self.assertEqual((kind, sum(member), size), ("|u1", 4, 4))
                self.assertFalse(any(member[i] and member[j] for i, j in edges))
                colors = run("color", graph, "--seed", seed, "--tile", tile, "--out", out)["colors"]
                kind, color = read_npy(out)
                self.assertEqual((kind, colors, max(color)), ("<i4", 3, 2))
                self.assertFalse(any(color[i] == color[j] for i, j in edges))

    def test_tc(self):
        graph = self.write("arcs.mtx", ARCS)
        out = self.folder / "triangles.npy"
        for tile in ("csr", "8"):
            for order in ("none", "degree"):
                self.assertEqual(run("tc", graph, "--tile", tile, "--reorder", order)["triangles"], 1)
                self.assertEqual(run("tc", graph, "--tile", tile, "--reorder", order, "--out", out)["triangles"], 1)
                self.assertEqual(read_npy(out), ("<u8", [1, 1, 1, 0, 0, 0, 0]))
                result = run("tc", graph, "--tile", tile, "--reorder", order, "--clustering", "--out", out)
                self.assertEqual(result["triangles"], 1)
                self.assertAlmostEqual(result["average_clustering"], 3 / 7)
                self.assertAlmostEqual(result["transitivity"], 1)
                self.assertEqual(read_npy(out), ("<f8", [1, 1, 1, 0, 0, 0, 0]))

    def test_ids(self):
        edges = self.write("gaps.txt", "10 7\n7 1000000000000\n3 3\n")
        ids, out = self.folder / "ids.npy", self.folder / "component.npy"
        result = run("cc", edges, "--id-map", ids, "--out", out)
        self.assertEqual(result["num_components"], 2)
        self.assertEqual(read_npy(ids), ("<u8", [3, 7, 10, 10**12]))
        self.assertEqual(read_npy(out), ("<i4", [0, 1, 1, 1]))


if __name__ == "__main__":
    unittest.main()
