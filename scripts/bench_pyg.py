#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graph networks of PyTorch Geometric beside those of bitgraph, on the same machine and data.

    scripts/bench_pyg.py build/release/bin/bitgraph cora citeseer planted:flickr --device cuda

Prints one table: the forms of `bitgraph bench gnn`, PyTorch Geometric as it comes (scatter), and over a CSR adjacency;
on a CUDA device the latter in a CUDA graph too. With --check a random model of PyTorch Geometric is written as a state
dictionary, run by bitgraph, and the logits are compared. Needs torch and torch_geometric; it uses nothing of this project
but the program.
"""
import argparse
import json
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def import_libraries():
    """What measures: --help does without."""
    global np, torch, GCNConv, GraphConv, SAGEConv  # pylint: disable=global-variable-undefined
    try:
        import numpy as np
        import torch
        from torch_geometric.nn import GCNConv, GraphConv, SAGEConv
    except ImportError as error:
        sys.exit(f"bench_pyg.py: {error}; pip install torch torch_geometric")


def program(*arguments):
    """What the program prints."""
    return subprocess.run([str(a) for a in arguments], check=True, capture_output=True, text=True).stdout


def npz_of(bitgraph, name, folder):
    """The .npz of a data set; planted ones are generated."""
    if name.startswith("planted:"):
        preset, _, scale = name.removeprefix("planted:").partition("/")
        path = Path(folder) / f"{preset}_{scale or 1}.npz"
        if not path.exists():
            program(bitgraph, "generate", "planted-graph", path, "--preset", preset, "--scale-down", scale or 1, "--quiet")
        return path
    return Path(name) if Path(name).exists() else Path(program(bitgraph, "datasets", "path", name).strip())


def load(path):
    """Features, edges (2 x m, both directions, no loops), number of classes."""
    data = np.load(path, allow_pickle=False)
    n = int(data["adj_shape"][0])
    rows = np.repeat(np.arange(n), np.diff(data["adj_indptr"].astype(np.int64)))
    cols = data["adj_indices"].astype(np.int64)
    keep = rows != cols
    keys = np.unique(np.concatenate([rows[keep] * n + cols[keep], cols[keep] * n + rows[keep]]))
    edges = torch.from_numpy(np.stack([keys // n, keys % n]))
    if "attr_matrix" in data:
        x = torch.from_numpy(data["attr_matrix"].astype(np.float32))
    else:
        shape = tuple(int(s) for s in data["attr_shape"])
        x = torch.zeros(shape)
        at = np.repeat(np.arange(shape[0]), np.diff(data["attr_indptr"].astype(np.int64)))
        x[torch.from_numpy(at), torch.from_numpy(data["attr_indices"].astype(np.int64))] = torch.from_numpy(
            data["attr_data"].astype(np.float32))
    labels = data["labels"]
    return x, edges, len(set(labels[labels >= 0].tolist()))


def network(kind, inputs, hidden, classes):
    """Two layers; saint has a linear layer over both."""
    make = {"gcn": GCNConv, "inductive-gcn": GCNConv, "sage": SAGEConv, "saint": GraphConv}[kind]
    extra = {"cached": True} if make is GCNConv else {}

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = make(inputs, hidden, **extra)
            self.conv2 = make(hidden, hidden if kind == "saint" else classes, **extra)
            if kind == "saint":
                self.lin = torch.nn.Linear(2 * hidden, classes)

        def forward(self, x, edges):
            first = self.conv1(x, edges).relu()
            second = self.conv2(first, edges)
            return self.lin(torch.cat([first, second.relu()], 1)) if kind == "saint" else second

    return Net()


def measure(run, cuda, repeats, limit=10.0):
    """Microseconds: the median where the host waits for each run, and of a run among many."""
    run()
    times = []
    begin = time.perf_counter()
    while len(times) < repeats and (len(times) < 3 or time.perf_counter() - begin < limit):
        start = time.perf_counter()
        run()
        if cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    start = time.perf_counter()
    for _ in times:
        run()
    if cuda:
        torch.cuda.synchronize()
    return statistics.median(times) * 1e6, (time.perf_counter() - start) / len(times) * 1e6


def in_graph(run):
    """The same as a CUDA graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def rivals(kind, hidden, path, options):
    """Rows of the table: form, latency, stream, peak bytes."""
    cuda = options.device.startswith("cuda")
    x, edges, classes = load(path)
    n = x.shape[0]
    x, edges = x.to(options.device), edges.to(options.device)
    torch.manual_seed(options.seed)
    rows = []
    forms = [("PyG, scatter", edges)]
    csr = torch.sparse_coo_tensor(edges.flip(0), torch.ones(edges.shape[1], device=x.device), (n, n)).coalesce().to_sparse_csr()
    forms.append(("PyG, CSR", csr))
    for name, adjacency in forms:
        try:
            net = network(kind, x.shape[1], hidden, classes).to(options.device).eval()
            if cuda:
                torch.cuda.reset_peak_memory_stats()
            with torch.no_grad():
                run = lambda: net(x, adjacency)  # noqa: E731
                rows.append((name, *measure(run, cuda, options.repeats), torch.cuda.max_memory_allocated() if cuda else 0))
                if cuda and name.endswith("CSR"):
                    rows.append((name + ", graph", *measure(in_graph(run), cuda, options.repeats), torch.cuda.max_memory_allocated()))
        except RuntimeError as error:  # out of memory, or a sparse operator that is not there
            rows.append((name, None, None, str(error).splitlines()[0][:60]))
    return rows


