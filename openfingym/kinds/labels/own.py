"""An author's own graphs: loading them from a task's folder, and starting a task from them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from openfingym.data.dataset import DatasetInfo
from openfingym.digests import sha256_of
from openfingym.errors import DataError, TaskError, UsageError
from openfingym.kinds.labels.kind import SPLIT_SEED, Divided, divided
from openfingym.kinds.real_forms import required_form
from openfingym.kinds.start import OwnData
from openfingym.task.files import read_task_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openfingym.data.graphs import Graph, GraphSet
    from openfingym.kinds.start import Given, Start
    from openfingym.task import DataKind, Task


def own_kind(task: Task) -> DataKind:
    """The kind of the data, as the author states it."""
    kind = task.spec.dataset.kind
    assert kind is not None, "a dataset with a file states it"
    return kind


def own_key(task: Task) -> str:
    """A value that changes whenever the file does."""
    return sha256_of(_content(task))


def own_graph(task: Task) -> Divided[Graph]:
    """The graph that the task's folder holds, and the split of its labels.

    Raises:
        TaskError: the file is missing, or real data is asked for instead.
        DataError: the file is damaged, or holds a set of graphs.
    """
    from openfingym.data.graphs import Graph

    items = _items(task)
    if not isinstance(items, Graph):
        raise DataError(f"{task.folder / str(task.spec.dataset.file)}: a set of graphs; a nodes task needs one graph")
    return divided(items, _info(task, items, items.nodes), task.spec.contract, _split_seed(items.digest))


def own_graphs(task: Task) -> Divided[GraphSet]:
    """The set of graphs that the task's folder holds, and the split of its labels.

    Raises:
        TaskError: the file is missing, or real data is asked for instead.
        DataError: the file is damaged, or holds a single graph.
    """
    from openfingym.data.graphs import GraphSet

    items = _items(task)
    if not isinstance(items, GraphSet):
        raise DataError(f"{task.folder / str(task.spec.dataset.file)}: one graph; a graphs task needs a set of them")
    return divided(items, _info(task, items, len(items.labels)), task.spec.contract, _split_seed(items.digest))


def start_from_graphs(start: Start, given: Given) -> Start:
    """The scaffold of a graphs task that holds the author's graphs.

    Args:
        start: the scaffold of the kind.
        given: the author's files, and how they are to be read.

    Raises:
        UsageError: labels are missing, or an option is given that is for other kinds.
        DataError: the files cannot be read as a set of graphs.
    """
    from openfingym.data.own import graph_sets, graphs

    require_graph_options(given)
    if given.labels is None:
        raise UsageError("--labels: a set of graphs needs a table of graphs and labels, 0 or 1")
    if given.features is not None:
        raise UsageError("--features is for one graph; the files of a set bring the features of their nodes")
    own = graph_sets.read_own_graphs(given.files[0], given.labels)
    size = f"{len(own.names)} graphs, {int(own.graphs.offsets[-1])} nodes in all"
    return replace(
        start,
        data=f"{' and '.join(given.names)}: {size}",
        description="Tell graphs of class 1 from graphs of class 0.",
        asks="Score each graph: higher where it is of class 1, lower where it is of class 0.",
        panel=size,
        dataset=None,
        own_data=_own_data(own.graphs, {graph_sets.NAMES: graphs.names_csv("graph", own.names)}, given, own.notes),
    )


def start_from_graph(start: Start, given: Given) -> Start:
    """The scaffold of a nodes task that holds the author's graph.

    Args:
        start: the scaffold of the kind.
        given: the author's files, and how they are to be read.

    Raises:
        UsageError: there is more than one file of edges, or an option is given that is for other kinds.
        DataError: the files cannot be read as a graph.
    """
    from openfingym.data.own import graphs

    require_graph_options(given)
    own = graphs.read_own_graph(given.files[0], given.labels, given.features)
    listed = f" The features of a node are, in order: {', '.join(own.features)}." if own.features else ""
    size = f"{own.graph.nodes} nodes, {own.graph.edge_count} edges"
    return replace(
        start,
        data=f"{' and '.join(given.names)}: {size}, {own.graph.anomaly_rate:.1%} anomalies",
        description="Score the nodes of a graph for anomalies.",
        asks=f"Score the nodes of a graph for anomalies.{listed}",
        panel=size,
        dataset=None,
        own_data=_own_data(own.graph, {graphs.NAMES: graphs.names_csv("node", own.names)}, given, own.notes),
    )


def _own_data(items: Graph | GraphSet, names: Mapping[str, str], given: Given, notes: tuple[str, ...]) -> OwnData:
    """An author's data as a task holds it: the graphs, and a file with the author's names of nodes or graphs.

    Args:
        items: the graph or the set of graphs.
        names: text of the files of names, by the files' names.
        given: the author's files.
        notes: what was done to the author's data, as sentences.
    """
    from openfingym.data.own import graphs

    content = {graphs.STORED: graphs.stored_bytes(items), **{file: text.encode() for file, text in names.items()}}
    return OwnData(graphs.STORED, content, "mixed", given.names, notes)


def require_graph_options(given: Given) -> None:
    """Refuse options that are for tables.

    Raises:
        UsageError: such an option is given, which the message names, or there is more than one file of edges.
    """
    # Each message says what the option is for, so that the author knows where it belongs.
    if len(given.files) > 1:
        raise UsageError(f"--from: {len(given.files)} files; a graph's edges are in one")
    if given.fill is not None or given.measure is not None:
        raise UsageError("--fill and --measure are for tables of values in time; a graph's features must be complete")
    if given.target is not None:
        raise UsageError("--target is for tasks of the kind rows; what a graph asks for are its labels")
    if given.labels is not None and given.labels == given.files[0]:
        raise UsageError("--labels: the file of the edges; give a table of names and labels")


def _items(task: Task) -> Graph | GraphSet:
    """The graph or the set of graphs in the task's folder."""
    from openfingym.data.own.graphs import read_stored

    if task.real:
        # Raises, and says why there are no real data, unless the task states some.
        required_form(task)
        raise TaskError("an own graph has no other form; remove --real", path=task.config_path, key="dataset.file")
    return read_stored(_content(task), str(task.folder / str(task.spec.dataset.file)))


def _content(task: Task) -> bytes:
    return read_task_file(task.folder, str(task.spec.dataset.file), key="metadata.openfingym.dataset.file")


def _split_seed(digest: str) -> int:
    """A seed of the split that nobody can know without the labels.

    With a known seed, the shuffle of a class is known, and the places of its known labels in it would bound how many
    hidden labels of the class lie between them. The digest is over the labels too.
    """
    return int(hashlib.sha256(f"{SPLIT_SEED}:{digest}".encode()).hexdigest(), 16)


def _info(task: Task, items: Graph | GraphSet, rows: int) -> DatasetInfo:
    reference = task.spec.dataset
    steps = () if reference.prepared is None else reference.prepared.steps
    return DatasetInfo(
        name=task.name,
        title=task.name,
        kind=own_kind(task),
        source=str(reference.source),
        provenance="; ".join((f"the task author's file {reference.file}", *steps)),
        licence=str(reference.licence),
        frequency="none",
        measure="mixed",
        unit="edges, features and a 0/1 label",
        calendar="none: a graph has no clock",
        corporate_actions="none: a graph has none",
        first=None,
        last=None,
        rows=rows,
        channels=(),
        missing=0,
        sha256=items.digest,
        prepared=steps,
    )
