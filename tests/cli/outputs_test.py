# SPDX-License-Identifier: Apache-2.0
"""An output never destroys an input or another output, whatever their names; a read-only file stays as it is."""

import itertools
import os
import random
import re

from program import SANITIZED, InFolder, start

# What each command reads and writes. "{x}" is the path of role x; a role that is written is named in WRITES.
COMMANDS = {
    "bfs": "bfs {graph} --out {out} --parents {parents} --id-map {ids}",
    "sssp": "sssp {graph} --out {out} --id-map {ids}",
    "pagerank": "pagerank {graph} --out {out} --id-map {ids}",
    "cc": "cc {graph} --out {out} --id-map {ids}",
    "tc": "tc {graph} --out {out} --id-map {ids}",
    "mis": "mis {graph} --out {out} --id-map {ids}",
    "color": "color {graph} --out {out} --id-map {ids}",
    "diameter": "diameter {graph} --out {out} --id-map {ids}",
    "betweenness": "betweenness {graph} --out {out} --id-map {ids}",
    "closeness": "closeness {graph} --out {out} --id-map {ids}",
    "msbfs": "msbfs {graph} --samples 2 --out {out} --id-map {ids}",
    "partition": "partition {graph} --parts 2 --out {out} --id-map {ids}",
    "partition, from a file": "partition {graph} --from {parts} --out {out} --id-map {ids}",
    "convert": "convert {graph} {written} --permutation {permutation} --id-map {ids} --reorder degree",
    "generate": "generate grid {written} --width 3 --height 3",
    "train": "train {dataset} --epochs 1 --hidden 4 --precision full --out {model_out} --teacher {teacher} "
             "--checkpoint {checkpoint}",
    "train, teacher first": "train {dataset} --epochs 1 --hidden 4 --precision bin --out {model_out} "
                            "--checkpoint {checkpoint}",
    "train, explained": "train {dataset} --hidden 4 --precision full --explain --dot {dot}",
    "infer": "infer {model} {dataset} --repeats 1 --plan {plan} --out {out} --logits {logits} --dot {dot}",
    "quantize": "quantize {teacher} {dataset} --bits 4 --repeats 1 --out {model_out}",
    "tune": "tune {model} {dataset} --also {teacher} --repeats 1 --seconds 0.01 --out {plan_out} "
            "--out-model {model_out} --plot {plot}",
}
WRITES = {"out", "parents", "ids", "written", "permutation", "model_out", "checkpoint", "logits", "plan_out", "plot", "dot"}
# Commands that write no file that the caller names.
READERS = {"info", "datasets", "doctor", "bench", "help"}
ENDINGS = {"graph": ".csv", "written": ".csv", "dataset": ".npz", "out": ".npy", "parents": ".npy", "ids": ".npy",
           "permutation": ".npy", "logits": ".npy"}


def aliases(folder, file):
    """Other names of a file, which is there or not."""
    (folder / "deep").mkdir(exist_ok=True)
    linked = folder / "linked"
    if not linked.exists():
        linked.symlink_to(folder)
    names = {"same": file, "dot": f"{folder}/./{file.name}", "up": f"{folder}/deep/../{file.name}",
             "linked folder": linked / file.name}
    symbolic = folder / f"symbolic-{file.name}"
    if not symbolic.is_symlink():
        symbolic.symlink_to(file.name)
    names["symbolic link"] = symbolic
    if file.exists():
        hard = folder / f"hard-{file.name}"
        if not hard.exists():
            os.link(file, hard)
        names["hard link"] = hard
    return names


