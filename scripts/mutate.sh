#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Changes the code of a room on purpose, one place at a time, in a copy of the tree, and tells which changes no test
# notices. scripts/mutate.sh --help says how.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
[ -x "$python" ] || python=python3
exec "$python" "$here/mutate.py" "$@"
