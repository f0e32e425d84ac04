#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources of a build folder, leaving out those that passed before as they are now.

Usage: tidy.py [-j N] [--cache FOLDER] [--root FOLDER] [--tool PROGRAM] BUILD [FILE...]

BUILD has compile_commands.json. A source is left out where it, every file of ours that it includes, .clang-tidy, its
command, the tool and the system's headers are those of a run that it passed. What passed is remembered in FOLDER, by
default in that of ccache, so that whoever keeps one keeps the other. Exits 1 if a source fails.

Most of the time goes into headers that many sources include. So sources with the same options are looked at several at
a time, by way of one that includes them. Those that an error names are looked at alone, and that verdict counts: names
of two sources may meet. Always alone are kernels, which Highway compiles once for each instruction set, and sources with
`using a::b;`: that it has no use is found in the main source only. Sources of src/cli are also compiled alone, without
code, to see that each includes what it needs: other builds compile them together. The rest the release stage compiles
alone.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
ALONE = re.compile(r'hwy/foreach_target|^[ \t]*using [\w: ]+::\w+;', re.MULTILINE)
KEPT_DAYS = 60
BATCH = 12  # sources at a time


def output_of(*command):
    """What a program prints; nothing where there is no such program."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def digest(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@functools.lru_cache(maxsize=None)
def read(path):
    """A file's hash and the names that it includes."""
    text = path.read_text(encoding="utf-8")
    return digest(text), tuple(INCLUDE.findall(text))


@functools.lru_cache(maxsize=None)
def is_file(path):
    return path.is_file()


def files_of(source, folders):
    """The source and, directly or not, all that it includes from the folders or from beside it."""
    found, waiting = {source}, [source]
    while waiting:
        path = waiting.pop()
        for name in read(path)[1]:
            for folder in (path.parent, *folders):
                target = pathlib.Path(os.path.normpath(folder / name))
                if is_file(target):
                    if target not in found:
                        found.add(target)
                        waiting.append(target)
                    break
    return sorted(found)


def installed_headers():
    """The versions of the packages that headers come from; nothing on systems other than Debian's."""
    packages = output_of("dpkg-query", "-W", "-f=${Package} ${Version}\n").splitlines()
    return "\n".join(sorted(line for line in packages if "-dev" in line or "clang" in line))


class Sources:
    """The sources of a build folder, and a name for each that changes when anything does that a finding depends on."""

    def __init__(self, root, build, tool):
        self.root = str(root)
        commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        self.commands = {pathlib.Path(entry["directory"], entry["file"]): entry for entry in commands}
        rules = (root / ".clang-tidy").read_text(encoding="utf-8")
        self.world = digest(output_of(tool, "--version"), installed_headers(), rules)

    def key(self, source):
        entry = self.commands[source]
        arguments = entry.get("arguments") or shlex.split(entry["command"])
        folders = [pathlib.Path(word[2:]) for word in arguments if word.startswith("-I")]
        parts = [f"{os.path.relpath(path, self.root)} {read(path)[0]}" for path in files_of(source, folders)]
        return digest(self.world, *(word.replace(self.root, ".") for word in arguments), *parts)

    def options(self, source):
        """The source's command without its own name and its object's."""
        entry = self.commands[source]
        words = entry.get("arguments") or shlex.split(entry["command"])
        objects = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "-o"]
        return [word for word in words if word not in ("-o", "-c", entry["file"], *objects)]


def cache_folder():
    told = output_of("ccache", "--get-config", "cache_dir").strip()
    return pathlib.Path(told or pathlib.Path.home() / ".cache" / "ccache") / "tidy"


def forget_old(folder):
    for path in folder.iterdir():
        if time.time() - path.stat().st_mtime > KEPT_DAYS * 86400:
            path.unlink(missing_ok=True)


def batches(sources, waiting, jobs):
    """Lists of sources to look at together, the longest first."""
    alone, alike = [], {}
    for source in sorted(waiting):
        if ALONE.search(source.read_text(encoding="utf-8")):
            alone.append([source])
        else:
            alike.setdefault(digest(*sources.options(source)), []).append(source)
    lists = []
    for group in alike.values():
        size = min(BATCH, -(-len(group) // jobs))
        lists += [group[at:at + size] for at in range(0, len(group), size)]
    return sorted(lists, key=len, reverse=True) + alone


def write_batch(folder, sources, batch):
    """A source that includes those of the batch, and how to compile it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "batch.cpp"
    path.write_text("".join(f'#include "{source}"  // NOLINT\n' for source in batch), encoding="utf-8")
    command = {"directory": sources.commands[batch[0]]["directory"], "file": str(path),
               "arguments": [*sources.options(batch[0]), "-c", str(path)]}
    (folder / "compile_commands.json").write_text(json.dumps([command]), encoding="utf-8")
    return path


def run_all(tool, build, sources, waiting, jobs):
    """Yields (source, passed, what was printed), whatever is ready first."""
    def look(folder, source):
        config = f"--config-file={sources.root}/.clang-tidy"
        return subprocess.run([tool, "-p", str(folder), "--quiet", config, str(source)], capture_output=True, text=True,
                              check=False)

    def lacks_includes(source):
        command = [*sources.options(source), "-fsyntax-only", str(source)]
        return subprocess.run(command, cwd=sources.commands[source]["directory"], capture_output=True, text=True,
                              check=False).returncode != 0

    def check(number, batch):
        found = []
        alone = [source for source in batch if len(batch) > 1 and "/src/cli/" in str(source) and lacks_includes(source)]
        batch = [source for source in batch if source not in alone]
        while len(batch) > 1:
            path = write_batch(build / "batches" / str(number), sources, batch)
            done = look(path.parent, path)
            if done.returncode == 0:
                found, batch = [(source, True, "") for source in batch], []
            else:
                # Those that an error names are looked at alone, all where it names none.
                named = [source for source in batch if f"{source}:" in done.stdout] or batch
                alone += named
                batch = [source for source in batch if source not in named]
        for source in alone + batch:
            done = look(build, source)
            passed = done.returncode == 0
            found.append((source, passed, done.stdout + ("" if passed else done.stderr)))
        return found

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        tasks = [pool.submit(check, *pair) for pair in enumerate(batches(sources, waiting, jobs))]
        for future in concurrent.futures.as_completed(tasks):
            yield from future.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--cache", type=pathlib.Path, default=None)
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--tool", default="clang-tidy")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("files", type=pathlib.Path, nargs="*")
    options = parser.parse_args()

    build = options.build.resolve()
    sources = Sources(options.root.resolve(), build, options.tool)
    chosen = [path.resolve() for path in options.files] or list(sources.commands)
    cache = options.cache or cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    keys = {source: sources.key(source) for source in chosen}
    waiting = []
    for source, key in keys.items():
        if (cache / key).exists():
            (cache / key).touch()
        else:
            waiting.append(source)

    print(f"clang-tidy: {len(keys) - len(waiting)} sources passed before as they are; {len(waiting)} to do", flush=True)
    failed = []
    for number, (source, passed, text) in enumerate(run_all(options.tool, build, sources, waiting, options.jobs), 1):
        print(f"[{number}/{len(waiting)}] {os.path.relpath(source, sources.root)}{'' if passed else ': FAILED'}", flush=True)
        if passed:
            (cache / keys[source]).touch()
        else:
            failed.append(source)
            print(text, flush=True)
    forget_old(cache)
    return 1 if failed or not keys else 0


if __name__ == "__main__":
    sys.exit(main())
