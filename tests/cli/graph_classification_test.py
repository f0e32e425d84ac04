# SPDX-License-Identifier: Apache-2.0
"""Graph classification: train, infer, quantize and tune on data sets of many small graphs, and what is refused."""

import csv
import gzip
import json
import os
import random
import struct
import unittest
import zlib

from program import SANITIZED, InFolder, run, start


def rings_and_stars(count):
    """Edges and class of each graph: rings (0) and stars (1) of 4 to 12 nodes, in random order."""
    draw = random.Random(5)
    graphs = []
    for g in range(count):
        n = draw.randint(4, 12)
        star = g % 2
        graphs.append(([[i, 0 if star else (i + 1) % n] for i in range(n) if not (star and i == 0)], star))
    draw.shuffle(graphs)
    return graphs


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def matrix(kind, sides, name, rest):
    """A matrix of a MATLAB file of version 5."""
    return element(14, element(6, struct.pack("<Q", kind)) + element(5, struct.pack(f"<{len(sides)}i", *sides)) +
                   element(1, name) + rest)


def mat_file(graphs):
    """The graphs as a struct array with adjacency matrices, their classes as doubles; compressed."""
    fields = b""
    for edges, _ in graphs:
        n = 1 + max(max(edge) for edge in edges)
        dense = bytearray(n * n)
        for i, j in edges:
            dense[i + j * n] = 1
        fields += matrix(6, (n, n), b"", element(2, bytes(dense)))
    struct_array = struct.pack("<HHi", 5, 4, 8) + element(1, b"am".ljust(8, b"\0")) + fields
    classes = struct.pack(f"<{len(graphs)}d", *(1 + star for _, star in graphs))
    variables = [matrix(2, (1, len(graphs)), b"graphs", struct_array), matrix(6, (len(graphs), 1), b"y", element(9, classes))]
    packed = [zlib.compress(variable) for variable in variables]
    return (b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" +
            b"".join(struct.pack("<II", 15, len(stream)) + stream for stream in packed))


