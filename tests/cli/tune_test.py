# SPDX-License-Identifier: Apache-2.0
"""tune over one model and over several: what is chosen, what is said of it, and that infer runs it."""

import json
import shutil
import unittest

import numpy as np

import program


def start(*words):
    return program.start(*words, "--threads", 1)


def run(*words):
    return program.run(*words, "--threads", 1)


class Tune(program.InFolder):
    def setUp(self):
        """A narrow model in bits, trained for a data set of other labels, and a wide one in floats that fits and takes longer."""
        super().setUp()
        for name, seed, features in [("data", 1, 100), ("other", 2, 100), ("narrow", 3, 50)]:
            run("generate", "planted-partition", self.path(name + ".npz"), "--nodes", 300, "--classes", 3, "--features",
                features, "--seed", seed)
        other = dict(np.load(self.path("other.npz")))
        np.savez(self.path("other.npz"), **(other | {"labels": (other["labels"] + 1) % 3}))
        self.data, self.bin, self.float = map(self.path, ["data.npz", "bin.safetensors", "float.safetensors"])
        run("train", self.path("other.npz"), "--precision", "bin", "--hidden", 4, "--epochs", 2, "--out", self.bin)
        run("train", self.data, "--precision", "float", "--hidden", 512, "--epochs", 20, "--out", self.float)
        self.plan = self.path("plan.json")

    def path(self, name):
        return str(self.folder / name)

    def tune(self, model, *options):
        return run("tune", model, self.data, "--repeats", 3, "--bits", "none", "--out", self.plan, *options)

    def infer(self, model):
        return start("infer", model, self.data, "--repeats", 1, "--plan", self.plan, "--json", "--quiet")

    def check_refused(self, code, message, done):
        self.assertEqual((done.returncode, done.stdout, done.stderr), (code, "", f"bitgraph: {message}\n"))

    def check_plan(self, chosen):
        """The plan is of the chosen model, gives its accuracy, and is refused for the other one."""
        plan = json.loads((self.folder / "plan.json").read_text())
        self.assertEqual(plan["model"], chosen["model"])
        done = self.infer(chosen["model"])
        self.assertEqual(done.returncode, 0, done.stderr)
        inferred = json.loads(done.stdout)
        self.assertEqual((inferred["plan"], inferred["val_accuracy"]), (chosen["options"], chosen["val_accuracy"]))
        other = self.bin if chosen["model"] == self.float else self.float
        self.check_refused(3, f"{self.plan}: a plan for another model: it was measured with {plan['model']}, and "
                           f"{other} has other weights", self.infer(other))

    def test_models_are_judged_together(self):
        tuned = self.tune(self.bin, "--also", self.float, "--also", self.bin)
        self.assertEqual((tuned["model"], tuned["models"]), (self.bin, [self.bin, self.float]))
        self.assertEqual((tuned["default"]["model"], tuned["chosen"]["model"]), (self.bin, self.float))
        self.assertEqual([c["model"] for c in tuned["candidates"][:2]], [self.bin, self.float])
        self.assertEqual({c["model"] for c in tuned["candidates"] if c["front"]}, {self.bin, self.float})
        self.assertGreater(tuned["chosen"]["val_accuracy"], tuned["default"]["val_accuracy"] + 0.1)
        self.check_plan(tuned["chosen"])

        tuned = self.tune(self.float, "--also", self.bin, "--max-loss", 100)
        self.assertEqual((tuned["default"]["model"], tuned["chosen"]["model"]), (self.float, self.bin))
        self.check_plan(tuned["chosen"])

    def test_a_plan_that_names_no_model(self):
        (self.folder / "plan.json").write_text(json.dumps({"forms": ["float", "float"], "order": "degree"}))
        self.assertEqual(self.infer(self.float).returncode, 0)

    def test_names(self):
        plot = self.path("plot.svg")
        words = ["tune", self.bin, self.data, "--repeats", 1, "--quiet", "--plot", plot, "--out", self.plan]
        one = start(*words).stdout
        self.assertNotIn("safetensors: ", one)
        self.assertNotIn("chosen: ", one)
        self.assertTrue(one.endswith(f"plan written to {self.plan}, for {self.bin}\n"), one)
        words += ["--bits", "none"]
        several = start(*words, "--also", self.float).stdout
        self.assertIn("  bin.safetensors: bin+full", several)
        self.assertIn("  float.safetensors: float+float", several)
        self.assertRegex(several, rf"\nchosen: .* of {self.float}\nplan written to {self.plan}, for {self.float}\n$")
        self.assertIn(">bin.safetensors: bin+full<", (self.folder / "plot.svg").read_text())
        # Files of one name in two folders.
        (self.folder / "more").mkdir()
        namesake = self.path("more/bin.safetensors")
        shutil.copy(self.float, namesake)
        self.assertRegex(start(*words, "--also", namesake).stdout, rf"  {namesake}:\s+float\+float")

    def test_models_that_are_refused(self):
        absent, narrow = self.path("absent.safetensors"), self.path("narrow.safetensors")
        run("train", self.path("narrow.npz"), "--precision", "float", "--hidden", 4, "--epochs", 2, "--out", narrow)
        for model, message in [(absent, "cannot open: No such file or directory"), (self.data, "..."),
                               (narrow, "the model takes 50 features, the data set data has 100")]:
            for words in [[self.float, self.data, "--also", model], [model, self.data, "--also", self.float]]:
                with self.subTest(words=words):
                    done = start("tune", *words, "--bits", "none", "--out", self.plan)
                    if message == "...":
                        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
                        self.assertTrue(done.stderr.startswith(f"bitgraph: {model}: "), done.stderr)
                    else:
                        self.check_refused(3, f"{model}: {message}", done)
                    self.assertFalse((self.folder / "plan.json").exists())


if __name__ == "__main__":
    unittest.main()
