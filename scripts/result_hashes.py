#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hashes of what the program computes: to see that a change of the code changes no bit of a result.

Usage: result_hashes.py [--program build/release/bin/bitgraph] [--data $BITGRAPH_DATA] [--device cuda]
                        [--max-entries N] [--epochs N] [--only TEXT] > before.txt

One line a result, "HASH WHAT", in the same order every time: run it with two builds and compare with `diff`. It has every
algorithm on every graph of the data folder, over pattern CSR and over tiles of two sides; and networks of every architecture
and precision, trained for a few epochs on the smaller data sets: the hash of the model file and of the logits of each form.
Times, memory and the machine are left out. Exits 1 where a command fails, 77 where the data is missing.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

GRAPHS = (".mtx", ".graph", ".txt", ".edgelist", ".mtx.gz", ".graph.gz", ".txt.gz", ".edgelist.gz")
# The command, and the options that name files of results.
ALGORITHMS = ((("bfs",), ("--out", "--parents")), (("sssp",), ("--out",)), (("sssp", "--ignore-weights"), ("--out",)),
              (("pagerank", "--iterations", "20"), ("--out",)), (("cc",), ("--out",)), (("cc", "--strong"), ("--out",)),
              (("tc", "--clustering", "--undirected"), ("--out",)), (("mis", "--undirected"), ("--out",)),
              (("color", "--undirected"), ("--out",)), (("diameter", "--undirected"), ()),
              (("betweenness", "--samples", "16"), ("--out",)), (("closeness", "--samples", "16"), ("--out",)),
              (("msbfs", "--samples", "64"), ("--out",)))
TILES = ("csr", "8", "64")
# What may differ between two runs of one program.
LEFT_OUT = {"seconds", "device", "threads", "bytes", "latency_us", "forms", "epoch_ms", "teacher_seconds", "file", "out",
            "model", "reason", "format", "tile_dim"}
ARCHITECTURES = ("gcn", "inductive-gcn", "sage", "saint")
PRECISIONS = ("float", "full", "bin")


class Hashes:
    def __init__(self, options, work):
        self.options, self.work, self.failed = options, pathlib.Path(work), False

    def call(self, *words):
        """The object that the program prints, without what is left out; None where it fails."""
        done = subprocess.run([self.options.program, *map(str, words), "--device", self.options.device, "--json", "--quiet"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            self.failed = True
            print(f"failed: {' '.join(map(str, words))}: {done.stderr.strip()}", file=sys.stderr)
            return None
        return {key: value for key, value in json.loads(done.stdout).items() if key not in LEFT_OUT}

    def show(self, what, *parts):
        print(hashlib.sha256(b"".join(parts)).hexdigest()[:16], what, flush=True)

    def algorithms(self, name, graph):
        for words, files in ALGORITHMS:
            for tile in TILES:
                outputs = [self.work / f"{option.strip('-')}.npy" for option in files]
                named = [word for option, output in zip(files, outputs) for word in (option, output)]
                result = self.call(words[0], graph, *words[1:], "--tile", tile, *named)
                if result is not None:
                    self.show(f"{name} {' '.join(words)} {tile}", json.dumps(result).encode(),
                              *(output.read_bytes() for output in outputs))

    def networks(self, name, dataset):
        model, logits = self.work / "model.safetensors", self.work / "logits.npy"
        for architecture in ARCHITECTURES:
            for precision in PRECISIONS:
                what = f"{name} {architecture} {precision}"
                trained = self.call("train", dataset, "--model", architecture, "--precision", precision, "--hidden", 32,
                                    "--epochs", self.options.epochs, "--threads", 2, "--out", model)
                if trained is None:
                    continue
                self.show(what + " model", model.read_bytes())
                for form in ("float",) if precision == "float" else ("full", "bin"):
                    if self.call("infer", model, dataset, "--form", form, "--repeats", 1, "--logits", logits) is not None:
                        self.show(f"{what} logits {form}", logits.read_bytes())


def entries_of(hashes, graph):
    result = hashes.call("info", graph, "--no-reorder")
    return result["num_entries"] if result else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/bitgraph")
    parser.add_argument("--data", default=os.environ.get("BITGRAPH_DATA", "../shared/datasets"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--max-entries", type=int, default=10**9, help="leave larger graphs out")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--only", default="", help="names that have this text in them")
    options = parser.parse_args()
    data = pathlib.Path(options.data)
    graphs = sorted(path for path in data.rglob("*") if path.name.endswith(GRAPHS) and options.only in str(path)
                    and path.name != "README.md")
    sets = sorted(path for path in (data / "npz").glob("*.npz") if options.only in str(path))
    if not graphs and not sets:
        print(f"result_hashes: no graphs under {data}", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as work:
        hashes = Hashes(options, work)
        for graph in graphs:
            if entries_of(hashes, graph) <= options.max_entries:
                hashes.algorithms(str(graph.relative_to(data)), graph)
        for dataset in sets:
            if entries_of(hashes, dataset) <= options.max_entries:
                hashes.networks(dataset.stem, dataset)
    return 1 if hashes.failed else 0


if __name__ == "__main__":
    sys.exit(main())
