#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the arrays, matrices and data sets of this folder with NumPy and SciPy, for the readers' tests, and from them
the seeds of the fuzzers.

Run it with Debian's python3-numpy and python3-scipy; the files are kept in the repository, so tests need neither.
"""
import io
import json
import pathlib
import shutil
import struct
import zipfile

import numpy as np
import scipy.sparse as sparse

HERE = pathlib.Path(__file__).resolve().parent
SEEDS = HERE.parent.parent / "fuzz" / "corpus"


def npy_bytes(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version, allow_pickle=True)
    return out.getvalue()


def save_npy(name, array, version=None):
    (HERE / f"{name}.npy").write_bytes(npy_bytes(array, version))


def save_npz(name, members, compression=zipfile.ZIP_DEFLATED):
    """Like numpy.savez_compressed, with dates that do not change."""
    with zipfile.ZipFile(HERE / f"{name}.npz", "w", compression) as archive:
        for key, value in members.items():
            info = zipfile.ZipInfo(f"{key}.npy", (1980, 1, 1, 0, 0, 0))
            info.compress_type = compression
            archive.writestr(info, npy_bytes(np.asanyarray(value)))


def save_matrix(name, matrix, compression=zipfile.ZIP_DEFLATED):
    """The members of scipy.sparse.save_npz."""
    parts = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "bsr": ("indices", "indptr"),
             "coo": ("row", "col"), "dia": ("offsets",)}[matrix.format]
    members = {part: getattr(matrix, part) for part in parts}
    members |= {"format": matrix.format.encode("ascii"), "shape": matrix.shape, "data": matrix.data}
    save_npz(name, members, compression)
    back = sparse.load_npz(HERE / f"{name}.npz")
    assert (abs(back - matrix)).nnz == 0


def arrays():
    """Element n of every array is 3 n - 5, in row-major order, where its type allows it."""
    values = 3 * np.arange(6) - 5
    save_npy("i16_big", values.astype(">i2"))
    save_npy("f64_fortran", np.asfortranarray((3 * np.arange(24.0) - 5).reshape(2, 3, 4)))
    save_npy("f32_fortran_big", np.asfortranarray(values.reshape(2, 3).astype(">f4")))
    save_npy("f16", np.array([0, -0.0, 1, -2.5, 65504, 2.0**-24, -(2.0**-14), np.inf, np.nan], dtype="<f2"))
    save_npy("bool", np.array([[True, False, True]]))
    save_npy("scalar", np.array(7, dtype=np.uint64))
    save_npy("empty", np.zeros((3, 0), dtype=np.float32))
    save_npy("version2", values.astype("<i8"), version=(2, 0))
    save_npy("version3", values.astype("<u4") * 0 + np.arange(6, dtype="<u4"), version=(3, 0))
    save_npy("text", np.array(["a", "bc"]))
    save_npy("object", np.array([{"a": 1}, None], dtype=object))
    save_npy("record", np.array([(1, 2.0)], dtype=[("id", "<i4"), ("a ] ' name", "<f8")]))
    save_npy("complex", np.array([1 + 2j]))


# The matrix of every sparse fixture: rows with 2, 0, 3 and 1 entries.
ROWS = [0, 0, 2, 2, 2, 3]
COLS = [1, 4, 0, 1, 4, 2]


def matrices():
    ones = sparse.csr_matrix((np.ones(6, dtype=np.float32), (ROWS, COLS)), shape=(4, 5))
    save_matrix("csr", ones)
    save_matrix("csr_stored", ones.astype(np.int8), zipfile.ZIP_STORED)
    save_matrix("csc", ones.tocsc())
    save_matrix("coo", ones.tocoo())
    save_matrix("coo_bool", ones.tocoo().astype(bool))
    save_matrix("bsr", sparse.bsr_matrix((np.ones((1, 2, 5), dtype=np.float32), [0], [0, 1, 1]), shape=(4, 5)))
    save_matrix("dia", sparse.dia_matrix((np.ones((1, 4)), [1]), shape=(4, 5)))
    weighted = ones.copy()
    weighted.data[2] = 2.5
    save_matrix("csr_weighted", weighted)
    wide = {"data": np.ones(6), "indices": np.array(COLS, dtype=np.int64), "indptr": np.array([0, 2, 2, 5, 6]),
            "shape": np.array([4, 5]), "format": np.array("csr")}
    save_npz("csr_wide", wide)
    # Row 2 is unsorted; (0, 4) and (2, 1) stand twice.
    unsorted = {"data": np.array([1, 1, 1, 1, 1, 1, 1, 1], dtype=np.float32), "shape": np.array([4, 5]),
                "indices": np.array([4, 1, 4, 4, 1, 0, 1, 2], dtype=np.int32),
                "indptr": np.array([0, 3, 3, 7, 8], dtype=np.int32)}
    save_npz("csr_unsorted", unsorted)
    save_npz("csc_unsorted", {
        "data": np.ones(8, dtype=np.float32), "indices": np.array([2, 2, 0, 2, 3, 2, 0, 0], dtype=np.int32),
        "indptr": np.array([0, 1, 4, 5, 5, 8], dtype=np.int32), "shape": np.array([4, 5]), "format": b"csc"})


def dataset():
    """Five nodes, the path 0-1-2-3, a loop at 1, node 4 alone; labels from 1, node 4 without one."""
    names = np.array(["red", "green", "blue"], dtype=object)
    adjacency = {"adj_data": np.ones(4, dtype=np.float32), "adj_indices": np.array([1, 1, 2, 2], dtype=np.int32),
                 "adj_indptr": np.array([0, 1, 3, 3, 4, 4], dtype=np.int32), "adj_shape": np.array([5, 5])}
    features = np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, 0], [0, -1, 0.25], [0, 0, 3]], dtype=np.float32)
    csr = sparse.csr_matrix(features)
    sparse_features = {"attr_data": csr.data, "attr_indices": csr.indices, "attr_indptr": csr.indptr,
                       "attr_shape": np.array(csr.shape)}
    rest = {"labels": np.array([1, 3, 1, 2, -1]), "class_names": names, "node_names": np.array(list("abcde"))}
    split = {"train_idx": np.array([1, 3]), "val_idx": np.array([0]), "test_idx": np.array([2])}
    save_npz("dataset", adjacency | sparse_features | rest | split)
    save_npz("dataset_dense", adjacency | {"attr_matrix": features} | rest)


def tensors():
    """safetensors, put together by hand from its description."""
    parts = {"f64": ("F64", [2], struct.pack("<2d", 0.5, -1e300)), "bits": ("U64", [1, 2], struct.pack("<2Q", 1, 2**63)),
             "weight": ("F32", [2, 2], struct.pack("<4f", 1, 2, 3, 4)), "i32": ("I32", [1], struct.pack("<i", -7)),
             "half": ("F16", [3], np.array([1, -2.5, 2.0**-24], dtype="<f2").tobytes()),
             "brain": ("BF16", [2], struct.pack("<2H", 0x3F80, 0xC020)), "u16": ("U16", [1], b"\x02\x01"),
             "empty": ("F32", [0, 4], b""), "flags": ("BOOL", [3], b"\x01\x00\x01"), "scalar": ("I8", [], b"\xff")}
    header = {"__metadata__": {"format": "pt", "note": "\u00fc"}}
    data = b""
    for name, (dtype, shape, raw) in parts.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    (HERE / "tensors.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)


def stored(name, to):
    """The archive as a seed: members stored, for a fuzzer cannot change what is deflated."""
    with zipfile.ZipFile(HERE / f"{name}.npz") as archive, zipfile.ZipFile(SEEDS / to / f"{name}.npz", "w") as out:
        for info in archive.infolist():
            out.writestr(zipfile.ZipInfo(info.filename, (1980, 1, 1, 0, 0, 0)), archive.read(info))


def seeds():
    for folder in "npy", "npz", "npz_graph", "dataset", "safetensors":
        (SEEDS / folder).mkdir(exist_ok=True)
    for file in HERE.glob("*.npy"):
        shutil.copy(file, SEEDS / "npy")
    for name in "csr", "csr_wide", "csr_unsorted", "csc", "coo", "bsr":
        stored(name, "npz_graph")
    for name in "dataset", "dataset_dense":
        stored(name, "dataset")
    stored("coo_bool", "npz")
    shutil.copy(HERE / "csr_weighted.npz", SEEDS / "npz")  # deflated
    shutil.copy(HERE / "tensors.safetensors", SEEDS / "safetensors")
    empty = b'{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
    (SEEDS / "safetensors" / "empty.safetensors").write_bytes(struct.pack("<Q", len(empty)) + empty)


if __name__ == "__main__":
    arrays()
    matrices()
    dataset()
    tensors()
    seeds()
