#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Latency and memory of the packed forms beside full precision, in one run on one machine.

Usage: latency.py [--datasets cora,citeseer] [--threads 1,2] [--repeats 1000]
Weights do not change what a run costs: the models are trained for a few epochs only. Each figure is the median of
--rounds programs, each of which reports the median of --repeats runs; the rounds of all forms take turns. Memory is
that of model, graph and features, against float32 weights, float32 CSR and float32 features.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile


def call(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "--json", "--quiet"], stdout=subprocess.PIPE, text=True,
                          check=True)
    return json.loads(done.stdout)


def held(bytes_of):
    return sum(bytes_of[part] for part in ("model", "graph", "features"))


def measure(arguments, dataset, threads, folder):
    """{form: [microseconds]}, {form: bytes}"""
    times, memory = {}, {}
    for _ in range(arguments.rounds):
        for name, model, options in (("dense", "float", ("--features", "dense")),
                                     ("sparse", "float", ("--features", "sparse")), ("bits", "bin", ("--form", "all"))):
            result = call(arguments.program, "infer", folder / f"{dataset}-{model}.safetensors", dataset, "--threads",
                          threads, "--repeats", arguments.repeats, *options)
            for form, latency in result["latency_us"].items():
                key = name if form == "float" else form
                times.setdefault(key, []).append(latency["median"])
                memory[key] = held(result["forms"][form]["bytes"])
    return {form: statistics.median(found) for form, found in times.items()}, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/bitgraph")
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print("| data set | threads | float, dense us | float, sparse us | full us | bin us | bin: over dense | over sparse "
          "| memory, float | packed | smaller |\n|" + "---|" * 11)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for dataset in arguments.datasets.split(","):
            for precision in ("float", "bin"):
                call(arguments.program, "train", dataset, "--precision", precision, "--epochs", 20, "--out",
                     folder / f"{dataset}-{precision}.safetensors")
            for threads in arguments.threads.split(","):
                times, memory = measure(arguments, dataset, threads, folder)
                print(f"| {dataset} | {threads} | {times['dense']:,.0f} | {times['sparse']:,.0f} | {times['full']:,.0f} "
                      f"| {times['bin']:,.0f} | {times['dense'] / times['bin']:.1f} | {times['sparse'] / times['bin']:.1f} "
                      f"| {memory['dense'] / 1e3:,.0f} kB | {memory['bin'] / 1e3:,.0f} kB "
                      f"| {memory['dense'] / memory['bin']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
