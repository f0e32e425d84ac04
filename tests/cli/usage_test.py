# SPDX-License-Identifier: Apache-2.0
"""The program answers."""

import unittest

from program import start


class Usage(unittest.TestCase):
    def test_help(self):
        done = start("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("bitgraph", done.stdout)
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
