#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a GCN in floats, in levels of 8, 4 and 2 bits and in signs, side by side.

The float model is trained once. It is quantized without training, and is the teacher of the models that are trained.

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

    def train(self, what, precision, model, *options):
        print(f"  {what:<58}", end="", flush=True)
        if sys.stdout.isatty():
            print(flush=True)  # the progress bar has a line of its own
        start = time.monotonic()
        result = self.call("train", self.dataset, "--model", "gcn", "--precision", precision, "--out", model,
                           *options, shown=sys.stdout.isatty())
        print(f"{time.monotonic() - start:5.1f} s, {result['epoch_ms']:.1f} ms an epoch", flush=True)

    def quantize(self, what, float_model, bits, model):
        print(f"  {what:<58}", end="", flush=True)
        result = self.call("quantize", float_model, self.dataset, "--bits", bits, "--repeats", 1, "--out", model)
        print(f"{result['seconds']:5.1f} s, the same class at {100 * result['agreement']:.1f} %", flush=True)

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
    names = ("float", "w8a8", "w4a4", "w8a4m2", "w2a2", "full", "bin")
    models = {name: work / f"{name}.safetensors" for name in names}
    demo = Demo(arguments.program, arguments.dataset)
    taught = ("--teacher", models["float"])
    print("\nTraining a GCN of two layers")
    demo.train("float: 32-bit; trained twice, to learn from itself", "float", models["float"],
               "--self-distillation")
    demo.train("2 bits: whole numbers 0 to 3, products and sums of them", "w2a2", models["w2a2"], *taught)
    demo.train("full: products of signs, sums of neighbours in floats", "full", models["full"], *taught)
    demo.train("bin: products of signs, a vote of the neighbours", "bin", models["bin"], *taught)
    print("\nQuantizing the float model, without training")
    demo.quantize("8 bits: whole numbers 0 to 255", models["float"], "8", models["w8a8"])
    demo.quantize("4 bits: whole numbers 0 to 15", models["float"], "4", models["w4a4"])
    demo.quantize("mixed, w8a4m2: weights of 8, inputs of 4, messages of 2", models["float"], "w8a4m2", models["w8a4m2"])

    results = {name: demo.infer(model) for name, model in models.items()}
    dense = demo.infer(models["float"], "--features", "dense")
    print(f"\nInference: classes of all {dense['num_nodes']:,} nodes, {dense['threads']} threads, median of many runs\n")
    print(f"  {'':<26}{'accuracy':>8}{'latency, us':>13}{'faster':>9}{'memory':>11}{'smaller':>10}")
    baseline = row("float", dense, "float", None)
    for title, name in (("float, sparse features", "float"), ("8 bits", "w8a8"), ("4 bits", "w4a4"),
                        ("mixed, w8a4m2", "w8a4m2"), ("2 bits, trained", "w2a2"), ("full", "full"), ("bin", "bin")):
        row(title, results[name], name, baseline)
    peaks = [dense["bytes"]["peak"]] + [results[name]["bytes"]["peak"] for name in ("w8a8", "w4a4", "full", "bin")]
    print("\n  accuracy: of the test nodes; memory: model, graph and features.")
    print("  Peak memory of a run: float {}, 8 bits {}, 4 bits {}, full {}, bin {}.".format(*map(size, peaks)))
    print("\nTry next\n")
    for command in (f"tune {models['bin']} {demo.dataset} --also {models['float']} --also {models['w4a4']}",
                    f"quantize {models['float']} {demo.dataset} --bits auto --out {work / 'small.safetensors'}",
                    f"bench gnn {demo.dataset}",
                    f"pagerank {demo.dataset} --top 5"):
        print(f"  {demo.program} {command}")


if __name__ == "__main__":
    main()
