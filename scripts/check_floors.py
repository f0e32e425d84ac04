#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no include runs upward between the floors of the house (docs/architecture.md), that
bitgraph/bitgraph.hpp includes every public header, and the bars of size: the depth of a kernel's includes, the files of
a folder, the macros of the sources.

Usage: check_floors.py [ROOT] [--sizes]. Prints one line a violation, as file:line: reason; exits 1 if there is any.
--sizes prints what the bars of size are about instead: the deepest includes, the largest folders, the macros.
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

# The bars of size.
MOST_LEVELS = 6  # of our headers below a .cu: each includes the next
MOST_FILES = 20  # of a folder
MOST_MACROS = 0.5  # in a thousand lines of src, those that Highway asks for among them
DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)")


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


def graph_of_includes(root, files):
    """Which of our files each of them includes, by the names that includes have."""
    known = {}
    for path in files:
        base = root / ("include" if path.is_relative_to(root / "include") else "src")
        known[path.relative_to(base).as_posix()] = path
    return {name: [t for _, t, _ in includes(path) if t in known] for name, path in known.items()}


def find_cycles(edges):
    """Header cycles: #pragma once would hide them from the compiler."""
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


def longest_chains(edges):
    """The longest chain of includes below each kernel, (levels, names), the deepest first. There are no cycles."""
    chains = {}

    def chain(name):
        if name not in chains:
            chains[name] = (name, *max((chain(t) for t in edges[name]), key=len, default=()))
        return chains[name]

    kernels = [chain(name) for name in edges if name.endswith(".cu")]
    return sorted(((len(names) - 1, names) for names in kernels), reverse=True)


def check_depths(edges):
    for levels, names in longest_chains(edges):
        if levels > MOST_LEVELS:
            yield f"{names[0]}: {levels} levels of includes, at most {MOST_LEVELS}: {' <- '.join(names[1:])}"


def folder_sizes(root):
    """(files, folder) of the folders of all floors, the largest first."""
    floors = [root / "src" / floor for floor in HEIGHT]
    folders = [folder for floor in floors for folder in (floor, *floor.rglob("*"))]
    sizes = [(sum(1 for p in f.iterdir() if p.is_file()), f) for f in folders if f.is_dir()]
    return sorted(sizes, key=lambda size: (-size[0], size[1]))


def macros_of(root):
    """The macros that src defines, as (place, name), and its lines."""
    macros, lines = [], 0
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in SOURCES:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            lines += 1
            match = DEFINE.match(line)
            if match:
                macros.append((f"{path}:{number}", match.group(1)))
    return macros, lines


def check_sizes(root, edges):
    yield from check_depths(edges)
    for files, folder in folder_sizes(root):
        if files > MOST_FILES:
            yield f"{folder}: {files} files, at most {MOST_FILES}"
    macros, lines = macros_of(root)
    if len(macros) > max(1, MOST_MACROS * lines / 1000):
        yield f"{root / 'src'}: {len(macros)} macros in {lines} lines, at most {MOST_MACROS} in a thousand"


def print_sizes(root, edges):
    print("levels of includes below a kernel:")
    for levels, names in longest_chains(edges)[:20]:
        print(f"{levels:4}  {' <- '.join(names)}")
    print("files of a folder:")
    for files, folder in folder_sizes(root)[:5]:
        print(f"{files:4}  {folder.relative_to(root)}")
    macros, lines = macros_of(root)
    print(f"macros: {len(macros)} in {lines} lines of src, {1000 * len(macros) / max(lines, 1):.2f} in a thousand")


def missing_headers(root):
    """Public headers that a user of the umbrella header does not get."""
    public = root / "include" / "bitgraph"
    umbrella = root / "include" / UMBRELLA
    included = {target for _, target, _ in includes(umbrella)} if umbrella.exists() else set()
    for path in sorted(public.rglob("*.hpp")):
        name = path.relative_to(root / "include").as_posix()
        if name != UMBRELLA and name not in included:
            yield f"{path}: {UMBRELLA} does not include this public header"


def files_of(root):
    """Our headers and sources, in order."""
    paths = (p for top in ("include/bitgraph", "src") for p in sorted((root / top).rglob("*")))
    return [path for path in paths if path.suffix in SOURCES]


def check(root):
    problems, files = [], files_of(root)
    for top in ("include/bitgraph", "src"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCES:
                continue
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
    edges = graph_of_includes(root, files)
    cycles = find_cycles(edges)
    sizes = [] if cycles else list(check_sizes(root, edges))
    return problems + cycles + sizes + list(missing_headers(root))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--sizes"]
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    if len(arguments) != len(sys.argv) - 1:
        print_sizes(root, graph_of_includes(root, files_of(root)))
        return 0
    problems = check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
