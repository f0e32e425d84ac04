# SPDX-License-Identifier: Apache-2.0
"""quantize: a float model becomes one of few bits that infer runs; what cannot be is one line and an exit code."""

import os
import pathlib
import re
import unittest

import numpy as np

from program import ARCHITECTURES, SANITIZED, InFolder, run, start
from remember_test import sage_state, write_state

PRECISION = {"8": "w8a8", "1": "w1a1", "16": "w16a16", "w8a4": "w8a4", "w8a4m2": "w8a4m2", "w32a32m8": "w32a32m8",
             "w8a8m32": "w8a8m32"}


class Quantize(InFolder):
    def setUp(self):
        super().setUp()
        self.data = self.path("data.npz")
        run("generate", "planted-partition", self.data, "--nodes", 300, "--classes", 3, "--features", 100, "--seed", 1)
        self.out = self.path("made.safetensors")

    def path(self, name):
        return str(self.folder / name)

    def train(self, precision="float", architecture="gcn", epochs=30, name=None):
        model = self.path(name or f"{architecture}-{precision}.safetensors")
        run("train", self.data, "--precision", precision, "--model", architecture, "--hidden", 16, "--epochs",
            epochs, "--out", model, "--threads", 1)
        return model

    def quantize(self, model, *options):
        return run("quantize", model, self.data, "--repeats", 1, "--out", self.out, "--threads", 1, *options)

    def refused(self, code, message, *words):
        before = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        done = start("quantize", *words, "--quiet")
        self.assertEqual((done.returncode, done.stdout), (code, ""), (words, done.stderr))
        self.assertRegex(done.stderr, r"\Abitgraph: [^\n]+\n\Z")
        self.assertIn(message, done.stderr)
        after = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        self.assertEqual(after, before, words)

    def test_infer_runs_the_result_with_what_was_said_of_it(self):
        model = self.train()
        for bits, precision in PRECISION.items():
            with self.subTest(bits=bits):
                said = self.quantize(model, "--bits", bits)
                self.assertEqual(said["precision"], precision)
                self.assertEqual((said["model"], said["out"], said["num_nodes"]), (model, self.out, 300))
                self.assertEqual(list(said["forms"]), ["float", precision])
                self.assertEqual(list(said["accuracy"]), ["float", precision])
                classes = [self.path(f"{name}.npy") for name in ("before", "after")]
                run("infer", model, self.data, "--repeats", 1, "--out", classes[0])
                done = run("infer", self.out, self.data, "--repeats", 1, "--out", classes[1])
                self.assertEqual(done["accuracy"], {precision: said["accuracy"][precision]})
                self.assertEqual(done["val_accuracy"], said["val_accuracy"])
                same = np.mean(np.load(classes[0]) == np.load(classes[1]))
                self.assertAlmostEqual(said["agreement"], same)
                if bits in ("8", "16"):
                    self.assertGreater(said["agreement"], 0.97)

    def test_a_model_of_every_architecture(self):
        for architecture in ARCHITECTURES[:2] if SANITIZED else ARCHITECTURES:
            with self.subTest(architecture=architecture):
                said = self.quantize(self.train(architecture=architecture, epochs=3))
                self.assertEqual(said["precision"], "w8a8")
                self.assertGreater(said["agreement"], 0.9)
                run("infer", self.out, self.data, "--repeats", 1)

    def test_eight_bits_take_a_quarter_of_the_file(self):
        model = self.path("wide.safetensors")
        run("train", self.data, "--precision", "float", "--hidden", 256, "--epochs", 1, "--out", model)
        self.quantize(model)
        self.assertLess(os.path.getsize(self.out), 0.35 * os.path.getsize(model))
        self.quantize(model, "--bits", 4)
        self.assertLess(os.path.getsize(self.out), 0.25 * os.path.getsize(model))

    def test_auto_takes_the_fewest_bits_within_the_loss(self):
        model = self.train()
        for loss in (100, 2, 0):
            with self.subTest(loss=loss):
                said = self.quantize(model, "--bits", "auto", "--max-loss", loss)
                self.assertEqual(list(said["tried"])[:2], ["w16a16+w16a16d", "w8a8+w8a8d"])
                self.assertEqual(said["tried"]["+".join(said["layers"])], said["agreement"])
                self.assertGreaterEqual(said["agreement"], 1 - loss / 100)
                self.assertEqual(said["precision"], said["layers"][0])
                self.assertEqual(run("infer", self.out, self.data, "--repeats", 1)["val_accuracy"], said["val_accuracy"])
                if loss == 100:
                    self.assertNotIn("8", said["layers"][0])

    def test_auto_mixes_bits_layer_by_layer(self):
        model = self.train()
        tried = self.quantize(model, "--bits", "auto", "--max-loss", 100)["tried"]
        fewest = list(tried)[-1]
        loss = 100 * (1 - tried[fewest]) / 2  # more than that loses
        said = self.quantize(model, "--bits", "auto", "--max-loss", loss)
        self.assertGreaterEqual(said["agreement"], 1 - loss / 100)
        if loss > 0:
            uniform = [name for name in said["tried"] if said["tried"][name] < 1 - loss / 100]
            self.assertTrue(uniform, "the bits that lose too much were tried")
            self.assertNotIn("+".join(said["layers"]), [fewest, *uniform])
        done = start("quantize", model, self.data, "--bits", "auto", "--max-loss", loss, "--repeats", 1, "--out", self.out)
        self.assertIn(f"{self.out} is in {'+'.join(said['layers'])}\n", done.stdout)

    def test_people_read_the_same(self):
        model = self.train()
        done = start("quantize", model, self.data, "--bits", "w8a4", "--repeats", 1, "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{self.out} is in w8a4\n", done.stdout)
        self.assertRegex(done.stdout, r"the float model's class at \d+\.\d\d % of the nodes\n")

    def test_a_state_dictionary_of_pytorch_is_a_model(self):
        model = self.path("torch.safetensors")
        write_state(self.folder / "torch.safetensors", sage_state(100, 16, 3), {"format": "pt"})
        said = self.quantize(model, "--bits", 16)
        self.assertGreater(said["agreement"], 0.99)

    def test_an_estimate_writes_nothing(self):
        model = self.train(epochs=1)
        done = start("quantize", model, self.data, "--out", self.out, "--estimate")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_bits_that_make_no_sense(self):
        model = self.train(epochs=1)
        for bits, message in [("0", "levels of 0 bits: expected 1 to 16"), ("17", "levels of 17 bits"),
                              ("99", "levels of 99 bits"), ("w8a32", "weights of 8 bits and inputs of 32"),
                              ("foo", "unknown precision 'foo'"), ("123", "unknown precision '123'"),
                              ("-4", "unknown precision '-4'"),
                              ("4.5", "unknown precision '4.5'"), ("w4\nx", "unknown precision 'w4?x'"),
                              ("32", "--bits 32"), ("float", "--bits float"), ("bin", "--bits bin"),
                              ("w32a32m32", "--bits w32a32m32")]:
            with self.subTest(bits=bits):
                self.refused(2, message, model, self.data, f"--bits={bits}", "--out", self.out)
        self.refused(2, "--max-loss", model, self.data, "--bits", "auto", "--max-loss", 101, "--out", self.out)
        # Before a file is looked at.
        self.refused(2, "--bits bin", self.path("none"), self.path("none"), "--bits", "bin", "--out", self.out)

    def test_models_that_cannot_be_quantized(self):
        for precision in ("full", "bin"):
            binary = self.train(precision, epochs=1)
            self.refused(2, f"the model is of precision {precision}, expected a float model", binary, self.data,
                         "--out", self.out)
        self.quantize(self.train(epochs=1))
        again = self.path("again.safetensors")
        self.refused(2, "the model is of precision w8a8, expected a float model", self.out, self.data, "--out", again)
        run("generate", "planted-partition", self.path("other.npz"), "--nodes", 60, "--classes", 3, "--features", 99)
        done = start("quantize", self.path("gcn-float.safetensors"), self.path("other.npz"), "--out", again, "--quiet")
        self.assertEqual((done.returncode, done.stdout, os.path.exists(again)), (3, "", False))
        self.assertEqual(done.stderr.splitlines()[-1],
                         "bitgraph: the model takes 100 features, the data set other has 99")
        self.refused(3, "no.safetensors", self.path("no.safetensors"), self.data, "--out", again)

    def test_no_labels_are_needed(self):
        model = self.train()
        expected = self.quantize(model, "--bits", "w8a4")
        content = pathlib.Path(self.out).read_bytes()
        arrays = dict(np.load(self.data))
        labels = arrays.pop("labels")
        for name, more in (("none", {"labels": np.full_like(labels, -1)}), ("absent", {})):
            data = self.path(f"{name}.npz")
            np.savez(data, **arrays, **more)
            done = run("quantize", model, data, "--repeats", 1, "--out", self.out, "--threads", 1, "--bits", "w8a4")
            self.assertEqual(pathlib.Path(self.out).read_bytes(), content)
            self.assertEqual(done["agreement"], expected["agreement"])
            self.assertEqual((done["split"], done["accuracy"]), (None, {"float": None, "w8a4": None}))
            self.refused(3, "have no labels", model, data, "--split-seed", 1, "--out", self.out)

    def test_outputs_that_cannot_be(self):
        model = self.train(epochs=1)
        self.refused(2, "same file", model, self.data, "--out", model)
        self.refused(2, "same file", model, self.data, "--out", self.data)
        self.refused(2, "--out", model, self.data)
        missing = self.path("no folder") + "/made.safetensors"
        self.refused(1, missing, model, self.data, "--repeats", 1, "--out", missing)

    def test_tune_knows_one_form_of_the_result_and_no_way_to_bits(self):
        model = self.train(epochs=3)
        words = ["--repeats", 1, "--seconds", 0.2, "--bits", "none", "--out", self.path("plan.json")]
        self.quantize(model, "--bits", "w8a4m2")
        tuned = run("tune", self.out, self.data, *words)
        self.assertNotIn("next", tuned)
        self.assertEqual({re.split("[, ]", each["options"])[0] for each in tuned["candidates"]}, {"w8a4m2+w8a4m8d"})
        done = run("infer", self.out, self.data, "--plan", self.path("plan.json"), "--repeats", 1)
        self.assertEqual(done["val_accuracy"], tuned["chosen"]["val_accuracy"])
        self.assertNotIn("next", run("tune", model, self.data, "--also", self.out, *words))
        self.assertIn("next", run("tune", model, self.data, *words))

    def test_other_forms_of_the_result_are_refused(self):
        self.quantize(self.train(epochs=1))
        for form in ("float", "full", "bin"):
            done = start("infer", self.out, self.data, "--form", form, "--repeats", 1, "--quiet")
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(f"a model of precision w8a8 has no form {form}", done.stderr)
        for form in ("own", "all"):
            done = run("infer", self.out, self.data, "--form", form, "--repeats", 1)
            self.assertEqual(list(done["forms"]), ["w8a8"])


if __name__ == "__main__":
    unittest.main()
