# SPDX-License-Identifier: Apache-2.0
"""The floor checker itself: on small trees, each with one thing wrong."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKER = ROOT / "scripts" / "check_floors.py"

UMBRELLA = "include/bitgraph/bitgraph.hpp"
GOOD = {
    "include/bitgraph/bitgraph.hpp": "#include <bitgraph/core/device.hpp>\n#include <bitgraph/formats/csr.hpp>\n"
                                     "#include <bitgraph/ops/spmm.hpp>\n",
    "include/bitgraph/core/device.hpp": "#include <memory>\n#include <cstdint>\n",
    "include/bitgraph/formats/csr.hpp": "#include <bitgraph/core/device.hpp>\n",
    "include/bitgraph/ops/spmm.hpp": "#include <bitgraph/formats/csr.hpp>\n",
    "src/ops/spmm/cpu.cpp": '#include <hwy/highway.h>\n#include "ops/spmm/spmm.hpp"\n',
    "src/ops/spmm/spmm.hpp": "#include <bitgraph/ops/spmm.hpp>\n",
    "src/ops/gemm/gemm.cpp": "#include <bitgraph/ops/spmm.hpp>\n#include <fmt/format.h>\n",
    "src/ops/all_test.cpp": '#include "ops/spmm/spmm.hpp"\n',
    "src/nn/gcn.cpp": "#include <bitgraph/ops/spmm.hpp>\n// #include <bitgraph/graph/bfs.hpp>\n"
                      "/*\n#include <bitgraph/graph/bfs.hpp>\n*/\n",
    "src/graph/bfs.cpp": "#include <bitgraph/formats/csr.hpp>\n",
    "src/cli/main.cpp": '#include <bitgraph/bitgraph.hpp>\n#include "nn/gcn.hpp"\n',
}


def run_checker(extra):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**GOOD, **extra}.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, CHECKER, folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class CheckFloors(unittest.TestCase):
    def refuses(self, name, text, reason):
        tree = {name: text}
        if name.startswith("include/") and name not in GOOD:  # so that this is all that is wrong
            tree[UMBRELLA] = GOOD[UMBRELLA] + f"#include <{name.removeprefix('include/')}>\n"
        code, output = run_checker(tree)
        self.assertEqual(code, 1, f"accepted {name}: {text!r}")
        self.assertEqual(len(output.splitlines()), 1, output)
        self.assertIn(reason, output)
        self.assertIn(name if "each other" not in reason else "", output)

    def test_the_good_tree_passes(self):
        self.assertEqual(run_checker({}), (0, ""))

    def test_an_empty_tree_is_not_good(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, CHECKER, folder], capture_output=True, check=False)
            self.assertEqual(done.returncode, 1)

    def test_asserts(self):
        self.refuses("src/core/a.cpp", "#include <cassert>\n", "assert")
        self.refuses("include/bitgraph/core/a.hpp", "#include <cassert>\n", "assert")

    def test_upward(self):
        self.refuses("src/core/a.cpp", "#include <bitgraph/formats/csr.hpp>\n", "upward")
        self.refuses("src/formats/a.cpp", '#include "ops/small.hpp"\n', "upward")
        self.refuses("src/ops/spmm/a.cpp", '# include "io/file.hpp"\n', "upward")
        self.refuses("src/io/a_test.cpp", "#include <bitgraph/nn/gcn.hpp>\n", "upward")
        self.refuses("include/bitgraph/nn/a.hpp", '#include "cli/args.hpp"\n', "upward")

    def test_sideways(self):
        self.refuses("src/nn/a.cpp", "#include <bitgraph/graph/bfs.hpp>\n", "sideways")
        self.refuses("src/graph/a.cpp", '#include "nn/gcn.hpp"\n', "sideways")

    def test_another_operators_inside(self):
        self.refuses("src/ops/gemm/a.cpp", '#include "ops/spmm/spmm.hpp"\n', "operator 'spmm'")
        self.refuses("src/nn/a.cpp", '#include "ops/spmm/spmm.hpp"\n', "operator 'spmm'")

    def test_a_kernel_has_at_most_six_levels_of_headers(self):
        chain = {f"src/ops/dense/h{n}.cuh": f'#include "ops/dense/h{n + 1}.cuh"\n' for n in range(1, 6)}
        chain["src/ops/dense/h6.cuh"] = "#include <cstdint>\n"
        kernel = {"src/ops/dense/cuda.cu": '#include "ops/dense/h1.cuh"\n#include "ops/dense/h4.cuh"\n'}
        self.assertEqual(run_checker({**chain, **kernel}), (0, ""))
        chain["src/ops/dense/h6.cuh"] = "#include <bitgraph/core/device.hpp>\n"
        code, output = run_checker({**chain, **kernel})
        self.assertEqual(code, 1)
        self.assertIn("ops/dense/cuda.cu: 7 levels of includes, at most 6: ops/dense/h1.cuh <- ", output)
        of_host = {"src/ops/dense/cpu.cpp": kernel["src/ops/dense/cuda.cu"]}
        self.assertEqual(run_checker({**chain, **of_host}), (0, ""))

    def test_a_folder_of_src_has_at_most_twenty_files(self):
        for folder in ("src/core", "src/formats", "src/ops/dense", "src/io/text", "src/nn/inference", "src/cli/bench"):
            files = {f"{folder}/a{n}.cpp": "" for n in range(20)}
            self.assertEqual(run_checker(files), (0, ""))
            code, output = run_checker({**files, f"{folder}/README.md": ""})
            self.assertEqual(code, 1)
            self.assertIn(f"{folder}: 21 files, at most 20", output)

    def test_a_thousand_lines_have_half_a_macro(self):
        lines = "int a;\n" * 3990
        self.assertEqual(run_checker({"src/io/a.cpp": lines + "#define A 1\n  # define B\n"}), (0, ""))
        code, output = run_checker({"src/io/a.cpp": lines + "#define A 1\n#define B\n#define C(x) x\n"})
        self.assertEqual(code, 1)
        self.assertIn("3 macros in ", output)

    def test_public_headers_know_no_backend(self):
        private = "../src/core/threads/parallel.hpp"
        for header in ("omp.h", "fmt/format.h", "nlohmann/json.hpp", "zip.h", private, "stdio.h"):
            self.refuses("include/bitgraph/io/a.hpp", f"#include <{header}>\n", "public header")
        self.refuses("include/bitgraph/io/a.hpp", "#include <hwy/highway.h>\n", "SIMD")
        self.refuses("include/bitgraph/io/cpu.hpp", "#include <immintrin.h>\n", "SIMD")
        self.refuses("include/bitgraph/io/a.hpp", "#include <cuda_runtime.h>\n", "CUDA")

    def test_backends_stay_in_their_files(self):
        self.refuses("src/ops/spmm/spmm.cpp", "#include <immintrin.h>\n", "SIMD")
        self.refuses("src/ops/spmm/cpu_vote.cpp", "#include <cuda_runtime.h>\n", "CUDA")

    def test_umbrella(self):
        self.refuses("src/nn/a.cpp", "#include <bitgraph/bitgraph.hpp>\n", "umbrella")

    def test_the_umbrella_has_every_public_header(self):
        code, output = run_checker({"include/bitgraph/io/graph.hpp": "\n"})
        self.assertEqual((code, len(output.splitlines())), (1, 1), output)
        self.assertIn("io/graph.hpp", output)
        self.assertIn("does not include this public header", output)

    def test_cycles_and_unknown_floors(self):
        self.refuses("src/ops/spmm/spmm.hpp", '#include "ops/spmm/spmm.hpp"\n', "include each other")
        self.refuses("include/bitgraph/core/device.hpp", "#include <bitgraph/core/device.hpp>\n", "include each other")
        self.refuses("src/attic/a.cpp", "\n", "not a floor")


if __name__ == "__main__":
    unittest.main()
