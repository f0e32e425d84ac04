# SPDX-License-Identifier: Apache-2.0
"""Broken .npz, .b2sr and model files: exit code 3 and one line that names file and reason, in bounded memory."""

import io
import json
import os
import struct
import unittest
import zipfile
import zlib

from program import InFolder, memory_limit, run, start



def npy(kind, shape, data):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def ints(*values):
    return npy("<i8", f"({len(values)},)", struct.pack(f"<{len(values)}q", *values))


def archive(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return out.getvalue()


def csr(**changed):
    return archive(**({"indptr": ints(0, 1, 1), "indices": ints(1), "shape": ints(2, 2)} | changed))


def dataset(**changed):
    members = {"adj_indptr": ints(0, 1, 1), "adj_indices": ints(1), "adj_shape": ints(2, 2), "labels": ints(0, 1),
               "attr_indptr": ints(0, 1, 1), "attr_indices": ints(0), "attr_shape": ints(2, 1),
               "train_idx": ints(0), "val_idx": ints(1)}
    return archive(**(members | changed))


def dense(*values, shape="(2, 2)"):
    """A data set with dense features, stored: they could stay in the mapped file."""
    members = {"adj_indptr": ints(0, 1, 1), "adj_indices": ints(1), "adj_shape": ints(2, 2), "labels": ints(0, 1),
               "attr_matrix": npy("<f4", shape, struct.pack(f"<{len(values)}f", *values))}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in members.items():
            file.writestr(f"{name}.npy", data)
    return out.getvalue()


def many_members(count):
    """A zip64 archive of one member whose end claims `count`."""
    data = ints(0)
    common = struct.pack("<HHHIIIIHH", 20, 0, 0, 0x210000, zlib.crc32(data), len(data), len(data), 5, 0)
    local = b"PK\3\4" + common + b"a.npy" + data
    entry = b"PK\1\2" + struct.pack("<H", 20) + common + bytes(14) + b"a.npy"
    record = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, len(entry), len(local))
    locator = b"PK\6\7" + struct.pack("<IQI", 0, len(local) + len(entry), 1)
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 65535, 65535, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
    return local + entry + record + locator + end


BOMB = npy("<f4", "(1,)", bytes(4)) + bytes(1 << 28)  # a quarter of a gigabyte behind one number
MAGIC = b"B2SR\r\n\x1a\n"

# Name, bytes, what the line says behind the file's name. A reason that ends in ... is another library's from there on.
GRAPHS = [
    ("empty.npz", b"", ": not a .npz archive: an empty file"),
    ("text.npz", b"no archive", ": not a .npz archive: ..."),
    ("cut.npz", csr()[:-30], ": not a .npz archive: ..."),
    ("members.npz", many_members(10**12), ": not a .npz archive: ..."),
    ("nothing.npz", archive(x=ints(1)),
     ": holds neither a SciPy sparse matrix nor adj_data, adj_indices, adj_indptr, adj_shape"),
    ("promise.npz", csr(indices=npy("<i8", "(1000000000000,)", b"")), ": indices: a shape of (1000000000000) asks for ..."),
    ("wraps.npz", csr(indices=npy("<i8", "(4294967296, 4294967296)", b"")), ": indices: a shape of ..."),
    ("rows.npz", csr(shape=ints(4000000000, 2)), ": indptr: 3 pointers, expected 4000000001 for the shape"),
    ("columns.npz", csr(format=npy("|S3", "()", b"csc"), shape=ints(4000000000, 2), indptr=ints(0, 1, 1)),
     ": shape: a side of 4000000000, more than a file of this size can mean"),
    ("outside.npz", csr(indices=ints(2)), ": indices: element 0: found 2, expected less than 2"),
    ("bomb.npz", csr(data=BOMB), ": data: the archive says ..."),
    ("objects.npz", csr(indices=npy("|O", "(1,)", b"cos\nsystem\n")), ": indices: the elements are not numbers"),
    ("empty.b2sr", b"", ": byte 0: not a .b2sr file: expected the magic B2SR"),
    ("text.b2sr", MAGIC.replace(b"\r\n", b"\n") + bytes(200), ": byte 0: not a .b2sr file: expected the magic B2SR"),
    ("cut.b2sr", MAGIC + bytes(100), ": byte 108: the header is cut"),
    ("version.b2sr", MAGIC + struct.pack("<I", 9) + bytes(200),
     ": byte 8: version 9 of the format, this program reads versions 1 and 2: a newer one wrote it"),
    ("sum.b2sr", MAGIC + struct.pack("<IIQQQQ", 1, 4, 10**12, 10**12, 10**12, 10**12) + bytes(200),
     ": byte 120: the header's checksum is wrong: the file is damaged"),
]

