#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading Matrix Market files: this project's reader beside SciPy's mmread, on the same files in the same run.

Usage: bench_mmread.py [--build FOLDER] [--megabytes 50] [--threads 1 2] [--kinds KIND...] [--json] [--check RATIO]

Files are made anew, seeded, in a temporary folder, and read once before anything is timed: both read from the cache of
the system. SciPy's time is mmread alone, which ends at coordinates; ours is the median of repetitions, from opening
the file to the sorted CSR without duplicates. The entries of both are compared. Build the benchmarks first:
  cmake --preset release && cmake --build build/release --target bench_io
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    import scipy
    import scipy.io
except ImportError as error:
    sys.exit(f"bench_mmread: {error}: install python3-numpy and python3-scipy")

ROOT = pathlib.Path(__file__).resolve().parent.parent


def write_symmetric(path, megabytes, rng):
    """Pattern, symmetric, rows in order: what graph collections hold. Skewed degrees, as in social graphs."""
    nodes, entries = 1 << 18, int(megabytes * 1e6 / 12.18)
    ends = (nodes * rng.random((2, entries)) ** 2).astype(numpy.int64) + 1
    pairs = numpy.unique(ends.max(axis=0) << 32 | ends.min(axis=0))
    lines = numpy.stack([pairs >> 32, pairs & 0xFFFFFFFF], axis=1)
    write(path, "pattern symmetric", nodes, lines, "%d %d")


def write_general(path, megabytes, rng):
    """Pattern, general, in no order."""
    nodes, entries = 1 << 20, int(megabytes * 1e6 / 13.86)
    write(path, "pattern general", nodes, rng.integers(1, nodes + 1, (entries, 2)), "%d %d")


def write_real(path, megabytes, rng):
    """Real values of full length, in no order: a third as many entries."""
    nodes, entries = 1 << 20, int(megabytes * 1e6 / 32.86)
    lines = numpy.column_stack([rng.integers(1, nodes + 1, (entries, 2)), rng.random(entries)])
    write(path, "real general", nodes, lines, "%d %d %.16g")


def write(path, header, nodes, lines, form):
    with open(path, "w", encoding="ascii") as file:
        file.write(f"%%MatrixMarket matrix coordinate {header}\n{nodes} {nodes} {len(lines)}\n")
        for begin in range(0, len(lines), 100000):
            numpy.savetxt(file, lines[begin : begin + 100000], fmt=form)


KINDS = {"symmetric": write_symmetric, "general": write_general, "real": write_real}


def time_scipy(path):
    start = time.monotonic()
    matrix = scipy.io.mmread(path)
    seconds = time.monotonic() - start
    matrix.data = numpy.ones(len(matrix.data), numpy.int8)  # duplicates must not cancel out
    return seconds, matrix.tocsr().nnz


def time_ours(program, path, threads, repetitions):
    """Seconds: the median, least and most; entries."""
    command = [program, f"--benchmark_filter=load_matrix_market/threads:{threads}/", "--benchmark_format=json",
               f"--benchmark_repetitions={repetitions}", "--benchmark_min_time=0.2"]
    environment = {"OMP_WAIT_POLICY": "passive", **os.environ, "BITGRAPH_BENCH_MTX": str(path)}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, check=True)
    runs = [run for run in json.loads(done.stdout)["benchmarks"] if run["run_type"] == "iteration"]
    if not runs:
        sys.exit(f"bench_mmread: the benchmark does not know {threads} threads")
    seconds = sorted(run["real_time"] / 1e3 for run in runs)
    return (seconds[len(seconds) // 2], seconds[0], seconds[-1]), int(runs[0]["entries"])


def measure(arguments, folder, kind):
    path = folder / f"{kind}.mtx"
    KINDS[kind](path, arguments.megabytes, numpy.random.default_rng(arguments.seed))
    path.read_bytes()
    peer, expected = time_scipy(path)
    result = {"kind": kind, "bytes": path.stat().st_size, "entries": expected, "scipy_seconds": peer, "ours": []}
    for threads in arguments.threads:
        (median, least, most), entries = time_ours(arguments.program, path, threads, arguments.repetitions)
        if entries != expected:
            sys.exit(f"bench_mmread: {kind}: read {entries} entries, SciPy {expected}")
        result["ours"].append({"threads": threads, "seconds": median, "least": least, "most": most,
                               "ratio": peer / median})
    path.unlink()
    return result


def show(result):
    size = result["bytes"]
    print(f"{result['kind']}: {size / 1e6:.1f} MB, {result['entries']:,} entries after expansion")
    peer = result["scipy_seconds"]
    print(f"  {'scipy.io.mmread':<18}{peer:>9.3f} s{size / 1e6 / peer:>9.1f} MB/s")
    for ours in result["ours"]:
        name = f"ours, {ours['threads']} thread{'s' if ours['threads'] > 1 else ''}"
        print(f"  {name:<18}{ours['seconds']:>9.3f} s{size / 1e6 / ours['seconds']:>9.1f} MB/s{ours['ratio']:>8.1f} x"
              f"   ({ours['least']:.3f} to {ours['most']:.3f} s)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="build folder")
    parser.add_argument("--megabytes", type=float, default=50)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], choices=[1, 2])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", type=float,
                        help="exit with 1 where the last of --threads is less than so many times as fast")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    arguments.program = arguments.build / "bin/bench_io"
    if not arguments.program.exists():
        sys.exit(f"bench_mmread: {arguments.program} is missing: build the target bench_io")

    results = []
    with tempfile.TemporaryDirectory(prefix="bitgraph-mmread-") as folder:
        for kind in arguments.kinds:
            results.append(measure(arguments, pathlib.Path(folder), kind))
            if not arguments.json:
                show(results[-1])
    versions = {"scipy": scipy.__version__, "numpy": numpy.__version__, "python": platform.python_version()}
    if arguments.json:
        print(json.dumps({"versions": versions, "files": results}, indent=2))
    else:
        print(f"SciPy {scipy.__version__}, NumPy {numpy.__version__}, Python {platform.python_version()}")
    slow = [result["kind"] for result in results if result["ours"][-1]["ratio"] < (arguments.check or 0)]
    if slow:
        sys.exit(f"bench_mmread: less than {arguments.check:g} times as fast: {', '.join(slow)}")


if __name__ == "__main__":
    main()
