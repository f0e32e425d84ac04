# SPDX-License-Identifier: Apache-2.0
"""train and infer over the parts of a part file: what they say and write, and what is refused."""

import csv
import unittest

from program import InFolder, run, start


class PartBatches(InFolder):
    def setUp(self):
        super().setUp()
        self.data = self.planted("data.npz", 300, 1)
        self.parts = self.folder / "parts.safetensors"
        run("partition", self.data, "--parts", 12, "--out", self.parts)
        self.model = self.folder / "model.safetensors"

    def planted(self, name, nodes, seed):
        path = self.folder / name
        run("generate", "planted-partition", path, "--nodes", nodes, "--classes", 3, "--features", 60, "--seed", seed)
        return path

    def refused(self, code, message, *arguments):
        done = start(*arguments)
        self.assertEqual((done.returncode, done.stdout), (code, ""), (arguments, done.stderr))
        self.assertRegex(done.stderr, r"\Abitgraph: [^\n]+\n\Z")
        self.assertIn(message, done.stderr)


class TrainOverParts(PartBatches):
    def train(self, *more):
        return run("train", self.data, "--epochs", 3, "--hidden", 8, "--out", self.model, "--partition", self.parts, *more)

    def test_every_model_and_precision(self):
        for model in ("gcn", "sage", "gin"):
            for precision in ("float", "bin", "w4a4"):
                result = self.train("--model", model, "--precision", precision, "--batch-parts", 4, "--depth", 3)
                self.assertIn("; 4 of 12 parts a step; 3 epochs", result["recipe"])
                self.assertGreater(result["val_accuracy"], 0.2)
                self.assertTrue(self.model.exists())

    def test_the_default_is_a_twentieth_of_the_parts(self):
        self.assertIn("; 1 of 12 parts a step", self.train()["recipe"])
        run("partition", self.data, "--parts", 100, "--out", self.parts)
        self.assertIn("; 5 of 100 parts a step", self.train()["recipe"])

    def test_a_seed_gives_the_same_bits_and_other_batches_other_ones(self):
        def content(*more):
            self.train("--precision", "float", *more)
            return self.model.read_bytes()

        first = content("--batch-parts", 4)
        self.assertEqual(content("--batch-parts", 4), first)
        self.assertNotEqual(content("--batch-parts", 3), first)

    def test_a_checkpoint_of_other_batches_is_refused(self):
        state = ["--precision", "float", "--checkpoint", self.folder / "state"]
        self.train(*state, "--batch-parts", 4)
        words = ["train", self.data, "--epochs", 3, "--hidden", 8, "--out", self.model, *state]
        self.refused(3, "samples is 'batches of 4 of 12 parts", *words, "--partition", self.parts, "--batch-parts", 3)
        self.refused(3, "a checkpoint of another run", *words)

    def test_sampled_models_see_training_nodes_of_the_parts_or_all(self):
        def content(*more):
            recipe = self.train("--precision", "float", "--model", "sage", "--batch-parts", 4, *more)["recipe"]
            return recipe.split("samples of ")[1].split(":")[0], self.model.read_bytes()

        training = content()
        self.assertEqual(training[0], "the training nodes")
        self.assertEqual(content("--sample-from", "training"), training)
        samples, model = content("--sample-from", "all")
        self.assertEqual(samples, "all nodes")
        self.assertNotEqual(model, training[1])

    def test_one_line_says_what_is_wrong(self):
        words = ["train", self.data, "--out", self.model]
        other = self.planted("other.npz", 300, 2)
        self.refused(3, f"{self.parts}: the parts belong to another graph", "train", other, "--out", self.model,
                     "--partition", self.parts)
        smaller = self.planted("smaller.npz", 200, 1)
        self.refused(3, f"{self.parts}: the parts are of 300 nodes, and the graph has 200", "train", smaller, "--out",
                     self.model, "--partition", self.parts)
        broken = self.write("broken.safetensors", "no part file")
        self.refused(3, str(broken), *words, "--partition", broken)
        self.refused(3, "absent.safetensors", *words, "--partition", self.folder / "absent.safetensors")
        self.refused(2, "--batch-parts requires --partition", *words, "--batch-parts", 2)
        self.refused(2, "--batch-parts: '0' is not a whole number", *words, "--partition", self.parts, "--batch-parts", 0)
        self.refused(2, "--batch-parts 13: there are 12 parts", *words, "--partition", self.parts, "--batch-parts", 13)
        self.assertFalse(self.model.exists())

    def test_an_estimate_reads_the_part_file(self):
        done = start("train", self.data, "--partition", self.parts, "--out", self.model, "--estimate")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("200 epochs", done.stdout)
        self.assertFalse(self.model.exists())