DATASETS = [
    ("labels.npz", dataset(labels=ints(0)), ": labels: 1 of them for 2 nodes"),
    ("classes.npz", dataset(labels=ints(0, 10**12)), ": labels: node 1: found 1000000000000, expected -1 .. 65535"),
    ("empty.npz", dataset(test_idx=ints()), ": test_idx: no nodes; a data set without a split leaves the member out"),
    ("split.npz", dataset(train_idx=ints(2)), ": train_idx: element 0: node 2 is outside 0 .. 1"),
    ("features.npz", dataset(attr_shape=ints(10**12, 1)),
     ": attr_shape: a side of 1000000000000, expected less than 2^32 - 1"),
    ("dense.npz", dataset(attr_indptr=npy("|O", "()", b"")), ": attr_indptr: the elements are not numbers"),
    ("nan.npz", dataset(attr_data=npy("<f4", "(1,)", struct.pack("<f", float("nan")))),
     ": attr_data: feature 0 of node 0 is nan, expected a finite number"),
    ("dense_nan.npz", dense(1, 2, float("inf"), 4), ": attr_matrix: feature 0 of node 1 is inf, expected a finite number"),
    ("dense_shape.npz", dense(1, 2, 3, 4, shape="(1, 4)"),
     ": attr_matrix: a shape of (1, 4), expected 2 rows of less than 2^32 - 1 features"),
    ("dense_promise.npz", dense(1, 2, 3, 4, shape="(2, 1000000000000)"), ": attr_matrix: a shape of (2, 1000000000000) ..."),
]

# The text that takes the place of one of a set's files, which file it is, what the line says behind the file's name.
MUSAE = [
    ("edges.csv", "a,b\n0,1\n1,9\n", ":3: node 9 has no row in FOLDER/set_target.csv"),
    ("edges.csv", "a,b\n0,x\n", ":2: found '0,x', expected two ids, whole numbers from 0 to 2^64 - 1"),
    (".json", '{"0": [1, NaN]}', ": byte 10: found 'NaN]}', expected a feature, a whole number"),
    (".json", '{"5": [1]}', ": byte 4: node 5 has no row in FOLDER/set_target.csv"),
    (".json", '{"1": [4000000000]}', ": byte 7: found '4000000000]}', expected a feature that a file of this size can mean"),
    ("target.csv", "id,y\n0,a\n0,b\n", ":3: node 0 stands on line 2 before"),
    ("target.csv", 'id,y\n0,a\n1,"b\n', ":3: found a quote that is not closed"),
    ("target.csv", "id,y\n0,\n1,\n", ": no node has a class"),
]


