#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `./run install` waits for locks that other programs hold. Programs of the test's own stand in for apt-get and others.
#   run_install_test.sh SOURCE_DIR
set -eu
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/bin"
cp "$source/run" "$work/run"
PATH="$work/bin:$PATH"
export PATH work
unset BITGRAPH_NO_INSTALL

# tool NAME: a program whose text is standard input.
tool() {
  { echo '#!/bin/sh'; cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
tool dpkg-query </dev/null # no package is installed
tool sleep </dev/null
tool sudo <<'END'
exec "$@"
END
tool apt-get <<'END'
echo "$*" >>"$work/calls"
case "$*" in *DPkg::Lock::Timeout=*) ;; *) echo "no timeout" && exit 1 ;; esac
case "$*" in
  *" update"*)
    [ "$(grep -c ' update' "$work/calls")" -gt "$(cat "$work/locked")" ] && touch "$work/lists" && exit 0
    cat "$work/message"
    ;;
  *" install "*) [ -f "$work/lists" ] && exit 0 ;;
esac
exit 100
END

# try LOCKED MESSAGE: runs it where so many updates fail with this message; shows how often apt-get updates and installs.
try() {
  rm -f "$work/calls" "$work/lists"
  echo "$1" >"$work/locked"
  echo "$2" >"$work/message"
  (cd "$work" && sh ./run install >"$work/log" 2>&1) && verdict=success || verdict=failure
  echo "$verdict $(grep -c ' update' "$work/calls") $(grep -c ' install ' "$work/calls")"
}
expect() {
  [ "$1" = "$2" ] || { echo "found '$1', expected '$2'"; cat "$work/log"; exit 1; }
}
lock='E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)'
expect "$(try 0 '')" 'success 1 2'
expect "$(try 3 "$lock")" 'success 4 2'
expect "$(try 3 'E: no network')" 'failure 1 1'
expect "$(try 1000 "$lock")" 'failure 120 1'
