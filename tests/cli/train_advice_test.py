# SPDX-License-Identifier: Apache-2.0
"""`bitgraph train`: where a form stays far below its teacher, the result names the cheapest form that does not."""

import re
import unittest

from program import InFolder, run


class Advice(InFolder):
    def setUp(self):
        super().setUp()
        self.graph, self.model = self.folder / "g.npz", self.folder / "m.safetensors"
        run("generate", "planted-graph", self.graph, "--nodes", 300, "--seed", 1)

    def train(self, precision, *options):
        return run("train", self.graph, "--model", "gcn", "--seed", 1, "--precision", precision, "--out", self.model,
                   *options)

    def test_names_levels_where_bits_hardly_learned(self):
        """In one epoch neither votes nor full come near."""
        self.check_levels()

    def test_names_levels_of_features_whose_codes_bits_read(self):
        """Full and its teacher read codes of few numbers; levels read the numbers, like the float model they are of."""
        run("generate", "planted-graph", self.graph, "--nodes", 300, "--seed", 1, "--features", 16)
        self.check_levels("--hidden", 2)

    def check_levels(self, *options):
        """The levels are as good as the advice says."""
        found = re.fullmatch(r"([\d.]+) % of the validation nodes are right, float: ([\d.]+) %. The cheapest form that "
                             r"loses at most 3 points is w(\d)a\d by bitgraph quantize --bits \d \(([\d.]+) %\)",
                             self.train("bin", "--epochs", 1, *options)["advice"])
        self.assertIsNotNone(found)
        own, teacher, bits, promised = found.groups()
        self.assertLess(float(own), float(teacher) - 3)
        self.assertGreater(float(promised), float(teacher) - 3.1)
        self.train("float", "--self-distillation", *options)
        levels = run("quantize", self.model, self.graph, "--bits", bits, "--out", self.folder / "q.safetensors")
        self.assertAlmostEqual(100 * levels["val_accuracy"], float(promised), delta=0.051)

    def test_is_empty_where_the_form_is_good_enough(self):
        self.assertEqual(self.train("w8a8", "--epochs", 1)["advice"], "")


if __name__ == "__main__":
    unittest.main()
