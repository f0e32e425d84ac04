#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no include runs upward between the floors of the house (docs/architecture.md), and that
bitgraph/bitgraph.hpp includes every public header.

Usage: check_floors.py [ROOT]. Prints one line a violation, as file:line: reason; exits 1 if there is any.
"""

import pathlib
import re
import sys

# A floor may include itself and what lies below it. The two floors of one height do not know each other.
HEIGHT = {"core": 1, "formats": 2, "ops": 3, "io": 4, "graph": 5, "nn": 5, "cli": 6}
SOURCES = {".hpp", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SIMD = re.compile(r"^hwy/|intrin\.h$|^arm_neon\.h$|^arm_sve\.h$")
CUDA = re.compile(r"^cuda|^cub/|^thrust/|^cooperative_groups|^nccl\.h$|^mma\.h$")
STANDARD = re.compile(r"^[a-z_0-9]+$")  # <vector>; C headers end in .h and do not match
UMBRELLA = "bitgraph/bitgraph.hpp"


def includes(path):
    """Yields (line number, target, in quotes) for each include of a file, those in comments left out."""
    in_comment = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if in_comment:
            if "*/" not in line:
                continue
            line, in_comment = line.split("*/", 1)[1], False
        line = re.sub(r"/\*.*?\*/", "", line)
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(2), match.group(1) == '"'
        elif "/*" in line.split("//")[0]:
            in_comment = True


def place_of(include):
    """(floor, room) of an include of ours, or None. A room is an operator's folder under src/ops."""
    parts = include.split("/")
    public = parts[0] == "bitgraph"
    if public:
        parts = parts[1:]
    if len(parts) < 2 or parts[0] not in HEIGHT:
        return None
    room = parts[1] if parts[0] == "ops" and not public and len(parts) > 2 else None
    return parts[0], room


def check_arrow(own, target, own_room):
    floor, room = target
    if floor != own and HEIGHT[floor] >= HEIGHT[own]:
        direction = "sideways" if HEIGHT[floor] == HEIGHT[own] else "upward"
        return f"{own} includes {floor}: the arrow runs {direction}"
    if room is not None and room != own_room:
        return f"the inside of operator '{room}' belongs to its room: include bitgraph/ops/{room}.hpp"
    return None


def check_file(path, own, own_room, public):
    may_simd = (path.name.startswith("cpu") or path.parent.name == "cpu") and not public
    for number, target, _ in includes(path):
        problem = None
        place = place_of(target)
        if place is not None:
            problem = check_arrow(own, place, own_room)
        if problem is None and target == UMBRELLA and own != "cli":
            problem = "the umbrella header is for users of the library, not for its floors"
        if problem is None and SIMD.search(target) and not may_simd:
            problem = "SIMD headers belong in files named cpu* or in a folder cpu"
        if problem is None and CUDA.search(target) and path.suffix not in {".cu", ".cuh"}:
            problem = "CUDA headers belong in .cu files"
        if problem is None and target in {"cassert", "assert.h"}:
            problem = "an assert is gone where it matters: fail() names what is wrong"
        if problem is None and public and not (target.startswith("bitgraph/") or STANDARD.match(target)):
            problem = "a public header includes only <bitgraph/...> and the standard library"
        if problem is not None:
            yield f"{path}:{number}: {problem} (#include {target})"


def find_cycles(root, files):
    """Header cycles: #pragma once would hide them from the compiler."""
    known = {}
    for path in files:
        base = root / ("include" if path.is_relative_to(root / "include") else "src")
        known[path.relative_to(base).as_posix()] = path
    edges = {name: [t for _, t, _ in includes(path) if t in known] for name, path in known.items()}
    done, trail, cycles = set(), [], []

    def visit(name):
        if name in trail:
            cycles.append(" -> ".join([*trail[trail.index(name):], name]))
            return
        if name in done:
            return
        trail.append(name)
        for target in edges[name]:
            visit(target)
        trail.pop()
        done.add(name)

    for name in sorted(edges):
        visit(name)
    return [f"headers include each other: {cycle}" for cycle in cycles]


def missing_headers(root):
    """Public headers that a user of the umbrella header does not get."""
    public = root / "include" / "bitgraph"
    umbrella = root / "include" / UMBRELLA
    included = {target for _, target, _ in includes(umbrella)} if umbrella.exists() else set()
    for path in sorted(public.rglob("*.hpp")):
        name = path.relative_to(root / "include").as_posix()
        if name != UMBRELLA and name not in included:
            yield f"{path}: {UMBRELLA} does not include this public header"


def check(root):
    problems, files = [], []
    for top in ("include/bitgraph", "src"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCES:
                continue
            files.append(path)
            parts = path.relative_to(root / top).parts
            public = top != "src"
            if len(parts) < 2:  # the umbrella and the version stand above all floors
                continue
            if parts[0] not in HEIGHT:
                problems.append(f"{path}: '{parts[0]}' is not a floor")
                continue
            room = parts[1] if parts[0] == "ops" and len(parts) > 2 else None
            # A test straight under src/ops spans its rooms.
            if parts[0] == "ops" and room is None and path.stem.endswith(("_test", "_bench")):
                problems += [p for p in check_file(path, "ops", None, public) if "belongs to its room" not in p]
            else:
                problems += check_file(path, parts[0], room, public)
    if not files:
        problems.append(f"{root}: no sources found")
    return problems + find_cycles(root, files) + list(missing_headers(root))


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
