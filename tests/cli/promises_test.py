# SPDX-License-Identifier: Apache-2.0
"""What the program says of accuracy, splits, downloads, full disks, little memory and the machine is so."""

import json
import os
import subprocess
import unittest

import numpy as np

from program import PROGRAM, InFolder, memory_limit, run, start

CLASSES = 3


class KnownLabels(InFolder):
    """Nodes without edges whose features say their class; the labels of some test nodes are wrong on purpose."""

    TRAIN, VALIDATION, TEST, WRONG = 30, 12, 10, 3

    def setUp(self):
        super().setUp()
        nodes = self.TRAIN + self.VALIDATION + self.TEST
        truth = np.arange(nodes) % CLASSES
        labels = truth.copy()
        test = np.arange(self.TRAIN + self.VALIDATION, nodes)
        labels[test[:self.WRONG]] = (labels[test[:self.WRONG]] + 1) % CLASSES
        self.data = self.folder / "known.npz"
        features = np.zeros((nodes, CLASSES), np.float32)
        features[np.arange(nodes), truth] = 1
        np.savez(self.data, adj_data=np.zeros(0, np.float32), adj_indices=np.zeros(0, np.int32),
                 adj_indptr=np.zeros(nodes + 1, np.int64), adj_shape=np.array([nodes, nodes]), attr_matrix=features,
                 labels=labels, train_idx=np.arange(self.TRAIN),
                 val_idx=np.arange(self.TRAIN, self.TRAIN + self.VALIDATION), test_idx=test)
        self.model = self.folder / "known.safetensors"
        self.trained = run("train", self.data, "--precision", "float", "--hidden", 8, "--epochs", 100, "--dropout", 0,
                           "--out", self.model)

    def test_accuracy_is_that_of_the_test_nodes(self):
        expected = (self.TEST - self.WRONG) / self.TEST
        for result in (self.trained, run("infer", self.model, self.data, "--repeats", 1)):
            self.assertAlmostEqual(result["accuracy"]["float"], expected)
            self.assertAlmostEqual(result["val_accuracy"], 1)

    def test_split_seed_0_draws_a_split_where_the_file_has_one(self):
        drawn = run("infer", self.model, self.data, "--repeats", 1, "--split-seed", 0)
        # 8 or 9 of each class are neither among half of its nodes for training nor among half of the rest.
        self.assertNotAlmostEqual(drawn["accuracy"]["float"], self.trained["accuracy"]["float"])
        other = run("infer", self.model, self.data, "--repeats", 1, "--split-seed", 1)
        self.assertLess(drawn["val_accuracy"] + other["val_accuracy"], 2.01)


class Downloads(InFolder):
    def fetch(self, script):
        """`datasets fetch cora_ml` with a curl of ours."""
        tools = self.folder / "tools"
        tools.mkdir()
        curl = tools / "curl"
        curl.write_text("#!/bin/sh\n" + script)
        curl.chmod(0o755)
        cache = self.folder / "cache"
        environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(cache)}
        environment.pop("BITGRAPH_DATA", None)
        done = subprocess.run([PROGRAM, "datasets", "fetch", "cora_ml"], env=environment, capture_output=True, text=True,
                              check=False, timeout=60)
        return done, sorted(path.name for path in cache.rglob("*") if path.is_file())

    def test_a_download_with_another_checksum_is_not_kept(self):
        done, kept = self.fetch('while [ "$1" != -o ]; do shift; done; echo wrong > "$2"\n')
        self.assertEqual((done.returncode, done.stdout, kept), (3, "", []), done.stderr)
        self.assertRegex(done.stderr, r"\Abitgraph: cora_ml: the download has the checksum [0-9a-f]{64}, expected e89181")

    def test_a_download_that_fails_leaves_nothing(self):
        done, kept = self.fetch('while [ "$1" != -o ]; do shift; done; echo half > "$2"; exit 22\n')
        self.assertEqual((done.returncode, done.stdout, kept), (3, "", []), done.stderr)
        self.assertIn("could not be downloaded", done.stderr)


class Limits(InFolder):
    def test_too_little_memory_exits_4(self):
        limit = memory_limit()
        if limit is None:
            self.skipTest("a sanitizer reserves more than the limit")
        out = self.folder / "large.mtx"
        done = start("generate", "uniform", out, "--nodes", 1000000, "--edges", 200000000, "--threads", 1,
                     preexec_fn=limit)
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
        self.assertRegex(done.stderr, r"\Abitgraph: [^\n]*not enough memory[^\n]*\n\Z")
        self.assertFalse(out.exists())

    def test_a_full_disk_behind_standard_output_exits_1(self):
        graph = self.write("g.csv", "0,1\n1,2\n")
        for command in (["info", graph], ["bfs", graph, "--json"], ["doctor"], ["datasets", "list"]):
            with self.subTest(command=command), open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([PROGRAM, *map(str, command)], stdout=full, stderr=subprocess.PIPE, text=True,
                                      check=False, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (1, "bitgraph: cannot write the result\n"))


class Doctor(unittest.TestCase):
    def examine(self, **variables):
        done = subprocess.run([PROGRAM, "doctor", "--json"], env={**os.environ, **variables}, capture_output=True,
                              text=True, check=True, timeout=60)
        return json.loads(done.stdout)

    def test_kernels_are_those_that_run(self):
        found = self.examine()
        self.assertEqual(found["kernels"], found["instruction_sets"][-1])
        for isa in found["instruction_sets"]:
            self.assertEqual(self.examine(BITGRAPH_ISA=isa)["kernels"], isa)

    def test_threads_are_those_that_run(self):
        self.assertEqual(self.examine(OMP_NUM_THREADS="1")["threads"], 1)
        self.assertEqual(self.examine(OMP_NUM_THREADS="3")["threads"], 3)
        self.assertEqual(self.examine()["processors"], len(os.sched_getaffinity(0)))




if __name__ == "__main__":
    unittest.main()
