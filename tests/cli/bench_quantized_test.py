# SPDX-License-Identifier: Apache-2.0
"""bitgraph bench quantized: keys, tables, bad input. No test asserts a time."""

import math
import subprocess
import unittest

import program


def start(*arguments):
    return program.start("bench", "quantized", "--threads", 2, "--repeats", 1, "--limit", 0.01, *arguments)


class BenchQuantized(unittest.TestCase):
    def report(self, *arguments):
        return program.run("bench", "quantized", "--threads", 2, "--repeats", 1, "--limit", 0.01, *arguments)

    def test_products(self):
        report = self.report("--figures", "9,10", "--nodes", 1024)
        self.assertEqual((report["benchmark"], report["device"]), ("quantized", "cpu"))
        nodes = [row["nodes"] for row in report["results"] if row["figure"] == "9" and row["columns"] == 16]
        self.assertEqual(nodes, [128, 256, 512, 1024])
        for row in report["results"]:
            self.assertGreater(row["us"], 0, row)
            if row["figure"] == "9":
                operations = 2 * row["nodes"] ** 2 * row["columns"]
                self.assertAlmostEqual(row["tops"], operations / row["us"] / 1e6, places=6)
        self.assertEqual([row["bits"] for row in report["results"] if row["figure"] == "10"], [4, 8, 16])

    def test_rivals(self):
        rows = self.report("--figures", "table3", "--nodes", 2048)["results"]
        for columns in (32, 64):
            found = [row for row in rows if row["columns"] == columns]
            self.assertEqual([row.get("bits") for row in found], [1, 2, 3, 4, None])
            self.assertEqual(found[-1]["rival"], "OpenBLAS float32")

    def test_tiles_without_an_entry_are_counted(self):
        rows = self.report("--figures", "8", "--nodes", 2048)["results"]
        self.assertEqual(len(rows), 1)
        # 20 parts of 103 nodes: a diagonal of tiles, a twentieth of all and what lies across their borders.
        self.assertGreater(rows[0]["share_of_64x64_tiles"], 1 / 20)
        self.assertLess(rows[0]["share_of_64x64_tiles"], 0.2)
        self.assertLess(rows[0]["share_of_8x128_tiles"], 0.2)

    def test_table(self):
        done = start("--figures", "7c,8", "--nodes", 2048)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("2 threads", "instruction sets: ", "Figure 7(c)", "OpenBLAS float32", "rival", "Figure 8",
                     "with jumping"):
            self.assertIn(word, done.stdout)
        done = start("grid:9", "--figures", "products,sums", "--product", "30x20x10", "--widths", 7)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("Products of levels, 30 x 20 by 20 x 10", "w8a4", "grid:9, 7 columns: float32 CSR product",
                     "geometric mean (least)"):
            self.assertIn(word, done.stdout)

    def test_lines_go_out_while_others_are_measured(self):
        arguments = ["bench", "quantized", "--figures", "products", "--repeats", "1000", "--limit", "60"]
        with subprocess.Popen([program.PROGRAM, *arguments], stdout=subprocess.PIPE, text=True) as running:
            self.assertIn("Products and networks of a few bits", running.stdout.readline())
            self.assertIsNone(running.poll(), "it is measuring")
            running.kill()

    def test_products_of_levels(self):
        for shape in ("70x33x17", "1x1x1", "130x512x256"):
            rows, depth, outputs = map(int, shape.split("x"))
            found = self.report("--figures", "products", "--product", shape)["results"]
            self.assertEqual([(row["precision"], row["packing"]) for row in found],
                             [("w2a2", "places"), ("w2a2", "planes"),
                              *((precision, "places") for precision in ("w4a4", "w8a8", "w8a4"))])
            for row in found:
                self.assertEqual((row["figure"], row["rows"], row["depth"], row["outputs"]),
                                 ("products", rows, depth, outputs))
                self.assertTrue(row["rival"].startswith("OpenBLAS"))
                self.assertIn("level_gemm", row["kernel"])
                self.assertGreater(row["us"], 0)
                self.assertAlmostEqual(row["ratio"], row["rival_us"] / row["us"])

    def test_sums_of_levels(self):
        report = self.report("grid:9", "rmat:6", "--figures", "sums", "--widths", "5,64")
        rows = report["results"]
        places = [(bits, "places") for bits in (2, 4, 8)]
        self.assertEqual([(row["graph"], row["columns"], row["bits"], row["packing"]) for row in rows],
                         [(graph, columns, *form) for graph in ("grid:9", "rmat:6")
                          for columns, forms in ((5, places), (64, [places[0], (2, "planes"), *places[1:]]))
                          for form in forms])
        self.assertEqual((rows[0]["nodes"], rows[0]["entries"]), (81, 288))
        self.assertEqual(set(report["ratios"]), {"2", "2 (planes)", "4", "8"})
        for form, found in report["ratios"].items():
            ratios = [row["ratio"] for row in rows
                      if form == f"{row['bits']}" + (" (planes)" if row["packing"] == "planes" else "")]
            self.assertAlmostEqual(found["least"], min(ratios))
            self.assertAlmostEqual(found["geometric_mean"], math.prod(ratios) ** (1 / len(ratios)))

    def test_bad_input(self):
        for word, *arguments in (("'7d' is none of", "--figures", "7d"), ("--nodes", "--nodes", "-1"),
                                 ("'grid:9': graphs are for --figures sums", "grid:9"),
                                 ("'3x4' is no shape", "--figures", "products", "--product", "3x4"),
                                 ("'1,x': 'x' is no width", "--figures", "sums", "--widths", "1,x"),
                                 ("no graph is called 'grid:x'", "grid:x", "--figures", "sums"),
                                 ("--batch-parts 20: there are 7 parts", "--figures", "7a", "--parts", 7)):
            done = start(*arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
