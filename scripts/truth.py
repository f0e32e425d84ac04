#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program's bfs, sssp, pagerank, cc and tc beside SciPy, over every graph of the data folder.

Usage: truth.py [--program build/release/bin/bitgraph] [--data $BITGRAPH_DATA] [--max-entries N] [--device cuda]
                [--only TEXT] [--generated] [--quick]
Every file is read here by SciPy or by hand, never by the program; what the program cannot read (pickles, MATLAB, JSON,
triplets) it gets as a SciPy .npz. Triangles, components and edges are compared with the data folder's README.md too.
Each command runs with --tile auto and with another tile side and order in turn; --quick: one of them in turn.
--generated adds larger graphs that the program generates. Exits 1 where something differs, 77 where SciPy or the data is missing.
"""

import argparse
import gzip
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import scipy.io
    import scipy.sparse as sparse
    from scipy.sparse import csgraph
except ImportError as missing:
    print(f"SKIPPED: {missing}: install python3-numpy and python3-scipy", file=sys.stderr)
    sys.exit(77)

SUFFIXES = (".mtx", ".graph", ".txt", ".edgelist", ".csv", ".npz", ".b2sr")
TILES = ("csr", "4", "8", "16", "32", "64")
ORDERS = ("none", "degree", "rcm", "community")
GENERATED = (("rmat", "--scale", "16"), ("uniform", "--nodes", "100000", "--edges", "800000"),
             ("grid", "--width", "300", "--height", "300"), ("mesh", "--width", "300", "--height", "300", "--shuffled"),
             ("mycielskian", "--order", "12"), ("de-bruijn", "--scale", "16"))
FAR = 2**31 - 1


# --- reading ----------------------------------------------------------------------------------------------------------

def pattern(rows, cols, shape):
    matrix = sparse.csr_matrix((np.ones(len(rows), dtype=np.int8), (rows, cols)), shape=shape)
    matrix.sum_duplicates()
    matrix.data = np.ones(matrix.nnz)
    return matrix


def text_of(path):
    opened = gzip.open(path) if path.name.endswith(".gz") else open(path, "rb")
    with opened as file:
        return file.read().decode()


def read_edges(path):
    lines = [line for line in text_of(path).replace(",", " ").splitlines() if line[:1].isdigit()]
    pairs = np.array(" ".join(lines).split(), dtype=np.int64).reshape(len(lines), -1)[:, :2]
    ids, nodes = np.unique(pairs, return_inverse=True)  # gaps are closed in rising order of id
    nodes = nodes.reshape(-1, 2)
    return pattern(nodes[:, 0], nodes[:, 1], (len(ids), len(ids)))


def read_metis(path):
    lines = [line for line in text_of(path).split("\n") if not line.startswith("%")]
    n = int(lines[0].split()[0])
    lists = [np.array(line.split(), dtype=np.int64) - 1 for line in (lines[1:] + [""] * n)[:n]]
    return pattern(np.repeat(np.arange(n), [len(row) for row in lists]), np.concatenate(lists), (n, n))


def read_pickle(path):
    with open(path, "rb") as file:
        lists = pickle.load(file, encoding="latin1")
    n = 1 + max(lists)
    rows = np.concatenate([np.full(len(row), node) for node, row in lists.items()])
    return pattern(rows, np.concatenate([np.asarray(row, dtype=np.int64) for row in lists.values()]), (n, n))


def blocks(graphs):
    """Many small graphs, given as (number of nodes, rows, columns), as one."""
    first, rows, cols = 0, [], []
    for n, i, j in graphs:
        rows.append(np.asarray(i) + first)
        cols.append(np.asarray(j) + first)
        first += n
    return pattern(np.concatenate(rows), np.concatenate(cols), (first, first))


def read_matlab(path):
    content = scipy.io.loadmat(path)
    if "network" in content:
        found = content["network"].tocoo()
        return pattern(found.row, found.col, found.shape)
    adjacency = (one["am"] for one in content["graph_struct"].ravel())
    return blocks((len(a), *np.nonzero(a)) for a in adjacency)


def read_json(path):
    lists = (np.array(edges) for edges in json.loads(text_of(path)).values())
    return blocks((int(edges.max()) + 1, edges[:, 0], edges[:, 1]) for edges in lists)


def read_triplets(path):
    table = np.array(text_of(path).split(), dtype=float).reshape(-1, 3)[:, :2].astype(np.int64)
    return pattern(table[:, 0], table[:, 1], tuple(table.max(axis=0) + 1))


def read_npz(path):
    with np.load(path, allow_pickle=False) as file:
        return sparse_of(file, "adj_" if "adj_indptr" in file.files else "")


def sparse_of(file, prefix):
    matrix = sparse.csr_matrix((np.ones(len(file[prefix + "indices"])), file[prefix + "indices"], file[prefix + "indptr"]),
                               shape=tuple(file[prefix + "shape"]))
    found = matrix.tocoo()
    return pattern(found.row, found.col, found.shape)


def read_mtx(path):
    with (gzip.open(path) if path.name.endswith(".gz") else open(path, "rb")) as file:
        found = scipy.io.mmread(file)
    return pattern(found.row, found.col, found.shape)


def reader_of(path):
    name = path.name[:-3] if path.name.endswith(".gz") else path.name
    if "target" in name or "README" in name or "SHA256" in name:
        return None
    if name.startswith("ind."):
        return read_pickle if name.endswith(".graph") else None
    if path.parent.name == "triplets":
        return read_triplets
    if name.endswith(".json"):
        return read_json if name == "graphs.json" else None  # the others hold features
    return {".mtx": read_mtx, ".graph": read_metis, ".npz": read_npz, ".mat": read_matlab, ".txt": read_edges,
            ".edgelist": read_edges, ".csv": read_edges}.get(os.path.splitext(name)[1])


def stated(folder):
    """What README.md of the data folder says of every graph: {name: {column: number}}."""
    found, header = {}, None
    text = (folder / "README.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else None
        if cells is None:
            header = None
        elif header is None:
            header = cells
        elif not set(line) <= set("|-: "):
            numbers = {column: int(re.match(r"\d+", cell).group()) for column, cell in zip(header, cells)
                       if re.match(r"\d+( \(|$)", cell)}
            found.setdefault(cells[0].strip("`"), numbers)
    prose = re.search(r"`?network`? [^.]*?(\d+) und\. edges.*?connected, (\d+) triangles", text, re.S)
    if prose:
        found["multilabel/blogcatalog.mat"] = {"und. edges": int(prose[1]), "comps (LCC)": 1, "triangles": int(prose[2])}
    return found


def stated_of(path, folder, table):
    name = str(path.relative_to(folder))
    return table.get(name) or table.get(path.parent.name if name.split("/")[0] in ("planetoid", "musae") else name) or {}


# --- comparing --------------------------------------------------------------------------------------------------------

class Difference(AssertionError):
    pass


def expect(condition, what):
    if not condition:
        raise Difference(what)


class Program:
    """The program over one file: each command with the formats in turn."""

    def __init__(self, path, arguments, folder, turn=0):
        self.path, self.arguments, self.folder, self.turn, self.refused = path, arguments, folder, turn, 0

    def formats(self):
        self.turn += 1
        both = (("auto", "none"), (TILES[self.turn % len(TILES)], ORDERS[self.turn % len(ORDERS)]))
        return both[self.turn % 3 != 0:][:1] if self.arguments.quick else both

    def start(self, command, path, *options):
        return subprocess.run([self.arguments.program, command, str(path), "--json", "--quiet", "--device",
                               self.arguments.device, *map(str, options)], capture_output=True, text=True, check=False,
                              timeout=600)

    def id_of(self, node, path=None):
        """What the file calls a node."""
        ids = self.folder / "ids.npy"
        done = self.start("cc", path or self.path, "--ignore-weights", "--id-map", ids)
        expect(done.returncode == 0, f"cc --id-map: {done.stderr.strip()}")
        return int(np.load(ids)[node])

    def runs(self, command, *options, path=None, arrays=("--out",)):
        """(JSON, array for each of `arrays`...) of every format."""
        for tile, order in self.formats():
            files = [self.folder / f"{name.strip('-')}.npy" for name in arrays]
            outs = [word for pair in zip(arrays, files) for word in pair]
            done = self.start(command, path or self.path, *options, *outs, "--tile", tile, "--reorder", order)
            if done.returncode == 4 and self.arguments.device != "cpu":
                self.refused += 1
                continue
            expect(done.returncode == 0, f"{command} {options} --tile {tile} --reorder {order}: {done.stderr.strip()}")
            yield (json.loads(done.stdout), *(np.load(file) for file in files))


def smallest_labels(labels):
    count = labels.max() + 1 if len(labels) else 0
    first = np.full(count, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    return count, first[labels]


def check_components(program, a, und, facts):
    count, labels = smallest_labels(csgraph.connected_components(und, directed=False)[1])
    expect(facts.get("comps (LCC)", count) == count, f"README.md states {facts.get('comps (LCC)')} components, not {count}")
    for result, label in program.runs("cc", "--ignore-weights"):
        expect(result["num_components"] == count, f"cc: {result['num_components']} components, SciPy has {count}")
        expect(np.array_equal(label, labels), "cc: other labels than SciPy's components")
    count, labels = smallest_labels(csgraph.connected_components(a, directed=True, connection="strong")[1])
    for result, label in program.runs("cc", "--strong", "--ignore-weights"):
        expect(result["num_components"] == count, f"cc --strong: {result['num_components']}, SciPy has {count}")
        expect(np.array_equal(label, labels), "cc --strong: other labels than SciPy's components")


def check_triangles(program, und, facts):
    edges = und.nnz // 2
    expect(facts.get("und. edges", edges) == edges, f"README.md states {facts.get('und. edges')} edges, not {edges}")
    degree = np.diff(und.indptr)
    order = np.argsort(np.argsort(degree, kind="stable"))  # later: of higher degree
    rows = np.repeat(np.arange(und.shape[0]), degree)
    upper = pattern(order[rows], order[und.indices], und.shape)
    upper = sparse.triu(upper, 1, format="csr")
    closed = (upper @ upper).multiply(upper).tocoo()
    triangles = int(closed.data.sum())
    expect(facts.get("triangles", triangles) == triangles,
           f"README.md states {facts.get('triangles')} triangles, not {triangles}")
    # Of a triangle u < v < w, `closed` has (u, w): u and w get one for it, and v what flows through it.
    counts = sum(np.bincount(end, closed.data, und.shape[0]).astype(float) for end in (closed.row, closed.col))
    counts += np.asarray((upper @ upper.T).multiply(upper).sum(axis=0)).ravel()
    for result, out in program.runs("tc", "--ignore-weights"):
        expect(result["triangles"] == triangles, f"tc: {result['triangles']} triangles, SciPy has {triangles}")
        expect(np.array_equal(out, counts[order].astype(np.uint64)), "tc: other triangles of nodes than SciPy's")


def check_searches(program, a, weighted):
    degree = np.diff(a.indptr)
    sources = np.flatnonzero(degree)
    source = int(sources[len(sources) // 3]) if len(sources) else 0
    found, before = csgraph.breadth_first_order(a, source, directed=True)
    levels = np.full(a.shape[0], -1)
    levels[source] = 0
    for node in found[1:]:
        levels[node] = levels[before[node]] + 1
    rows = np.repeat(np.arange(a.shape[0]), degree)
    down = (levels[rows] >= 0) & (levels[a.indices] == levels[rows] + 1)
    parents = np.full(a.shape[0], a.shape[0])
    np.minimum.at(parents, a.indices[down], rows[down])
    parents[source] = source
    parents[levels < 0] = -1
    if a.shape[0] == 0:
        return
    source_id = program.id_of(source)
    for result, level, parent in program.runs("bfs", "--ignore-weights", "--source", source_id,
                                              arrays=("--out", "--parents")):
        expect(np.array_equal(level, levels), "bfs: other levels than SciPy's")
        expect((result["reached"], result["levels"]) == ((levels >= 0).sum(), levels.max() + 1), "bfs: its counts")
        expect(np.array_equal(parent, parents), "bfs: a parent is not the smallest node one level up")
    hops = csgraph.dijkstra(a, directed=True, indices=source, unweighted=True)
    for result, out in program.runs("sssp", "--ignore-weights", "--source", source_id):
        expect(np.array_equal(np.where(out == FAR, np.inf, out), hops), "sssp --ignore-weights: other distances")
    for kind, (path, matrix) in weighted.items():
        distance = csgraph.dijkstra(matrix, directed=True, indices=source)
        for result, out in program.runs("sssp", "--source", program.id_of(source, path), path=path):
            expect(matrix.nnz == 0 or result["weights"] == kind, f"sssp: took {kind} weights as {result['weights']}")
            out = np.where(out == FAR, np.inf, out) if kind == "integer" else out
            # A float path of h edges is off by at most h roundings.
            bound = 0 if kind == "integer" else 1.2e-7 * (2 + hops.max(where=np.isfinite(hops), initial=0) * 4)
            expect(np.array_equal(np.isinf(out), np.isinf(distance)), f"sssp, {kind} weights: reaches other nodes")
            near = np.isfinite(distance)
            expect(np.all(np.abs(out[near] - distance[near]) <= bound * distance[near]), f"sssp, {kind}: other distances")


def check_ranks(program, a):
    n, damping = a.shape[0], 0.85
    degree = np.diff(a.indptr)
    pull = a.T.tocsr()
    rank = np.full(n, 1 / n)
    for _ in range(2000):
        share = np.divide(rank, degree, out=np.zeros(n), where=degree != 0)
        after = (1 - damping) / n + damping * (pull @ share + rank[degree == 0].sum() / n)
        change = np.abs(after - rank).sum()
        rank = after
        if change < 1e-13:
            break
    for result, out in program.runs("pagerank", "--ignore-weights", "--tolerance", "1e-11", "--max-iterations", "2000"):
        expect(result["converged"], "pagerank: no convergence")
        expect(abs(out.sum() - 1) < 1e-9, f"pagerank: adds up to {out.sum()}")
        expect(np.abs(out - rank).sum() < 1e-9, f"pagerank: {np.abs(out - rank).sum():.1e} off the power iteration's")


def check_centralities(program, a):
    """From a few sources: the levels, what they reach, and the closeness scores that these distances make."""
    n = a.shape[0]
    sources, named = [], ""
    for result, levels in program.runs("msbfs", "--ignore-weights", "--samples", 5):
        sources = [row["index"] for row in result["sources"]]
        expect(len(set(sources)) == min(5, n), f"msbfs: drew {sources}")
        hops = np.atleast_2d(csgraph.dijkstra(a, directed=True, indices=sources, unweighted=True)).T
        reached = np.isfinite(hops)
        expect(np.array_equal(np.where(levels < 0, np.inf, levels), hops), "msbfs: other levels than SciPy's")
        expect([row["reached"] for row in result["sources"]] == list(reached.sum(axis=0)), "msbfs: other counts")
        expect([row["eccentricity"] for row in result["sources"]] == list(hops.max(axis=0, where=reached, initial=0)),
               "msbfs: other eccentricities")
        named = ",".join(str(row["source"]) for row in result["sources"])
    if not sources:
        return
    distance = np.where(reached, hops, 0)
    count = (distance > 0).sum(axis=1)
    others = len(sources) - np.isin(np.arange(n), sources)
    mean = np.divide(count, distance.sum(axis=1), out=np.zeros(n), where=count > 0)
    share = np.divide(count, others, out=np.zeros(n), where=others > 0)
    inverse = np.divide(1, distance, out=np.zeros(distance.shape), where=distance > 0).sum(axis=1)
    harmonic = np.divide(inverse * (n - 1), others, out=np.zeros(n), where=others > 0)
    for score, expected in (("improved", mean * share), ("unimproved", mean), ("harmonic", harmonic)):
        for result, out in program.runs("closeness", "--ignore-weights", "--score", score, "--sources", named):
            expect(np.allclose(out, expected, rtol=1e-12, atol=0), f"closeness --score {score}: other scores")


def weights_for(a, folder):
    """The graph with weights on its edges, whole and real, as files and as matrices."""
    random = np.random.default_rng(1)
    result = {}
    for kind, values in (("integer", random.integers(1, 256, a.nnz)), ("real", random.random(a.nnz) + 0.25)):
        matrix = sparse.csr_matrix((values.astype(np.float32), a.indices, a.indptr), shape=a.shape)
        path = folder / f"{kind}.npz"
        sparse.save_npz(path, matrix, compressed=False)
        result[kind] = (path, matrix.astype(np.float64))
    return result


def check_graph(arguments, path, a, facts, folder, turn=0):
    """Compares everything about one graph. Throws Difference."""
    program = Program(path, arguments, folder, turn)
    if not path.name.removesuffix(".gz").endswith(SUFFIXES) or path.name.startswith("ind."):
        program.path = folder / "graph.npz"
        sparse.save_npz(program.path, a, compressed=False)
    if a.shape[0] != a.shape[1]:
        done = program.start("cc", program.path, "--ignore-weights")
        expect(done.returncode == 3 and "square" in done.stderr, f"a rectangular matrix: exit {done.returncode}")
        return program
    und = a + a.T
    und = und - sparse.diags(und.diagonal())
    und = sparse.csr_matrix(und)
    und.eliminate_zeros()
    und.data[:] = 1
    und.sort_indices()
    expect(facts.get("nodes", a.shape[0]) == a.shape[0], f"README.md states {facts.get('nodes')} nodes, not {a.shape[0]}")
    check_components(program, a, und, facts)
    check_triangles(program, und, facts)
    check_searches(program, a, weights_for(a, folder))
    check_ranks(program, a)
    if a.shape[0] != 0:
        check_centralities(program, a)
    return program


# --- all graphs -------------------------------------------------------------------------------------------------------

def graphs_of(arguments, scratch):
    """(path, reader, what README.md states) of every graph."""
    folder = pathlib.Path(arguments.data)
    table = stated(folder)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        reader = reader_of(path)
        if reader is not None:
            yield path, reader, stated_of(path, folder, table)
    for kind, *options in GENERATED if arguments.generated else ():
        path = scratch / f"{kind}.mtx"
        subprocess.run([arguments.program, "generate", kind, path, *options, "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        yield path, read_mtx, {}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/bitgraph")
    parser.add_argument("--data", default=os.environ.get("BITGRAPH_DATA", "../shared/datasets"))
    parser.add_argument("--max-entries", type=int, default=10**9, help="leave larger graphs out")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="", help="graphs with this in their name")
    parser.add_argument("--generated", action="store_true")
    parser.add_argument("--quick", action="store_true", help="one format a command")
    arguments = parser.parse_args()
    if not (pathlib.Path(arguments.data) / "README.md").is_file():
        print(f"SKIPPED: no data sets in {arguments.data}: set BITGRAPH_DATA to their folder", file=sys.stderr)
        return 77
    count = differ = left_out = refused = with_facts = 0
    with tempfile.TemporaryDirectory(prefix="bitgraph-truth-") as name:
        scratch = pathlib.Path(name)
        for path, reader, facts in graphs_of(arguments, scratch):
            if arguments.only not in str(path):
                continue
            a = reader(path)
            if a.nnz > arguments.max_entries:
                left_out += 1
                continue
            count += 1
            with_facts += "triangles" in facts
            try:
                refused += check_graph(arguments, path, a, facts, scratch, count).refused
            except Difference as difference:
                differ += 1
                print(f"{path.name}: {difference}")
            sys.stdout.flush()
    print(f"{count} graphs compared with SciPy, {with_facts} of them with README.md's counts: {differ} differ. "
          f"Left out as too large: {left_out}. Runs that the device refused: {refused}.")
    return 1 if differ or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
