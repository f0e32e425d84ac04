#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hashes of what the program computes: to see that a change of the code changes no bit of a result.

Usage: result_hashes.py [--program build/release/bin/bitgraph] [--data $BITGRAPH_DATA] [--device cuda]
                        [--max-entries N] [--epochs N] [--only TEXT] > before.txt

One line a result, "HASH WHAT", in the same order every time: run it with two builds and compare with `diff`. It has every
algorithm on every graph of the data folder, over pattern CSR and over tiles of two sides; and networks of every architecture
and precision, trained for a few epochs on the smaller data sets: the hash of the model's tensors, whatever the version
of the file, and of the logits of each form.
Times, memory and the machine are left out.

What the program refuses (exit 2, 3 or 4) is a result too: "HASH WHAT: exit 3" has the hash of the exit code and the
message, without the folders in it. Of a file that `info` refuses, because it is no graph, that is the only line. Any
other exit is a failure, and the script exits 1; it exits 77 where the data is missing.
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
REFUSALS = (2, 3, 4)
# What may differ between two runs of one program.
LEFT_OUT = {"seconds", "device", "threads", "bytes", "latency_us", "forms", "epoch_ms", "teacher_seconds", "file", "out",
            "model", "reason", "format", "tile_dim"}
ARCHITECTURES = ("gcn", "inductive-gcn", "sage", "saint", "gin", "inductive-gin")
PRECISIONS = ("float", "full", "bin")


def tensors_of(model):
    """Names and bytes of the tensors of a model file, by name. Signs had names of their own before version 3."""
    content = model.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header.pop("__metadata__", None)
    for name, tensor in sorted((name.replace("weight_bits", "weight"), tensor) for name, tensor in header.items()):
        begin, end = tensor["data_offsets"]
        yield name.encode()
        yield content[start + begin:start + end]


class Hashes:
    def __init__(self, options, work):
        self.options, self.work, self.failed = options, pathlib.Path(work), False

    def call(self, what, *words, device=None):
        """The object that the program prints, without what is left out; None where there is none. Shows a refusal."""
        paths = [word for word in words if isinstance(word, pathlib.Path)]
        words = [str(word) for word in words]
        done = subprocess.run([self.options.program, *words, "--device", device or self.options.device, "--json", "--quiet"],
                              capture_output=True, text=True, errors="replace", check=False)
        if done.returncode in REFUSALS:
            message = done.stderr
            for path in paths:
                message = message.replace(str(path), path.name)
            self.show(f"{what}: exit {done.returncode}", f"{done.returncode} {message}".encode())
            return None
        if done.returncode != 0:
            self.failed = True
            print(f"failed with exit {done.returncode}: {' '.join(words)}: {done.stderr.strip()}", file=sys.stderr)
            return None
        return {key: value for key, value in json.loads(done.stdout).items() if key not in LEFT_OUT}

    def show(self, what, *parts):
        print(hashlib.sha256(b"".join(parts)).hexdigest()[:16], what, flush=True)

    def fresh(self, *names):
        """Paths of files that are not there, so that nothing of an earlier call is read."""
        paths = [self.work / name for name in names]
        for path in paths:
            path.unlink(missing_ok=True)
        return paths

    def is_small_enough(self, name, graph):
        """Whether `graph` can be read and has no more entries than are asked for."""
        result = self.call(f"{name} info", "info", graph, "--no-reorder", device="cpu")
        return result is not None and result["num_entries"] <= self.options.max_entries

    def algorithms(self, name, graph):
        for words, files in ALGORITHMS:
            for tile in TILES:
                what = f"{name} {' '.join(words)} {tile}"
                outputs = self.fresh(*(f"{option.strip('-')}.npy" for option in files))
                named = [word for option, output in zip(files, outputs) for word in (option, output)]
                result = self.call(what, words[0], graph, *words[1:], "--tile", tile, *named)
                if result is not None:
                    self.show(what, json.dumps(result).encode(), *(output.read_bytes() for output in outputs))

    def networks(self, name, dataset):
        for architecture in ARCHITECTURES:
            for precision in PRECISIONS:
                # A gcn in bits would first train a teacher for a thousand epochs: it learns from the float model instead.
                taught = architecture == "gcn" and precision == "bin"
                teacher = ("--teacher", self.work / "float.safetensors") if taught else ()
                what = f"{name} {architecture} {precision}" + (" taught" if taught else "")
                model, logits = self.fresh(f"{precision}.safetensors", "logits.npy")
                trained = self.call(what, "train", dataset, "--model", architecture, "--precision", precision, *teacher,
                                    "--hidden", 32, "--epochs", self.options.epochs, "--threads", 2, "--out", model)
                if trained is None:
                    continue
                self.show(what + " model", *tensors_of(model))
                for form in ("float",) if precision == "float" else ("full", "bin"):
                    of_form = f"{what} logits {form}"
                    self.fresh(logits.name)
                    if self.call(of_form, "infer", model, dataset, "--form", form, "--repeats", 1, "--logits",
                                 logits) is not None:
                        self.show(of_form, logits.read_bytes())


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
            name = str(graph.relative_to(data))
            if hashes.is_small_enough(name, graph):
                hashes.algorithms(name, graph)
        for dataset in sets:
            if hashes.is_small_enough(dataset.stem, dataset):
                hashes.networks(dataset.stem, dataset)
    return 1 if hashes.failed else 0


if __name__ == "__main__":
    sys.exit(main())