class InferOverParts(PartBatches):
    def setUp(self):
        super().setUp()
        run("train", self.data, "--precision", "full", "--teacher", self.teacher(), "--epochs", 3, "--hidden", 8, "--out",
            self.model)

    def teacher(self):
        path = self.folder / "teacher.safetensors"
        run("train", self.data, "--precision", "float", "--epochs", 3, "--hidden", 8, "--out", path)
        return path

    def infer(self, *more):
        out = self.folder / "logits.csv"
        result = run("infer", self.model, self.data, "--repeats", 1, "--logits", out, *more)
        return result, list(csv.reader(out.read_text().splitlines()))

    def test_batches_of_all_parts_are_the_whole_graph(self):
        whole, expected = self.infer()
        parts, found = self.infer("--partition", self.parts, "--batch-parts", 12)
        self.assertEqual(found, expected)
        self.assertEqual(parts["accuracy"], whole["accuracy"])
        self.assertEqual(parts["forms"]["full"]["batches"], 1)
        self.assertEqual(parts["partition"], str(self.parts))
        self.assertNotIn("batches", whole["forms"]["full"])

    def test_every_node_has_logits_and_a_batch_takes_little_memory(self):
        for form in ("full", "bin"):
            result, rows = self.infer("--form", form, "--partition", self.parts, "--batch-parts", 2)
            self.assertEqual(len(rows), 301)
            self.assertEqual(result["forms"][form]["batches"], 6)
            bytes_of = result["forms"][form]["bytes"]
            self.assertAlmostEqual(bytes_of["predicted"] / bytes_of["peak"], 1, delta=0.1)
        self.assertEqual(self.infer("--partition", self.parts)[0]["forms"]["full"]["batches"], 12)
        _, whole = self.infer()
        _, parts = self.infer("--partition", self.parts, "--batch-parts", 2)
        self.assertNotEqual(parts, whole)

    def test_on_the_host_the_place_of_batches_changes_nothing(self):
        _, expected = self.infer("--partition", self.parts, "--batch-parts", 2)
        for place in ("auto", "device", "host"):
            result, found = self.infer("--partition", self.parts, "--batch-parts", 2, "--batches-at", place)
            self.assertEqual(found, expected)
            self.assertNotIn("host", result["forms"]["full"]["bytes"])

    def test_explain_names_the_executor(self):
        result, _ = self.infer("--partition", self.parts, "--explain")
        self.assertEqual(result["forms"]["full"]["executor"], "parts of a partition")

    def test_one_line_says_what_is_wrong(self):
        words = ["infer", self.model, self.data]
        other = self.planted("other.npz", 300, 2)
        self.refused(3, f"{self.parts}: the parts belong to another graph", "infer", self.model, other, "--partition",
                     self.parts)
        self.refused(2, "--batch-parts requires --partition", *words, "--batch-parts", 2)
        self.refused(2, "--batches-at requires --partition", *words, "--batches-at", "host")
        for command, batches in (("infer", "13"), ("tune", "2,13")):
            self.refused(2, "--batch-parts 13: there are 12 parts", command, *words[1:], "--partition", self.parts,
                         "--batch-parts", batches)
        self.refused(2, "--batches-at: gpu not in {auto,device,host}", *words, "--partition", self.parts, "--batches-at",
                     "gpu")
        self.refused(3, "absent", *words, "--partition", self.folder / "absent.safetensors")
        self.refused(4, "take fewer parts in a batch", *words, "--partition", self.parts, "--memory", 1000)


if __name__ == "__main__":
    unittest.main()
