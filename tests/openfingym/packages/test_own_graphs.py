"""A task from an author's own graph, in every form in which people keep one.

Attacks: a file sorted by label, so that the number of a hidden node told its label; and, with the public seed of the
split, places of the known labels that bound how many hidden ones lie between them. Nodes and graphs are numbered anew,
in an order drawn from all that was read, labels included, and so is their split.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from click.testing import CliRunner

from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.data.graphs import GraphSet
from openfingym.data.own.graphs import read_own_graph, read_stored
from openfingym.errors import DataError, OpenFinGymError, UsageError
from openfingym.kinds.start import Given
from openfingym.packages.build import build
from openfingym.packages.scaffold import new_task

NODES = 60
LABELS = (np.arange(NODES) >= 50).astype(np.int64)
"""Sorted, as files often are."""
PAIRS = np.random.default_rng(5).integers(0, NODES, (2, 200))
PAIRS = PAIRS[:, PAIRS[0] != PAIRS[1]]
FEATURES = np.random.default_rng(6).normal(size=(NODES, 3)).round(6)
NAMES = [f"user {i}" for i in range(NODES)]


def table(path: Path, rows: Any) -> Path:
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return path


def labels_file(folder: Path, names: list[str] = NAMES) -> Path:
    return table(folder / "labels.csv", [("node", "label"), *zip(names, LABELS, strict=True)])


def edges_file(folder: Path, names: list[str] = NAMES) -> Path:
    return table(folder / "edges.csv", [("source", "target"), *((names[a], names[b]) for a, b in PAIRS.T)])


def features_file(folder: Path, names: list[str] = NAMES) -> Path:
    rows = [(name, *values) for name, values in zip(names, FEATURES, strict=True)]
    return table(folder / "features.csv", [("node", "a", "b", "c"), *rows])


def adjacency() -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((np.ones(PAIRS.shape[1]), tuple(PAIRS)), shape=(NODES, NODES))


def graphml(folder: Path) -> Path:
    keys = '<key id="k9" for="node" attr.name="fraud" attr.type="boolean"><default>false</default></key>'
    keys += '<key id="n" for="node" attr.name="name" attr.type="string"/>'
    keys += "".join(
        f'<key id="k{i}" for="node" attr.name="{name}" attr.type="double"/>' for i, name in enumerate("abc")
    )
    nodes = "".join(
        f'<node id="{name}"><data key="n">N</data>'
        + "".join(f'<data key="k{i}">{value}</data>' for i, value in enumerate(values))
        + ('<data key="k9">true</data>' if label else "")
        + "</node>"
        for name, values, label in zip(NAMES, FEATURES, LABELS, strict=True)
    )
    edges = "".join(f'<edge source="{NAMES[a]}" target="{NAMES[b]}"/>' for a, b in PAIRS.T)
    head = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    path = folder / "graph.graphml"
    path.write_text(f'{head}{keys}<graph edgedefault="undirected">{nodes}{edges}</graph></graphml>')
    return path


def mat(folder: Path, **parts: object) -> Path:
    scipy.io.savemat(folder / "graph.mat", parts)
    return folder / "graph.mat"


def npz(folder: Path, **parts: Any) -> Path:
    np.savez(folder / "graph.npz", **parts)
    return folder / "graph.npz"


def sparse_npz(folder: Path) -> Path:
    scipy.sparse.save_npz(folder / "adjacency.npz", adjacency().tocoo())
    return folder / "adjacency.npz"


def parts(prefix: str, matrix: Any) -> dict[str, Any]:
    return {f"{prefix}_{name}": getattr(matrix, name) for name in ("data", "indices", "indptr", "shape")}


NUMBERS = [str(i) for i in range(NODES)]
FORMS: dict[str, Callable[[Path], Given]] = {
    "edge list": lambda at: Given((edges_file(at),), labels_file(at), features_file(at)),
    "edge list without header": lambda at: Given(
        (table(at / "e.tsv", [("\t".join((NAMES[a], NAMES[b])),) for a, b in PAIRS.T]),),
        table(at / "l.txt", [(f"{name};{label}",) for name, label in zip(NAMES, LABELS, strict=True)]),
        features_file(at),
    ),
    "graphml": lambda at: Given((graphml(at),)),
    "mat": lambda at: Given((mat(at, Network=adjacency(), Attributes=FEATURES, Label=LABELS[:, None]),)),
    "mat, other names": lambda at: Given((mat(at, homo=adjacency(), features=FEATURES, label=LABELS[None]),)),
    "pytorch geometric": lambda at: Given((npz(at, edge_index=PAIRS, x=FEATURES.astype(np.float32), y=LABELS),)),
    "pairs by row": lambda at: Given((npz(at, edges=PAIRS.T, features=FEATURES, labels=LABELS),)),
    "sparse arrays": lambda at: Given(
        (npz(at, **parts("adj", adjacency()), **parts("attr", scipy.sparse.csr_array(FEATURES)), labels=LABELS),)
    ),
    "scipy sparse": lambda at: Given((sparse_npz(at),), labels_file(at, NUMBERS), features_file(at, NUMBERS)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_graph(form: str, tmp_path: Path) -> None:
    given = FORMS[form](tmp_path)
    own = read_own_graph(given.files[0], given.labels, given.features)
    place = [int(name.removeprefix("user ")) for name in own.names]
    assert sorted(place) == list(range(NODES))
    np.testing.assert_array_equal(own.graph.labels, LABELS[place])
    np.testing.assert_allclose(own.graph.features, FEATURES[place], rtol=1e-6)
    found = {frozenset((place[a], place[b])) for a, b in own.graph.edges.T}
    assert found == {frozenset(pair) for pair in PAIRS.T.tolist()}


def test_a_task_from_a_graph_passes_and_is_scored(tmp_path: Path) -> None:
    edges, labels, features = edges_file(tmp_path), labels_file(tmp_path), features_file(tmp_path)
    options = ["--kind", "nodes", "--from", str(edges), "--labels", str(labels), "--features", str(features)]
    run = CliRunner().invoke(cli, ["task", "new", "my-graph", *options, "--to", str(tmp_path)], catch_exceptions=False)
    assert run.exit_code == 0, run.output
    assert "60 nodes" in run.output
    folder = tmp_path / "my-graph"
    checked = CliRunner().invoke(cli, ["task", "check", "--adversarial", str(folder)], catch_exceptions=False)
    assert checked.exit_code == 0, checked.output
    assert (folder / "nodes.csv").read_text().splitlines()[1].startswith("0,user ")
    package = build(load_task(str(folder)))
    public = b"".join(path.read_bytes() for path in package.public.rglob("*") if path.is_file())
    assert b"user 5" not in public, "agents do not see the author's names"
    run = CliRunner().invoke(
        cli,
        ["run", str(folder), "--agent", "graph-smooth", "--backend", "inline", "--out", str(tmp_path / "run")],
        catch_exceptions=False,
    )
    assert run.exit_code == 0, run.output
    assert "scored" in run.output
    report = CliRunner().invoke(cli, ["report", str(tmp_path / "run"), "--json"], catch_exceptions=False)
    assert {cell["family"] for cell in json.loads(report.stdout)["cells"]} == {"fraud"}


def test_equal_files_give_equal_packages(tmp_path: Path) -> None:
    given = Given((edges_file(tmp_path),), labels_file(tmp_path))
    folders = [new_task("my-graph", tmp_path / place, "nodes", given) for place in ("one", "two")]
    assert build(load_task(str(folders[0]))).manifest.digest == build(load_task(str(folders[1]))).manifest.digest


def test_numbers_of_nodes_and_the_split_tell_no_label(tmp_path: Path) -> None:
    """The attack: files are sorted by label, and the seed of the usual split is public."""
    from openfingym.data.graphs import stratified_split
    from openfingym.kinds import kind_of
    from openfingym.kinds.labels.kind import SPLIT_SEED

    folder = new_task("my-graph", tmp_path, "nodes", Given((edges_file(tmp_path),), labels_file(tmp_path)))
    task = load_task(str(folder))
    source = kind_of(task).load(task)
    labels = source.items.labels
    numbers = np.flatnonzero(labels)
    assert 10 < numbers.mean() < 50
    assert numbers.max() - numbers.min() > 20
    known = stratified_split(labels, SPLIT_SEED, 0.4, 0.2)
    assert not np.array_equal(known.train, source.split.train)


FAULTS: dict[str, tuple[Callable[[Path], Given], str]] = {
    "a node without a label": (
        lambda at: Given((table(at / "e.csv", [("a", "b"), ("user 1", "stranger")]),), labels_file(at)),
        "1 nodes have no label .*'stranger'",
    ),
    "a label that is neither": (
        lambda at: Given((edges_file(at),), table(at / "l.csv", [("n", "l"), ("user 1", "bad"), ("user 2", "ok")])),
        "row 2: the label of node 'user 1' is 'bad'; expected 1 for an anomaly",
    ),
    "a node labelled twice": (
        lambda at: Given((edges_file(at),), table(at / "l.csv", [("user 1", 0), ("user 1", 1)])),
        "row 2: node 'user 1' is in row 1 already",
    ),
    "a feature that is missing": (
        lambda at: Given(
            (edges_file(at),), labels_file(at), table(at / "f.csv", [("n", "a"), *((name, "") for name in NAMES)])
        ),
        "row 2, column 2: '' is not a finite number",
    ),
    "a feature that is the label": (
        lambda at: Given(
            (edges_file(at),),
            labels_file(at),
            table(at / "f.csv", [("n", "age", "score"), *zip(NAMES, FEATURES[:, 0], 7 - 3 * LABELS, strict=True)]),
        ),
        "feature 'score' is the label under another name",
    ),
    "a sparse feature that is the label": (
        lambda at: Given(
            (
                npz(
                    at,
                    edge_index=PAIRS,
                    **parts("x", scipy.sparse.csr_array(np.eye(NODES, 9) * 0 + LABELS[:, None] * (np.arange(9) == 4))),
                    y=LABELS,
                ),
            )
        ),
        "feature 5 is the label",
    ),
    "no labels": (lambda at: Given((edges_file(at),)), "says nothing of labels; give --labels"),
    "classes": (
        lambda at: Given((npz(at, edge_index=PAIRS, x=FEATURES, y=np.arange(NODES) % 4),)),
        "labels are 0, 1, 2, 3; expected both 0",
    ),
    "labels of text": (
        lambda at: Given((npz(at, edge_index=PAIRS, x=FEATURES, y=LABELS.astype(str)),)),
        "'y' of type <U.*; expected numbers",
    ),
    "edges of text": (lambda at: Given((npz(at, edge_index=PAIRS.astype(str), y=LABELS),)), "'edge_index' of type <U"),
    "features of text": (
        lambda at: Given((npz(at, edge_index=PAIRS, x=FEATURES.astype(str), y=LABELS),)),
        "'x' of type <U",
    ),
    "an adjacency of text": (
        lambda at: Given((npz(at, adj=adjacency().toarray().astype(str), y=LABELS),)),
        "'adj' of type <U",
    ),
    "a sparse matrix of text": (
        lambda at: Given((npz(at, edge_index=PAIRS, **(parts("x", adjacency()) | {"x_data": np.array(["1"])})),)),
        "data of type <U",
    ),
    "a sparse matrix with a shape of text": (
        lambda at: Given((npz(at, edge_index=PAIRS, **(parts("x", adjacency()) | {"x_shape": np.array("1")})),)),
        "expected whole numbers",
    ),
    "features that are one number": (
        lambda at: Given((npz(at, edge_index=PAIRS, x=np.array(1.0), y=LABELS),)),
        "'x' is a single number; expected a list or a matrix",
    ),
    "a node that cannot be printed": (
        lambda at: Given((edges_file(at, [*NAMES[:-1], "a\x07"]),), labels_file(at, [*NAMES[:-1], "a\x07"])),
        r"the name 'a\\x07' has a character that cannot be printed",
    ),
    "a feature that cannot be printed": (
        lambda at: Given(
            (edges_file(at),),
            labels_file(at),
            table(at / "f.csv", [("n", "a\u202eb"), *zip(NAMES, FEATURES[:, 0], strict=True)]),
        ),
        r"the name 'a\\u202eb' has a character that cannot be printed",
    ),
    "a node before the first": (
        lambda at: Given((npz(at, edge_index=np.where(PAIRS == 0, -1, PAIRS), x=FEATURES, y=LABELS),)),
        f"an edge names node -1, but there are {NODES} nodes, numbered from 0",
    ),
    "a node behind the last": (
        lambda at: Given((npz(at, edge_index=PAIRS + 1, x=FEATURES, y=LABELS),)),
        f"an edge names node {NODES}, but there are {NODES} nodes, numbered from 0",
    ),
    "an entity": (
        lambda at: Given((table(at / "g.graphml", [('<!DOCTYPE x [<!ENTITY a "aaaa">]><graphml>&a;</graphml>',)]),)),
        "declares a document type",
    ),
    "a pickle": (lambda at: Given((npz(at, edge_index=np.array([{}]), y=LABELS),)), "not a readable .npz"),
    "an unknown ending": (lambda at: Given((table(at / "g.gexf", [("x",)]),)), "ends in '.gexf'; known: .csv"),
    "no file": (lambda at: Given((at / "none.csv",), labels_file(at)), "none.csv: cannot be read"),
    "two files": (lambda at: Given((edges_file(at), edges_file(at)), labels_file(at)), "2 files"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_and_nothing_is_left(name: str, tmp_path: Path) -> None:
    given, expected = FAULTS[name]
    with pytest.raises(OpenFinGymError, match=expected) as caught:
        new_task("my-graph", tmp_path / "to", "nodes", given(tmp_path))
    assert isinstance(caught.value, DataError | UsageError)
    assert not (tmp_path / "to" / "my-graph").exists()


def test_a_repeated_node_of_very_many_is_named_at_once(tmp_path: Path) -> None:
    nodes = "".join(f'<node id="{name}"/>' for name in (*range(40_000), 7))
    path = table(tmp_path / "g.graphml", [(f"<graphml><graph>{nodes}</graph></graphml>",)])
    begun = time.process_time()
    with pytest.raises(DataError, match="nodes that are there twice: '7'"):
        read_own_graph(path)
    # Comparing every name with every other one takes more than ten times as long.
    assert time.process_time() - begun < 2.0


def test_an_archive_that_claims_more_than_it_holds(tmp_path: Path) -> None:
    """A header of terabytes asks for no memory."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (2, 1 << 40)})
    with zipfile.ZipFile(tmp_path / "graph.npz", "w") as archive:
        archive.writestr("edge_index.npy", header.getvalue())
    with pytest.raises(DataError, match="does not hold what its header says"):
        read_own_graph(tmp_path / "graph.npz")


