# SPDX-License-Identifier: Apache-2.0
"""scripts/result_hashes.py shows a line for each result and each refusal, and fails where the program fails."""

import pathlib
import subprocess
import sys
import unittest

import program

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "result_hashes.py"
RUNS = 39  # of a graph: 13 calls, in 3 formats
TRIANGLE = "3 3\n2 3\n1 3\n1 2\n"
WEIGHTED = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 0.5\n2 3 -1\n"
# Answers as the program does: `info` and `bfs` as the test says, all others with an empty object and files.
FAKE = """#!/bin/sh
case $1 in
  info) echo '{"num_entries": 6}'; exit ;;
  bfs) echo "$2: MESSAGE" >&2; exit CODE ;;
esac
while [ $# -gt 0 ]; do
  [ "$1" != --out ] || : >"$2"
  shift
done
echo '{}'
"""


class ResultHashes(program.InFolder):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.data.mkdir()

    def hashes(self, *options, expected=0, tool=program.PROGRAM):
        """The lines of the script, as {what: hash}."""
        done = subprocess.run([sys.executable, SCRIPT, "--program", tool, "--data", self.data, *map(str, options)],
                              capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(done.returncode, expected, done.stdout + done.stderr)
        self.message = done.stderr
        lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
        self.assertEqual(len(dict(map(reversed, lines))), len(lines))
        return {what: number for number, what in lines}

    def test_graphs_weighted_graphs_and_files_that_are_none(self):
        (self.data / "triangle.graph").write_text(TRIANGLE)
        (self.data / "weighted.mtx").write_text(WEIGHTED)
        (self.data / "ind.cora.graph").write_bytes(b"\x80\x02ccollections\ndefaultdict\n")
        lines = self.hashes()
        of = {name: [what for what in lines if what.startswith(name)] for name in ("triangle", "weighted", "ind.cora")}
        self.assertEqual(of["ind.cora"], ["ind.cora.graph info: exit 3"])
        self.assertEqual((len(of["triangle"]), len(of["weighted"])), (RUNS, RUNS))
        self.assertFalse([what for what in of["triangle"] if "exit" in what])
        self.assertIn("weighted.mtx bfs csr: exit 3", lines)
        self.assertIn("weighted.mtx sssp csr: exit 3", lines)
        self.assertIn("weighted.mtx sssp --ignore-weights csr", lines)
        # Neither the folder nor the time of the run counts.
        self.data = self.data.rename(self.folder / "elsewhere")
        self.assertEqual(self.hashes(), lines)
        # What is computed counts.
        (self.data / "triangle.graph").write_text("3 2\n2\n1 3\n2\n")
        changed = self.hashes("--only", "triangle")
        self.assertEqual(len(changed), RUNS)
        self.assertNotEqual(changed["triangle.graph bfs csr"], lines["triangle.graph bfs csr"])

    @unittest.skipIf(program.SANITIZED, "minutes")
    def test_networks(self):
        (self.data / "npz").mkdir()
        program.run("generate", "planted-partition", self.data / "npz" / "set.npz", "--nodes", 80, "--features", 30)
        lines = self.hashes("--epochs", 1)
        self.assertEqual(len(lines), len(program.ARCHITECTURES) * (2 + 3 + 3))
        self.assertIn("set saint full logits bin", lines)
        self.assertIn("set gcn bin taught model", lines)

    def fake(self, code, message):
        tool = self.write("fake", FAKE.replace("CODE", str(code)).replace("MESSAGE", message))
        tool.chmod(0o755)
        return tool

    def test_refusals_are_results_and_other_exits_failures(self):
        (self.data / "triangle.graph").write_text(TRIANGLE)
        seen = set()
        for code, message in ((2, "no"), (3, "no"), (3, "not this"), (4, "no")):
            lines = self.hashes(tool=self.fake(code, message))
            self.assertEqual(len(lines), RUNS)
            seen.add(lines[f"triangle.graph bfs csr: exit {code}"])
        self.assertEqual(len(seen), 4)
        lines = self.hashes(tool=self.fake(1, "no"), expected=1)
        self.assertEqual(len(lines), RUNS - 3)
        self.assertIn("failed with exit 1: bfs ", self.message)

    def test_no_data(self):
        self.assertEqual(self.hashes(expected=77), {})


if __name__ == "__main__":
    unittest.main()
