# SPDX-License-Identifier: Apache-2.0
"""Broken graph files: exit code 3 and one line that names file, line and reason."""

import gzip
import os
import unittest

from program import InFolder, memory_limit, start

BANNER = b"%%MatrixMarket matrix coordinate "
PATTERN = BANNER + b"pattern general\n"
# A cut or damaged stream of deflated text: the numbers do not repeat, so that it is long.
PACKED = gzip.compress(b"".join(b"%d %d\n" % (i * i % 9973, i * i * i % 9967) for i in range(20000)), mtime=0)
BOMB = gzip.compress(bytes(1 << 24), mtime=0)

# Name, bytes, what the line says behind the file's name.
CASES = [
    ("empty.mtx", b"", ":1: found the end of the file, expected a %%MatrixMarket matrix header"),
    ("array.mtx", b"%%MatrixMarket matrix array real general\n1 1\n1\n",
     ":1: found '%%MatrixMarket matrix array real general', expected a coordinate matrix"),
    ("promise.mtx", PATTERN + b"3 3 1000000000000\n1 1\n",
     ":2: found '3 3 1000000000000', expected no more entries than the file has room for"),
    ("nodes.mtx", PATTERN + b"1000000000000 1000000000000 1\n1 1\n",
     ":2: found '1000000000000 1000000000000 1', expected fewer than 2^32 - 1 nodes"),
    ("few.mtx", PATTERN + b"3 3 2\r\n1 1\r\n", ":4: found 1 entries, expected 2 as the size line says"),
    ("outside.mtx", PATTERN + b"3 3 1\n1 4\n",
     ":3: found '1 4', expected a row and a column within the sizes, counted from 1"),
    ("huge.mtx", PATTERN + b"3 3 1\n99999999999999999999999 1\n",
     ":3: found '99999999999999999999999 1', expected a row and a column within the sizes, counted from 1"),
    ("word.mtx", BANNER + b"real symmetric\n3 3 1\n2 1 x",
     ":3: found '2 1 x', expected row, column, a number, and nothing more"),
    ("binary.mtx", bytes(range(256)), ":1: found '??????????', expected a %%MatrixMarket matrix header"),
    ("word.txt", b"# comment\n0 1\r\nzero one\r\n",
     ":3: found 'zero one', expected two ids, whole numbers from 0 to 2^64 - 1 "
                                                       "(--ids words takes others)"),
    ("huge.csv", b"a,b\n0,18446744073709551616",
     ":2: found '0,18446744073709551616', expected two ids, whole numbers from 0 to 2^64 - 1 "
                                                       "(--ids words takes others)"),
    ("line.txt.gz", gzip.compress(b"0 1\n1\n", mtime=0),
     ":2: found '1', expected two ids, whole numbers from 0 to 2^64 - 1 "
                                                       "(--ids words takes others)"),
    ("empty.graph", b"", ":1: found the end of the file, expected nodes edges [format [weights]]"),
    ("promise.graph", b"1000000000000 1000000000000\n",
     ":1: found '1000000000000 1000000000000', expected fewer than 2^32 - 1 nodes"),
    ("short.graph", b"2 1\n2", ":2: found 1 lines of nodes, expected 2 as the header says"),
    ("one_way.graph", b"3 1\n2\n\n2\n",
     ":2: found node 1 with the neighbour 2, expected node 2 to have the neighbour 1"),
    ("cut.txt.gz", PACKED[: len(PACKED) // 2], ": byte 0: damaged or cut gzip data"),
    ("damaged.mtx.gz", PACKED[:1000] + b"\x00\xff" + PACKED[1002:], ": byte 0: damaged or cut gzip data"),
    ("plain.graph.gz", b"2 1\n2\n1\n", ": byte 0: not gzip data"),
    ("bomb.mtx.gz", BOMB, ":1: found '????????????????????????????????????????...', "
                          "expected a %%MatrixMarket matrix header"),
]


class BadGraph(InFolder):
    @classmethod
    def setUpClass(cls):
        limit = memory_limit()
        cls.limit = staticmethod(limit) if limit else None

    def put(self, name, content):
        return str(self.write(name, content))

    def run_program(self, *arguments):
        return start(*arguments, preexec_fn=self.limit)

    def check_refused(self, arguments, message):
        done = self.run_program(*arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "", f"bitgraph: {message}\n"))

    def test_one_line_and_code_3(self):
        for name, content, message in CASES:
            path = self.put(name, content)
            for threads in ("1", "2"):
                with self.subTest(name=name, threads=threads):
                    self.check_refused(["info", "--json", "--threads", threads, path], path + message)

    def test_a_file_that_cannot_be_read(self):
        missing = str(self.folder / "missing.mtx")
        self.check_refused(["info", missing], f"{missing}: cannot open: No such file or directory")
        folder = str(self.folder / "folder.mtx")
        os.mkdir(folder)
        self.check_refused(["info", folder], f"{folder}: cannot open: not a regular file")

    def test_convert_leaves_nothing_behind(self):
        path = self.put("word.txt", b"0 1\nx\n")
        out = self.folder / "out.mtx"
        before = sorted(os.listdir(self.folder))
        self.check_refused(["convert", path, str(out)],
                           path + ":2: found 'x', expected two ids, whole numbers from 0 to 2^64 - 1 "
                                                       "(--ids words takes others)")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_a_weighted_file_where_only_the_pattern_is_kept(self):
        path = self.put("weights.mtx", BANNER + b"real general\n2 2 1\n1 2 0.5\n")
        out = str(self.folder / "out.graph")
        done = self.run_program("convert", path, out)
        self.assertEqual(done.returncode, 3)
        self.assertTrue(done.stderr.startswith(f"bitgraph: {path}: "), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
