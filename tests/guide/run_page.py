# SPDX-License-Identifier: Apache-2.0
"""Runs a page of documents as its reader would: docs/guide/, docs/cli.md, a section of the README.

Blocks run in the order of the page, in one empty folder, with the program's folder on the PATH:

  ```sh     runs by `sh -eu`
  ```python runs by this interpreter; ```python not-run is only shown
  ```cpp    all of these together are one program, compiled beforehand (--extract). It runs where the last one stands
  ```cpp FILE
            an excerpt of FILE, named from the root of the project. Its lines stand in FILE one after another, indented
            by any amount. A line `// ...` stands for lines that are left out. Other tests compile and run FILE
  ```text   directly after a block: what that block prints on standard output. `...` stands for anything, within a line
            or as lines of its own

`<!-- needs: cora -->` names a data set: the page is skipped, with exit code 77, where it is not there.

A page has at most 20 lines of commands and code (--most-lines N), and so has an excerpt. Blank lines, comments,
continuation lines after a backslash, and the data of a here-document do not count.

--section HEADING takes the part under that heading of second order only.

Usage: run_page.py PAGE [--section HEADING] [--most-lines N] --path FOLDER [--program FILE]
       run_page.py PAGE [--section HEADING] --extract FILE.cpp
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MOST_LINES = 20
SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Failure(Exception):
    """What is wrong with a page."""


def blocks_of(page):
    """[(language, text, expected output or None, line)] of a page."""
    blocks, inside, last_end = [], None, -1
    for number, line in enumerate(page.splitlines(), 1):
        fence = re.match(r"^```(.*)$", line)
        if fence and inside is None:
            inside = (fence.group(1).strip(), [], number)
        elif fence:
            language, lines, start = inside
            text = "".join(part + "\n" for part in lines)
            if language == "text" and blocks and last_end >= 0:
                blocks[-1][2] = text
                last_end = -1
            elif language in ("sh", "cpp", "python") or language.startswith("cpp "):
                blocks.append([language, text, None, start])
                last_end = number
            inside = None
        elif inside is not None:
            inside[1].append(line)
        elif line.strip():
            last_end = -1
    if inside is not None:
        raise Failure(f"line {inside[2]}: the block does not end")
    return blocks


def counted_lines(language, text):
    """Lines of commands and code."""
    count, end_of_data, continued = 0, None, False
    for line in text.splitlines():
        if end_of_data is not None:
            if line.strip() == end_of_data:
                end_of_data = None
            continue
        comment = line.lstrip().startswith("//" if language == "cpp" else "#") and not line.startswith("#include")
        if line.strip() and not comment and not continued:
            count += 1
        continued = language == "sh" and line.endswith("\\")
        here = re.search(r"<<-?\s*['\"]?(\w+)", line) if language == "sh" else None
        if here:
            end_of_data = here.group(1)
    return count


def check_excerpt(file, text, line):
    """Throws Failure unless the lines of `text` stand in `file` in this order."""
    if not (ROOT / file).is_file():
        raise Failure(f"line {line}: there is no {file}")
    if counted_lines("cpp", text) > MOST_LINES:
        raise Failure(f"line {line}: an excerpt has at most {MOST_LINES} lines")
    source = [part.strip() for part in (ROOT / file).read_text(encoding="utf-8").splitlines()]
    at = 0
    for part in re.split(r"^\s*// \.\.\.\s*\n", text, flags=re.MULTILINE):
        lines = [one.strip() for one in part.strip("\n").splitlines()]
        at = next((n + len(lines) for n in range(at, len(source)) if source[n:n + len(lines)] == lines), None)
        if at is None:
            raise Failure(f"line {line}: these lines are not in {file}:\n{part}")


def matches(expected, printed):
    """Whether the output is as the page says."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += re.escape(line.rstrip()).replace(re.escape("..."), r"[^\n]*") + r"[ \t]*\n"
    return re.fullmatch(pattern, printed) is not None


def section_of(page, heading):
    """The lines under `## heading`, with those before it left empty so that line numbers stay."""
    lines = page.splitlines()
    if f"## {heading}" not in lines:
        raise Failure(f"there is no heading '{heading}'")
    start = lines.index(f"## {heading}")
    end = next((n for n in range(start + 1, len(lines)) if lines[n].startswith("## ")), len(lines))
    return "\n" * start + "\n".join(lines[start:end]) + "\n"


def needs_of(page):
    return re.findall(r"<!-- needs: (\S+) -->", page)


def run(page, path, program, most_lines=MOST_LINES):
    """Runs all blocks. Throws Failure."""
    blocks = blocks_of(page)
    if not blocks:
        raise Failure("there is nothing to run")
    for language, text, _, line in blocks:
        if language.startswith("cpp "):
            check_excerpt(language.split()[1], text, line)
    blocks = [block for block in blocks if not block[0].startswith("cpp ")]
    lines = sum(counted_lines(language, text) for language, text, _, _ in blocks)
    if lines > most_lines:
        raise Failure(f"{lines} lines of commands and code, {most_lines} is the most")
    environment = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}
    last_cpp = max((n for n, block in enumerate(blocks) if block[0] == "cpp"), default=-1)
    with tempfile.TemporaryDirectory(prefix="bitgraph-guide-") as folder:
        for n, (language, text, expected, line) in enumerate(blocks):
            if language == "cpp" and n != last_cpp:
                continue
            if language == "cpp" and program is None:
                raise Failure(f"line {line}: no program was compiled")
            call = {"sh": ["sh", "-eu", "-c", text], "python": [sys.executable, "-c", text], "cpp": [program]}[language]
            done = subprocess.run(call, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                  encoding="utf-8", check=False, timeout=500)
            if done.returncode != 0:
                raise Failure(f"line {line}: exit {done.returncode}\n{done.stdout}{done.stderr}")
            if expected is not None and not matches(expected, done.stdout):
                raise Failure(f"line {line}: expected\n{expected}printed\n{done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--path", type=lambda path: pathlib.Path(path).resolve(), help="the folder of the program bitgraph")
    parser.add_argument("--program", help="the page's C++ code, compiled")
    parser.add_argument("--section", help="only what stands under this heading")
    parser.add_argument("--most-lines", type=int, default=MOST_LINES, help="of commands and code")
    parser.add_argument("--extract", type=pathlib.Path, help="write the page's C++ code to this file, and run nothing")
    arguments = parser.parse_args()
    page = arguments.page.read_text(encoding="utf-8")
    if arguments.section:
        page = section_of(page, arguments.section)
    if arguments.extract:
        code = "".join(text for language, text, _, _ in blocks_of(page) if language == "cpp")
        arguments.extract.unlink(missing_ok=True)
        if code:
            arguments.extract.parent.mkdir(parents=True, exist_ok=True)
            arguments.extract.write_text("// SPDX-License-Identifier: Apache-2.0\n" + code, encoding="utf-8")
        return 0
    for name in needs_of(page):
        if subprocess.run([arguments.path / "bitgraph", "datasets", "path", name], capture_output=True, check=False).returncode:
            print(f"{arguments.page}: skipped, the data set {name} is not here")
            return SKIPPED
    try:
        run(page, arguments.path, arguments.program, arguments.most_lines)
    except Failure as failure:
        print(f"{arguments.page}: {failure}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
