#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The vote beside the float32 product: runs bench_spanning and prints a table of medians and ratios.

Usage: spmm_table.py [--program build/release/bin/bench_spanning] [--cpus 2] [--repetitions 9]
"""

import argparse
import json
import math
import subprocess
import tempfile


def medians(program, cpus, repetitions):
    """{(kind, graph, width): microseconds}"""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([program, f"--benchmark_filter=^(vote|sell_vote|float)/.*cpus:{cpus}/",
                        f"--benchmark_repetitions={repetitions}", "--benchmark_min_time=0.1",
                        "--benchmark_report_aggregates_only=true", "--benchmark_enable_random_interleaving=true",
                        f"--benchmark_out={out.name}", "--benchmark_out_format=json"],
                       check=True, stdout=subprocess.DEVNULL)
        runs = json.load(open(out.name, encoding="utf-8"))["benchmarks"]
    result = {}
    for run in runs:
        if run["aggregate_name"] == "median":
            kind, rest = run["run_name"].split("/cpus:")[0].split("/", 1)
            graph, width = rest.rsplit("/width:", 1)
            result[kind, graph.split("/")[-1], int(width)] = run["real_time"]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/bench_spanning")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=9)
    arguments = parser.parse_args()
    times = medians(arguments.program, arguments.cpus, arguments.repetitions)
    print(f"{arguments.cpus} threads, medians of {arguments.repetitions}, microseconds\n")
    print("| graph | features | float32 CSR | vote, CSR | vote, SELL | faster, CSR | faster, SELL |\n|---|---|---|---|---|---|---|")
    ratios = {"vote": [], "sell_vote": []}
    for kind, graph, width in sorted(times):
        if kind != "float":
            continue
        base = times[kind, graph, width]
        found = {form: times[form, graph, width] for form in ratios}
        for form, time in found.items():
            ratios[form].append(base / time)
        print(f"| {graph} | {width} | {base:,.0f} | {found['vote']:,.1f} | {found['sell_vote']:,.1f} "
              f"| {base / found['vote']:.1f} | {base / found['sell_vote']:.1f} |")
    for form, values in ratios.items():
        print(f"\n{form}: geometric mean {math.exp(sum(map(math.log, values)) / len(values)):.1f}, least {min(values):.1f}")


if __name__ == "__main__":
    main()
