# SPDX-License-Identifier: Apache-2.0
"""The program under test, and the folder that each test has to itself."""

import json
import os
import pathlib
import resource
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["BITGRAPH_PROGRAM"]
ARCHITECTURES = ["gcn", "inductive-gcn", "sage", "saint", "gin", "inductive-gin"]
SANITIZED = bool(os.environ.get("BITGRAPH_SANITIZED"))  # all takes long there: what goes the same way is left out


def start(*arguments, timeout=300, **options):
    """What became of the program, its output as text."""
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=timeout,
                          **options)


def run(*arguments):
    """The object that --json prints."""
    done = start(*arguments, "--json", "--quiet")
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def little_memory():
    """Half a gigabyte: what a header promises must not be taken."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))


def memory_limit():
    """little_memory, for preexec_fn. Sanitizers reserve more than that: there the limit is left out."""
    return little_memory if start("--version", preexec_fn=little_memory).returncode == 0 else None


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bitgraph-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        """A file of text or bytes."""
        path = self.folder / name
        path.write_bytes(content.encode("ascii") if isinstance(content, str) else content)
        return path
