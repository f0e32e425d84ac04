# SPDX-License-Identifier: Apache-2.0
"""bitgraph bench quantized: keys, tables, bad input. No test asserts a time."""

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
        for word in ("2 threads", "Figure 7(c)", "OpenBLAS float32", "rival", "Figure 8", "with jumping"):
            self.assertIn(word, done.stdout)

    def test_bad_input(self):
        for word, *arguments in (("'7d' is none of", "--figures", "7d"), ("--nodes", "--nodes", "-1")):
            done = start(*arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
