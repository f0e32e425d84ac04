#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the README's own commands in a clean clone of SOURCE_DIR: the first block of "## Start". What is not committed is
# not tested. `./run test` is cut to its first stage there: this test is part of it. Exit 77: nothing to clone.
#   readme_test.sh SOURCE_DIR OPTION...
# OPTIONs are those of the build that this test is part of, so that the compiler cache has its objects.
set -eu
source=$1
shift
export BITGRAPH_OPTIONS="$*"

if ! git -C "$source" rev-parse --verify -q HEAD >/dev/null 2>&1; then
  echo "$source is not a git checkout with a commit: skipped"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
git clone -q "$source" "$work/bitgraph"
cd "$work/bitgraph"

commands=$(awk '/^## Start/ { on = 1 } on && /^```/ { if (inside) exit; inside = 1; next } inside' README.md)
printf '%s\n' "$commands" | grep -q '^\./run demo' || { echo "the README does not say ./run demo"; exit 1; }
printf '%s\n' "$commands" | grep -q '^\./run test' || { echo "the README does not say ./run test"; exit 1; }

# The clone has no data beside it; it uses those of the source, where there are any.
if [ -z "${BITGRAPH_DATA:-}" ] && [ -d "$source/../shared/datasets" ]; then
  BITGRAPH_DATA=$(cd "$source/../shared/datasets" && pwd)
  export BITGRAPH_DATA
fi
export BITGRAPH_TEST_STAGES=floors
unset CCACHE_BASEDIR # of the source's build: the clone's is its own folder
printf '%s\n' "$commands" | while read -r line; do
  case $line in
    ./run*)
      line=${line%%#*}
      echo "\$ $line"
      sh -c "$line" </dev/null
      ;;
  esac
done
test -x build/release/bin/bitgraph
git status --porcelain | { ! grep . ; } || { echo "the commands leave files behind that git sees"; exit 1; }