class Outputs(InFolder):
    def setUp(self):
        super().setUp()
        self.inputs = {"graph": self.write("graph.csv", "7,100\n100,200\n7,200\n"),
                       "dataset": self.folder / "set.npz", "teacher": self.folder / "teacher.safetensors",
                       "model": self.folder / "model.safetensors", "plan": self.folder / "plan.json",
                       "parts": self.folder / "parts.safetensors"}
        self.done("generate", "planted-partition", self.inputs["dataset"], "--nodes", 60, "--classes", 2, "--features", 8)
        train = ["train", self.inputs["dataset"], "--epochs", 1, "--hidden", 4]
        self.done(*train, "--precision", "float", "--out", self.inputs["teacher"])
        self.done(*train, "--precision", "full", "--teacher", self.inputs["teacher"], "--out", self.inputs["model"])
        self.done("tune", self.inputs["model"], self.inputs["dataset"], "--repeats", 1, "--seconds", 0.01, "--out",
                  self.inputs["plan"])
        self.done("partition", self.inputs["graph"], "--parts", 2, "--out", self.inputs["parts"])

    def done(self, *arguments):
        done = start(*arguments, "--quiet")
        self.assertEqual(done.returncode, 0, (arguments, done.stderr))

    def paths(self, command):
        roles = re.findall(r"\{(\w+)\}", COMMANDS[command])
        new = {role: self.folder / f"new-{role}{ENDINGS.get(role, '.bin')}" for role in roles}
        return roles, {role: self.inputs.get(role, new[role]) for role in roles}

    def contents(self):
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir()) if path.is_file()}

    def refused(self, command, paths, code, *words):
        before = self.contents()
        arguments = [part.format(**paths) for part in COMMANDS[command].split(" ")]
        done = start(*arguments, "--quiet")
        what = (arguments, done.stderr)
        self.assertEqual(done.returncode, code, what)
        self.assertEqual(done.stdout, "", what)
        self.assertRegex(done.stderr, r"\Abitgraph: [^\n]+\n\Z", what)
        for word in words:
            self.assertIn(word, done.stderr, what)
        self.assertEqual(self.contents(), before, what)

    def test_every_command_is_here(self):
        listed = re.findall(r"^  ([a-z]+) ", start("--help").stdout.split("Subcommands:")[1], re.MULTILINE)
        tested = {name.split(",")[0] for name in COMMANDS}
        self.assertEqual(set(listed) - READERS - tested, set(), "add these to COMMANDS")

    def test_an_output_is_no_input_and_no_other_output(self):
        draw = random.Random(5)
        for command in COMMANDS:
            roles, paths = self.paths(command)
            for written, other in itertools.permutations(roles, 2):
                if written not in WRITES:
                    continue
                every = aliases(self.folder, paths[other])
                kinds = draw.sample(sorted(every), 1 if SANITIZED else 2)
                for kind in kinds:
                    with self.subTest(command=command, written=written, other=other, kind=kind):
                        self.refused(command, {**paths, written: every[kind]}, 2, "same file")

    def test_the_checkpoint_of_the_teacher_is_an_output_too(self):
        _, paths = self.paths("train, teacher first")
        for behind in [".teacher", ".teacher.teacher"]:
            self.refused("train, teacher first", {**paths, "model_out": f"{paths['checkpoint']}{behind}"}, 2, "same file")

    def test_a_file_of_a_folder_that_is_a_data_set_is_an_input(self):
        folder = self.folder / "tiny"
        folder.mkdir()
        edges = folder / "tiny_edges.csv"
        edges.write_text("id1,id2\n0,1\n")
        done = start("train", folder, "--out", edges)
        self.assertEqual((done.returncode, edges.read_text()), (2, "id1,id2\n0,1\n"), done.stderr)

    def test_a_read_only_file_is_not_replaced(self):
        for command in ("bfs", "convert", "train", "infer", "tune", "generate"):
            roles, paths = self.paths(command)
            for role in roles:
                if role in WRITES:
                    with self.subTest(command=command, role=role):
                        paths[role].write_bytes(b"kept")
                        paths[role].chmod(0o444)
                        self.refused(command, paths, 1, "cannot write", str(paths[role]))
                        paths[role].unlink()

    def test_two_outputs_that_are_no_files_may_be_one(self):
        self.done("bfs", self.inputs["graph"], "--source", 7, "--out", "/dev/null", "--parents", "/dev/null")

    def test_a_checkpoint_is_read_and_written_again(self):
        command = ["train", self.inputs["dataset"], "--epochs", 2, "--hidden", 4, "--precision", "float", "--out",
                   self.folder / "again.bin", "--checkpoint", self.folder / "again.ckpt", "--checkpoint-every", 1]
        self.done(*command)
        self.done(*command)
