# SPDX-License-Identifier: Apache-2.0
"""Options that make no sense, files that cannot be written, and plans and teachers that do not fit: an exit code and
one line, before any work is done."""

import json
import math
import os
import resource
import signal
import struct
import unittest

from bad_binary_test import archive, csr, dataset, ints, npy
from program import InFolder, run, start

# Command, options, what the line says.
OPTIONS = [
    ("infer", ["--repeats", "99999999999999999999"],
     "--repeats: '99999999999999999999' is not a whole number, 1 to 1000000"),
    ("infer", ["--repeats", "0"], "--repeats: '0' is not a whole number, 1 to 1000000"),
    ("infer", ["--memory", "nan"], "'nan' is not a number of bytes: write 2G, 500M or 64K"),
    ("infer", ["--threads", "-1"], "--threads: '-1' is not a whole number, 0 to 4096"),
    ("train", ["--seed", "-1"], "--seed: '-1' is not a whole number, from 0 on"),
    ("train", ["--seed", "18446744073709551616"], "--seed: '18446744073709551616' is not a whole number, from 0 on"),
    ("train", ["--seed", "1.5"], "--seed: '1.5' is not a whole number, from 0 on"),
    ("train", ["--weight-decay", "nan"], "--weight-decay: 'nan' is not a number from 0 on"),
    ("train", ["--dropout", "nan"], "--dropout: 'nan' is not a number, 0 to 0.99"),
    ("train", ["--learning-rate", "inf"], "--learning-rate: 'inf' is not a positive number"),
    ("train", ["--epochs", "0"], "--epochs: '0' is not a whole number, 1 to 1000000000"),
    ("train", ["--split-seed", "-5"], "--split-seed: '-5' is not a whole number, 0 to 2147483647"),
    ("train", ["--fanout", "25,0"], "--fanout: '0' is not a whole number, 1 to 4294967294"),
    ("train", ["--precision", "full", "--self-distillation"], 
     "--self-distillation: of float alone; the teachers of full and bin learn so as it is"),
    ("train", ["--precision", "float", "--self-distillation", "--teacher", "x"],
     "--self-distillation: --teacher is given"),
    ("train", ["--sample-from", "some"], "--sample-from: some not in {auto,training,all}"),
    ("train", ["--sample-from", "all"], "train: gcn takes no samples: it sees the whole graph"),
    ("train", ["--model", "gin", "--sample-from", "training"], "train: gin takes no samples: it sees the whole graph"),
    ("sssp", ["--delta", "nan"], "--delta: 'nan' is not a number from 0 on"),
    ("pagerank", ["--tolerance", "nan"], "--tolerance: 'nan' is not a number from 0 on"),
    ("generate", ["--mean-degree", "1e300"], "--mean-degree: '1e300' is not a number, 0 to 4294967294"),
    ("generate", ["--edge-factor", str(1 << 50)], "R-MAT: too many edges to be counted"),
    ("diameter", ["--max-searches", "-1"], "--max-searches: '-1' is not a whole number, from 0 on"),
]


def limited(size, caught):
    """For preexec_fn: files may have `size` bytes. Past it the system ends programs that do not look to it."""
    def set_limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if caught else signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return set_limit