def save_state(net, kind, path):
    """A state dictionary in safetensors: eight bytes, a JSON header, the values."""
    header, blobs, at = {"__metadata__": {"kind": kind}}, [], 0
    for name, value in net.state_dict().items():
        raw = value.detach().cpu().float().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + len(raw)]}
        blobs.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def check(options, kind, hidden, path, folder):
    """The largest difference of logits, relative to the largest logit."""
    x, edges, classes = load(path)
    torch.manual_seed(options.seed)
    net = network(kind, x.shape[1], hidden, classes).eval()
    save_state(net, kind, Path(folder) / "state.safetensors")
    with torch.no_grad():
        expected = net(x, edges).numpy()
    program(options.bitgraph, "infer", Path(folder) / "state.safetensors", path, "--logits", Path(folder) / "logits.npy",
            "--repeats", 1, "--device", options.device, "--json")
    actual = np.load(Path(folder) / "logits.npy")
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bitgraph", help="the program")
    parser.add_argument("datasets", nargs="*", default=["cora", "citeseer"])
    parser.add_argument("--device", help="cpu or cuda; default: cuda where there is one")
    parser.add_argument("--models", default="gcn,inductive-gcn,sage,saint")
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true", help="compare the logits of a state dictionary too")
    parser.add_argument("--json", help="write all of it to this file")
    options = parser.parse_args()
    import_libraries()
    options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    result = []
    with tempfile.TemporaryDirectory() as folder:
        print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if options.device.startswith('cuda') else 'CPU'}")
        print(f"{'data set, model':<34}{'form':<24}{'latency us':>12}{'stream us':>12}{'peak MB':>10}")
        for name in options.datasets:
            path = npz_of(options.bitgraph, name, folder)
            ours = json.loads(program(options.bitgraph, "bench", "gnn", path, "--models", options.models, "--repeats",
                                      options.repeats, "--device", options.device, "--json", "--quiet"))
            for entry in ours["results"]:
                head = f"{name}, {entry['model']} {entry['hidden']}"
                rows = [(r["form"], r.get("latency_us"), r.get("stream_us"), r.get("peak_bytes", r.get("absent")))
                        for r in entry["rows"]]
                rows += rivals(entry["model"], entry["hidden"], path, options)
                for form, latency, stream, peak in rows:
                    if latency is None:
                        print(f"{head:<34}{form:<24}{peak}")
                    else:
                        print(f"{head:<34}{form:<24}{latency:>12.1f}{stream:>12.1f}{peak / 1e6:>10.2f}")
                if options.check and entry["model"] != "inductive-gcn":
                    print(f"{head:<34}logits of a PyG state dictionary differ by {check(options, entry['model'], entry['hidden'], path, folder):.1e}")
                result.append({"head": head, "rows": rows})
                sys.stdout.flush()
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
