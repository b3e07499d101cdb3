"""The graph of tasks that share data or metrics, as text, as DOT and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass

from openfingym.errors import UsageError
from openfingym_forge.knowledge.database import KnowledgeBase


@dataclass(frozen=True)
class SharedGraph:
    """Tasks on one side, data sets and metrics on the other."""

    tasks: dict[str, bool]
    """Whether the library ships a task, by the task's name."""
    datasets: dict[str, list[str]]
    """Names of the tasks that have a data set, by its name."""
    metrics: dict[str, list[str]]
    """Names of the tasks that are scored by a metric, by its name."""

    def text(self) -> str:
        """A line for each data set and metric that more than one task has, the most shared first."""
        lines = []
        for what, groups in (("data", self.datasets), ("metric", self.metrics)):
            for name, tasks in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
                if len(tasks) > 1:
                    named = ", ".join(task if self.tasks[task] else f"{task} (forged)" for task in tasks)
                    lines.append(f"{what} {name}: {len(tasks)} tasks: {named}")
        return "\n".join(lines) + "\n" if lines else "No two tasks share data or metrics.\n"

    def dot(self) -> str:
        """The graph for Graphviz; forged tasks are drawn bold."""
        lines = ["graph shared {", "  rankdir=LR;"]
        for task, shipped in self.tasks.items():
            lines.append(
                f"  {_quoted('task:' + task)} [label={_quoted(task)}, shape=box{'' if shipped else ', style=bold'}];"
            )
        for what, shape, groups in (("data", "cylinder", self.datasets), ("metric", "ellipse", self.metrics)):
            for name, tasks in groups.items():
                node = _quoted(f"{what}:{name}")
                lines.append(f"  {node} [label={_quoted(name)}, shape={shape}];")
                lines += [f"  {_quoted('task:' + task)} -- {node};" for task in tasks]
        return "\n".join([*lines, "}", ""])

    def json(self) -> str:
        """The graph as a JSON object: ``nodes``, and ``edges`` from tasks to what they have."""
        nodes = [{"id": f"task:{task}", "kind": "task", "shipped": shipped} for task, shipped in self.tasks.items()]
        edges = []
        for what, groups in (("data", self.datasets), ("metric", self.metrics)):
            for name, tasks in groups.items():
                nodes.append({"id": f"{what}:{name}", "kind": what})
                edges += [{"task": f"task:{task}", "with": f"{what}:{name}"} for task in tasks]
        return json.dumps({"nodes": nodes, "edges": edges}, indent=2, sort_keys=True) + "\n"


def shared_graph(base: KnowledgeBase, *, only: str = "") -> SharedGraph:
    """The graph of a knowledge base.

    Args:
        base: the knowledge base of a forge.
        only: name of a task, to have only what it shares with others; empty for all tasks.

    Raises:
        UsageError: there is no such task.
    """
    tasks = {row["name"]: bool(row["shipped"]) for row in base.rows("tasks")}
    if only and only not in tasks:
        raise UsageError(f"no task {only!r} is known; `openfingym forge search FORGE WORDS` finds tasks")
    groups: list[dict[str, list[str]]] = []
    for table, column in (("task_datasets", "dataset"), ("task_metrics", "metric")):
        users: dict[str, list[str]] = {}
        for row in base.rows(table):
            users.setdefault(row[column], []).append(row["task"])
        groups.append({name: named for name, named in sorted(users.items()) if not only or only in named})
    if only:
        linked = {task for users in groups for named in users.values() for task in named}
        tasks = {task: shipped for task, shipped in tasks.items() if task in linked}
    return SharedGraph(tasks, *groups)


def _quoted(text: str) -> str:
    """A text as a quoted identifier of DOT, whatever a data set is called."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
