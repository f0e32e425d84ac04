#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the documents: every line of prose ends before column 120; links lead somewhere; paths that are named exist.

Usage: check_docs.py [ROOT]. Prints one line a violation, as file:line: reason; exits 1 if there is any.

Prose is everything but code blocks and tables. A path begins with a folder of the project, such as src/ops/spmm/.
Paths with a placeholder (<name>, NAME, * or {a,b}) are skipped. A README in a room under src/ names its sources from
there on, in backticks: `cuda/plan.cpp`. CHANGELOG.md may name files that are gone.
"""

import pathlib
import re
import sys

LONGEST = 119
FOLDERS = "src|include|tests|scripts|examples|docs|bench|cmake"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w./<>{{}},*-]*[\w/>}}*]")
PLACEHOLDER = re.compile(r"[<>{}*]|\bNAME\b")
SOURCE = re.compile(r"`([\w/-]+\.(?:cpp|hpp|cu|cuh))`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def lines_of(text):
    """(line number, line, whether it is prose) of a document's lines outside code blocks."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            in_code = not in_code
        elif not in_code:
            yield number, line, not line.startswith(("|", "    "))


def problems_of(root, path):
    is_room = path.is_relative_to(root / "src")
    for number, line, prose in lines_of(path.read_text(encoding="utf-8")):
        if prose and len(line) > LONGEST:
            yield number, f"the line has {len(line)} characters, prose at most {LONGEST}"
        for target in LINK.findall(line):
            if "://" not in target and not (path.parent / target).exists():
                yield number, f"the link '{target}' leads nowhere"
        if path.name == "CHANGELOG.md":
            continue
        for name in PATH.findall(LINK.sub("]", line)):
            if not PLACEHOLDER.search(name) and not (root / name).exists():
                yield number, f"'{name}' is not there"
        for name in SOURCE.findall(line):
            if is_room and not (path.parent / name).exists() and not (root / name).exists():
                yield number, f"'{name}' is not in this room"


def documents(root):
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md")), *sorted((root / "src").rglob("*.md"))]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    found = documents(root)
    problems = []
    for path in found:
        problems += [f"{path.relative_to(root)}:{number}: {what}" for number, what in problems_of(root, path)]
    if not found:
        problems.append(f"{root}: no documents found")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
