# SPDX-License-Identifier: Apache-2.0
"""The checker of documents itself: on small trees, each with one thing wrong."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKER = ROOT / "scripts" / "check_docs.py"

LONG = "word " * 30
GOOD = {
    "src/ops/spmm/spmm.cpp": "",
    "README.md": "# Title\n\nSee [the house](docs/architecture.md#map), src/ops/spmm/ and <https://example.org>.\n",
    "docs/architecture.md": f"Prose.\n\n| a table |\n|---|\n| {LONG} |\n\n```\n{LONG} src/gone.cpp\n```\n\n"
                            f"    {LONG}\n\nA new one goes to `src/ops/<name>/NAME.cpp` or src/ops/*/cuda.cu.\n",
    "CHANGELOG.md": "- src/gone.cpp went away.\n",
}


def run_checker(extra):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {**GOOD, **extra}.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, CHECKER, folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class CheckDocs(unittest.TestCase):
    def refuses(self, name, text, *expected):
        code, out = run_checker({name: text})
        self.assertEqual(code, 1, out)
        self.assertEqual(len(out.splitlines()), 1, out)
        for part in (f"{name}:", *expected):
            self.assertIn(part, out)

    def test_takes_good_documents(self):
        self.assertEqual(run_checker({}), (0, ""))

    def test_refuses_a_long_line_of_prose(self):
        self.refuses("docs/guide/page.md", f"Short.\n\n{LONG}\n", ":3:", "150 characters")

    def test_takes_a_line_of_119_characters_and_no_more(self):
        self.assertEqual(run_checker({"docs/page.md": "x" * 119 + "\n"}), (0, ""))
        self.refuses("docs/page.md", "x" * 120 + "\n", "120 characters")

    def test_refuses_a_link_that_leads_nowhere(self):
        self.refuses("docs/page.md", "See [this](formats.md#bits).\n", "formats.md")

    def test_refuses_a_path_that_is_not_there(self):
        self.refuses("docs/page.md", "It is in `src/ops/gemm/gemm.cpp`.\n", "src/ops/gemm/gemm.cpp")
        self.refuses("src/ops/spmm/README.md", "| where |\n|---|\n| src/ops/gemm |\n", "src/ops/gemm")

    def test_refuses_a_source_that_is_not_in_its_room(self):
        self.assertEqual(run_checker({"src/ops/spmm/README.md": "| `spmm.cpp` | `src/ops/spmm/spmm.cpp` |\n"}), (0, ""))
        self.refuses("src/ops/spmm/README.md", "| spmm | `cuda/plan.cpp` |\n", "cuda/plan.cpp")

    def test_refuses_a_tree_without_documents(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, CHECKER, folder], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no documents", done.stdout)


if __name__ == "__main__":
    unittest.main()
