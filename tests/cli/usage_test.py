# SPDX-License-Identifier: Apache-2.0
"""The program answers."""

import os
import subprocess
import unittest

PROGRAM = os.environ["BITGRAPH_PROGRAM"]


class Usage(unittest.TestCase):
    def test_help(self):
        done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertIn("bitgraph", done.stdout)
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
