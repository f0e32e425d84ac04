# SPDX-License-Identifier: Apache-2.0
"""--estimate predicts time and memory, runs nothing and writes nothing; every command that does work has it."""

import gzip
import json
import pathlib
import re
import tempfile
import unittest

from program import InFolder, memory_limit, run, start

# A call of each command; {x} is a file of the test.
CALLS = {
    "info": "info {graph}",
    "convert": "convert {graph} {new}.b2sr --reorder rcm",
    "generate": "generate rmat {new}.b2sr --scale 12",
    "train": "train {dataset} --epochs 1 --hidden 4 --precision bin --out {new}.safetensors",
    "infer": "infer {model} {dataset} --form all --out {new}.npy",
    "tune": "tune {model} {dataset} --out {new}.json",
    "quantize": "quantize {floats} {dataset} --bits w8a4 --out {new}.safetensors",
    "bfs": "bfs {graph} --out {new}.npy",
    "sssp": "sssp {graph} --tile 8",
    "pagerank": "pagerank {graph} --iterations 3",
    "cc": "cc {graph} --strong",
    "tc": "tc {graph} --clustering",
    "mis": "mis {graph}",
    "color": "color {graph} --reorder degree",
    "partition": "partition {graph} --parts 2 --out {new}.safetensors",
    "diameter": "diameter {graph} --max-searches 2",
    "betweenness": "betweenness {graph} --samples 2",
    "closeness": "closeness {graph}",
    "msbfs": "msbfs {graph} --samples 2",
    "bench graph": "bench graph {graph} rmat:10",
    "bench gnn": "bench gnn {dataset}",
    "bench operators": "bench operators {graph}",
    "bench quantized": "bench quantized rmat:8 --figures 8,7a,products,sums --parts 40",
}
WITHOUT = {"datasets", "doctor", "help"}  # they take no time to speak of, or as long as a download does


def commands():
    """All commands of --help, those of bench one by one."""
    found = []
    for text, before in ((start("--help").stdout, ""), (start("bench", "--help").stdout, "bench ")):
        listed = re.split(r"(?im)^subcommands:|^commands:", text)[1]
        found += [before + name for name in re.findall(r"^  ([a-z][a-z-]*)\b", listed, re.MULTILINE)]
    return [name for name in found if name != "bench"]


