# SPDX-License-Identifier: Apache-2.0
"""Results for people and pipes: --out by ending, ids in text, --top, and the commands that rank nodes."""

import collections
import csv
import io
import math
import struct
import subprocess

from program import PROGRAM, InFolder, run, start

# A directed graph in two parts, with ids that have gaps; nodes 2, 3, 5, 7, 11, 13, 17.
ARCS = [(7, 2), (2, 3), (3, 7), (2, 5), (5, 3), (11, 13), (13, 17)]
NODES = [2, 3, 5, 7, 11, 13, 17]
VALUES = {"bfs": ["level"], "sssp": ["distance"], "pagerank": ["rank"], "cc": ["component"], "tc": ["triangles"],
          "mis": ["member"], "color": ["color"], "diameter": ["eccentricity"], "betweenness": ["betweenness"],
          "closeness": ["closeness"], "msbfs": ["2", "11"], "partition": ["part"]}
RANKING = ("pagerank", "betweenness", "closeness", "tc")


def options_of(command):
    return {"msbfs": ["--sources", "2,11"], "partition": ["--parts", "3"]}.get(command, [])


def read_npy(path):
    """(type, shape, values) of a .npy of version 1."""
    data = path.read_bytes()
    length = struct.unpack_from("<H", data, 8)[0]
    header = eval(data[10:10 + length].decode(), {"__builtins__": {}})  # a dictionary of literals
    code = {"<i4": "i", "|u1": "B", "<f8": "d", "<u8": "Q", "<f4": "f"}[header["descr"]]
    count = (len(data) - 10 - length) // struct.calcsize(code)
    return header["descr"], header["shape"], list(struct.unpack_from(f"<{count}{code}", data, 10 + length))


def distances(arcs, nodes):
    """{(from, to): length of a shortest path}."""
    found = {}
    for source in nodes:
        found[source, source] = 0
        queue = collections.deque([source])
        while queue:
            at = queue.popleft()
            for i, j in arcs:
                if i == at and (source, j) not in found:
                    found[source, j] = found[source, at] + 1
                    queue.append(j)
    return found