class GraphClassificationTest(InFolder):
    def setUp(self):
        super().setUp()
        self.graphs = rings_and_stars(200)
        self.data = self.folder / "rings"
        self.data.mkdir()
        lists = json.dumps({str(g): edges for g, (edges, _) in enumerate(self.graphs)})
        self.write("rings/graphs.json.gz", gzip.compress(lists.encode("ascii")))
        self.write("rings/target.csv", "id,target\n" + "".join(f"{g},{star}\n" for g, (_, star) in enumerate(self.graphs)))
        self.model = self.folder / "model.safetensors"

    def train(self, *options, precision="float"):
        epochs = 3 if SANITIZED else 30
        return run("train", self.data, "--model", "gin", "--precision", precision, "--hidden", 16, "--epochs", epochs,
                   "--out", self.model, *options)

    def refused(self, code, message, *arguments):
        done = start(*arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (code, "", f"bitgraph: {message}\n"), arguments)

    def test_train_and_infer(self):
        for precision in ("float", "w8a8", "w4a4", "full", "bin"):
            with self.subTest(precision=precision):
                trained = self.train(precision=precision)
                self.assertEqual(trained["split"]["text"], "shares 0.8, 0.1, 0.1, seed 0")
                out = self.folder / "classes.csv"
                found = run("infer", self.model, self.data, "--repeats", 1, "--out", out)
                self.assertEqual((found["num_graphs"], found["dataset"]), (200, "rings"))
                self.assertEqual((found["split"]["from"], found["trained_nodes_tested"]), ("model", 0))
                self.assertEqual(found["accuracy"][precision], trained["accuracy"][precision])
                with open(out, encoding="ascii") as file:
                    rows = list(csv.reader(file))
                self.assertEqual((len(rows), rows[0]), (201, ["graph", "class"]))
                right = sum(int(row[-1]) == star for row, (_, star) in zip(rows[1:], self.graphs))
                if precision != "bin" and not SANITIZED:
                    self.assertGreaterEqual(found["accuracy"][precision], 0.95)
                    self.assertGreaterEqual(right, 190)

    def test_the_split_has_the_share_of_each_class(self):
        self.train("--split-shares", "0.5,0.3,0.2", "--split-seed", 4)
        told = run("infer", self.model, self.data, "--repeats", 1)["split"]
        self.assertEqual((told["shares"], told["seed"], told["from"]), ([0.5, 0.3, 0.2], 4, "model"))
        done = start("infer", self.model, self.data, "--repeats", 1, "--split-seed", 5)
        self.assertRegex(done.stderr, r"warning: \d+ of the 40 validation and test graphs trained the model")

    def test_batches_of_graphs(self):
        said = self.train("--batch-size", 20)
        self.assertIn("160 graphs, 20 a step", said["recipe"])
        if not SANITIZED:
            self.assertGreaterEqual(said["accuracy"]["float"], 0.95)

    def test_quantize_tune_and_explain(self):
        self.train()
        out = self.folder / "small.safetensors"
        said = run("quantize", self.model, self.data, "--bits", 8, "--repeats", 1, "--out", out)
        self.assertEqual((said["precision"], said["num_graphs"]), ("w8a8", 200))
        self.assertGreater(said["agreement"], 0.9)
        done = start("quantize", self.model, self.data, "--bits", 8, "--repeats", 1, "--out", out)
        self.assertRegex(done.stdout, r"the float model's class at \d+\.\d\d % of the graphs\n")
        plan = self.folder / "plan.json"
        tuned = run("tune", self.model, self.data, "--also", out, "--seconds", 1, "--repeats", 1, "--out", plan,
                    "--out-model", self.folder / "tuned.safetensors")
        made = self.folder / "tuned.safetensors"  # where a quantized model is the fastest
        run("infer", made if made.exists() else tuned["chosen"]["model"], self.data, "--plan", plan, "--repeats", 1)
        explained = run("infer", out, self.data, "--repeats", 1, "--explain")["forms"]["w8a8"]["program"]
        self.assertEqual(explained[-1]["operator"], "READOUT")
        self.assertEqual(run("infer", self.model, self.data, "--repeats", 1, "--memory", "265k")["num_graphs"], 200)

    def test_matlab_files(self):
        mat = self.write("rings.mat", mat_file(self.graphs))
        self.train()
        before = run("infer", self.model, self.data, "--repeats", 1)
        said = run("infer", self.model, mat, "--repeats", 1)
        self.assertEqual(said["accuracy"], before["accuracy"])
        self.assertTrue(said["same_data"])

    def test_an_estimate_writes_nothing(self):
        for data in (self.data, self.write("rings.mat", mat_file(self.graphs))):
            done = start("train", data, "--model", "gin", "--out", self.model, "--estimate")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertFalse(self.model.exists())

    def test_what_is_refused(self):
        self.refused(2, "train: rings has many graphs, and sage learns from samples of one: expected gcn or gin", "train",
                     self.data, "--model", "sage", "--out", self.model)
        self.train()
        nodes, of_nodes = self.folder / "nodes.npz", self.folder / "nodes.safetensors"
        run("generate", "planted-graph", nodes, "--nodes", 100, "--features", 64, "--classes", 2)
        run("train", nodes, "--model", "gin", "--epochs", 1, "--precision", "float", "--out", of_nodes)
        self.refused(3, "the model classifies graphs, the data set nodes has one graph", "infer", self.model, nodes)
        self.refused(3, "the model classifies nodes, the data set rings has 200 graphs", "infer", of_nodes, self.data)
        self.refused(3, f"{of_nodes}: the model classifies nodes, the data set rings has 200 graphs", "tune", of_nodes,
                     self.data)

    def test_bad_files(self):
        self.write("rings/target.csv", "id,target\n0,1\n")
        self.refused(3, f"{self.data}/graphs.json.gz: byte {len(json.dumps({'0': self.graphs[0][0]})) + 4}: graph 1 has "
                     f"no row in {self.data}/target.csv", "train", self.data, "--model", "gin", "--out", self.model)
        os.remove(self.data / "target.csv")
        self.refused(3, f"{self.data}: lacks target.csv, which graphs.json needs", "train", self.data, "--model", "gin",
                     "--out", self.model)
        whole = mat_file(self.graphs)
        cut = self.write("cut.mat", whole[:-5])
        done = start("train", cut, "--model", "gin", "--out", self.model)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertRegex(done.stderr, r"\Abitgraph: [^\n]*cut.mat: an element of \d+ bytes where \d+ are left\n\Z")

    @unittest.skipUnless(os.path.exists(os.path.join(os.environ.get("BITGRAPH_DATA", ""), "graph_level")), "no data sets")
    def test_named_data_sets(self):
        sets = (("PROTEINS", 1113), ("reddit10k", 10000))
        for name, graphs in sets[:1] if SANITIZED else sets:
            self.assertTrue(start("datasets", "path", name).stdout.strip())
            done = start("train", name, "--model", "gin", "--precision", "float", "--epochs", 1, "--out", self.model)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(run("infer", self.model, name, "--repeats", 1)["num_graphs"], graphs)


if __name__ == "__main__":
    unittest.main()
