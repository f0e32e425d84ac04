#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains over many seeds and compares the mean test accuracy with the published one.

Usage: accuracy.py [--datasets cora,citeseer] [--precisions float,full,bin] [--seeds 20] [--jobs N] ...
The form that is measured is the one that was trained: float, full or bin. Exits 1 where a mean misses its target.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

# Percent, and how far off the mean may be: GCN and Bi-GCN as BitGNN's Table 3 has them, public split.
TARGETS = {
    ("cora", "float"): (81.4, 1.0), ("cora", "full"): (81.2, 1.0), ("cora", "bin"): (81.2, 1.5),
    ("citeseer", "float"): (70.9, 1.0), ("citeseer", "full"): (68.8, 1.0), ("citeseer", "bin"): (68.7, 1.5),
}


def train(arguments, dataset, precision, seed, folder):
    command = [arguments.program, "train", dataset, "--model", "gcn", "--precision", precision, "--seed", str(seed),
               "--threads", str(arguments.threads), "--json", "--quiet",
               "--out", str(pathlib.Path(folder) / f"{dataset}-{precision}-{seed}.safetensors")]
    if arguments.split_seeds:
        command += ["--split-seed", str(seed)]
    if arguments.epochs:
        command += ["--epochs", str(arguments.epochs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\n{done.stderr.strip()}")
    return json.loads(done.stdout)["accuracy"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/bitgraph")
    parser.add_argument("--datasets", default="cora,citeseer", help="names, with commas")
    parser.add_argument("--precisions", default="float,full,bin", help="of float, full, bin, with commas")
    parser.add_argument("--seeds", type=int, default=20, help="how many; they are 0, 1, ...")
    parser.add_argument("--epochs", type=int, help="default: the recipe's")
    parser.add_argument("--split-seeds", action="store_true", help="draw a new split for each seed (20/30 a class)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="trainings at once")
    parser.add_argument("--threads", type=int, default=1, help="of each training; the result does not depend on it")
    parser.add_argument("--out", help="write every accuracy to this JSON file")
    return parser.parse_args()


def report(dataset, precision, accuracies, split_seeds):
    mean = statistics.fmean(accuracies)
    spread = statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0
    target, tolerance = (None, None) if split_seeds else TARGETS.get((dataset, precision), (None, None))
    verdict = "" if target is None else f"{target:8.1f} +- {tolerance}   " + (
        "reached" if abs(mean - target) <= tolerance else "above" if mean > target else "MISSED")
    print(f"{dataset:<16}{precision:<8}{len(accuracies):>5}   {mean:6.2f} +- {spread:.2f}{verdict}", flush=True)
    return "MISSED" not in verdict


def main():
    arguments = parse_arguments()
    start = time.monotonic()
    print(f"{'data set':<16}{'form':<8}{'seeds':>5}   {'mean +- std':<14}  {'target':<16}")
    fine, everything = True, {}
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        for dataset in arguments.datasets.split(","):
            for precision in arguments.precisions.split(","):
                runs = list(pool.map(lambda seed, d=dataset, p=precision: train(arguments, d, p, seed, folder),
                                     range(arguments.seeds)))
                accuracies = [100 * run[precision] for run in runs]
                everything.setdefault(dataset, {})[precision] = accuracies
                fine &= report(dataset, precision, accuracies, arguments.split_seeds)
    print(f"{time.monotonic() - start:.0f} s")
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    return 0 if fine else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"accuracy: {error}")
