#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything there is to check on a machine with an NVIDIA GPU: the tests of the CUDA backend, the same under
# compute-sanitizer, and a few algorithms timed by the program.
#
# Usage: scripts/gpu-check.sh [BIN]. BIN is the folder of tests_* and bitgraph; build/release/bin unless told, which is
# built where it is missing. On a machine without compilers it runs binaries that were built elsewhere.
set -eu
cd "$(dirname "$0")/.."
bin=${1:-build/release/bin}
if [ ! -x "$bin/bitgraph" ]; then
  cmake --preset release
  cmake --build build/release -j "$(nproc)"
  bin=build/release/bin
fi
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || { echo "gpu-check: no NVIDIA driver here" >&2; exit 4; }

status=0
# Tests that use a CUDA device, and tests of what it shares with the host.
on_cuda='*Cuda*:*CUDA*:*Device*:Figure2*:*OneLaunch*:*Fused*:*Stream*:*Share*:*Storage*:TwoThreads*:HostOnly*:Operators*'
on_cuda=$on_cuda:'*float16*:*OnADevice*:SparseLevelGemm*:LevelPlans*:PackedParts*:StayingParts*:InferenceOverParts*:LevelLaunch*'
on_cuda=$on_cuda:'LevelPacking*:LevelActivations*:Architectures*:Plan*:WeightUpdates*:OwnNetwork*'
for tests in "$bin"/tests_core "$bin"/tests_formats "$bin"/tests_ops "$bin"/tests_graph "$bin"/tests_nn "$bin"/tests_spanning; do
  echo "== ${tests##*/}"
  "$tests" --gtest_filter="$on_cuda" --gtest_brief=1 || status=1
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# sanitize TOOL PROGRAM FILTER: small cases of a program under a tool, which looks at every access. A part of the filter
# that names no test is an error: a test was renamed.
sanitize() {
  for part in $(echo "$3" | tr ':' ' '); do
    "$bin/$2" --gtest_list_tests --gtest_filter="$part" | grep -q '^  ' || { echo "gpu-check: $2 has no test $part" >&2; status=1; }
  done
  echo "== compute-sanitizer $1: $2"
  compute-sanitizer --tool "$1" --error-exitcode 9 "$bin/$2" --gtest_brief=1 --gtest_filter="$3" >"$work/log" 2>&1 || status=1
  tail -n 3 "$work/log"
}

if command -v compute-sanitizer >/dev/null 2>&1; then
  for tool in memcheck racecheck; do
    sanitize "$tool" tests_formats 'CudaFormats.SymmetryAndOrders:CudaFormats.PackFromTheHost'
    sanitize "$tool" tests_ops '*MxvCuda*/square_65:*MxvCuda*/wide:*MxvCuda*/long_columns:MxvCuda.ShortRows:MxmCuda.ShortRows'
    sanitize "$tool" tests_ops '*SpmmCudaTest*/random_width_65:*SpmmCudaTest*/long_rows:*GiveTheSameOnCuda/random_width_7'
    sanitize "$tool" tests_ops 'GemmCuda.BitsAre*:SelectOnCuda.*:ReduceOnCuda.Repeated*'
    sanitize "$tool" tests_ops '*OfBfloat16.*OnCuda*'
    sanitize "$tool" tests_ops 'PlaneGemmCuda.SumsAreExact:PlaneGemmCuda.*Tiles*:PlaneGemmCuda.Numbers*:PlaneGemmCuda.LevelsArePacked*'
    sanitize "$tool" tests_ops 'LevelGemmCuda.Levels*:LevelSumProductCuda.MakesTheLevels*'
    sanitize "$tool" tests_graph 'BfsCuda.Small*:PageRankCuda.EmptyEdgeless*:*OnCudaAllocatesNothing'
    sanitize "$tool" tests_spanning 'Tune.OnADevice'
  done
  # racecheck of these does not end within minutes
  sanitize memcheck tests_ops 'SparseLevelGemm*:LevelSpmmCuda*'
  sanitize memcheck tests_nn 'DeviceBatches*:PackedParts.HaveTheBits*:StayingParts.HaveTheBits*:LevelLaunch.Takes*'
fi

"$bin/bitgraph" generate rmat "$work/graph.b2sr" --scale 20 --edge-factor 16 --quiet
for command in bfs sssp pagerank cc 'cc --strong' tc mis color diameter; do
  echo "== bitgraph $command on R-MAT 20"
  # shellcheck disable=SC2086 # a command and its option
  "$bin/bitgraph" $command "$work/graph.b2sr" --device cuda --json || status=1
done
echo "== bitgraph bench graph, beside cuSPARSE"
LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64" "$bin/bitgraph" bench graph rmat:16 grid:300 --device cuda --limit 3 || status=1
echo "== bitgraph bench gnn, beside cuBLAS and cuSPARSE"
LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64" "$bin/bitgraph" bench gnn planted:flickr --device cuda --repeats 50 --limit 3 || status=1
echo "== bitgraph bench quantized, products and sums of levels beside cuBLASLt and cuSPARSE; both are checked"
LD_LIBRARY_PATH="${LD_LIBRARY_PATH:-}:/usr/local/cuda/lib64" "$bin/bitgraph" bench quantized rmat:16 grid:300 --figures products,sums --product 10001x500x196 --widths 60,128 --device cuda --limit 0.3 || status=1
exit $status
