#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The advisor's prediction beside the truth, and the bytes of every format and order, over all graphs of a folder.

Usage: advisor_table.py [--data $BITGRAPH_DATA] [--sample 1000] [--seeds 5]
The error of a graph is the largest over the tile sides and seeds; `info` is asked. Prints Markdown.
"""

import argparse
import json
import os
import pathlib
import subprocess

SUFFIXES = (".mtx", ".graph", ".graph.gz", ".txt", ".txt.gz", ".edgelist", ".edgelist.gz", ".csv", ".csv.gz")


def info(arguments, path, seed, *options):
    done = subprocess.run([arguments.program, "info", path, "--json", "--quiet", "--sample", str(arguments.sample), "--seed",
                           str(seed), *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def tiles(table):
    return {name: size for name, size in table.items() if name.startswith("b2sr_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/bitgraph")
    parser.add_argument("--data", default=os.environ.get("BITGRAPH_DATA", "../shared/datasets"))
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    files = sorted(p for p in pathlib.Path(arguments.data).rglob("*") if p.name.endswith(SUFFIXES))
    print("| graph | nodes | entries | float32 CSR | pattern CSR | B2SR-4 | -8 | -16 | -32 | -64 | best reordered "
          "| advice | error |\n|" + "---|" * 13)
    worst, smaller, count, right = 0.0, 0, 0, 0
    for path in files:
        first = info(arguments, path, 0)
        if first is None or first["num_entries"] == 0:
            print(f"| {path.name} | not a graph |")
            continue
        error = 0.0
        for seed in range(arguments.seeds):
            found = info(arguments, path, seed, "--no-reorder")
            error = max([error] + [abs(found["sample"]["predicted"][name]["bytes"] / size - 1)
                                   for name, size in tiles(found["bytes"]).items()])
        table, advice = first["bytes"], first["advice"]
        orders = {order: min(sizes.values()) for order, sizes in first.get("bytes_by_order", {}).items()}
        best = min(orders, key=orders.get) if orders else "-"
        count, worst, smaller = count + 1, max(worst, error), smaller + (table["b2sr_4"] < table["csr_float32"])
        held = min([table["csr_pattern"], *orders.values(), *tiles(table).values()])
        name = "csr" if advice["format"] == "csr" else f"{advice['tile_dim']}, {advice['reorder']}"
        taken = table["csr_pattern"] if advice["format"] == "csr" else (
            first.get("bytes_by_order", {}).get(advice["reorder"], table))[f"b2sr_{advice['tile_dim']}"]
        right += taken <= 1.02 * held
        print(f"| {path.name} | {first['num_nodes']} | {first['num_entries']} | {table['csr_float32']} "
              f"| {table['csr_pattern']} | " + " | ".join(str(size) for size in tiles(table).values()) +
              f" | {orders.get(best, '-')}, {best} | {name} | {100 * error:.1f} % |")
    print(f"\n{count} graphs. Largest error of the prediction: {100 * worst:.1f} %. B2SR-4 smaller than float32 CSR: "
          f"{smaller}. The advice is within 2 % of the smallest: {right}.")


if __name__ == "__main__":
    main()
