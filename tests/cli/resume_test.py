# SPDX-License-Identifier: Apache-2.0
"""train --checkpoint, killed at any moment by a signal that no program can catch. Called again it goes on, and its
model has the bits of a run that nobody killed: every model in every form, over graphs, samples, parts, many graphs."""

import gzip
import itertools
import json
import os
import random
import signal
import subprocess
import time
import unittest
import unittest.mock

from program import ARCHITECTURES, PROGRAM, SANITIZED, InFolder, run, start

PRECISIONS = ["float", "full", "bin", "w4a4"]
EPOCHS = 30
KILLS = 2  # of each run
MEMORY = "/dev/shm"  # a disk takes longer to write a checkpoint than this training an epoch


class KilledRuns(InFolder):
    def setUp(self):
        with unittest.mock.patch("tempfile.tempdir", MEMORY if os.path.isdir(MEMORY) else None):
            super().setUp()
        self.draw = random.Random(1)
        self.with_checkpoint = self.cases = 0
        self.data = self.folder / "data.npz"
        run("generate", "planted-partition", self.data, "--nodes", 240, "--classes", 3, "--features", 30)

    def command(self, out, *words):
        return ["train", self.data, "--hidden", 8, "--epochs", EPOCHS, "--batch-size", 20, "--walk-roots", 6,
                "--threads", 1, "--quiet", "--out", out, *words]

    def finish(self, out, *words):
        """Its model's bytes, and how many seconds it took."""
        began = time.monotonic()
        done = start(*self.command(out, *words))
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return out.read_bytes(), time.monotonic() - began

    def is_killed(self, seconds, out, *words):
        """Whether it was still running after so many seconds."""
        with subprocess.Popen([PROGRAM, *map(str, self.command(out, *words))], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            time.sleep(seconds)
            process.kill()
        self.assertIn(process.returncode, (0, -signal.SIGKILL), words)
        return process.returncode != 0

    def check(self, *words):
        """A whole run beside one that is killed now and then."""
        with self.subTest(words=words):
            self.cases += 1
            whole, seconds = self.finish(self.folder / "whole.safetensors", *words)
            folder = self.folder / str(self.cases)
            folder.mkdir()
            out = folder / "model.safetensors"
            words += "--checkpoint", folder / "state", "--checkpoint-every", 1
            for _ in range(KILLS):
                if not self.is_killed(seconds * self.draw.uniform(0.2, 1), out, *words):
                    break
                self.with_checkpoint += any(folder.iterdir())
                if out.exists():  # the last thing that a run does
                    self.assertEqual(out.read_bytes(), whole)
                    out.unlink()
            self.assertEqual(self.finish(out, *words)[0], whole)

    def check_all(self, models, *words):
        for number, (model, precision) in enumerate(itertools.product(models, PRECISIONS)):
            if not SANITIZED or number % 5 == 0:
                self.check("--model", model, "--precision", precision, *words)
        # Three of four kills meet a run that has something to go on from, and fewer where the machine is busy.
        self.assertGreater(self.with_checkpoint, self.cases // 4)

    def test_every_model_and_form_over_the_graph_or_samples(self):
        self.check_all(ARCHITECTURES, "--fanout", "3,2")

    def test_every_model_and_form_over_parts(self):
        parts = self.folder / "parts.safetensors"
        run("partition", self.data, "--parts", 10, "--out", parts)
        self.check_all(ARCHITECTURES, "--partition", parts, "--batch-parts", 3)

    def test_every_form_over_many_graphs(self):
        self.data = self.folder / "rings"
        self.data.mkdir()
        rings = {g: [[i, (i + 1) % n if g % 2 else 0] for i in range(1, n)] for g, n in enumerate(range(4, 104))}
        self.write("rings/graphs.json.gz", gzip.compress(json.dumps(rings).encode("ascii")))
        self.write("rings/target.csv", "id,target\n" + "".join(f"{g},{g % 2}\n" for g in rings))
        self.check_all(["gcn", "gin"])

    def test_other_ways_to_train(self):
        for words in (["--precision", "float", "--self-distillation"],
                      ["--precision", "bin", "--jumping-knowledge", "--depth", 3],
                      ["--precision", "full", "--thresholds", 4],
                      ["--precision", "float", "--patience", 3, "--optimizer", "adamw", "--schedule", "cosine"],
                      ["--model", "sage", "--precision", "full", "--sample-from", "training", "--fanout", "3,2"],
                      ["--model", "saint", "--precision", "w2a8", "--sample-from", "all", "--optimizer", "sgd",
                       "--learning-rate", 0.1]):
            self.check(*words)


if __name__ == "__main__":
    unittest.main()
