# SPDX-License-Identifier: Apache-2.0
"""partition: parts of a graph, files of them, and what is refused."""

import csv
import json
import os
import random
import struct

from program import InFolder, run, start


def edges_of(text):
    """The undirected edges of an edge list, without loops."""
    pairs = [tuple(map(int, line.split())) for line in text.splitlines()]
    return {(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]}


def read_part_file(path):
    """(metadata, part of each node) of a part file, read by its description in docs/formats.md."""
    content = path.read_bytes()
    start_of_data = 8 + struct.unpack_from("<Q", content)[0]
    header = json.loads(content[8:start_of_data])
    metadata = header.pop("__metadata__")
    assert list(header) == ["part_of"] and header["part_of"]["dtype"] == "U32", header
    begin, end = header["part_of"]["data_offsets"]
    assert (begin, end) == (0, len(content) - start_of_data)
    return metadata, list(struct.unpack_from(f"<{end // 4}I", content, start_of_data))


class PartitionTest(InFolder):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        # Directed, with loops, in five groups of 40; nodes 200 to 204 have loops only.
        arcs = [(i, draw.choice(range(i // 40 * 40, i // 40 * 40 + 40))) for i in range(200) for _ in range(8)]
        arcs += [(draw.randrange(200), draw.randrange(200)) for _ in range(60)]
        arcs += [(i, i) for i in (0, 7, *range(200, 205))]
        self.text = "".join(f"{i} {j}\n" for i, j in arcs)
        self.graph = self.write("graph.txt", self.text)
        self.other = self.write("other.txt", self.text + "3 150\n" * ((3, 150) not in edges_of(self.text)) + "4 151\n")
        self.parts = self.folder / "parts.safetensors"

    def refused(self, code, *arguments, words=()):
        done = start("partition", *arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), (arguments, done.stderr))
        self.assertRegex(done.stderr, r"\Abitgraph: [^\n]+\n\Z")
        for word in words:
            self.assertIn(word, done.stderr)

    def test_numbers_and_files_agree(self):
        result = run("partition", self.graph, "--parts", 5, "--out", self.parts)
        metadata, part_of = read_part_file(self.parts)
        edges = edges_of(self.text)
        sizes = [part_of.count(part) for part in range(5)]
        self.assertEqual(sum(sizes), 205)
        expected = {"algorithm": "partition", "file": str(self.graph), "num_nodes": 205, "num_edges": len(edges),
                    "num_entries": 2 * len(edges), "undirected": True, "device": "cpu", "num_parts": 5, "seed": 0,
                    "edges_cut": sum(part_of[i] != part_of[j] for i, j in edges), "largest_part": max(sizes),
                    "smallest_part": min(sizes), "empty_parts": 0}
        self.assertEqual({key: result[key] for key in expected}, expected)
        self.assertAlmostEqual(result["share_cut"], result["edges_cut"] / len(edges))
        self.assertLess(result["share_cut"], 0.15)
        self.assertLessEqual(max(sizes), 43)
        self.assertEqual(set(result["seconds"]), {"load", "run"})
        self.assertEqual(metadata, {"format": "bitgraph-partition", "version": "1", "num_parts": "5", "seed": "0",
                                    "graph": result["fingerprint"]})

    def test_text_and_arrays_have_the_same_parts(self):
        run("partition", self.graph, "--parts", 7, "--seed", 9, "--out", self.parts)
        _, part_of = read_part_file(self.parts)
        table = self.folder / "parts.csv"
        run("partition", self.graph, "--parts", 7, "--seed", 9, "--out", table)
        rows = list(csv.reader(table.read_text().splitlines()))
        self.assertEqual(rows, [["node", "part"], *([str(i), str(p)] for i, p in enumerate(part_of))])
        done = start("partition", self.graph, "--parts", 7, "--seed", 9, "--out", "-")
        self.assertEqual((done.returncode, done.stdout), (0, table.read_text()))
        # A part file gives the same parts again.
        again = run("partition", self.graph, "--from", self.parts, "--out", self.folder / "again.csv")
        self.assertEqual((self.folder / "again.csv").read_text(), table.read_text())
        self.assertEqual((again["num_parts"], again["seed"]), (7, 9))

    def test_a_seed_and_any_threads_give_the_same_file(self):
        contents = []
        for options in ([1, "--threads", 1], [1, "--threads", 3], [2]):
            run("partition", self.graph, "--parts", 16, "--seed", *options, "--out", self.parts)
            contents.append(read_part_file(self.parts)[1])
        self.assertEqual(contents[0], contents[1])
        self.assertNotEqual(contents[0], contents[2])

    def test_directions_and_loops_count_for_nothing(self):
        both = self.write("both.txt", "".join(f"{j} {i}\n{i} {j}\n" for i, j in edges_of(self.text)) + "204 204\n"
                          + "".join(f"{i} {i}\n" for i in range(200, 204)))
        run("partition", self.graph, "--parts", 5, "--out", self.parts)
        result = run("partition", both, "--from", self.parts)
        self.assertEqual(run("partition", both, "--parts", 5)["edges_cut"], result["edges_cut"])

    def test_how_many_parts(self):
        run("partition", self.graph, "--parts", 205, "--out", self.parts)
        self.assertEqual(sorted(read_part_file(self.parts)[1]), list(range(205)))
        one = run("partition", self.graph, "--parts", 1)
        self.assertEqual((one["edges_cut"], one["largest_part"]), (0, 205))
        self.refused(2, self.graph, "--parts", 206, words=["206 parts of a graph of 205 nodes"])
        self.refused(2, self.graph, "--parts", 0)
        self.refused(2, self.graph, "--parts", "x")
        self.refused(2, self.graph, words=["--parts N or --from FILE"])
        self.refused(2, self.graph, "--parts", 2, "--from", self.parts)
        empty = self.write("empty.mtx", "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n")
        self.assertEqual(run("partition", empty, "--parts", 1)["num_nodes"], 0)
        self.refused(2, empty, "--parts", 2)

    def test_names_of_data_sets(self):
        data = self.folder / "npz"
        data.mkdir()
        run("generate", "planted-partition", data / "shop.npz", "--nodes", 200, "--classes", 3, "--features", 20)
        named = {"cwd": self.folder, "env": {**os.environ, "BITGRAPH_DATA": str(self.folder)}}
        parts = {}
        for name in ("shop", data / "shop.npz", "planted:flickr/100"):
            done = start("partition", name, "--parts", 6, "--out", self.parts, **named)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(done.stdout.splitlines()[0], str(name))
            parts[name] = self.parts.read_bytes()
            done = start("partition", name, "--parts", 6, "--out", self.parts, "--estimate", **named)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            done = start("train", name, "--precision", "float", "--epochs", 1, "--hidden", 4, "--partition", self.parts,
                         "--out", self.folder / "model.safetensors", "--quiet", **named)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(parts["shop"], parts[data / "shop.npz"])
        done = start("partition", "shop", "--parts", 2, "--out", data / "shop.npz", **named)
        self.assertEqual(done.returncode, 2)
        self.refused(3, "no-such-set", "--parts", 2, words=["no data set of this name"])
        self.refused(2, "planted:nothing", "--parts", 2)

    def test_graphs_that_are_none(self):
        self.refused(3, self.folder / "absent.txt", "--parts", 2)
        self.refused(3, self.write("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n"),
                     "--parts", 2, words=["2 x 3"])
        weights = self.write("weights.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0.5\n")
        self.refused(3, weights, "--parts", 2, words=["--ignore-weights"])
        self.assertEqual(run("partition", weights, "--parts", 2, "--ignore-weights")["edges_cut"], 1)
        self.refused(4, self.graph, "--parts", 2, "--device", "cuda")

    def test_a_part_file_of_another_graph(self):
        run("partition", self.graph, "--parts", 5, "--out", self.parts)
        out = self.folder / "out.csv"
        self.refused(3, self.other, "--from", self.parts, "--out", out, words=[str(self.parts), "another graph"])
        self.refused(3, self.write("small.txt", "0 1\n"), "--from", self.parts, "--out", out,
                     words=["205 nodes", "has 2", "another graph"])
        self.assertFalse(out.exists())

    def test_broken_part_files(self):
        self.refused(3, self.graph, "--from", self.folder / "absent", words=["cannot open"])
        run("partition", self.graph, "--parts", 5, "--out", self.parts)
        content = self.parts.read_bytes()
        for size in (0, 7, 8, 100, len(content) - 1):
            self.refused(3, self.graph, "--from", self.write("cut.safetensors", content[:size]), words=["cut.safetensors: "])
        self.refused(3, self.graph, "--from", self.graph)
        last = self.write("last.safetensors", content[:-4] + struct.pack("<I", 5))
        self.refused(3, self.graph, "--from", last, words=["node 204 is in part 5, expected a part below 5"])

    def test_empty_parts_are_told(self):
        graph = self.write("three.txt", "0 1\n1 2\n")
        run("partition", graph, "--parts", 3, "--out", self.parts)
        empty = self.write("empty.safetensors", self.parts.read_bytes()[:-12] + struct.pack("<III", 0, 2, 2))
        self.assertEqual(run("partition", graph, "--from", empty)["empty_parts"], 1)
        self.assertIn("empty parts 1", start("partition", graph, "--from", empty).stdout)

    def test_outputs(self):
        self.refused(2, self.graph, "--parts", 2, "--out", self.folder / "parts.json", words=[".safetensors"])
        self.refused(1, self.graph, "--parts", 2, "--out", self.folder / "no" / "p.safetensors", words=["cannot write"])
        run("partition", self.graph, "--parts", 2, "--out", self.parts)
        before = self.parts.read_bytes()
        self.refused(2, self.graph, "--from", self.parts, "--out", self.parts, words=["same file"])
        self.refused(2, self.parts, "--parts", 2, "--out", self.parts, words=["same file"])
        self.assertEqual(self.parts.read_bytes(), before)

    def test_ids_of_words(self):
        graph = self.write("friends.csv", "person,friend\nAda,Bob\nBob,Cleo\nCleo,Ada\nCleo,Dan\nDan,Eve\n")
        done = start("partition", graph, "--parts", 2, "--out", "-")
        rows = list(csv.reader(done.stdout.splitlines()))
        self.assertEqual([row[0] for row in rows], ["node", "Ada", "Bob", "Cleo", "Dan", "Eve"])
        self.assertEqual({row[1] for row in rows[1:4]} | {rows[4][1]}, {"0", "1"})
