# SPDX-License-Identifier: Apache-2.0
"""scripts/tidy.py: what it leaves out, and what makes it look again. A tool of our own stands in for clang-tidy."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TIDY = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "tidy.py"

# Notes each source that it is asked for, several in one line; what has the word "bad" in it fails. Two sources with the
# word "same" fail together, and the second is named.
TOOL = """#!/bin/sh
if [ "$1" = --version ]; then echo "version of $(dirname "$0")/version"; cat "$(dirname "$0")/version"; exit 0; fi
for source; do :; done
sources=$(sed -n 's/^#include "\\(.*\\)"  .*$/\\1/p' "$source")
case $source in */batch.cpp) ;; *) sources=$source ;; esac
echo $(for one in $sources; do basename "$one"; done) >>"$(dirname "$0")/asked"
if grep -n bad $sources; then exit 1; fi
for one in $(grep -l same $sources | tail -n +2); do echo "$one:1: error: same name" && exit 1; done
"""


class Tidy(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.top = pathlib.Path(self.temporary.name)
        self.root = self.top / "checkout"
        self.write("tool", TOOL).chmod(0o755)
        self.write("version", "1\n")
        self.make(self.root)

    def write(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def make(self, root, flags=""):
        """Two sources; the first includes a header by way of another, in both kinds of quotes."""
        for name, text in {".clang-tidy": "Checks: x\n",
                           "src/one.cpp": '#include "ops/near.hpp"\n#include <vector>\nint one;\n',
                           "src/ops/near.hpp": "#include <bitgraph/far.hpp>\n",
                           "include/bitgraph/far.hpp": "int far();\n", "src/two.cpp": "int two;\n"}.items():
            self.write(root / name, text)
        commands = [{"directory": str(root / "build/tidy"), "file": str(root / f"src/{name}.cpp"),
                     "command": f"clang++ {flags} -I{root}/src -I{root}/include -c {root}/src/{name}.cpp"}
                    for name in ("one", "two")]
        self.write(root / "build/tidy/compile_commands.json", json.dumps(commands))

    def asked(self, *options, root=None, code=0):
        """The sources that the tool was asked for in one run."""
        (self.top / "asked").unlink(missing_ok=True)
        root = root or self.root
        done = subprocess.run([sys.executable, TIDY, "-j", "1", "--root", root, "--tool", self.top / "tool", "--cache",
                               self.top / "cache", *options, root / "build/tidy"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.output = done.stdout
        asked = self.top / "asked"
        return sorted(asked.read_text().splitlines()) if asked.exists() else []

    def test_what_passed_is_left_out_until_something_changes(self):
        self.assertEqual(self.asked(), ["one.cpp two.cpp"])
        self.assertEqual(self.asked(), [])
        self.write("checkout/src/two.cpp", "int two = 2;\n")
        self.assertEqual(self.asked(), ["two.cpp"])
        self.write("checkout/include/bitgraph/far.hpp", "int far(int);\n")
        self.assertEqual(self.asked(), ["one.cpp"])
        self.write("checkout/include/bitgraph/far.hpp", "int far();\n")
        self.assertEqual(self.asked(), [])

    def test_rules_flags_and_versions_count(self):
        self.asked()
        self.write("checkout/.clang-tidy", "Checks: y\n")
        self.assertEqual(self.asked(), ["one.cpp two.cpp"])
        self.write("version", "2\n")
        self.assertEqual(self.asked(), ["one.cpp two.cpp"])
        self.make(self.root, "-DX")
        self.assertEqual(self.asked(), ["one.cpp two.cpp"])

    def test_another_checkout_finds_what_passed(self):
        self.asked()
        other = self.top / "elsewhere"
        self.make(other)
        self.assertEqual(self.asked(root=other), [])

    def test_a_failure_is_shown_and_not_remembered(self):
        self.write("checkout/src/two.cpp", "int bad;\n")
        for expected in (["one.cpp", "one.cpp two.cpp", "two.cpp"], ["two.cpp"]):
            self.assertEqual(self.asked(code=1), expected)
            self.assertIn("src/two.cpp: FAILED\n1:int bad;", self.output)

    def test_sources_that_fail_only_together_pass(self):
        for name in ("one", "two"):
            self.write(f"checkout/src/{name}.cpp", "int same;\n")
        self.assertEqual(self.asked(), ["one.cpp", "one.cpp two.cpp", "two.cpp"])
        self.assertEqual(self.asked(), [])

    def test_other_options_kernels_and_using_declarations_are_alone(self):
        commands = self.root / "build/tidy/compile_commands.json"
        entries = json.loads(commands.read_text())
        for name, flags, text in (("three", "-DX", ""), ("kernel", "", "#include <hwy/foreach_target.h>\n"),
                                  ("names", "", "using std::map;\n")):
            source = self.write(f"checkout/src/{name}.cpp", text)
            entries.append({**entries[0], "file": str(source),
                            "command": f"clang++ {flags} -I{self.root}/src -I{self.root}/include -c {source}"})
        commands.write_text(json.dumps(entries))
        self.assertEqual(self.asked(), ["kernel.cpp", "names.cpp", "one.cpp two.cpp", "three.cpp"])

    def test_nothing_to_do_is_an_error(self):
        self.write("checkout/build/tidy/compile_commands.json", "[]")
        self.asked(code=1)

    def test_a_source_of_the_program_is_compiled_alone_too(self):
        compiler = self.write("compiler", '#!/bin/sh\nfor source; do :; done\n! grep -q lacks "$source"\n')
        compiler.chmod(0o755)
        entries = []
        for name, text in (("three", "int x;\n"), ("four", "int lacks;\n"), ("five", "int y;\n")):
            source = self.write(f"checkout/src/cli/{name}.cpp", text)
            entries.append({"directory": str(self.top), "file": str(source), "command": f"{compiler} -c {source}"})
        self.write("checkout/build/tidy/compile_commands.json", json.dumps(entries))
        self.assertEqual(self.asked(), ["five.cpp three.cpp", "four.cpp"])


if __name__ == "__main__":
    unittest.main()
