# SPDX-License-Identifier: Apache-2.0
"""Files written here open in NumPy and SciPy, and the reverse. Skipped, loudly, where either is missing."""

import json
import pathlib
import struct
import sys
import unittest

import program

try:
    import numpy as np
    import scipy.io
    import scipy.sparse as sparse
except ImportError as error:
    print(f"SKIPPED: {error}: install python3-numpy and python3-scipy", file=sys.stderr)
    np = None

SIDES = ("csr", "4", "8", "16", "32", "64")


def run(*arguments):
    done = program.start(*arguments)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.returncode}: {done.stderr}")
    return done.stdout


def pattern(nrows, ncols, entries, seed):
    """A random matrix of ones; rows and columns differ in kind, so that a transposed one is not equal."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, nrows, entries)
    cols = (random.random(entries) ** 2 * ncols).astype(int)
    matrix = sparse.csr_matrix((np.ones(entries, dtype=np.float32), (rows, cols)), shape=(nrows, ncols))
    matrix.data[:] = 1
    return matrix


def read_b2sr(path):
    """The matrix of a .b2sr file, read by nothing but docs/formats.md."""
    data = pathlib.Path(path).read_bytes()
    assert data[:8] == b"B2SR\r\n\x1a\n"
    version, k = struct.unpack_from("<II", data, 8)
    nrows, ncols, nvals, count, *sections = struct.unpack_from("<9Q", data, 16)
    file_size = struct.unpack_from("<Q", data, 88)[0]
    assert version == 1 and file_size == len(data) and all(offset % 64 == 0 for offset in sections)
    lines = nrows if k == 0 else -(-nrows // k)
    row_ptr = np.frombuffer(data, "<u8", lines + 1, sections[0])
    col_ind = np.frombuffer(data, "<u4", count, sections[1])
    line = np.repeat(np.arange(lines), np.diff(row_ptr.astype(np.int64)))
    if k == 0:
        rows, cols = line, col_ind
    else:
        bits = np.frombuffer(data, np.uint8, count * k * k // 8, sections[2])
        bits = np.unpackbits(bits, bitorder="little").reshape(count, k, k)
        tile, r, c = np.nonzero(bits)
        rows, cols = line[tile] * k + r, col_ind[tile].astype(np.int64) * k + c
    assert len(rows) == nvals
    numbering = [np.frombuffer(data, kind, nrows, offset) if offset else None
                 for kind, offset in zip(("<u4", "<u8"), sections[3:])]
    return sparse.csr_matrix((np.ones(nvals, dtype=np.float32), (rows, cols)), shape=(nrows, ncols)), *numbering


@unittest.skipIf(np is None, "NumPy or SciPy is missing")
class Arrays(program.InFolder):
    def path(self, name):
        return str(self.folder / name)

    def assert_equal(self, a, b):
        self.assertEqual(a.shape, b.shape)
        self.assertEqual(abs(a.tocsr() - b.tocsr()).nnz, 0)

    def test_scipy_reads_what_is_written(self):
        matrix = pattern(50, 70, 300, 1)
        scipy.io.mmwrite(self.path("in.mtx"), matrix, field="pattern")
        run("convert", self.path("in.mtx"), self.path("out.npz"))
        read = sparse.load_npz(self.path("out.npz"))
        self.assertEqual(read.format, "csr")
        self.assertEqual(read.indices.dtype, np.int32)
        self.assertTrue(read.has_sorted_indices)
        self.assert_equal(read, matrix)

    def test_what_scipy_writes_is_read(self):
        matrix = pattern(60, 40, 200, 2)
        for form in "csr", "csc", "coo":
            for compressed in True, False:
                for kind in np.float64, np.int8, bool:
                    with self.subTest(form=form, compressed=compressed, kind=kind):
                        sparse.save_npz(self.path("in.npz"), matrix.asformat(form).astype(kind), compressed)
                        run("convert", self.path("in.npz"), self.path("out.mtx"))
                        self.assert_equal(scipy.io.mmread(self.path("out.mtx")), matrix)

    def test_b2sr_is_what_its_description_says(self):
        matrix = pattern(130, 90, 400, 3)
        sparse.save_npz(self.path("in.npz"), matrix)
        for side in SIDES:
            with self.subTest(side=side):
                run("convert", self.path("in.npz"), self.path("out.b2sr"), "--tile", side)
                found, new_id, ids = read_b2sr(self.path("out.b2sr"))
                self.assert_equal(found, matrix)
                self.assertIsNone(new_id)
                self.assertIsNone(ids)
                run("convert", self.path("out.b2sr"), self.path("back.npz"))
                self.assert_equal(sparse.load_npz(self.path("back.npz")), matrix)

    def test_numberings(self):
        pathlib.Path(self.path("in.txt")).write_text("10 7\n7 1000000000000\n7 3\n3 10\n", encoding="ascii")
        old_ids = np.array([3, 7, 10, 10**12], dtype=np.uint64)
        run("convert", self.path("in.txt"), self.path("plain.b2sr"), "--tile", "4", "--id-map", self.path("ids.npy"))
        plain, _, ids = read_b2sr(self.path("plain.b2sr"))
        np.testing.assert_array_equal(ids, old_ids)
        np.testing.assert_array_equal(np.load(self.path("ids.npy")), old_ids)
        run("convert", self.path("in.txt"), self.path("out.b2sr"), "--tile", "4", "--reorder", "degree", "--permutation",
            self.path("new.npy"), "--id-map", self.path("ids.npy"))
        moved, new_id, ids = read_b2sr(self.path("out.b2sr"))
        np.testing.assert_array_equal(np.load(self.path("new.npy")), new_id)
        np.testing.assert_array_equal(np.load(self.path("ids.npy")), ids)
        self.assertNotEqual(list(new_id), [0, 1, 2, 3])
        np.testing.assert_array_equal(ids[new_id], old_ids)
        self.assert_equal(moved[new_id][:, new_id], plain)

    def test_numpy_reads_data_sets(self):
        run("generate", "planted-partition", self.path("set.npz"), "--nodes", "300", "--classes", "4", "--features", "50")
        with np.load(self.path("set.npz"), allow_pickle=False) as data:
            members = dict(data)
        for part, shape in ("adj", (300, 300)), ("attr", (300, 50)):
            self.assertEqual(tuple(members[f"{part}_shape"]), shape)
            matrix = sparse.csr_matrix(tuple(members[f"{part}_{m}"] for m in ("data", "indices", "indptr")), shape)
            matrix.check_format(full_check=True)
            if part == "adj":
                self.assert_equal(matrix, matrix.T)
                self.assertEqual(matrix.diagonal().sum(), 0)
        self.assertEqual(set(members["labels"]), {0, 1, 2, 3})
        split = np.concatenate([members[f"{part}_idx"] for part in ("train", "val", "test")])
        self.assertEqual(len(set(split)), len(split))

    def test_data_sets_of_numpy_are_trained_on(self):
        random = np.random.default_rng(4)
        nodes = 60
        adjacency = pattern(nodes, nodes, 200, 5)
        features = sparse.random(nodes, 30, 0.2, "csr", np.float64, random)
        members = {f"{part}_{m}": getattr(matrix, m) for part, matrix in (("adj", adjacency), ("attr", features))
                   for m in ("data", "indices", "indptr", "shape")}
        names = np.array([{"any": "object"}, None], dtype=object)
        order = random.permutation(nodes)
        np.savez(self.path("set.npz"), labels=random.integers(1, 4, nodes), class_names=names, train_idx=order[:20],
                 val_idx=order[20:40], test_idx=order[40:], **members)
        for precision in "float", "full":
            model = self.path(f"{precision}.safetensors")
            run("train", self.path("set.npz"), "--precision", precision, "--epochs", "2", "--hidden", "8", "--out", model)
            run("infer", model, self.path("set.npz"), "--repeats", "1", "--out", self.path("classes.npy"))
            classes = np.load(self.path("classes.npy"))
            self.assertEqual((classes.dtype, classes.shape), (np.dtype(np.int32), (nodes,)))
            self.assertTrue(((classes >= 0) & (classes < 3)).all())
            self.check_model(pathlib.Path(model).read_bytes(), precision)

    def check_model(self, data, precision):
        length = struct.unpack_from("<Q", data)[0]
        header = json.loads(data[8:8 + length])
        metadata = header.pop("__metadata__")
        self.assertEqual(metadata["format"], "bitgraph-model")
        self.assertEqual([metadata[key] for key in ("precision", "num_features", "hidden", "num_classes")],
                         [precision, "30", "8", "3"])
        kinds = {"F32": np.float32, "U64": np.uint64}
        arrays = {name: np.frombuffer(data, kinds[t["dtype"]], int(np.prod(t["shape"])),
                                      8 + length + t["data_offsets"][0]).reshape(t["shape"]) for name, t in header.items()}
        if precision == "float":
            self.assertEqual(arrays["layer0.weight"].shape, (8, 30))
            return
        self.assertEqual(metadata["thresholds"], "8")  # 240 signs of 30 numbers
        self.assertEqual(arrays["input.mean"].shape, (240,))
        self.assertEqual(arrays["layer0.weight"].shape, (8, 4))
        self.assertTrue((arrays["layer0.weight"][:, 3] >> np.uint64(48) == 0).all())
        self.assertTrue((arrays["layer0.weight_scale"] > 0).all())


if __name__ == "__main__":
    unittest.main()
