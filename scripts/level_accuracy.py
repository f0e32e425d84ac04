#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accuracy of models of levels beside the float model that they are made of, over many seeds.

Usage: level_accuracy.py [--datasets cora,citeseer] [--model gcn] [--trained w8a8,w4a4,w2a2] [--quantized 8,w8a4,4]
                         [--seeds 10] [--split-seeds] [--jobs N] [--device cuda] [--options "--depth 3 --hidden 16"]
For each seed a float model is trained, over a whole graph with --self-distillation. Each precision of --quantized is
that model after `bitgraph quantize`; each of --trained learns from it as its teacher. With --split-seeds each seed
draws a split of its own. All trainings have --options.
"""

import argparse
import concurrent.futures
import json
import pathlib
import shlex
import statistics
import subprocess
import tempfile


def call(arguments, *words):
    command = [arguments.program, *words, "--threads", str(arguments.threads), "--device", arguments.device, "--json",
               "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr.strip()}")
    return json.loads(done.stdout)


def measure(arguments, dataset, seed):
    """{name: test accuracy in percent} of one seed."""
    split = ["--split-seed", str(seed)] if arguments.split_seeds else []
    found = {}

    def note(name, result):
        form = result["precision"]
        found[name] = 100 * result["accuracy"][form]

    with tempfile.TemporaryDirectory() as folder:
        floats, other = str(pathlib.Path(folder) / "float.safetensors"), str(pathlib.Path(folder) / "other.safetensors")
        common = ["--model", arguments.model, "--seed", str(seed), *split, *shlex.split(arguments.options)]
        whole = arguments.model in ("gcn", "gin") and "--partition" not in common
        twice = ["--self-distillation"] if whole else []
        note("float", call(arguments, "train", dataset, "--precision", "float", "--out", floats, *common, *twice))
        for bits in filter(None, arguments.quantized.split(",")):
            note(f"{bits} bits, not trained" if bits.isdigit() else f"{bits}, not trained",
                 call(arguments, "quantize", floats, dataset, "--bits", bits, "--out", other, "--repeats", "1"))
        for precision in filter(None, arguments.trained.split(",")):
            note(precision, call(arguments, "train", dataset, "--precision", precision, "--teacher", floats, "--out",
                                 other, *common))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="build/release/bin/bitgraph")
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--model", default="gcn")
    parser.add_argument("--trained", default="w8a8,w4a4,w2a2")
    parser.add_argument("--quantized", default="8,w8a4,4,w8a2,2")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--split-seeds", action="store_true")
    parser.add_argument("--options", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for dataset in arguments.datasets.split(","):
            runs = [pool.submit(measure, arguments, dataset, seed) for seed in range(arguments.seeds)]
            rows = [run.result() for run in runs]
            floats = statistics.mean(row["float"] for row in rows)
            for name in rows[0]:
                values = [row[name] for row in rows]
                spread = statistics.stdev(values) if len(values) > 1 else 0
                mean = statistics.mean(values)
                print(f"{dataset:<16}{name:<24}{mean:7.2f} +- {spread:4.2f}  to float {mean - floats:+6.2f}", flush=True)


if __name__ == "__main__":
    main()