class Estimate(InFolder):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="bitgraph-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.made = {name: pathlib.Path(folder.name) / file for name, file in
                    (("dataset", "set.npz"), ("model", "model.safetensors"), ("floats", "floats.safetensors"))}
        run("generate", "planted-partition", cls.made["dataset"], "--nodes", 60, "--classes", 2, "--features", 8)
        train = ["train", cls.made["dataset"], "--epochs", 1, "--hidden", 4, "--out"]
        run(*train, cls.made["model"])
        run(*train, cls.made["floats"], "--precision", "float")

    def setUp(self):
        super().setUp()
        self.paths = {"graph": self.write("graph.txt", "0 1\n1 2\n2 3\n3 0\n"), "new": self.folder / "new", **self.made}

    def estimate(self, *arguments):
        return run(*arguments, "--estimate")["estimate"]

    def test_every_command_has_it(self):
        listed = commands()
        self.assertGreater(len(listed), 15)
        for command in listed:
            with self.subTest(command=command):
                self.assertIn(command, WITHOUT | set(CALLS))
                self.assertEqual("--estimate" in start(*command.split(), "--help").stdout, command not in WITHOUT)

    def test_steps_add_up_and_no_file_is_written(self):
        before = sorted(self.folder.iterdir())
        for command, call in CALLS.items():
            with self.subTest(command=command):
                arguments = [part.format(**self.paths) for part in call.split()]
                found = self.estimate(*arguments)
                self.assertEqual({"seconds", "host_bytes", "device_bytes", "what", "assumptions"}, set(found))
                for step in found["what"]:
                    self.assertEqual({"step", "seconds", "bytes"}, set(step))
                    self.assertGreaterEqual(step["seconds"], 0)
                    self.assertGreater(step["bytes"], 0)
                self.assertGreater(found["seconds"], 0)
                self.assertAlmostEqual(found["seconds"], sum(step["seconds"] for step in found["what"]))
                self.assertEqual(found["host_bytes"], max(step["bytes"] for step in found["what"]))
                self.assertEqual(found["device_bytes"], 0)
                text = start(*arguments, "--estimate")
                self.assertEqual(text.returncode, 0, text.stderr)
                self.assertIn("nothing was run", text.stdout)
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_models_that_are_tuned_together_share_the_seconds(self):
        other = self.folder / "other.safetensors"
        run("train", self.paths["dataset"], "--epochs", 1, "--hidden", 5, "--precision", "float", "--out", other)
        found = self.estimate("tune", self.paths["model"], self.paths["dataset"], "--also", other, "--seconds", 1e-5)
        steps = [step for step in found["what"] if step["step"] in ("40 candidates", "24 tries of bits")]
        self.assertEqual(len(steps), 3)
        self.assertAlmostEqual(sum(step["seconds"] for step in steps), 1e-5)
        words = ["tune", other, self.paths["dataset"]]
        self.assertGreater(self.estimate(*words)["host_bytes"], self.estimate(*words, "--bits", "none")["host_bytes"])

    def test_every_training_has_a_step(self):
        expected = [("float", [], 0), ("float", ["--self-distillation"], 1), ("full", [], 2), ("bin", [], 2),
                    ("bin", ["--model", "sage"], 1)]
        for precision, more, teachers in expected:
            with self.subTest(precision=precision, more=more):
                found = self.estimate("train", self.paths["dataset"], "--precision", precision, *more, "--out",
                                      self.paths["new"])
                steps = [step["step"].split(",")[0] for step in found["what"] if step["step"].startswith("train")]
                names = ["train the teacher's teacher", "train the teacher"][2 - teachers:] + ["train"]
                self.assertEqual(steps, names)

    def test_a_device_need_not_be_there(self):
        found = self.estimate("bfs", self.paths["graph"], "--device", "cuda")
        self.assertGreater(found["device_bytes"], 0)

    def test_larger_graphs_take_more(self):
        sizes = []
        for side in (100, 400, 1000):
            header = f"%%MatrixMarket matrix coordinate pattern symmetric\n{side * side} {side * side} {2 * side * side}\n"
            path = self.write(f"{side}.mtx", header + "2 1\n" * (2 * side * side))
            for command in ("bfs", "pagerank", "tc", "mis", "convert"):
                out = [self.paths["new"].with_suffix(".txt")] if command == "convert" else []
                sizes.append((command, self.estimate(command, path, *out)["host_bytes"]))
        for command in {name for name, _ in sizes}:
            grows = [size for name, size in sizes if name == command]
            self.assertEqual(grows, sorted(set(grows)))

    def test_a_list_is_sampled(self):
        """Ids of one width and degree: a list ten times as long has about ten times the entries."""
        text = "".join(f"{100000 + i} {100000 + (i + k) % 200000}\n" for i in range(200000) for k in (1, 2, 3))
        path = self.write("long.txt", text)
        assumed = " ".join(self.estimate("bfs", path)["assumptions"])
        edges = float(re.search(r"(\d+) edges", assumed)[1])
        self.assertLess(abs(edges - 600000), 60000, assumed)
        packed = self.folder / "long.txt.gz"
        packed.write_bytes(gzip.compress(text.encode("ascii")))
        edges = float(re.search(r"(\d+) edges", " ".join(self.estimate("bfs", packed)["assumptions"]))[1])
        self.assertLess(abs(edges - 600000), 200000)

    def test_a_file_is_not_read_whole(self):
        """A file of 100 MB without contents behind its first line: only its front is read, and nothing is allocated."""
        path = self.write("huge.graph", "1000000 30000000\n")
        with open(path, "r+b") as file:
            file.truncate(100 << 20)
        done = start("bfs", path, "--estimate", "--json", preexec_fn=memory_limit())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(json.loads(done.stdout)["estimate"]["host_bytes"], 100e6)

    def test_bad_input_exits_3(self):
        banner = "%%MatrixMarket matrix coordinate pattern general\n"
        for name, content in (("a.mtx", "nothing\n"), ("b.mtx", banner + "9 9\n"), ("c.mtx", banner + "9 9 999999999\n"),
                              ("d.graph", "x\n"), ("e.b2sr", "B2SR"), ("f.npz", "PK"), ("g.txt.gz", "1 2\n"),
                              ("h.graph", "5 4000000000\n"), ("i.txt", "")):
            with self.subTest(name=name):
                done = start("bfs", self.write(name, content), "--estimate")
                self.assertEqual(done.returncode, 0 if name == "i.txt" else 3, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 0 if name == "i.txt" else 1)
        self.assertEqual(start("bfs", self.folder / "missing.mtx", "--estimate").returncode, 3)
        self.assertEqual(start("infer", self.paths["graph"], self.paths["dataset"], "--estimate").returncode, 3)

    def test_wrong_usage_exits_2(self):
        graph = self.paths["graph"]
        for call in (["bfs", graph, "--out", graph], ["bfs", graph, "--device", "abacus"], ["convert", graph, "x.abc"],
                     ["msbfs", graph], ["bfs", "-", "--format", "txt"]):
            with self.subTest(call=call):
                self.assertEqual(start(*call, "--estimate").returncode, 2)


if __name__ == "__main__":
    unittest.main()
