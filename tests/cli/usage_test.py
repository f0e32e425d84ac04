# SPDX-License-Identifier: Apache-2.0
"""The program answers."""

import json
import pathlib
import re
import unittest

from program import start

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Usage(unittest.TestCase):
    def test_help(self):
        done = start("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("bitgraph", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_the_version_is_the_projects(self):
        cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        version = re.search(r"project\(bitgraph VERSION (\S+)", cmake).group(1)
        self.assertEqual(start("--version").stdout, f"bitgraph {version}\n")
        self.assertEqual(json.loads(start("doctor", "--json").stdout)["version"], version)

    def test_the_version_stands_in_one_place(self):
        cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        version = re.search(r"project\(bitgraph VERSION (\S+)", cmake).group(1)
        files = [path for folder in ("include", "src", "cmake") for path in sorted((ROOT / folder).rglob("*.*"))]
        again = [str(path) for path in [ROOT / "README.md", *files]
                 if version in path.read_text(encoding="utf-8", errors="ignore")]
        self.assertEqual(again, [])


if __name__ == "__main__":
    unittest.main()
