#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The vote, or sums of levels, beside the float32 product: runs bench_spanning and prints medians and ratios.

Usage: spmm_table.py [--levels] [--program build/release/bin/bench_spanning] [--cpus 2] [--repetitions 9]
"""

import argparse
import json
import math
import subprocess
import tempfile


NAMES = {"vote": "vote, CSR", "sell_vote": "vote, SELL", "levels2": "2 bits", "levels4": "4 bits", "levels8": "8 bits"}


def medians(program, kinds, cpus, repetitions):
    """{(kind, graph, width): microseconds}"""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([program, f"--benchmark_filter=^({'|'.join(kinds)}|float)/.*cpus:{cpus}/",
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
    parser.add_argument("--levels", action="store_true", help="sums of levels instead of votes")
    parser.add_argument("--program", default="build/release/bin/bench_spanning")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=9)
    arguments = parser.parse_args()
    kinds = ["levels2", "levels4", "levels8"] if arguments.levels else ["vote", "sell_vote"]
    times = medians(arguments.program, kinds, arguments.cpus, arguments.repetitions)
    print(f"{arguments.cpus} threads, medians of {arguments.repetitions}, microseconds\n")
    print("| graph | features | float32 CSR | " + " | ".join(NAMES[kind] for kind in kinds) + " | "
          + " | ".join("faster, " + NAMES[kind].removeprefix("vote, ") for kind in kinds) + " |")
    print("|---" * (3 + 2 * len(kinds)) + "|")
    ratios = {kind: [] for kind in kinds}
    for form, graph, width in sorted(times):
        if form != "float":
            continue
        base = times[form, graph, width]
        found = [times[kind, graph, width] for kind in kinds]
        for kind, time in zip(kinds, found):
            ratios[kind].append(base / time)
        print(f"| {graph} | {width} | {base:,.0f} | " + " | ".join(f"{time:,.1f}" for time in found) + " | "
              + " | ".join(f"{base / time:.1f}" for time in found) + " |")
    for kind, values in ratios.items():
        mean = math.exp(sum(map(math.log, values)) / len(values))
        print(f"\n{NAMES[kind]}: geometric mean {mean:.1f}, least {min(values):.1f}")


if __name__ == "__main__":
    main()