def test_kinds_of_tables_refuse_labels(tmp_path: Path) -> None:
    run = CliRunner().invoke(cli, ["task", "new", "x", "--labels", "l.csv", "--to", str(tmp_path)])
    assert run.exit_code == 2
    assert "go with --from" in run.output


def many_graphs(folder: Path) -> tuple[Path, Path, Path]:
    """40 graphs, those of class 1 behind the others: as a folder, as a table, and the labels."""
    generator, rows = np.random.default_rng(0), []
    (folder / "set").mkdir()
    for number in range(40):
        pairs = [(a, a + 1) for a in range(6)] + [tuple(generator.integers(0, 7, 2)) for _ in range(number // 10)]
        table(folder / "set" / f"g{number}.csv", [("a", "b"), *pairs])
        rows += [(f"g{number}", *pair) for pair in pairs]
    labels = table(folder / "labels.csv", [("graph", "label"), *((f"g{i}", int(i >= 25)) for i in range(40))])
    return folder / "set", table(folder / "table.csv", [("graph", "a", "b"), *rows]), labels


def test_a_set_of_graphs_from_a_folder_and_from_a_table_passes(tmp_path: Path) -> None:
    folder, edges, labels = many_graphs(tmp_path)
    tasks = [
        new_task("my-graphs", tmp_path / str(place), "graphs", Given((path,), labels))
        for place, path in enumerate((folder, edges))
    ]
    assert (tasks[0] / "graph.npz").read_bytes() == (tasks[1] / "graph.npz").read_bytes()
    names = [line.partition(",")[2] for line in (tasks[0] / "graphs.csv").read_text().splitlines()[1:]]
    graphs = read_stored((tasks[0] / "graph.npz").read_bytes(), "x")
    assert isinstance(graphs, GraphSet)
    for number, name in enumerate(names):
        assert graphs.labels[number] == (int(name[1:]) >= 25)
        stated = [line.split(",") for line in (folder / f"{name}.csv").read_text().splitlines()[1:]]
        assert graphs.edges_of(number).shape[1] == len({frozenset(pair) for pair in stated if len(set(pair)) == 2})
    assert np.flatnonzero(graphs.labels).min() < 15, "the order tells nothing"
    checked = CliRunner().invoke(cli, ["task", "check", str(tasks[0])], catch_exceptions=False)
    assert checked.exit_code == 0, checked.output


def test_a_graph_whose_name_cannot_be_printed_is_refused(tmp_path: Path) -> None:
    _, edges, labels = many_graphs(tmp_path)
    for path in (edges, labels):
        path.write_text(path.read_text().replace("g3,", "g\x1b,"))
    with pytest.raises(DataError, match=r"the name 'g\\x1b' has a character that cannot be printed"):
        new_task("my-graphs", tmp_path, "graphs", Given((edges,), labels))


def test_graphs_and_labels_must_belong_together(tmp_path: Path) -> None:
    folder, edges, labels = many_graphs(tmp_path)
    (folder / "g3.csv").unlink()
    with pytest.raises(DataError, match=r"labels of graphs that are not in .*'g3'"):
        new_task("my-graphs", tmp_path, "graphs", Given((folder,), labels))
    with pytest.raises(UsageError, match="a set of graphs needs a table of graphs and labels"):
        new_task("my-graphs", tmp_path, "graphs", Given((edges,)))
