#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes of every format before and after reordering, and the advisor's prediction beside the truth.

Usage: advisor_table.py [--data $BITGRAPH_DATA] [--sample 1000] [--seeds 5] [--no-generated]
Over all graphs of a folder, and generated families. `info` is asked for each; files that the program does not read it
gets as a SciPy .npz (scripts/truth.py reads them; without SciPy they are left out). The error of a graph is the largest
over the tile sides and seeds. Prints Markdown.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SUFFIXES = (".mtx", ".graph", ".txt", ".edgelist", ".csv", ".npz")
SIDES = (4, 8, 16, 32, 64)
ORDERS = {"degree": "d", "rcm": "r", "community": "c"}
GENERATED = ([("mycielskian", "--order", k) for k in range(9, 16)] + [("de-bruijn", "--scale", s) for s in (8, 10, 12, 14, 16, 18)] +
             [("grid", "--width", w, "--height", w) for w in (30, 100, 300, 1000)] +
             [("rmat", "--scale", s) for s in (8, 10, 12, 14, 16, 18)] +
             [("mesh", "--width", w, "--height", w, *options) for w in (100, 300) for options in ((), ("--shuffled",))] +
             [("uniform", "--nodes", n, "--edges", 8 * n) for n in (1 << 12, 1 << 16)])


def info(arguments, path, seed, *options):
    done = subprocess.run([arguments.program, "info", path, "--json", "--quiet", "--sample", str(arguments.sample), "--seed",
                           str(seed), *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def graphs_of(arguments, scratch):
    """(name, file that the program reads) of every graph."""
    folder = pathlib.Path(arguments.data)
    try:
        import scipy.sparse
        import truth
    except (ImportError, SystemExit):
        truth = None
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        readable = path.name.removesuffix(".gz").endswith(SUFFIXES) and not path.name.startswith("ind.")
        if readable and path.parent.name != "triplets" and "target" not in path.name:
            yield str(path.relative_to(folder)), path
        elif truth is not None and truth.reader_of(path) is not None:
            converted = scratch / "converted.npz"
            scipy.sparse.save_npz(converted, truth.reader_of(path)(path), compressed=False)
            yield str(path.relative_to(folder)), converted
    for kind, *options in GENERATED if not arguments.no_generated else ():
        path = scratch / "generated.b2sr"
        subprocess.run([arguments.program, "generate", kind, path, *map(str, options), "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        yield " ".join([kind] + [str(word).removeprefix("--") for word in options]), path


class Totals:
    def __init__(self):
        self.graphs = self.shrink = self.shrink_reordered = self.below_pattern = self.below_reordered = self.right = 0
        self.worst = 0.0

    def text(self, what):
        return (f"{what}: {self.graphs} graphs. B2SR-4 is smaller than float32 CSR on {self.shrink}, in its best order on "
                f"{self.shrink_reordered}; smaller than pattern CSR on {self.below_pattern}, in its best order on "
                f"{self.below_reordered}. The advice is within 2 % of the smallest of all on {self.right}. Largest error of "
                f"the prediction: {100 * self.worst:.1f} %.")


def row_of(arguments, name, path, totals):
    first = info(arguments, path, 0)
    if first is None or first["num_entries"] == 0:
        print(f"{name}: not a graph", file=sys.stderr)
        return
    table, advice, by_order = first["bytes"], first["advice"], first.get("bytes_by_order", {})
    error = 0.0
    for seed in range(arguments.seeds):
        predicted = info(arguments, path, seed, "--no-reorder")["sample"]["predicted"]
        error = max([error] + [abs(predicted[f"b2sr_{k}"]["bytes"] / table[f"b2sr_{k}"] - 1) for k in SIDES])
    cells, held = [], [table["csr_pattern"]]
    for k in SIDES:
        sizes = {letter: by_order[order][f"b2sr_{k}"] for order, letter in ORDERS.items() if order in by_order}
        best = min(sizes, key=sizes.get) if sizes else ""
        before = table[f"b2sr_{k}"]
        after = sizes.get(best, before)
        cells.append(f"{before} > {after} {best}" if after < before else f"{before}")
        held += [before, after]
        if k == 4:
            totals.shrink += before < table["csr_float32"]
            totals.shrink_reordered += min(before, after) < table["csr_float32"]
            totals.below_pattern += before < table["csr_pattern"]
            totals.below_reordered += min(before, after) < table["csr_pattern"]
    tiles = advice["format"] != "csr"
    taken = by_order.get(advice["reorder"], table)[f"b2sr_{advice['tile_dim']}"] if tiles else table["csr_pattern"]
    totals.graphs, totals.worst = totals.graphs + 1, max(totals.worst, error)
    totals.right += taken <= 1.02 * min(held)
    chosen = f"{advice['tile_dim']}, {advice['reorder']}" if tiles else "csr"
    print(f"| {name} | {first['num_nodes']} | {first['num_entries']} | {table['csr_float32']} | {table['csr_pattern']} | " +
          " | ".join(cells) + f" | {chosen} | {100 * error:.1f} % |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/bitgraph")
    parser.add_argument("--data", default=os.environ.get("BITGRAPH_DATA", "../shared/datasets"))
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--no-generated", action="store_true")
    arguments = parser.parse_args()
    print("| graph | nodes | entries | float32 CSR | pattern CSR | B2SR-4 | -8 | -16 | -32 | -64 | advice | error |\n|" +
          "---|" * 12)
    files, generated = Totals(), Totals()
    with tempfile.TemporaryDirectory(prefix="bitgraph-storage-") as scratch:
        for name, path in graphs_of(arguments, pathlib.Path(scratch)):
            row_of(arguments, name, path, generated if path.name == "generated.b2sr" else files)
    print("\n" + files.text("Files"))
    if generated.graphs:
        print("\n" + generated.text("Generated"))


if __name__ == "__main__":
    main()