class BadOption(InFolder):
    def setUp(self):
        super().setUp()
        self.data = str(self.write("good.npz", dataset()))
        self.graph = str(self.write("graph.npz", csr()))
        self.model = str(self.folder / "model.safetensors")
        run("train", self.data, "--epochs", 2, "--hidden", 4, "--out", self.model)

    def check_refused(self, code, message, *arguments, **options):
        done = start(*arguments, **options)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        if message.endswith("..."):
            self.assertTrue(done.stderr.startswith(f"bitgraph: {message[:-3]}"), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        else:
            self.assertEqual(done.stderr, f"bitgraph: {message}\n")

    def test_options(self):
        words = {"infer": [self.model, self.data], "train": [self.data, "--out", self.folder / "o"],
                 "generate": ["rmat", self.folder / "o.mtx"]}
        for command, options, message in OPTIONS:
            with self.subTest(options=options):
                self.check_refused(2, message, command, *words.get(command, [self.graph]), *options)
        self.assertFalse((self.folder / "o").exists())
        self.check_refused(4, "not enough memory", "generate", "uniform", self.folder / "o.mtx", "--edges", 1 << 63)

    def test_benchmarks_check_what_they_measure_before_they_print(self):
        absent = "no such file, and no data set of this name (see bitgraph datasets list)"
        self.check_refused(3, f"absent.npz: {absent}", "bench", "gnn", self.data, "absent.npz")
        self.check_refused(2, "unknown model 'x': use gcn, inductive-gcn, sage, saint, gin or inductive-gin", "bench", "gnn", self.data,
                           "--models", "x")
        for words in [["graph"], ["operators", "--widths", 64, "--product", "8x8x8"]]:
            self.check_refused(2, "no graph is called 'rmat:x': ...", "bench", *words, "rmat:8", "rmat:x")
            self.check_refused(3, "absent.mtx: cannot open: No such file or directory", "bench", *words, "rmat:8", "absent.mtx")

    def test_a_word_that_is_no_command(self):
        self.check_refused(2, "there is no command 'bsf': did you mean 'bfs'?", "bsf", self.graph)
        self.check_refused(2, "a command is missing: see bitgraph --help")

    def test_files_that_cannot_be_written_are_found_before_the_work(self):
        absent = str(self.folder / "absent" / "file")
        message = f"{absent}: cannot write: No such file or directory"
        # The data set is looked at only afterwards, so nothing has been done yet.
        self.check_refused(1, message, "train", "absent.npz", "--out", absent)
        self.check_refused(1, message, "train", "absent.npz", "--out", self.model, "--checkpoint", absent)
        for option in ["--out", "--out-model", "--plot"]:
            self.check_refused(1, message, "tune", "absent", self.data, option, absent)
        absent += ".csv"
        message = f"{absent}: cannot write: No such file or directory"
        for option in ["--out", "--logits"]:
            self.check_refused(1, message, "infer", "absent", self.data, option, absent)
        self.check_refused(1, message, "cc", "absent.mtx", "--out", absent)
        self.check_refused(1, message, "bfs", "absent.mtx", "--parents", absent)
        self.check_refused(1, f"{self.folder}: cannot write: Is a directory", "train", "absent.npz", "--out", self.folder)
        self.assertFalse([name for name in os.listdir(self.folder) if name.endswith(".tmp")])

    def test_a_full_disk_loses_nothing_that_was_there(self):
        state = self.folder / "state"
        words = ["train", self.data, "--hidden", 4, "--out", self.model, "--checkpoint", state, "--checkpoint-every", 1,
                 "--quiet"]
        run(*words, "--epochs", 2)
        before = state.read_bytes(), (self.folder / "model.safetensors").read_bytes()
        most = len(before[0]) - 1
        self.assertGreater(most, 1024)  # clang's OpenMP makes a file of so many bytes when it begins
        for caught in [True, False]:
            with self.subTest(caught=caught):
                self.check_refused(1, f"{state}: cannot write: File too large", *words, "--epochs", 4,
                                   preexec_fn=limited(most, caught))
                self.assertEqual((state.read_bytes(), (self.folder / "model.safetensors").read_bytes()), before)
                self.assertFalse([name for name in os.listdir(self.folder) if name.endswith(".tmp")])

    def test_plans_of_other_models(self):
        plan = self.folder / "plan.json"
        for content, message in [({"forms": ["bin"]}, "1 forms are given for a model of 2 layers"),
                                 ({"forms": ["float", "float"]}, "a model of precision full has no layer of form float"),
                                 ({"forms": ["bin", "bin"]}, "layer 1 cannot be bin: its output is the logits")]:
            with self.subTest(content=content):
                plan.write_text(json.dumps(content))
                self.check_refused(3, f"{plan}: a plan for another model: {message}", "infer", self.model, self.data,
                                   "--plan", plan)
        plan.write_text('{"forms": ' + "[" * 1000000 + "]" * 1000000 + "}")
        self.check_refused(3, f"{plan}: not a plan: it is nested too deep", "infer", self.model, self.data, "--plan", plan)

    def test_models_that_are_too_deep(self):
        plan = self.folder / "plan.json"
        saint = str(self.folder / "saint.safetensors")
        teacher = self.folder / "teacher.safetensors"  # or one as deep would be trained first
        run("train", self.data, "--epochs", 1, "--precision", "float", "--out", teacher)
        words = ["train", self.data, "--model", "saint", "--teacher", teacher, "--epochs", 1, "--hidden", 4, "--out",
                 saint]
        run(*words, "--precision", "bin", "--depth", 64)
        self.assertEqual(run("infer", saint, self.data, "--repeats", 1)["precision"], "bin")
        self.check_refused(2, "--depth: '65' is not a whole number, 1 to 64", *words, "--depth", 65)
        run(*words, "--precision", "bin")
        plan.write_text(json.dumps({"forms": ["bin", "full", "full"]}))
        self.check_refused(3, f"{plan}: a plan for another model: layers whose outputs stand side by side must all be bin, "
                           "or none of them", "infer", saint, self.data, "--plan", plan)

    def test_teachers(self):
        self.check_refused(3, f"{self.model}: this model is binary; a teacher must be a float model", "train", self.data,
                           "--teacher", self.model, "--out", self.folder / "o")

    def test_features(self):
        none = str(self.write("none.npz", dataset(attr_shape=ints(2, 0), attr_indptr=ints(0, 0, 0), attr_indices=ints())))
        for words in [["train", none, "--out", self.folder / "o"], ["bench", "gnn", none, "--json"]]:
            self.check_refused(3, f"{none}: the nodes have no features", *words)
        unset = str(self.write("unset.npz", dataset(attr_indptr=ints(0, 0, 0), attr_indices=ints())))
        real = self.folder / "float.safetensors"
        run("train", unset, "--precision", "float", "--epochs", 2, "--out", real)
        for precision in ["full", "bin"]:
            run("train", unset, "--precision", precision, "--teacher", real, "--epochs", 2, "--out", self.folder / "o")
        huge = npy("<f4", "(2, 2)", struct.pack("<4f", 1e38, 3e38, 3e38, 1e38))
        members = {"adj_indptr": ints(0, 1, 1), "adj_indices": ints(1), "adj_shape": ints(2, 2), "labels": ints(0, 1),
                   "attr_matrix": huge, "train_idx": ints(0), "val_idx": ints(1)}
        path = str(self.write("huge.npz", archive(**members)))
        trained = run("train", path, "--precision", "float", "--epochs", 2, "--out", self.folder / "o")
        self.assertTrue(math.isfinite(trained["validation_loss"]), "the recipe scales huge features")
        planted = self.folder / "planted.npz"
        run("generate", "planted-partition", planted, "--nodes", 60, "--classes", 3, "--features", 8)
        self.check_refused(2, "train: the loss is not finite in epoch 1, at a learning rate of 1e+30: ...", "train", planted,
                           "--precision", "float", "--learning-rate", "1e30", "--epochs", 2, "--out", self.folder / "o")


if __name__ == "__main__":
    unittest.main()
