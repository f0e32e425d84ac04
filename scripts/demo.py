#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demonstration: trains a GCN in full precision and one in bits, and shows them side by side.

Usage: demo.py PROGRAM DATASET [--work FOLDER]. DATASET is what `bitgraph train` takes. The caller says which it is.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time


class Demo:
    def __init__(self, program, dataset):
        self.program, self.dataset = program, dataset

    def call(self, *arguments, shown=False):
        """The JSON object that the program prints; what it says besides goes to the terminal where that is `shown`."""
        done = subprocess.run([self.program, *map(str, arguments), "--json"], stdout=subprocess.PIPE,
                              stderr=None if shown else subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"demo: bitgraph {' '.join(map(str, arguments[:2]))} failed with exit code {done.returncode}"
                     + ("" if shown else ": " + done.stderr.strip()))
        return json.loads(done.stdout)

    def train(self, what, precision, model):
        print(f"  {what:<58}", end="", flush=True)
        if sys.stdout.isatty():
            print(flush=True)  # the progress bar has a line of its own
        start = time.monotonic()
        result = self.call("train", self.dataset, "--model", "gcn", "--precision", precision, "--out", model,
                           shown=sys.stdout.isatty())
        print(f"{time.monotonic() - start:5.1f} s, {result['epoch_ms']:.1f} ms an epoch", flush=True)

    def infer(self, model, *options):
        return self.call("infer", model, self.dataset, *options)


def size(count):
    return f"{count / 1e6:.2f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def row(title, result, form, baseline):
    """One line of the table, and what the next lines are compared with."""
    latency = result["latency_us"][form]["median"]
    held = sum(result["forms"][form]["bytes"][part] for part in ("model", "graph", "features"))
    accuracy = f"{100 * result['accuracy'][form]:.1f} %"
    slow, large = baseline or (latency, held)
    print(f"  {title:<26}{accuracy:>8}{latency:>13,.0f}{slow / latency:>7.1f} x{size(held):>11}{large / held:>8.1f} x")
    return slow, large


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("dataset")
    parser.add_argument("--work", default="build/demo", help="folder for the models (build/demo)")
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    models = {form: work / f"{form}.safetensors" for form in ("float", "full", "bin")}
    demo = Demo(arguments.program, arguments.dataset)
    print("\nTraining a GCN of two layers")
    demo.train("float: 32-bit weights and activations", "float", models["float"])
    demo.train("full: products in bits, sums of neighbours in floats", "full", models["full"])
    demo.train("bin: products and sums in bits", "bin", models["bin"])

    dense = demo.infer(models["float"], "--features", "dense")
    sparse = demo.infer(models["float"], "--features", "sparse")
    full = demo.infer(models["full"], "--form", "full")
    binary = demo.infer(models["bin"], "--form", "bin")
    print(f"\nInference: classes of all {full['num_nodes']:,} nodes, {full['threads']} threads, median of many runs\n")
    print(f"  {'':<26}{'accuracy':>8}{'latency, us':>13}{'faster':>9}{'memory':>11}{'smaller':>10}")
    baseline = row("float", dense, "float", None)
    row("float, sparse features", sparse, "float", baseline)
    row("full", full, "full", baseline)
    row("bin", binary, "bin", baseline)
    peaks = (binary["forms"]["bin"]["bytes"]["peak"], full["forms"]["full"]["bytes"]["peak"], dense["bytes"]["peak"])
    print("\n  accuracy: of the test nodes; memory: model, graph and features.")
    print("  Peak memory of a run: bin {}, full {}, float {}.".format(*map(size, peaks)))
    print("\nTry next\n")
    for command in (f"tune {models['bin']} {demo.dataset} --also {models['float']}",
                    f"bench gnn {demo.dataset}",
                    f"pagerank {demo.dataset} --top 5"):
        print(f"  {demo.program} {command}")


if __name__ == "__main__":
    main()
