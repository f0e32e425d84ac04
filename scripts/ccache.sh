#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ccache COMPILER ARGUMENT..., with which objects that use a precompiled header are found again in another build folder.
#
# The bytes of such a header hold paths and times. ccache looks at FILE.pch.sum in its place (CCACHE_PCH_EXTSUM): a hash
# of all files that were read to make FILE.pch, as the compiler lists them. Options are a part of each object's own hash.
# The header itself is compiled anew: one from another folder would name files that may be gone.
set -eu
export CCACHE_PCH_EXTSUM=1
header=""
for word; do
  shift
  case $word in
    c++-header) header=yes ;;
    "$PWD"/*) word=${word#"$PWD"/} ;; # ccache leaves paths behind -Xclang as they are
  esac
  set -- "$@" "$word"
done
[ -n "$header" ] || exec ccache "$@"
"$@"
made="" list=""
while [ $# -gt 1 ]; do
  case $1 in
    -o) made=$2 ;;
    -MF) list=$2 ;;
  esac
  shift
done
[ -n "$list" ] || exit 0
sed -e '1s/^[^:]*://' -e 's/\\$//' "$list" | tr -s ' ' '\n' | grep . | xargs cat | sha256sum >"$made.sum"
