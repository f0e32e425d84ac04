# SPDX-License-Identifier: Apache-2.0
"""The runner of docs/guide/ finds what is wrong with a page."""

import pathlib
import unittest

import run_page

HERE = pathlib.Path(__file__).resolve().parent


class RunPage(unittest.TestCase):
    def refused(self, page):
        with self.assertRaises(run_page.Failure) as caught:
            run_page.run(page, HERE, None)
        return str(caught.exception)

    def test_blocks_share_a_folder_and_outputs_are_compared(self):
        run_page.run("```sh\necho one > file\n```\nText.\n```sh\ncat file\n```\n\n```text\none\n```\n", HERE, None)
        self.assertIn("expected\ntwo\nprinted\none", self.refused("```sh\necho one\n```\n```text\ntwo\n```\n"))
        self.assertIn("line 4", self.refused("```sh\ntrue\n```\n```sh\nfalse\n```\n"))
        self.assertIn("exit", self.refused("```sh\necho $absent\n```\n"))
        self.assertIn("nothing to run", self.refused("Words only.\n"))
        self.assertIn("does not end", self.refused("```sh\ntrue\n"))

    def test_a_text_block_further_down_is_no_output(self):
        run_page.run("```sh\necho one\n```\nA file looks so:\n```text\ntwo\n```\n", HERE, None)

    def test_dots_stand_for_anything(self):
        self.assertTrue(run_page.matches("a ... z\n...\nend\n", "a b z\n1\n2\nend\n"))
        self.assertTrue(run_page.matches("...\n", ""))
        self.assertFalse(run_page.matches("a ... z\n", "a b\nz\n"))
        self.assertFalse(run_page.matches("a.b\n", "axb\n"))
        self.assertFalse(run_page.matches("a\n", "a\nb\n"))

    def test_lines_are_counted(self):
        data = "cat > f <<'END'\n" + "data\n" * 30 + "END\nbitgraph a \\\n  --b\n# comment\n\nls\n"
        self.assertEqual(run_page.counted_lines("sh", data), 3)
        self.assertEqual(run_page.counted_lines("cpp", "#include <x>\n// comment\nint main() {\n}\n\n"), 3)
        run_page.run("```sh\n" + "true\n" * 20 + "```\n", HERE, None)
        self.assertIn("21 lines", self.refused("```sh\n" + "true\n" * 21 + "```\n"))

    def test_a_section_is_the_part_under_its_heading(self):
        page = "## A\n```sh\nfalse\n```\n## B\n```sh\ntrue\n```\n## C\n```sh\nfalse\n```\n"
        self.assertEqual([(text, line) for _, text, _, line in run_page.blocks_of(run_page.section_of(page, "B"))],
                         [("true\n", 6)])
        self.assertRaises(run_page.Failure, run_page.section_of, page, "D")

    def test_an_excerpt_stands_in_its_file(self):
        page = "```cpp examples/votes.cpp\n{}\n```\n"
        source = (run_page.ROOT / "examples" / "votes.cpp").read_text()
        start = source.index("int main")
        lines = [line.strip() for line in source[start:].splitlines()[:8]]
        run_page.run(page.format("\n".join(lines[:2])), HERE, None)
        run_page.run(page.format(lines[0] + "\n  // ...\n  " + lines[7]), HERE, None)
        for wrong in (lines[0] + "\n" + lines[7], lines[7] + "\n// ...\n" + lines[0], "int other() {"):
            self.assertIn("not in examples/votes.cpp", self.refused(page.format(wrong)))
        self.assertIn("there is no", self.refused("```cpp examples/none.cpp\nint main() {\n```\n"))
        self.assertIn("at most 20", self.refused(page.format("\n".join(["x"] * 21))))

    def test_python_that_is_only_shown(self):
        run_page.run("```python not-run\nraise SystemExit(1)\n```\n```python\nprint(1)\n```\n```text\n1\n```\n", HERE, None)
        self.assertIn("exit 1", self.refused("```python\nraise SystemExit(1)\n```\n"))


if __name__ == "__main__":
    unittest.main()
