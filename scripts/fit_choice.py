#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the cost model of src/graph/packed_graph/choice.cpp to measurements, and prints its tables.

Usage: format_choice --csv > times.csv; fit_choice.py times.csv... [--cache BYTES] [--first BYTES] [--held-out]
Of several runs the least times count. --table tells how good the choice is, in Markdown: by the costs fitted to these
times where there are any, else what the program chose when it was measured.
Needs NumPy and SciPy. Relative errors are made small, by non-negative least squares with weights that leave outliers be.
"""

import argparse
import collections
import csv
import sys

try:
    import numpy as np
    from scipy.optimize import nnls
except ImportError as error:
    sys.exit(f"fit_choice: {error}: install python3-numpy and python3-scipy")

FORMATS = ("csr", "4", "8", "16", "32", "64")
TILE_BYTES = {"4": 2, "8": 8, "16": 32, "32": 128, "64": 512}
ITERATIONS = {"ranks": 5}  # in one measured call
GROUPS = {"bits": ("bits", "bits, few set"), "counts": ("counts",), "values": ("values",), "ranks": ("pagerank",)}


def features(row, form, arguments, group):
    """What a format's cost is made of: calls, units, rows, bytes beyond the cache, units that reach far."""
    nodes, entries = float(row["nodes"]), float(row["entries"])
    scatter = float(row["tiles16"]) / entries
    units = entries if form == "csr" else float(row["tiles" + form])
    rows = nodes if form == "csr" else nodes / int(form)
    size = 4 * units + 8 * rows + (0 if form == "csr" else units * TILE_BYTES[form])
    vector = nodes * (0.125 if group in ("bits", "counts") else 4)
    return [1, units, rows, max(0.0, size - arguments.cache), units * scatter * (vector > arguments.first)]


def fit(rows, form, arguments, group):
    measured = [row for row in rows if float(row[form]) > 0]
    times = np.array([1000 * float(row[form]) for row in measured])
    a = np.array([features(row, form, arguments, group) for row in measured]) / times[:, None]
    weights = np.ones(len(times))
    for _ in range(30):
        costs = nnls(a * weights[:, None], weights)[0]
        weights = 1 / np.sqrt(np.maximum(np.abs(a @ costs - 1), 0.05))
    return costs


def judge(rows, costs, arguments, group):
    """How many of the rows would be within 15 % of their best, and what the others are."""
    within, others = 0, []
    for row in rows:
        times = {form: float(row[form]) for form in FORMATS if float(row[form]) > 0}
        predicted = {form: np.dot(features(row, form, arguments, group), costs[form]) for form in times}
        chosen, best = min(predicted, key=predicted.get), min(times, key=times.get)
        ratio = times[chosen] / times[best]
        within += ratio <= 1.15
        if ratio > 1.15:
            others.append(f"{row['graph']} ({row['entries']}): {chosen} for {best}, {ratio:.2f}")
    return within, others


def held_out(rows, arguments, group):
    """The same, each graph judged by costs that were fitted without it."""
    within = 0
    for name in {row["graph"] for row in rows}:
        others = [row for row in rows if row["graph"] != name]
        costs = {form: fit(others, form, arguments, group) for form in FORMATS}
        within += judge([row for row in rows if row["graph"] == name], costs, arguments, group)[0]
    return within


def read(names):
    """The rows of all files, those of one graph and kind of work as one: the least of their times."""
    rows = {}
    for name in names:
        with open(name, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                known = rows.setdefault((row["work"], row["graph"]), row)
                for form in FORMATS:
                    known[form] = min(known[form], row[form], key=lambda time: float(time) or float("inf"))
    return list(rows.values())


def print_table(by_work):
    """How often a choice was within 15 % of the best, for each kind of work and for all."""
    print("| work | graphs | auto | worst | always CSR | always B2SR-4 |\n|---|---|---|---|---|---|")
    sums = np.zeros(4, int)
    for work, rows in by_work.items():
        within, worst = np.zeros(3, int), (0, "")
        for row in rows:
            times = [float(row[form]) or float("inf") for form in FORMATS]
            auto = "csr" if row["auto"] == "0" else row["auto"]  # as format_choice prints it
            ratios = [times[FORMATS.index(form)] / min(times) for form in (auto, "csr", "4")]
            within += [ratio <= 1.15 for ratio in ratios]
            worst = max(worst, (ratios[0], row["graph"]))
        sums += [len(rows), *within]
        shares = [f"{100 * count / len(rows):.0f} %" for count in within]
        print(f"| {work} | {len(rows)} | {shares[0]} | {worst[0]:.2f}, {worst[1]} | {shares[1]} | {shares[2]} |")
    graphs, auto, *fixed = sums
    print(f"| all | {graphs} | {100 * auto / graphs:.1f} % | | {' | '.join(f'{100 * n / graphs:.0f} %' for n in fixed)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--cache", type=float, default=0.8e6, help="bytes of a matrix that stay in the second-level cache")
    parser.add_argument("--first", type=float, default=24e3, help="bytes of a vector that stay in the first-level cache")
    parser.add_argument("--held-out", action="store_true", help="fit without each graph in turn, too")
    parser.add_argument("--table", action="store_true", help="how good the choice is, instead of the costs")
    arguments = parser.parse_args()
    by_work = collections.defaultdict(list)
    for row in read(arguments.files):
        by_work[row["work"]].append(row)
    for group, works in GROUPS.items():
        rows = [row for work in works for row in by_work.get(work, [])]
        if not rows:
            continue
        costs = {form: fit(rows, form, arguments, group) for form in FORMATS}
        for row in rows:
            predicted = {form: np.dot(features(row, form, arguments, group), costs[form])
                         for form in FORMATS if float(row[form]) > 0}
            row["auto"] = min(predicted, key=predicted.get)
        if arguments.table:
            continue
        within, others = judge(rows, costs, arguments, group)
        without = f", {held_out(rows, arguments, group)} when fitted without the graph" if arguments.held_out else ""
        print(f"// {group}: {within} of {len(rows)} within 15 %{without}")
        for form in FORMATS:
            print("    {" + ", ".join(f"{cost / ITERATIONS.get(group, 1):.3g}" for cost in costs[form]) + f"}},  // {form}")
        for other in others:
            print("  " + other, file=sys.stderr)
    if arguments.table:
        print_table(by_work)


if __name__ == "__main__":
    main()
