#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demonstration: trains a GCN in full precision and one in bits, shows them side by side, and measures other networks
and every operator beside full precision.

Usage: demo.py PROGRAM DATASET [--work FOLDER]. DATASET is what `bitgraph train` takes. The caller says which it is.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time


class Demo:
    def __init__(self, program, dataset):
        self.program, self.dataset = program, dataset

    def call(self, *arguments):
        """The JSON object that the program prints; its progress goes to the terminal."""
        done = subprocess.run([self.program, *map(str, arguments), "--json"], stdout=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(f"demo: bitgraph {' '.join(map(str, arguments[:2]))} failed with exit code {done.returncode}")
        return json.loads(done.stdout)

    def train(self, what, precision, model):
        print(f"  {what:<58}", end="", flush=True)
        if sys.stdout.isatty():
            print(flush=True)  # the progress bar has a line of its own
        start = time.monotonic()
        result = self.call("train", self.dataset, "--model", "gcn", "--precision", precision, "--out", model)
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
    print(f"  {title:<36}{accuracy:>8}{latency:>13,.0f}{slow / latency:>8.1f} x{size(held):>12}{large / held:>8.1f} x")
    return slow, large


def networks(demo):
    """`bench gnn`: the forms of four networks, on the data set, another one if it can be had, and a planted graph."""
    citeseer = subprocess.run([demo.program, "datasets", "fetch", "citeseer"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0
    sets = [demo.dataset, *(["citeseer"] if citeseer else []), "planted:flickr/4"]
    report = demo.call("bench", "gnn", *sets, "--repeats", 50, "--limit", 0.3)
    print(f"\nGraph networks of two layers, random weights, {report['threads']} threads: microseconds of a run over all nodes, peak "
          "memory,\nand how many times as fast as float32 with dense features (OpenBLAS, and a vectorised CSR product)\n")
    print(f"  {'':<44}{'float32':>12}{'full':>10}{'bin':>10}{'faster':>10}{'memory, float32':>18}{'bin':>10}")
    for result in report["results"]:
        forms = {row["form"]: row for row in result["rows"]}
        dense, full, binary = forms["float, dense features"], forms["full"], forms["bin"]
        title = f"{result['dataset']}, {result['num_nodes']:,} nodes, {result['model']} {result['hidden']}"
        print(f"  {title:<44}{dense['latency_us']:>12,.0f}{full['latency_us']:>10,.0f}{binary['latency_us']:>10,.0f}"
              f"{dense['latency_us'] / binary['latency_us']:>8.1f} x{size(dense['peak_bytes']):>18}{size(binary['peak_bytes']):>10}")


def operators(demo):
    """`bench operators`: every variant."""
    report = demo.call("bench", "operators", "planted:flickr/4", "--product", "22312x512x256", "--limit", 0.2)
    print("\nOperators: input, graph or weight, and output binary (B) or full (F); microseconds, and how many times as fast as float32\n")
    for result in report["results"]:
        rival = result["rival_us"]
        print(f"  {result['operator']} of {result['shape']}; {result['rival']}: {rival:,.0f}")
        cells = [f"{name} {us:,.0f} ({rival / us:.1f})" for name, us in result["us"].items()]
        for first in range(0, len(cells), 4):
            print("    " + "".join(f"{cell:<22}" for cell in cells[first:first + 4]).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("dataset")
    parser.add_argument("--work", help="folder for the models; a temporary one unless told")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(arguments.work or temporary)
        demo = Demo(arguments.program, arguments.dataset)
        print("\nTraining")
        demo.train("GCN, float32", "float", work / "float.safetensors")
        demo.train("Bi-GCN, 1-bit weights and activations", "full", work / "full.safetensors")
        demo.train("the same with votes as first aggregation", "bin", work / "bin.safetensors")

        dense = demo.infer(work / "float.safetensors", "--features", "dense")
        sparse = demo.infer(work / "float.safetensors", "--features", "sparse")
        full = demo.infer(work / "full.safetensors", "--form", "full")
        binary = demo.infer(work / "bin.safetensors", "--form", "bin")
        print(f"\nInference: classes of all {full['num_nodes']:,} nodes, {full['threads']} threads, median of many runs\n")
        print(f"  {'':<36}{'accuracy':>8}{'latency, us':>13}{'faster':>10}{'memory':>12}{'smaller':>10}")
        baseline = row("float32", dense, "float", None)
        row("float32, features as sparse floats", sparse, "float", baseline)
        row("full: binary products", full, "full", baseline)
        row("bin: binary products and votes", binary, "bin", baseline)
        print("\n  accuracy: of the test nodes; memory: model, graph and features. The peak of everything that a form needs: "
              f"{size(binary['forms']['bin']['bytes']['peak'])} (bin), {size(full['forms']['full']['bytes']['peak'])} (full), "
              f"{size(dense['bytes']['peak'])} (float32)")
        networks(demo)
        operators(demo)


if __name__ == "__main__":
    main()