def tensors(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


MODELS = [
    ("empty.safetensors", b"", ": byte 0: not a safetensors file: the header is cut"),
    ("promise.safetensors", struct.pack("<Q", 10**12) + b"{}",
     ": byte 0: a header of 1000000000000 bytes does not fit the file"),
    ("json.safetensors", tensors(b"[1,"), ": byte 8: the header is not a JSON object"),
    ("deep.safetensors", tensors(b'{"a":' + b"[" * 1000000), ": byte 20: the header is nested too deep"),
    ("shape.safetensors", tensors({"a": {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4]}}, bytes(4)),
     ": tensor 'a': a shape of (1000000000000) asks for more than the 1 elements that there is room for"),
    ("other.safetensors", tensors({"__metadata__": {"format": "pt"}}), ": neither a bitgraph model nor a state dictionary ..."),
    ("lines.safetensors", tensors({"__metadata__": {"format": "bitgraph-model", "version": "\n\n"}}),
     ": version '??', this program reads versions 1 to 3"),
]


class BadBinary(InFolder):
    @classmethod
    def setUpClass(cls):
        limit = memory_limit()
        cls.limit = staticmethod(limit) if limit else None

    def path(self, name):
        return str(self.folder / name)

    def put(self, name, content):
        return str(self.write(name, content))

    def check_refused(self, path, message, *arguments):
        done = start(*arguments, preexec_fn=self.limit)
        self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
        expected = f"bitgraph: {path}{message}"
        if message.endswith("..."):
            self.assertTrue(done.stderr.startswith(expected[:-3]), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        else:
            self.assertEqual(done.stderr, expected + "\n")

    def test_graphs(self):
        for name, content, message in GRAPHS:
            with self.subTest(name=name):
                path = self.put(name, content)
                self.check_refused(path, message, "info", "--json", path)

    def test_the_base_of_the_broken_graphs_is_good(self):
        self.assertEqual(run("info", self.put("good.npz", csr()))["num_entries"], 1)

    def test_datasets(self):
        for name, content, message in DATASETS:
            with self.subTest(name=name):
                path = self.put(name, content)
                out = self.path("out.safetensors")
                self.check_refused(path, message, "train", path, "--epochs", "1", "--out", out)
                self.assertFalse(os.path.exists(out))

    def test_musae(self):
        good = {"edges.csv": "a,b\n0,1\n", ".json": '{"0": [1]}', "target.csv": "id,y\n0,a\n1,b\n"}
        for changed, text, message in MUSAE:
            with self.subTest(text=text):
                for ending, content in (good | {changed: text}).items():
                    path = self.put(f"set{'' if ending == '.json' else '_'}{ending}", content.encode())
                    if ending == changed:
                        broken = path
                message = message.replace("FOLDER", str(self.folder))
                self.check_refused(broken, message, "train", str(self.folder), "--epochs", "1", "--out", self.path("out"))

    def test_splits(self):
        members = {"adj_indptr": ints(0, 1, 1), "adj_indices": ints(1), "adj_shape": ints(2, 2), "labels": ints(0, 1),
                   "attr_indptr": ints(0, 1, 1), "attr_indices": ints(0), "attr_shape": ints(2, 1), "train_idx": ints(0)}
        path = self.put("half.npz", archive(**members))
        self.check_refused("train: the data set half has no validation nodes, 1 of 2 are for training", "",
                           "train", path, "--out", self.path("out"))
        path = self.put("few.npz", dataset())
        self.check_refused("split: 0.1 of the 2 nodes with a label in few is none for training", "", "train", path, "--out",
                           self.path("out"), "--split-shares", "0.1,0.5,0.4")

    def test_models(self):
        data = self.put("good.npz", dataset())
        for name, content, message in MODELS:
            with self.subTest(name=name):
                path = self.put(name, content)
                self.check_refused(path, message, "infer", path, data)

    def test_checkpoints(self):
        data = self.put("good.npz", dataset())
        for name, content, message in MODELS[:5]:
            with self.subTest(name=name):
                path = self.put(name.replace("safetensors", "ckpt"), content)
                self.check_refused(path, message, "train", data, "--precision", "full", "--epochs", "1", "--out",
                                   self.path("out.safetensors"), "--checkpoint", path)


if __name__ == "__main__":
    unittest.main()
