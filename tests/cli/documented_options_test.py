# SPDX-License-Identifier: Apache-2.0
"""docs/cli.md names the options that commands have, and no others."""

import pathlib
import re
import unittest

from program import start

COMMANDS = ["info", "convert", "generate", "bfs", "sssp", "pagerank", "cc", "tc", "mis", "color", "diameter", "betweenness",
            "closeness", "msbfs", "train",
            "infer", "tune", "datasets list", "datasets path", "datasets fetch", "doctor", "bench graph", "bench gnn",
            "bench operators"]
PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text()
ALGORITHMS = {"--tile", "--reorder", "--id-map", "--out"}
GRAPH = {"--format", "--columns", "--delimiter", "--ids", "--header", "--undirected", "--ignore-weights"}
EVERYWHERE = {"--help", "--json", "--quiet", "--device", "--threads", "--seed", "--estimate"}


def options_of(text):
    return set(re.findall(r"--[a-z][a-z-]+", text))


def documented(command):
    """What the table of options says of a command."""
    table = PAGE.split("## Options")[1].split("## JSON")[0]
    found = set()
    for row in re.findall(r"^\| ([^|]+) \| (.+) \|$", table, re.MULTILINE):
        if any(re.match(rf"{command}\b", name.strip()) for name in row[0].split(",")):
            found |= options_of(row[1])
    return found


class DocumentedOptions(unittest.TestCase):
    def test_every_option(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                done = start(*command.split(), "--help")
                self.assertEqual(done.returncode, 0)
                options = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", done.stdout, re.MULTILINE)) - EVERYWHERE
                if "--columns" in options:
                    self.assertEqual(GRAPH - options, set())
                    options -= GRAPH
                    if command not in ("convert", "info"):
                        options -= ALGORITHMS
                self.assertEqual(options, documented(command))


if __name__ == "__main__":
    unittest.main()
