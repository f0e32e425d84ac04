# SPDX-License-Identifier: Apache-2.0
"""infer --explain and --dot, train --explain: the operators that a model became, as JSON, as a table and as a drawing."""

import unittest

import program


class Explain(program.InFolder):
    def setUp(self):
        super().setUp()
        self.data, self.model = self.folder / "data.npz", self.folder / "bin.safetensors"
        program.run("generate", "planted-partition", self.data, "--nodes", 300, "--classes", 3, "--features", 100)
        program.run("train", self.data, "--precision", "bin", "--epochs", 2, "--out", self.model)

    def infer(self, *options):
        return program.start("infer", self.model, self.data, "--repeats", 1, "--quiet", *options)

    def test_lists_every_operator_with_bytes_and_time(self):
        result = program.run("infer", self.model, self.data, "--repeats", 1, "--form", "all", "--explain")
        bin_form = result["forms"]["bin"]
        self.assertEqual(bin_form["executor"], "host")
        self.assertEqual([(op["layer"], op["operator"], op["columns"], op["format"]) for op in bin_form["program"]],
                         [(0, "BMM.BBB", 64, "sign"), (0, "BSpMM.BBB", 64, "sign"), (1, "BMM.BBF", 3, "float32"),
                          (1, "BSpMM.FBF", 3, "float32")])
        for op in bin_form["program"]:
            self.assertGreater(op["bytes"], 0)
            self.assertGreater(op["measured_us"], 0)
        # A vote reads 8 bytes of each neighbor, and reading counts in sectors of 32; floats of 3 classes are one, too.
        votes, sums = bin_form["program"][1], bin_form["program"][3]
        self.assertLess(votes["bytes"], sums["bytes"])
        self.assertIn("BIN", [op["operator"] for op in result["forms"]["full"]["program"]])

    def test_without_it_the_result_has_no_program(self):
        result = program.run("infer", self.model, self.data, "--repeats", 1)
        self.assertNotIn("program", result["forms"]["bin"])

    def test_prints_a_table(self):
        done = self.infer("--explain")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        table = done.stdout[done.stdout.index("bin as a program, run by: host"):].splitlines()
        self.assertEqual(table[1].split()[:4], ["layer", "operator", "makes", "bytes"])
        self.assertEqual([line.split()[1] for line in table[2:6]], ["BMM.BBB", "BSpMM.BBB", "BMM.BBF", "BSpMM.FBF"])

    def test_a_training_step_has_its_gradients_behind_it(self):
        result = program.run("train", self.data, "--precision", "full", "--explain")
        names = [op["operator"] for op in result["program"]]
        first = next(n for n, name in enumerate(names) if name.endswith(", gradient"))
        self.assertEqual([name + ", gradient" for name in reversed(names[:first]) if "MM" in name],
                         [name for name in names[first:] if "MM" in name])
        for op in result["program"]:
            self.assertGreater(op["measured_us"], 0)
        self.assertEqual([path.name for path in self.folder.iterdir() if "full" in path.name], [])

    def test_draws_a_training_step(self):
        drawing = self.folder / "step.dot"
        program.run("train", self.data, "--precision", "full", "--explain", "--dot", drawing)
        text = drawing.read_text()
        self.assertTrue(text.startswith("digraph program {"))
        self.assertIn("DROPOUT", text)
        done = program.start("train", self.data, "--out", self.folder / "m.safetensors", "--dot", drawing)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--dot draws what --explain lists", done.stderr)

    def test_draws_the_program(self):
        drawing = self.folder / "program.dot"
        done = self.infer("--dot", drawing)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = drawing.read_text()
        self.assertTrue(text.startswith("digraph program {"))
        self.assertIn('features -> op0 [label="100 x sign*row"];', text)
        self.assertIn("op2 -> op3", text)

    def test_parts_of_the_rows_are_said(self):
        data = self.folder / "dense.npz"
        program.run("generate", "planted-partition", data, "--nodes", 300, "--classes", 3, "--features", 100,
                    "--mean-degree", 60)
        whole = program.run("infer", self.model, data, "--repeats", 1)["forms"]["bin"]["bytes"]["predicted"]
        parts = program.run("infer", self.model, data, "--repeats", 1, "--memory", whole - 1, "--explain")
        form = parts["forms"]["bin"]
        self.assertGreater(form["parts"], 1)
        self.assertEqual(form["executor"], "parts of the rows")
        self.assertEqual(form["program"][1]["operator"], "BSpMM.BBB by parts")


if __name__ == "__main__":
    unittest.main()
