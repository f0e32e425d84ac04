# SPDX-License-Identifier: Apache-2.0
"""bitgraph bench operators and bench gnn: keys, tables, bad input. No test asserts a time."""

import json
import math
import os
import re
import unittest

import program

AGGREGATIONS = {"BBB", "BBF", "FBB", "FBF", "BFB", "BFF", "FFB", "FFF"}
UPDATES = {"BBB", "BBF", "FBB", "FBF", "BFB", "BFF", "FFB"}


def start(*arguments):
    return program.start("bench", "operators", "--threads", 2, "--repeats", 1, *arguments)


class BenchOperators(program.InFolder):
    def test_every_variant(self):
        report = program.run("bench", "operators", "rmat:6", "grid:9", "--widths", "7,64", "--product", "300x65x33",
                             "--repeats", 2, "--threads", 2)
        self.assertEqual({key: report[key] for key in ("benchmark", "device", "threads")},
                         {"benchmark": "operators", "device": "cpu", "threads": 2})
        self.assertEqual([row["shape"] for row in report["results"]],
                         ["rmat:6, 7 features", "rmat:6, 64 features", "grid:9, 7 features", "grid:9, 64 features",
                          "300 x 65 by 65 x 33"])
        for row in report["results"]:
            self.assertEqual(set(row["us"]), UPDATES if row["operator"] == "BMM" else AGGREGATIONS)
            self.assertGreater(row["rival_us"], 0)
            self.assertTrue(all(us > 0 for us in row["us"].values()), row)
        aggregations = [row for row in report["results"] if row["operator"] == "BSpMM"]
        self.assertEqual(set(report["ratios"]), AGGREGATIONS)
        for name, found in report["ratios"].items():
            ratios = [row["rival_us"] / row["us"][name] for row in aggregations]
            self.assertAlmostEqual(found["geometric_mean"], math.prod(ratios) ** (1 / len(ratios)), msg=name)
            self.assertAlmostEqual(found["least"], min(ratios), msg=name)

    def test_table(self):
        done = start("grid:8", "--widths", 64, "--product", "64x64x64")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("2 threads", "BSpMM of grid:8, 64 features", "float32 CSR product", "BMM of 64 x 64 by 64 x 64",
                     "FBB", "geometric mean"):
            self.assertIn(word, done.stdout)

    def test_bad_input(self):
        wide = self.write("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n")
        for code, word, *arguments in ((2, "'x'", "grid:8", "--widths", "64,x"), (2, "'0'", "grid:8", "--widths", "0"),
                                       (2, "ROWSxDEPTHxOUTPUTS", "grid:8", "--product", "3x4"), (3, "square", wide),
                                       (2, "rmat:SCALE", "ring:8")):
            done = start(*arguments)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
            self.assertIn(word, done.stderr)


class Trace(unittest.TestCase):
    def kernels(self, **environment):
        """The kernels that a run with BITGRAPH_TRACE=1 names on standard error."""
        done = program.start("bench", "operators", "--threads", 2, "--repeats", 1, "--limit", 0, "grid:8", "--widths",
                             64, "--product", "64x64x64", env={**os.environ, "BITGRAPH_TRACE": "1", **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [re.fullmatch(r"bitgraph: (.*) on cpu: [0-9.]+ MB", line) for line in done.stderr.splitlines()]
        self.assertTrue(lines and all(lines), done.stderr)
        return {line[1] for line in lines}

    def test_each_operator_names_its_kernel(self):
        names = {re.sub(r" \(\w+\)$", "", name) for name in self.kernels()}
        library = {name for name in names if name.startswith("OpenBLAS ")}
        self.assertEqual(names - library, {"spmm_vote", "spmm_sum", "spmm_weigh", "gemm_bits"})
        self.assertEqual(len(library), 1)

    def test_the_reference_is_named(self):
        names = self.kernels(BITGRAPH_BACKEND="reference")
        self.assertEqual({name for name in names if not name.startswith("OpenBLAS ")}, {"reference"})


class BenchGnn(unittest.TestCase):
    def test_every_model_and_form(self):
        report = program.run("bench", "gnn", "planted:flickr/400", "--hidden", 32, "--repeats", 1, "--limit", 0,
                             "--threads", 2)
        self.assertEqual([row["model"] for row in report["results"]], program.ARCHITECTURES)
        for result in report["results"]:
            self.assertEqual([row["form"] for row in result["rows"]], ["float", "full", "bin", "float, dense features"])
            self.assertTrue(all(row["latency_us"] > 0 and row["peak_bytes"] > 0 for row in result["rows"]), result)
        self.assertNotIn("operators", report)

    @unittest.skipIf(program.SANITIZED, "the operators' usual sizes take long")
    def test_tables_where_nothing_is_named(self):
        done = program.start("bench", "gnn", "--models", "gcn", "--repeats", 1, "--limit", 0, "--threads", 2,
                             "--json", "--quiet")
        if "not found" in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        self.assertEqual([row["dataset"] for row in report["results"]], ["cora", "citeseer"])
        self.assertEqual([row["operator"] for row in report["operators"]], ["BSpMM"] * 3 + ["BMM"])
        for row in report["operators"]:
            self.assertEqual(set(row["us"]), UPDATES if row["operator"] == "BMM" else AGGREGATIONS)


if __name__ == "__main__":
    unittest.main()
