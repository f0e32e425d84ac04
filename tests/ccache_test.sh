#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/ccache.sh: an object that uses a precompiled header is found again from another folder, unless a header changed.
# Exit 77: no ccache here.
#   ccache_test.sh SOURCE_DIR COMPILER
set -eu
script=$1/scripts/ccache.sh compiler=$2
command -v ccache >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DIR="$work/cache" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
unset CCACHE_DISABLE CCACHE_RECACHE

# build FOLDER: compiles as CMake does, in FOLDER/build.
build() {
  mkdir -p "$work/$1/build"
  cd "$work/$1/build"
  export CCACHE_BASEDIR="$work/$1"
  : >all.cxx
  printf '#include <h.hpp>\n' >all.hxx
  printf 'int twice(int x) { return two() * x; }\n' >../main.cpp
  case $("$compiler" --version) in
    *clang*)
      header=all.hxx.pch
      make_flags="-Xclang -emit-pch -Xclang -include -Xclang $PWD/all.hxx"
      use_flags="-Xclang -include-pch -Xclang $PWD/all.hxx.pch -Xclang -include -Xclang $PWD/all.hxx"
      ;;
    *)
      header=all.hxx.gch
      make_flags="-include $PWD/all.hxx"
      use_flags="-include $PWD/all.hxx"
      ;;
  esac
  # shellcheck disable=SC2086 # the lists are meant to be split
  "$script" "$compiler" -I"$work/$1" $make_flags -x c++-header -MD -MT "$header" -MF all.d -o "$header" -c "$PWD/all.cxx"
  # shellcheck disable=SC2086
  "$script" "$compiler" -I"$work/$1" $use_flags -MD -MT main.o -MF main.d -o main.o -c "$work/$1/main.cpp"
}
# expect HITS MISSES: since the last time.
expect() {
  found=$(ccache --print-stats | awk '/^(direct|preprocessed)_cache_hit/ { hits += $2 } /^cache_miss/ { misses = $2 }
    END { print hits + 0, misses + 0 }')
  [ "$found" = "$1 $2" ] || { echo "hits and misses: $found, expected $1 $2" && exit 1; }
  ccache --zero-stats >/dev/null
}

mkdir -p "$work/first" "$work/second"
echo 'inline int two() { return 2; }' >"$work/first/h.hpp"
build first
expect 0 1
cp "$work/first/h.hpp" "$work/second/h.hpp"
rm -rf "$work/first"
build second
expect 1 0
echo 'inline int two() { return 1 + 1; }' >"$work/second/h.hpp"
build second
expect 0 1
# The header is this folder's own: it compiles what no cache has, though the first folder is gone.
rm "$work/second/build/main.o"
CCACHE_RECACHE=1 build second
test -f "$work/second/build/main.o"
