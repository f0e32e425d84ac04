#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a data set with real-valued features of one with counted words: words weighted by TF-IDF, rows of length 1.

Usage: tf_idf.py IN.npz OUT.npz
A weight is the value times log(nodes / nodes that have the word). Reads and writes the gnn-benchmark layout
(docs/formats.md); the graph, the labels and the split stay. Needs nothing but Python.
"""

import array
import ast
import collections
import io
import math
import pathlib
import sys
import zipfile

CODES = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "u4": "I", "u8": "Q", "b1": "b"}
WORD_MEMBERS = ("attr_data", "attr_indices", "attr_indptr")


def read_array(data, name):
    """The values of a one-dimensional .npy member."""
    if data[:6] != b"\x93NUMPY":
        raise ValueError(f"{name}: not a .npy member")
    start = 10 if data[6] == 1 else 12
    end = start + int.from_bytes(data[8:start], "little")
    header = ast.literal_eval(data[start:end].decode("latin1"))
    kind = header["descr"].lstrip("<|")
    if kind not in CODES or len(header["shape"]) != 1:
        raise ValueError(f"{name}: expected a vector of numbers, found {header['descr']} {header['shape']}")
    values = array.array(CODES[kind])
    values.frombytes(data[end:])
    return values


def npy(values, kind):
    """A .npy member of format 1.0."""
    header = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + values.tobytes()


def weigh(values, columns, row_ptr):
    """Values by TF-IDF, rows of length 1."""
    nodes = len(row_ptr) - 1
    having = collections.Counter(column for column, value in zip(columns, values) if value != 0)
    weights = array.array("f")
    for begin, end in zip(row_ptr, row_ptr[1:]):
        row = [values[e] * math.log(nodes / having[columns[e]]) if values[e] != 0 else 0.0 for e in range(begin, end)]
        length = math.sqrt(math.fsum(value * value for value in row))
        weights.extend(value / length if length > 0 else 0.0 for value in row)
    return weights


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: tf_idf.py IN.npz OUT.npz")
    source, target = map(pathlib.Path, sys.argv[1:])
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    missing = [name for name in WORD_MEMBERS if f"{name}.npy" not in members]
    if missing:
        raise ValueError(f"{source}: {missing[0]} is missing: features must be sparse")
    values, columns, row_ptr = (read_array(members[f"{name}.npy"], name) for name in WORD_MEMBERS)
    members["attr_data.npy"] = npy(weigh(values, columns, row_ptr), "f4")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    target.write_bytes(out.getvalue())


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        sys.exit(f"tf_idf: {error}")
