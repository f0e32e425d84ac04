# SPDX-License-Identifier: Apache-2.0
"""tune of a float model alone: bits of each layer, a limit of memory, batches of parts; and that infer runs the choice."""

import json
import unittest
from pathlib import Path

from program import InFolder, run, start


class TuneBits(InFolder):
    def setUp(self):
        super().setUp()
        self.data, self.parts = self.path("data.npz"), self.path("parts.safetensors")
        self.float, self.small, self.plan = map(self.path, ["float.safetensors", "small.safetensors", "plan.json"])
        run("generate", "planted-partition", self.data, "--nodes", 400, "--classes", 3, "--features", 100, "--seed", 1)
        run("train", self.data, "--precision", "float", "--hidden", 96, "--epochs", 20, "--out", self.float, "--threads", 1)
        run("partition", self.data, "--parts", 12, "--out", self.parts)

    def path(self, name):
        return str(self.folder / name)

    def tune(self, *options):
        tuned = run("tune", self.float, self.data, "--repeats", 1, "--threads", 1, *options)
        for candidate in tuned["candidates"]:
            self.assertAlmostEqual(candidate["predicted_bytes"] / candidate["peak_bytes"], 1, delta=0.1, msg=candidate)
        return tuned

    def infer(self, model, *options):
        return run("infer", model, self.data, "--repeats", 1, "--threads", 1, *options)

    def refused(self, code, message, *words):
        done = start("tune", *words)
        self.assertEqual((done.returncode, done.stdout), (code, ""), (words, done.stderr))
        self.assertRegex(done.stderr, r"\Abitgraph: [^\n]+\n\Z")
        self.assertIn(message, done.stderr)
        self.assertFalse((self.folder / "small.safetensors").exists() or (self.folder / "plan.json").exists())

    def check_choice(self, tuned):
        """infer with the plan does what the table says, with the model that the plan names and no other."""
        plan, chosen = json.loads((self.folder / "plan.json").read_text()), tuned["chosen"]
        self.assertEqual(plan["model"], tuned["chosen_file"])
        done = self.infer(plan["model"], "--plan", self.plan)
        self.assertEqual((done["plan"], done["val_accuracy"]), (chosen["options"], chosen["val_accuracy"]))
        self.assertEqual(done["bytes"]["predicted"], chosen["predicted_bytes"])
        return plan, done

    def test_a_quantized_choice_is_written_and_runs(self):
        free = self.tune("--max-loss", 100)
        self.assertEqual(free["default"]["quantized"], False)
        quantized = [c for c in free["candidates"] if c["quantized"]]
        self.assertEqual(quantized[0]["options"], "w8a8+w8a8d")
        self.assertTrue(any(c["front"] for c in quantized))
        self.assertEqual({c["model"] for c in free["candidates"]}, {self.float})
        limit = min(c["predicted_bytes"] for c in quantized)  # floats do not fit
        self.assertLess(limit, 0.6 * free["default"]["predicted_bytes"])
        tuned = self.tune("--max-loss", 100, "--memory", limit, "--out", self.plan, "--out-model", self.small)
        self.assertIsNone(tuned["default"])
        self.assertTrue(tuned["chosen"]["quantized"])
        self.assertEqual(tuned["chosen_file"], self.small)
        self.assertLessEqual(max(c["predicted_bytes"] for c in tuned["candidates"]), limit)
        plan, _ = self.check_choice(tuned)
        self.assertEqual(plan["memory"], limit)
        # An order has memory of its own: the plan takes the graph by parts where the whole does not fit.
        Path(self.plan).write_text(json.dumps({**plan, "order": "rcm"}))
        self.assertLessEqual(self.infer(self.small, "--plan", self.plan)["bytes"]["peak"], limit)
        other = start("infer", self.float, self.data, "--plan", self.plan)
        self.assertEqual((other.returncode, other.stdout), (3, ""), other.stderr)
        self.assertIn("a plan for another model", other.stderr)
        text = start("tune", self.float, self.data, "--repeats", 1, "--max-loss", 100, "--memory", limit, "--quiet")
        self.assertRegex(text.stdout, rf"\nchosen: \S+.* of {self.float}\nto keep the quantized model give --out-model FILE\n")

    def test_a_choice_that_is_not_quantized_has_no_other_file(self):
        tuned = self.tune("--bits", "none", "--out", self.plan)
        self.assertFalse(any(c["quantized"] for c in tuned["candidates"]))
        self.assertEqual(tuned["chosen_file"], self.float)
        self.check_choice(tuned)

    def test_bits_bound_the_search(self):
        def forms(*options):
            return {c["options"].split(",")[0] for c in self.tune(*options)["candidates"] if c["quantized"]}

        self.assertEqual(forms("--bits", 8), {"w8a8+w8a8d"})
        self.assertEqual(forms("--bits", "4,8", "--max-loss", 100), {"w8a8+w8a8d", "w4a4+w4a4m8d"})

    def test_the_memory_chooses_the_batches(self):
        words = ["--bits", "none", "--partition", self.parts]
        free = self.tune(*words, "--batch-parts", "2,6")
        sizes = {c["batches"]: c["predicted_bytes"] for c in free["candidates"] if not c["options"].endswith("float")}
        self.assertEqual({batches for batches in sizes if batches > 1}, {2, 6})
        self.assertLess(sizes[6], sizes[2])
        self.assertFalse(free["default"]["batches"] > 1)
        tuned = self.tune(*words, "--memory", (sizes[6] + sizes[2]) // 2, "--batch-parts", 6, "--batch-parts", 2, "--out",
                          self.plan)
        self.assertEqual({c["batches"] for c in tuned["candidates"]}, {6})
        plan, done = self.check_choice(tuned)
        self.assertEqual((plan["partition"], plan["batch_parts"]), (self.parts, 2))
        self.assertEqual((done["partition"], done["forms"]["float"]["batches"]), (self.parts, 6))
        again = self.infer(self.float, "--plan", self.plan, "--partition", self.parts, "--batch-parts", 3)
        self.assertEqual(again["forms"]["float"]["batches"], 4)
        done = start("infer", self.float, self.data, "--plan", self.plan, "--dot", self.parts)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("is the same file as the input part file of --plan", done.stderr)
        automatic = self.tune(*words)
        self.assertEqual({c["batches"] for c in automatic["candidates"]}, {1, 2, 4, 12})

    def test_one_line_says_what_is_refused(self):
        words = [self.float, self.data]
        self.refused(2, "the choice may be a quantized model: name a file for it with --out-model, or give --bits none",
                     *words, "--out", self.plan)
        self.refused(2, "--out-model: nothing is quantized", *words, "--bits", "none", "--out-model", self.small)
        for bits in ("0", "17", "x", "8,,4", "8,", "-4", "all"):
            self.refused(2, f"--bits {bits}: expected auto, none, or numbers from 1 to 16 such as 8,4", *words,
                         f"--bits={bits}")
        self.refused(2, "--batch-parts requires --partition", *words, "--batch-parts", 2)
        self.refused(2, "--batch-parts: '0' is not a whole number", *words, "--partition", self.parts, "--batch-parts", 0)
        self.refused(4, "the limit of 1000 bytes is too small", *words, "--memory", "1K", "--quiet")
        self.refused(2, "same file", *words, "--out-model", self.float)
        other = self.path("other.npz")
        run("generate", "planted-partition", other, "--nodes", 400, "--classes", 3, "--features", 100, "--seed", 2)
        done = start("tune", self.float, other, "--partition", self.parts, "--quiet")
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        self.assertIn(f"bitgraph: {self.parts}: the parts belong to another graph", done.stderr)
        binary = self.path("bin.safetensors")
        run("train", self.data, "--precision", "bin", "--hidden", 8, "--epochs", 1, "--out", binary)
        self.refused(2, "--out-model: nothing is quantized", binary, self.data, "--out-model", self.small)


if __name__ == "__main__":
    unittest.main()
