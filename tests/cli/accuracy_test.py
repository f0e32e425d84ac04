# SPDX-License-Identifier: Apache-2.0
"""scripts/accuracy.py: one float model of a seed teaches the binary forms, and they come out as if each had its own."""

import json
import pathlib
import subprocess
import sys
import unittest

from program import PROGRAM, InFolder

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "accuracy.py"


class Accuracy(InFolder):
    def measure(self, precisions):
        """What the script found, and the trainings that it started."""
        calls, program, out = (self.folder / name for name in ("calls", "program", "found.json"))
        calls.write_text("")
        program.write_text(f'#!/bin/sh\necho "$*" >> {calls}\nexec {PROGRAM} "$@"\n')
        program.chmod(0o755)
        done = subprocess.run([sys.executable, SCRIPT, "--program", program, "--inductive", "--datasets", "flickr/400",
                               "--models", "sage", "--precisions", precisions, "--seeds", "1", "--epochs", "3",
                               "--hidden", "16", "--jobs", "1", "--out", out],
                              capture_output=True, text=True, check=False, timeout=300)
        self.assertTrue(out.exists(), done.stderr)
        return (json.loads(out.read_text())["flickr/400"]["sage"],
                [line.split() for line in calls.read_text().splitlines() if line.startswith("train")])

    def test_a_float_model_that_is_there_teaches(self):
        found, calls = self.measure("float,full,bin")
        self.assertEqual(["--teacher" in call for call in calls], [False, True, True])
        taught = calls[0][calls[0].index("--out") + 1]
        self.assertEqual([call[call.index("--teacher") + 1] for call in calls[1:]], [taught, taught])
        alone, calls = self.measure("full,bin")
        self.assertFalse(any("--teacher" in call for call in calls))
        self.assertEqual({form: found[form] for form in alone}, alone)


if __name__ == "__main__":
    unittest.main()
