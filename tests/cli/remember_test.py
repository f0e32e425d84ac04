# SPDX-License-Identifier: Apache-2.0
"""Models remember how they were trained: infer and tune use it, train goes on from it, and PyTorch's files say it."""

import json
import shlex
import struct
import unittest

import numpy as np

import program


def start(*words):
    return program.start(*words, "--threads", 1)


def run(*words):
    return program.run(*words, "--threads", 1)


def write_state(path, tensors, metadata):
    """A safetensors file, as safetensors.torch.save_file writes it."""
    header, data = {"__metadata__": metadata}, b""
    for name, value in tensors.items():
        raw = np.ascontiguousarray(value, np.float32).tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def sage_state(features, hidden, classes):
    random = np.random.default_rng(5)
    shapes = {"conv1.lin_l.weight": (hidden, features), "conv1.lin_l.bias": (hidden,),
              "conv1.lin_r.weight": (hidden, features), "conv2.lin_l.weight": (classes, hidden),
              "conv2.lin_l.bias": (classes,), "conv2.lin_r.weight": (classes, hidden)}
    return {name: random.normal(size=shape) for name, shape in shapes.items()}


class Remember(program.InFolder):
    FEATURES, CLASSES = 60, 3

    def setUp(self):
        super().setUp()
        self.data, self.model = self.path("data.npz"), self.path("model.safetensors")
        run("generate", "planted-partition", self.data, "--nodes", 300, "--classes", self.CLASSES, "--features",
            self.FEATURES, "--seed", 1)

    def path(self, name):
        return str(self.folder / name)

    def train(self, *options, out=None):
        return run("train", self.data, "--epochs", 5, "--hidden", 8, *options, "--out", out or self.model)

    def infer(self, *options):
        return run("infer", self.model, self.data, "--repeats", 1, *options)

    def test_infer_and_tune_use_the_split_of_training(self):
        for options, split in [
                (("--split-shares", "0.8,0.1,0.1", "--split-seed", 3),
                 {"kind": "shares", "seed": 3, "shares": [0.8, 0.1, 0.1]}),
                (("--split-seed", 4), {"kind": "per-class", "seed": 4, "per_class": [20, 30]}),
                ((), {"kind": "file"})]:
            with self.subTest(options=options):
                trained = self.train("--precision", "float", *options)
                inferred = self.infer()
                for result, origin in [(trained, "option" if options else "file"), (inferred, "model")]:
                    for key, value in split.items():
                        self.assertEqual(result["split"][key], value)
                    self.assertEqual(result["split"]["from"], origin)
                self.assertEqual(inferred["accuracy"], trained["accuracy"])
                self.assertEqual(inferred["val_accuracy"], trained["val_accuracy"])
                self.assertEqual(inferred["trained_nodes_tested"], 0)
                tuned = run("tune", self.model, self.data, "--repeats", 1, "--seconds", 1)
                self.assertEqual(tuned["split"], inferred["split"])
                self.assertEqual(tuned["default"]["val_accuracy"], trained["val_accuracy"])

    def test_nodes_that_trained_the_model_are_named_where_they_are_tested(self):
        self.train("--precision", "float", "--split-shares", "0.8,0.1,0.1", "--split-seed", 3)
        words = ["infer", self.model, self.data, "--repeats", 1, "--split-seed", 5]
        tested = run(*words)
        self.assertGreater(tested["trained_nodes_tested"], 100)
        self.assertEqual(tested["split"]["from"], "option")
        done = start(*words)
        self.assertIn(f"warning: {tested['trained_nodes_tested']} of the 240 validation and test nodes trained the model",
                      done.stderr)
        self.assertNotIn("warning", start(*words[:-2]).stderr)
        # The same in training that starts from such a model, or learns from it.
        for option in ["--from", "--teacher"]:
            words = ["train", self.data, "--hidden", 8, "--model", "gcn", "--precision", "full", "--epochs", 1, option,
                     self.model, "--out", self.path("next.safetensors")]
            self.assertNotIn("warning", start(*words).stderr)
            self.assertIn("nodes trained the model", start(*words, "--split-seed", 5).stderr)

    def test_of_several_models_the_first_decides_on_the_split_and_all_count(self):
        other, unknown = self.path("other.safetensors"), self.folder / "state.safetensors"
        self.train("--precision", "float", "--split-shares", "0.8,0.1,0.1", "--split-seed", 3)
        self.train("--precision", "float", "--split-shares", "0.4,0.1,0.5", "--split-seed", 4, out=other)
        write_state(unknown, sage_state(self.FEATURES, 8, self.CLASSES), {"format": "pt"})

        def tune(model, also):
            return run("tune", model, self.data, "--also", also, "--repeats", 1, "--seconds", 1)

        tuned = tune(self.model, other)
        self.assertEqual((tuned["split"]["from"], tuned["split"]["seed"]), ("model", 3))
        self.assertGreater(tuned["trained_nodes_tested"], 0)
        self.assertLess(tuned["trained_nodes_tested"], 60)
        tuned = tune(unknown, other)
        self.assertEqual((tuned["split"]["from"], tuned["split"]["kind"]), ("file", "file"))
        self.assertIsNone(tuned["trained_nodes_tested"])

    def test_another_data_set_is_named(self):
        self.train("--precision", "float", "--split-shares", "0.8,0.1,0.1", "--split-seed", 3)
        other = self.path("other.npz")
        run("generate", "planted-partition", other, "--nodes", 290, "--classes", self.CLASSES, "--features",
            self.FEATURES, "--seed", 2)
        done = start("infer", self.model, other, "--repeats", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: other is not the data that the model was trained on", done.stderr)
        self.assertIn("split: as the data set has it; the given model does not say which", done.stdout)

    def test_normalize_rows_of_a_pytorch_file(self):
        tensors = sage_state(self.FEATURES, 8, self.CLASSES)
        # Rows of which the sums differ.
        data = dict(np.load(self.data))
        data["attr_data"] = np.random.default_rng(1).uniform(1, 50, len(data["attr_data"])).astype(np.float32)
        np.savez(self.data, **data)
        logits = {}
        for name, metadata, options in [("plain", {}, []), ("said", {"normalize_rows": "1"}, []),
                                        ("asked", {}, ["--normalize-rows"]),
                                        ("both", {"normalize_rows": "1"}, ["--normalize-rows"])]:
            state = self.folder / "state.safetensors"
            write_state(state, tensors, {"format": "pt", **metadata})
            out = self.folder / "logits.npy"
            done = run("infer", state, self.data, "--repeats", 1, "--logits", out, *options)
            self.assertIsNone(done["trained_nodes_tested"])
            logits[name] = np.load(out)
        self.assertTrue(np.array_equal(logits["said"], logits["asked"]))
        self.assertTrue(np.array_equal(logits["said"], logits["both"]))
        self.assertFalse(np.allclose(logits["said"], logits["plain"]))

    def test_the_way_of_a_pytorch_model_to_bits(self):
        state = self.folder / "state.safetensors"
        write_state(state, sage_state(self.FEATURES, 8, self.CLASSES), {"format": "pt"})
        words = ["tune", state, self.data, "--repeats", 1, "--seconds", 1]
        printed = start(*words, "--quiet").stdout.splitlines()
        self.assertEqual(printed[-2], "to train a model of single bits from this one:")
        command = shlex.split(printed[-1].replace("bits.safetensors", self.path("bits.safetensors")))
        self.assertEqual(shlex.join(command), run(*words)["next"].replace("bits.safetensors", command[-1]))
        made = run(*command[1:], "--epochs", 2)
        self.assertEqual((made["model"], made["precision"], made["teacher_seconds"]), ("sage", "bin", 0))
        self.assertNotIn("next", run("tune", command[-1], self.data, "--also", state, "--repeats", 1, "--seconds", 1))

    def test_the_command_for_bits_takes_any_file_name_and_the_same_features(self):
        state = self.folder / "Ann's model.safetensors"
        write_state(state, sage_state(self.FEATURES, 8, self.CLASSES), {"format": "pt"})
        words = ["tune", state, self.data, "--repeats", 1, "--seconds", 1]
        self.assertNotIn("--normalize-rows", run(*words)["next"])
        command = shlex.split(run(*words, "--normalize-rows")["next"])
        self.assertEqual(command[command.index("--from") + 1], str(state))
        command[-1] = self.path("bits.safetensors")
        command += ["--epochs", 2, "--checkpoint", self.path("run.ckpt")]
        run(*command[1:])
        # Without the option it is another run.
        done = start(*[word for word in command[1:] if word != "--normalize-rows"])
        self.assertEqual(done.returncode, 3)
        self.assertIn("rows normalized'", done.stderr)

    def test_train_goes_on_from_every_architecture_in_every_precision(self):
        for model in program.ARCHITECTURES[:2] if program.SANITIZED else program.ARCHITECTURES:
            self.train("--model", model, "--precision", "float", "--depth", 3)
            for precision in ["float", "full", "bin"]:
                with self.subTest(model=model, precision=precision):
                    made = run("train", self.data, "--from", self.model, "--precision", precision, "--epochs", 1, "--out",
                               self.path("next.safetensors"))
                    self.assertEqual(made["model"], model)
        done = start("train", self.data, "--from", self.model, "--hidden", 9, "--out", self.path("next.safetensors"))
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr, "bitgraph: train: the starting weights of layer 0 are 8 x 60, expected 9 x 60\n")

    def test_train_says_that_it_trains_a_teacher_first(self):
        self.assertGreater(self.train("--precision", "bin")["teacher_seconds"], 0)
        self.assertGreater(self.train("--precision", "full")["teacher_seconds"], 0)
        self.assertEqual(self.train("--precision", "float")["teacher_seconds"], 0)
        done = start("train", self.data, "--precision", "bin", "--epochs", 2, "--hidden", 8, "--out", self.model)
        self.assertRegex(done.stderr, r"^recipe: .*; 2 epochs, .*\ntraining a float teacher first\n$")
        self.assertRegex(done.stdout, r"\n  a float teacher was trained first, in \d+\.\d s\n")

    def test_a_data_set_without_labels(self):
        self.train("--precision", "float")
        data = dict(np.load(self.data))
        for key in ["labels", "train_idx", "val_idx", "test_idx"]:
            data.pop(key)
        np.savez(self.data, **data)
        inferred = self.infer("--out", self.folder / "classes.npy")
        self.assertIsNone(inferred["accuracy"]["float"])
        self.assertIsNone(inferred["split"])
        self.assertEqual(np.load(self.folder / "classes.npy").shape, (300,))
        done = start("infer", self.model, self.data, "--split-seed", 1)
        self.assertEqual((done.returncode, done.stderr),
                         (3, f"bitgraph: {self.data}: the nodes have no labels: no split can be drawn\n"))
        done = start("train", self.data, "--out", self.path("next.safetensors"))
        self.assertEqual((done.returncode, done.stderr),
                         (3, "bitgraph: train: the data set data has no labels\n"))


if __name__ == "__main__":
    unittest.main()
