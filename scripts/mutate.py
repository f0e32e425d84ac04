#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes the code of a room on purpose, one place at a time, and tells which changes no test notices.

  scripts/mutate.sh src/graph/bfs --tests tests_graph                     20 changes, drawn with seed 0
  scripts/mutate.sh src/io/graph/metis.cpp --tests tests_io --count 50 --seed 3
  scripts/mutate.sh src/formats --tests tests_formats,tests_ops --filter 'Advisor*'

It works on a copy of the tree under build/mutate: the checkout stays as it is, whatever happens. A change that does not
compile does not count. A change is killed where a test fails, crashes or does not end in time. What survives is printed
as a diff: a test is missing there, or the change makes no difference (say which in the report). Exits 1 where less than
--least of the changes are killed, 2 for wrong usage, and where the tests fail before anything is changed.
"""

import argparse
import difflib
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys

# What is written in place of what. Spaces around operators, as clang-format sets them, keep templates and includes out.
OPERATORS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
             (" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * "), (" % ", " + "), (" && ", " || "),
             (" || ", " && "), (" & ", " | "), (" | ", " & "), (" << ", " >> "), (" >> ", " << "), ("++", "--"),
             ("std::min(", "std::max("), ("std::max(", "std::min("), ("true", "false"), ("false", "true")]
NUMBER = re.compile(r"(?<![\w.\"'])(\d+)(?![\w.\"'])")
STATEMENT = re.compile(r"^(\s+)([\w.\[\]>()*&-]+ (?:[|&+*-]?=) [^;]*|\w[\w.]*\([^;{}]*\));$")
LEFT_OUT = re.compile(r"^\s*(//|///|#|using |namespace |template|static_assert|return \{|\}|BITGRAPH|\[\[)|\"")


def changes_of(line):
    """Every changed form of a line of code."""
    if LEFT_OUT.search(line.split("  //")[0]):
        return
    code, comment = (line.split("  //", 1) + [""])[:2]
    for old, new in OPERATORS:
        for found in re.finditer(re.escape(old), code):
            if old in ("true", "false") and re.search(r"\w", code[found.start() - 1:found.start()] +
                                                      code[found.end():found.end() + 1]):
                continue
            yield code[:found.start()] + new + code[found.end():] + ("  //" + comment if comment else "")
    for found in NUMBER.finditer(code):
        for value in (int(found.group()) + 1, int(found.group()) - 1):
            if value >= 0:
                yield code[:found.start()] + str(value) + code[found.end():]
    if condition := re.match(r"^(\s*)(if|while) \((?!constexpr)(.*)\)( return.*| continue;.*| break;.*| \{)$", code):
        yield "{}{} (!({})){}".format(*condition.groups())
    if statement := STATEMENT.match(code):
        yield statement.group(1) + ";"


def all_changes(files, root):
    """(file, line number, changed line), in the order of the files."""
    found = []
    for file in files:
        for number, line in enumerate((root / file).read_text().split("\n")):
            found += [(file, number, changed) for changed in changes_of(line) if changed != line]
    return found


def sources_of(room, root):
    place = root / room
    files = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.suffix in (".cpp", ".hpp"))
    return [f.relative_to(root) for f in files if not re.search(r"_(test|bench|cases|absent)\.[ch]pp$", f.name)]


class Tree:
    """A copy of the tree, and how it is built and tested."""

    def __init__(self, options, root):
        self.options, self.folder = options, pathlib.Path(options.work or root / "build" / "mutate").resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                                capture_output=True, text=True).stdout.split("\n")
        for name in filter(None, listed):
            source, target = root / name, self.folder / name
            if source.is_file() and (not target.exists() or target.read_bytes() != source.read_bytes()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
                target.touch()

    def call(self, command, seconds):
        """The exit code; None where it did not end in time."""
        process = subprocess.Popen(command, cwd=self.folder, shell=True, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
            process.kill()
            process.wait()
            return None

    def configure(self):
        launcher = "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache" if shutil.which("ccache") else ""
        return self.call(f"cmake --preset release -B build/cpu -DBITGRAPH_CUDA=OFF -DBITGRAPH_BUILD_BENCH=OFF "
                         f"-DBITGRAPH_WERROR=OFF {launcher}", 600)

    def build(self):
        command = self.options.build or (f"cmake --build build/cpu -j {self.options.jobs} --target "
                                         + self.options.tests.replace(",", " "))
        return self.call(command, self.options.build_seconds) == 0

    def test(self):
        """Whether all tests pass."""
        if self.options.test:
            return self.call(self.options.test, self.options.seconds) == 0
        filters = f"--gtest_filter={shlex.quote(self.options.filter)}" if self.options.filter else ""
        return all(self.call(f"build/cpu/bin/{program} --gtest_brief=1 {filters}", self.options.seconds) == 0
                   for program in self.options.tests.split(","))


def outcome_of(tree, file, number, changed):
    path = tree.folder / file
    original = path.read_text()
    lines = original.split("\n")
    lines[number] = changed
    try:
        path.write_text("\n".join(lines))
        if not tree.build():
            return "does not compile"
        return "survived" if tree.test() else "killed"
    finally:
        path.write_text(original)


def shown(root, file, number, changed):
    lines = (root / file).read_text().split("\n")
    after = lines[:number] + [changed] + lines[number + 1:]
    return "\n".join(difflib.unified_diff(lines, after, str(file), str(file), n=1, lineterm=""))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("room", nargs="+", help="a folder or a source of the tree")
    parser.add_argument("--tests", default="", help="test programs that are built and run, with commas between")
    parser.add_argument("--filter", default="", help="which of their tests, as GoogleTest's filter")
    parser.add_argument("--count", type=int, default=20, help="changes that compile (20)")
    parser.add_argument("--seed", type=int, default=0, help="draws the changes (0)")
    parser.add_argument("--seconds", type=float, default=120, help="for the tests of a change; more means killed (120)")
    parser.add_argument("--build-seconds", type=float, default=900, help="for the build of a change (900)")
    parser.add_argument("--least", type=float, default=0, help="share of changes that must be killed (0)")
    parser.add_argument("--jobs", type=int, default=1, help="compilations at once (1)")
    parser.add_argument("--work", help="folder of the copy (build/mutate)")
    parser.add_argument("--build", help="a command instead of the build")
    parser.add_argument("--test", help="a command instead of the test programs")
    options = parser.parse_args()
    if not options.tests and not options.test:
        parser.error("--tests names no test program")
    return options


def main():
    options = arguments()
    root = pathlib.Path(subprocess.run(["git", "rev-parse", "--show-toplevel"], check=True, capture_output=True,
                                       text=True).stdout.strip())
    files = [file for room in options.room for file in sources_of(room, root)]
    changes = all_changes(files, root)
    if not changes:
        print("mutate: nothing there to change", file=sys.stderr)
        return 2
    random.Random(options.seed).shuffle(changes)
    tree = Tree(options, root)
    if not options.build and tree.configure() != 0:
        print("mutate: the copy cannot be configured", file=sys.stderr)
        return 2
    if not tree.build() or not tree.test():
        print("mutate: the tests fail before anything is changed", file=sys.stderr)
        return 2
    counts = {"killed": 0, "survived": 0, "does not compile": 0}
    for change in changes:
        if counts["killed"] + counts["survived"] >= options.count:
            break
        outcome = outcome_of(tree, *change)
        counts[outcome] += 1
        print(f"{outcome:<17} {change[0]}:{change[1] + 1}", flush=True)
        if outcome == "survived":
            print(shown(root, *change), flush=True)
    judged = counts["killed"] + counts["survived"]
    share = counts["killed"] / judged if judged else 0
    print(f"{counts['killed']} of {judged} killed ({100 * share:.0f} %), {counts['does not compile']} did not compile; "
          f"seed {options.seed}")
    return 1 if share < options.least else 0


if __name__ == "__main__":
    sys.exit(main())
