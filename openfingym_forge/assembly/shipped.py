"""Blueprints of tasks that exist already, such as those of the library's own catalogue.

Assembled again, each gives the very files of its task, which shows that a blueprint can say everything that a task has.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from openfingym.metrics import find_metric
from openfingym.packages.toml_tables import split_tables
from openfingym.task.files import CONFIG, INSTRUCTION, read_task_file
from openfingym_forge.assembly.document import OURS, AuthorWords, as_toml
from openfingym_forge.blueprint import Blueprint, MetricBlueprint, Stated

if TYPE_CHECKING:
    from openfingym.task import Task

_WHY = "as the task states it"
_TOP = ("family", "asset_class", "frequency", "panel")
_FIXED = ("format", "name", "metrics")


def blueprint_of(task: Task) -> Blueprint:
    """The blueprint of a task: every value is assumed, as the task's ``task.toml`` states it.

    Raises:
        TaskError: ``task.toml`` cannot be read.
    """
    data = tomllib.loads(_text(task, CONFIG))
    ours, head = data["metadata"]["openfingym"], data["task"]
    fields = {name: ours[name] for name in _TOP}
    fields |= {"kind": ours["contract"]["kind"], "description": head["description"]}
    fields |= {f"task.{key}": head[key] for key in ("version", "keywords") if key in head}
    fields["task.organisation"] = head["name"].partition("/")[0]
    for table in ("dataset", "split", "contract", "scoring", "verification", "provenance"):
        fields |= dict(_flat(table, ours.get(table, {})))
    for table in ("agent", "verifier", "environment"):
        fields |= {f"{table}.{key}": value for key, value in data.get(table, {}).items() if key != "env"}
    for metric in ours["scoring"]["metrics"]:
        own = {key: value for key, value in metric.items() if key not in ("name", "weight")}
        fields |= {f"scoring.metrics.{metric['name']}.{key}": value for key, value in own.items()}
    return Blueprint(
        paper=f"task-{task.name}",
        title=head["description"],
        name=task.name,
        fields={name: _stated(value) for name, value in fields.items()},
        metrics=[_metric(metric) for metric in ours["scoring"]["metrics"]],
    )


def words_of(task: Task) -> AuthorWords:
    """What the author of a task wrote by hand: the instruction, and comments behind values.

    Raises:
        TaskError: a file cannot be read.
    """
    numbers = list(_numbers(_text(task, CONFIG)))
    fractions = ((place, spelt) for place, spelt, _ in numbers if "." in spelt or "e" in spelt)
    return AuthorWords(
        _text(task, INSTRUCTION),
        remarks={place: remark for place, _, remark in numbers if remark},
        spellings={place: spelt for place, spelt in fractions if as_toml(float(spelt)) != spelt},
    )


def _numbers(text: str) -> Iterator[tuple[str, str, str]]:
    """Each number of a file: its place, how it is written, and the comment behind it."""
    for table, block in split_tables(text):
        place = table.removeprefix(f"{OURS}.")
        # Tables of metrics all have one name: that of the metric tells them apart.
        named = re.search(r'(?m)^name = "([^"]*)"', block)
        if place == "scoring.metrics" and named is not None:
            place = f"{place}.{named[1]}"
        # Numbers alone, so that no # of a text is taken for a comment.
        for key, spelt, remark in re.findall(r"(?m)^(\w+) = ([-+.\de_]+)[ \t]*(?:# (.*))?$", block):
            yield f"{place}.{key}", spelt, remark


def _flat(prefix: str, table: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """The values of a table and of the tables in it, each with its name as a field."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}.{key}", value)
        elif key not in _FIXED or prefix == "dataset":
            yield f"{prefix}.{key}", value


def _metric(metric: Mapping[str, Any]) -> MetricBlueprint:
    known = find_metric(metric["name"])
    return MetricBlueprint(
        name=metric["name"],
        formula=_stated("that of the bank of metrics"),
        direction=_stated(known.direction),
        unit=_stated(None),
        weight=_stated(metric["weight"]),
        bank=metric["name"],
    )


def _stated(value: Any) -> Stated:
    return Stated(value=value, assumed=_WHY)


def _text(task: Task, name: str) -> str:
    # An editor may have put a byte order mark in front.
    return read_task_file(task.folder, name).decode("utf-8-sig")