class Results(InFolder):
    def setUp(self):
        super().setUp()
        self.graph = self.write("arcs.txt", "".join(f"{i} {j}\n" for i, j in ARCS))

    def done(self, *arguments):
        done = start(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return done.stdout

    def refused(self, *arguments):
        done = start(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
        self.assertRegex(done.stderr, r"\Abitgraph: [^\n]+\n\Z")
        return done.stderr

    def column(self, *arguments):
        """{id: value}, of one column of CSV on standard output."""
        rows = list(csv.reader(io.StringIO(self.done(*arguments, "--out", "-"))))
        self.assertEqual(rows[0][0], "node")
        return {int(row[0]): row[1] for row in rows[1:]}

    def test_text_has_ids_and_the_values_of_npy(self):
        for command, columns in VALUES.items():
            with self.subTest(command=command):
                call = (command, self.graph, *options_of(command))
                paths = [self.folder / f"out.{ending}" for ending in ("npy", "csv", "tsv")]
                for path in paths:
                    self.done(*call, "--out", path)
                _, shape, values = read_npy(paths[0])
                self.assertEqual(shape, (7, 2) if command == "msbfs" else (7,))
                text = paths[1].read_text()
                rows = list(csv.reader(io.StringIO(text)))
                self.assertEqual(rows[0], ["node", *columns])
                self.assertEqual([int(row[0]) for row in rows[1:]], NODES)
                self.assertEqual(self.done(*call, "--out", "-"), text)
                self.assertEqual(paths[2].read_text(), text.replace(",", "\t"))
                fields = [field for row in rows[1:] for field in row[1:]]
                if command == "cc":
                    fields = [NODES.index(int(field)) for field in fields]
                elif command == "sssp":
                    fields = [2**31 - 1 if field == "inf" else field for field in fields]
                self.assertEqual([float(field) for field in fields], values)

    def test_parents_are_ids_in_text(self):
        path = self.folder / "parent.csv"
        self.done("bfs", self.graph, "--parents", path)
        self.assertEqual(path.read_text(), "node,parent\n2,2\n3,2\n5,2\n7,3\n11,\n13,\n17,\n")
        self.done("bfs", self.graph, "--parents", self.folder / "parent.npy")
        self.assertEqual(read_npy(self.folder / "parent.npy")[2], [0, 0, 0, 1, -1, -1, -1])

    def test_files_that_count_from_one(self):
        graph = self.write("one.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n3 2\n")
        self.assertEqual(self.column("cc", graph), {1: "1", 2: "2", 3: "2"})
        self.assertEqual(run("msbfs", graph, "--sources", "3,1")["sources"][0]["index"], 2)
        for outside in (0, 4):
            self.assertIn(f"'{outside}'", self.refused("msbfs", graph, "--sources", outside))

    def test_other_endings_are_refused_before_any_work(self):
        for command in VALUES:
            for name in ("out.png", "out", "out.csv.gz", "out.npz"):
                said = self.refused(command, self.folder / "absent.txt", *options_of(command), "--out",
                                    self.folder / name)
                self.assertIn(".npy, .csv or .tsv", said)
        self.assertIn(".csv", self.refused("bfs", self.graph, "--parents", self.folder / "parent.txt"))
        for option in ("--out", "--logits", "--probabilities"):
            self.assertIn(".csv", self.refused("infer", "absent.safetensors", "absent", option, "out.txt"))

    def test_standard_output_takes_one_result(self):
        self.assertIn("--json", self.refused("cc", self.graph, "--out", "-", "--json"))
        self.assertIn("--parents", self.refused("bfs", self.graph, "--out", "-", "--parents", "-"))
        self.assertIn("--top", self.refused("pagerank", self.graph, "--out", "-", "--top", 3))
        self.assertEqual(self.done("bfs", self.graph, "--parents", "-").split("\n")[1], "2,2")
        self.assertFalse((self.folder / "-").exists())

    def test_a_file_that_cannot_be_written_is_not_begun(self):
        before = sorted(self.folder.iterdir())
        done = start("cc", self.graph, "--out", self.folder / "no" / "such.csv")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1))
        self.assertEqual(sorted(self.folder.iterdir()), before)
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([PROGRAM, "cc", self.graph, "--out", "-"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Abitgraph: cannot write the result[^\n]*\n\Z")

    def test_top_is_the_head_of_the_sorted_file(self):
        for command in RANKING:
            for count in (1, 3, 100):
                with self.subTest(command=command, count=count):
                    found = {node: float(value) for node, value in self.column(command, self.graph).items()}
                    ranked = sorted(NODES, key=lambda node, found=found: (-found[node], node))[:count]
                    top = run(command, self.graph, "--top", count)["top"]
                    self.assertEqual([(row["node"], row["index"], row["value"]) for row in top],
                                     [(node, NODES.index(node), found[node]) for node in ranked])
                    table = self.done(command, self.graph, "--top", count, "--out", self.folder / "all.csv")
                    lines = [line.split() for line in table.splitlines()]
                    self.assertEqual([line[0] for line in lines[lines.index(["node", "value"]) + 1:]],
                                     [str(node) for node in ranked])
                    self.assertEqual([line.split(",")[0] for line in (self.folder / "all.csv").read_text().split()[1:]],
                                     [str(node) for node in NODES])
            self.refused(command, self.graph, "--top", 0)

    def test_closeness(self):
        length = distances(ARCS, NODES)
        for score in ("improved", "unimproved", "harmonic"):
            for options in ([], ["--reorder", "degree"], ["--tile", "8", "--threads", 1]):
                found = self.column("closeness", self.graph, "--score", score, *options)
                for node in NODES:
                    to = [length[other, node] for other in NODES if other != node and (other, node) in length]
                    expected = 0 if not to else len(to) / sum(to)
                    if score == "improved":
                        expected *= len(to) / 6
                    elif score == "harmonic":
                        expected = sum(1 / distance for distance in to)
                    self.assertAlmostEqual(float(found[node]), expected, 12, (score, node))

    def test_sources_and_samples(self):
        # From 2: 2 -> 3 -> 7 and 2 -> 5. From 11: 11 -> 13 -> 17.
        found = self.column("betweenness", self.graph, "--sources", "2,11")
        self.assertEqual(found, {2: "0", 3: "1", 5: "0", 7: "0", 11: "0", 13: "1", 17: "0"})
        scaled = self.column("betweenness", self.graph, "--sources", "2,11", "--normalized")
        self.assertAlmostEqual(float(scaled[3]), 7 / 2 / 30, 12)
        for command in ("betweenness", "closeness"):
            self.assertEqual(run(command, self.graph)["num_sources"], 7)
            self.assertEqual(run(command, self.graph, "--samples", 3)["num_sources"], 3)
            self.assertEqual(run(command, self.graph, "--samples", 30)["num_sources"], 7)
            self.assertEqual(self.column(command, self.graph, "--samples", 7), self.column(command, self.graph))
        for command in ("betweenness", "closeness", "msbfs"):
            self.refused(command, self.graph, "--sources", "2", "--samples", 3)
            for name in ("4", "x", "-1"):
                said = self.refused(command, self.graph, f"--sources={name}")
                self.assertIn(f"'{name}'", said)
                self.assertIn("arcs.txt", said)

    def test_msbfs(self):
        result = run("msbfs", self.graph, "--sources", "11,2")
        self.assertEqual(result["sources"], [{"source": 11, "index": 4, "reached": 3, "eccentricity": 2},
                                             {"source": 2, "index": 0, "reached": 4, "eccentricity": 2}])
        drawn = run("msbfs", self.graph, "--samples", 4, "--seed", 3)["sources"]
        self.assertEqual(len({row["source"] for row in drawn}), 4)
        self.assertEqual(drawn, run("msbfs", self.graph, "--samples", 4, "--seed", 3)["sources"])
        others = [run("msbfs", self.graph, "--samples", 4, "--seed", seed)["sources"] for seed in (4, 5, 6)]
        self.assertNotEqual(others, [drawn] * 3)
        length = distances(ARCS, NODES)
        for row in drawn:
            self.assertEqual(row["reached"], sum((row["source"], node) in length for node in NODES))
        self.assertIn("--sources", self.refused("msbfs", self.graph))

    def test_classes_and_logits_in_text(self):
        dataset, model = self.folder / "set.npz", self.folder / "model.safetensors"
        self.done("generate", "planted-partition", dataset, "--nodes", 60, "--classes", 3, "--features", 8)
        self.done("train", dataset, "--epochs", 1, "--hidden", 4, "--precision", "float", "--out", model,
                  "--quiet")
        for ending in ("npy", "csv"):
            self.done("infer", model, dataset, "--repeats", 1, "--out", self.folder / f"class.{ending}", "--logits",
                      self.folder / f"logits.{ending}", "--probabilities", self.folder / f"p.{ending}")
        rows = list(csv.reader(io.StringIO((self.folder / "class.csv").read_text())))
        classes = read_npy(self.folder / "class.npy")[2]
        self.assertEqual(rows, [["node", "class"]] + [[str(i), str(value)] for i, value in enumerate(classes)])
        rows = list(csv.reader(io.StringIO((self.folder / "logits.csv").read_text())))
        self.assertEqual(rows[0], ["node", "class_0", "class_1", "class_2"])
        kind, shape, logits = read_npy(self.folder / "logits.npy")
        self.assertEqual((kind, shape), ("<f4", (60, 3)))
        # The text reads back as the very float32.
        exactly = [struct.unpack("<f", struct.pack("<f", float(field)))[0] for row in rows[1:] for field in row[1:]]
        self.assertEqual(exactly, logits)
        kind, shape, probabilities = read_npy(self.folder / "p.npy")
        self.assertEqual((kind, shape), ("<f4", (60, 3)))
        self.assertEqual((self.folder / "p.csv").read_text().split("\n")[0], "node,class_0,class_1,class_2")
        for first in range(0, 180, 3):
            powers = [math.exp(value) for value in logits[first : first + 3]]
            for power, probability in zip(powers, probabilities[first : first + 3]):
                self.assertAlmostEqual(probability, power / sum(powers), places=6)
        alone = self.done("infer", model, dataset, "--repeats", 1, "--out", "-")
        self.assertEqual(alone, (self.folder / "class.csv").read_text())

    def test_an_undirected_edge_counts_once(self):
        # Two edges and a loop, in both directions: five entries.
        pairs = self.write("pairs.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 2\n3 3\n")
        for command, counts in (("pagerank", (3, 5, True)), ("cc", (2, 4, True))):
            result = run(command, pairs)
            self.assertEqual((result["num_edges"], result["num_entries"], result["undirected"]), counts)
        self.assertIn("edges 3 (undirected, 1 loop)", self.done("pagerank", pairs))
        result = run("pagerank", self.graph)
        self.assertEqual((result["num_edges"], result["num_entries"], result["undirected"]), (7, 7, False))
        self.assertIn("entries 7 (directed)", self.done("pagerank", self.graph))
        self.assertEqual(run("tc", self.graph)["num_edges"], 7)

    def test_ids_that_are_words(self):
        names = self.write("names.csv", b'from,to\n"a, b","say ""hi"""\n"say ""hi""",caf\xe9\x1b[1m\n')
        call = ("cc", names, "--columns", "from,to")
        out = self.folder / "out.csv"
        self.done(*call, "--out", out)
        rows = list(csv.reader(io.StringIO(out.read_bytes().decode("latin-1"))))
        ids = ["a, b", "caf\xe9\x1b[1m", 'say "hi"']
        self.assertEqual(rows, [["node", "component"]] + [[name, ids[0]] for name in ids])
        # Bytes that are no UTF-8 leave the object whole, and a terminal gets no control characters.
        top = run("pagerank", names, "--columns", "from,to", "--top", 1)["top"]
        self.assertEqual((top[0]["node"], top[0]["index"]), ("caf\ufffd\x1b[1m", 1))
        table = subprocess.run([PROGRAM, "pagerank", names, "--columns", "from,to", "--top", "3"], capture_output=True,
                               check=True).stdout
        self.assertIn(b"caf\xe9?[1m", table)
        self.assertNotIn(b"\x1b", table)
