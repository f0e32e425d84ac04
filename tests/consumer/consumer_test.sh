#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs bitgraph and builds a program against the installed package only, in one of three ways:
#   consumer_test.sh cmake    BUILD_DIR WORK_DIR             find_package, as BUILD_DIR has built the library (static)
#   consumer_test.sh pkgconf  BUILD_DIR WORK_DIR             pkg-config, the same library
#   consumer_test.sh shared   BUILD_DIR WORK_DIR OPTION...   both, with the library built anew as a shared one
# OPTIONs are those of BUILD_DIR, so that the compiler cache has the objects.
# The installed tree is moved before it is used: nothing in it may point at where it was made.
set -eu
mode=$1 build=$2 work=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cxx=${CXX:-c++}

rm -rf "$work"
mkdir -p "$work"
if [ "$mode" = shared ]; then
  # As deep as any build folder, so that a compiler cache finds the same objects.
  build=$root/build/consumer-shared
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBITGRAPH_CUDA="${BITGRAPH_CUDA:-AUTO}" -DBUILD_SHARED_LIBS=ON \
    -DBITGRAPH_UNITY=ON -DBITGRAPH_BUILD_TESTS=OFF -DBITGRAPH_BUILD_EXAMPLES=OFF -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" \
    -DCMAKE_CUDA_COMPILER_LAUNCHER="$(command -v ccache || true)" "$@" >"$work/configure.log"
  cmake --build "$build"
fi
cmake --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
if grep -rIl -e "$root/" -e "$work/first" "$work/prefix"; then
  echo "the files above name the build's own folders" >&2
  exit 1
fi
pc=$(find "$work/prefix" -name bitgraph.pc)
if grep -rIl -e /usr/local/cuda "$work/prefix"; then
  echo "the files above name the folder of a CUDA toolkit" >&2
  exit 1
fi
if [ "$mode" = shared ]; then
  library=$(find "$work/prefix" -name 'libbitgraph.so')
  shown=$(nm -D --defined-only "$library" | awk '{ print $3 }')
  printf '%s\n' "$shown" | grep -q _ZN8bitgraph || { echo "$library shows nothing" >&2; exit 1; }
  if printf '%s\n' "$shown" | grep -vE '^_Z(NK?|T[ISV]N)8bitgraph'; then
    echo "the symbols above are not the library's own" >&2
    exit 1
  fi
fi

if [ "$mode" != pkgconf ]; then
  # No toolkit is looked for, also where the library was built with CUDA: the consumer compiles none.
  cmake -S "$here" -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
    -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON -DCMAKE_CUDA_COMPILER=NOTFOUND
  cmake --build "$work/consumer"
  "$work/consumer/consumer"
  # A program that uses a little of everything carries the kernels for all instruction sets, and stays small.
  strip -o "$work/consumer/stripped" "$work/consumer/consumer"
  bytes=$(wc -c <"$work/consumer/stripped")
  echo "a consumer takes $bytes bytes stripped"
  cudart=$(find "$work/prefix" -name libcudart_static.a)
  if [ "$mode" = cmake ] && [ -z "$cudart" ] && [ "$bytes" -gt 15000000 ]; then
    echo "a consumer without CUDA takes more than 15 MB" >&2
    exit 1
  fi
  if BITGRAPH_ISA=nonsense "$work/consumer/consumer" >"$work/isa.log" 2>&1; then
    echo "a program that links the library does not look at BITGRAPH_ISA" >&2
    exit 1
  fi
fi
if [ "$mode" != cmake ]; then
  export PKG_CONFIG_PATH="${pc%/*}"
  # shellcheck disable=SC2046 # flags are meant to be split
  "$cxx" -std=c++20 $(pkg-config --cflags bitgraph) "$here/main.cpp" $(pkg-config --libs bitgraph) \
    -o "$work/by_pkg_config"
  LD_LIBRARY_PATH="$(pkg-config --variable=libdir bitgraph)" "$work/by_pkg_config"
fi
"$work/prefix/bin/bitgraph" --help >/dev/null
# The rival's module moved with the program.
if "$work/prefix/bin/bitgraph" bench graph grid:8 --algorithms bfs --repeats 1 | grep "cannot be loaded"; then exit 1; fi
