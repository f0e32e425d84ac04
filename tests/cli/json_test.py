# SPDX-License-Identifier: Apache-2.0
"""What docs/cli.md promises of --json: the keys, their types, and figures that are known."""

import unittest

from program import ARCHITECTURES, SANITIZED, InFolder, run

# A model of precision bin has all that one of full has.
PRECISIONS = ("float", "bin") if SANITIZED else ("float", "full", "bin")
TILES = [f"b2sr_{k}" for k in (4, 8, 16, 32, 64)]


class Json(InFolder):
    def test_info(self):
        # Two components, a loop, a duplicate that is merged, a node of degree 3 and an isolated one.
        graph = self.folder / "small.mtx"
        graph.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n6 6 6\n2 1\n3 1\n4 1\n4 1\n5 5\n3 2\n")
        info = run("info", graph)
        self.assertEqual({key: info[key] for key in ("num_nodes", "num_entries", "num_self_loops", "num_components",
                                                     "max_degree")},
                         {"num_nodes": 6, "num_entries": 9, "num_self_loops": 1, "num_components": 3, "max_degree": 3})
        self.assertEqual(set(info["bytes"]), {"csr_float32", "csr_pattern", *TILES})
        self.assertEqual(info["bytes"]["csr_float32"], 4 * 7 + 8 * 9)
        self.assertEqual(info["bytes"]["csr_pattern"], 8 * 7 + 4 * 9)
        self.assertEqual(set(info["bytes_by_order"]), {"original", "degree", "rcm", "community"})
        self.assertLessEqual({"format", "tile_dim", "reorder"}, set(info["advice"]))
        self.assertIn(info["advice"]["format"], ("csr", "b2sr"))

    def test_convert_and_generate(self):
        graph, tiles = self.folder / "grid.mtx", self.folder / "grid.b2sr"
        made = run("generate", "grid", graph, "--width", 9, "--height", 7)
        self.assertEqual((made["num_nodes"], made["num_entries"]), (63, 2 * (8 * 7 + 9 * 6)))
        converted = run("convert", graph, tiles, "--tile", 8)
        self.assertEqual((converted["num_entries"], converted["tile_dim"], converted["bytes"]),
                         (made["num_entries"], 8, tiles.stat().st_size))
        self.assertEqual(run("info", tiles)["num_entries"], made["num_entries"])

    def test_train_and_infer(self):
        dataset = self.folder / "planted.npz"
        run("generate", "planted-partition", dataset, "--nodes", 400, "--classes", 3, "--seed", 5)
        for precision in PRECISIONS:
            forms = {"float"} if precision == "float" else {"full", "bin"}
            model = self.folder / f"{precision}.safetensors"
            trained = run("train", dataset, "--precision", precision, "--epochs", 5, "--hidden", 16, "--out", model)
            inferred = run("infer", model, dataset, "--form", "all", "--repeats", 3)
            for result in (trained, inferred):
                self.assertEqual(set(result["accuracy"]), forms)
                self.assertEqual(set(result["latency_us"]), forms)
                self.assertIsInstance(result["val_accuracy"], float)
                for form in forms:
                    self.assertLessEqual(result["latency_us"][form]["median"], result["latency_us"][form]["p95"])
                    self.assertTrue(0 <= result["accuracy"][form] <= 1)
                self.assertLessEqual({"model", "graph", "features", "peak"}, set(result["bytes"]))
                self.assertEqual(result["bytes"], result["forms"][precision]["bytes"])
            self.assertEqual(trained["accuracy"], inferred["accuracy"])
            self.assertGreater(inferred["read_seconds"], 0)
            self.assertTrue(all(inferred["forms"][form]["plan_seconds"] > 0 for form in forms), inferred)

    def test_architectures(self):
        dataset, model = self.folder / "planted.npz", self.folder / "model.safetensors"
        run("generate", "planted-partition", dataset, "--nodes", 400, "--classes", 3, "--seed", 5)
        for architecture in ARCHITECTURES:
            for precision in ("float", "bin"):
                trained = run("train", dataset, "--model", architecture, "--precision", precision, "--epochs", 4,
                              "--hidden", 16, "--depth", 3, "--split-shares", "0.5,0.2,0.3", "--batch-size", 64,
                              "--fanout", "10,5,5", "--walk-roots", 30, "--walk-length", 3, "--out", model)
                inferred = run("infer", model, dataset, "--form", "all", "--split-shares", "0.5,0.2,0.3", "--repeats", 2)
                self.assertEqual(trained["model"], architecture)
                self.assertEqual(trained["accuracy"], inferred["accuracy"])

    def test_planted_graph(self):
        dataset, model = self.folder / "flickr.npz", self.folder / "flickr.safetensors"
        made = run("generate", "planted-graph", dataset, "--preset", "flickr", "--scale-down", 50, "--features", 40)
        self.assertEqual(made["num_nodes"], 1785)
        self.assertTrue(abs(made["num_entries"] - 17995) < 400, made)
        again = self.folder / "again.npz"
        run("generate", "planted-graph", again, "--preset", "flickr", "--scale-down", 50, "--features", 40, "--threads", 1)
        self.assertEqual(dataset.read_bytes(), again.read_bytes())
        smaller = run("generate", "planted-graph", again, "--preset", "arxiv", "--nodes", 2000, "--entries", 10000)
        self.assertEqual(smaller["num_nodes"], 2000)
        self.assertTrue(abs(smaller["num_entries"] - 10000) < 300, smaller)
        proteins = run("generate", "planted-graph", again, "--preset", "proteins")  # QGTC, Table 1
        self.assertEqual(proteins["num_nodes"], 43471)
        self.assertTrue(abs(proteins["num_edges"] - 162088) < 1621, proteins)
        for precision in ("float",) if SANITIZED else PRECISIONS:
            trained = run("train", dataset, "--precision", precision, "--epochs", 3, "--hidden", 16, "--out", model)
            self.assertEqual(trained["accuracy"], run("infer", model, dataset, "--form", "all", "--repeats", 2)["accuracy"])

    def test_datasets_and_doctor(self):
        names = [entry["name"] for entry in run("datasets", "list")["datasets"]]
        self.assertLessEqual({"cora", "citeseer", "amazon_photo"}, set(names))
        self.assertIn(run("doctor")["kernels"], ("baseline", "avx2", "avx512", "avx512_popcnt", "amx", "neon"))


if __name__ == "__main__":
    unittest.main()
