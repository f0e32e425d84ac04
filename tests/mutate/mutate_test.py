# SPDX-License-Identifier: Apache-2.0
"""scripts/mutate.sh finds the change that a weak test misses, and leaves the tree as it is."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "mutate.sh"
# Read by the shell: each line is arithmetic that the test evaluates.
SOURCE = "int f(int a, int b) {\n  // a + b in a comment\n  const int sum = a + b;\n  if (a < b) return sum;\n  return a;\n}\n"
STRONG = "grep -q 'a + b;' src/f.cpp && grep -q 'a < b) return' src/f.cpp && ! grep -q '!(' src/f.cpp && " \
         "grep -q 'sum =' src/f.cpp\n"
WEAK = "grep -q 'a < b) return' src/f.cpp && ! grep -q '!(' src/f.cpp && grep -q 'sum =' src/f.cpp\n"


class Mutate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bitgraph-test-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q", self.root], check=True)
        (self.root / "src").mkdir()
        (self.root / "src" / "f.cpp").write_text(SOURCE)

    def mutate(self, test, *options):
        (self.root / "test.sh").write_text(test)
        done = subprocess.run([SCRIPT, "src", "--build", "true", "--test", "sh test.sh", "--work", self.root / "copy",
                               *map(str, options)], cwd=self.root, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((self.root / "src" / "f.cpp").read_text(), SOURCE)
        self.assertEqual((self.root / "copy" / "src" / "f.cpp").read_text(), SOURCE)
        return done

    def test_a_good_test_kills_every_change(self):
        done = self.mutate(STRONG, "--least", 1)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(\d+) of \1 killed \(100 %\), 0 did not compile; seed 0\n\Z")
        self.assertNotIn("f.cpp:2", done.stdout)

    def test_what_survives_is_shown(self):
        done = self.mutate(WEAK, "--least", 1)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("survived          src/f.cpp:3\n", done.stdout)
        self.assertIn("-  const int sum = a + b;\n+  const int sum = a - b;\n", done.stdout)

    def test_a_change_that_loops_is_killed_by_the_clock(self):
        done = self.mutate("grep -q 'a + b;' src/f.cpp || sleep 60\ngrep -q 'a < b)' src/f.cpp\n", "--seconds", 0.5)
        self.assertIn("killed            src/f.cpp:3\n", done.stdout, done.stderr)

    def test_tests_that_fail_at_once_and_empty_rooms_are_wrong_usage(self):
        self.assertEqual(self.mutate("false\n").returncode, 2)
        (self.root / "src" / "f.cpp").write_text("// nothing\n")
        done = subprocess.run([SCRIPT, "src", "--build", "true", "--test", "true"], cwd=self.root, capture_output=True,
                              text=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (2, "mutate: nothing there to change\n"))


if __name__ == "__main__":
    unittest.main()
