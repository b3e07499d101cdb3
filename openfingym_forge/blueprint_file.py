"""Blueprints as TOML files, which a person may edit; their digests, and the differences between two of them.

Each field is a table of its own, so that a change of one field is a few lines in a review::

    [fields."contract.horizon"]
    value = 5
    quotations = [
      { quote = "five days ahead", section = "3 Protocol", start = 1234 },
    ]

A field without ``value`` has none. A value that a person changed has ``assumed`` in place of ``quotations``.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import ValidationError

from openfingym.digests import canonical_json
from openfingym.errors import UsageError
from openfingym.files.whole import store_errors, write_text
from openfingym_forge.blueprint import Blueprint, MetricBlueprint, Quotation, Stated, Value
from openfingym_forge.vocabulary import problem_of

# A person's value is known by how its reason begins, so these words have to be those of CHANGED_BY.
_HEAD = """# What the paper's task is. Each value rests on quotations from the paper, or says why it is assumed.
# To change one: write the new value, and assumed = "changed by NAME: why" in place of its quotations.
"""


@dataclass(frozen=True)
class BlueprintChange:
    """What is different between two blueprints in one place."""

    place: str
    """Name of the field, or a path to what stands beside the fields, such as ``metrics.RMSE.weight``."""
    before: object
    """The value before; None where there was none."""
    after: object
    """The value after; None where there is none."""


def write_blueprint(path: Path, blueprint: Blueprint) -> None:
    """Write a blueprint, whole or not at all.

    Raises:
        StoreError: it cannot be written.
    """
    with store_errors(path):
        write_text(path, blueprint_toml(blueprint))


def read_blueprint(path: Path) -> Blueprint:
    """The blueprint in a file, checked.

    Raises:
        UsageError: it is no blueprint; the text names each place, what is wrong there and what is expected.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no blueprint there; stage `extract` writes it") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as TOML ({error})") from None
    return blueprint_of(tables, str(path))


def blueprint_of(tables: Mapping[str, object], where: str) -> Blueprint:
    """A blueprint from the tables of its file.

    Args:
        tables: content of the file, as TOML reads it.
        where: name of the file, with which each complaint begins.

    Raises:
        UsageError: the tables are no blueprint.
    """
    try:
        blueprint = Blueprint.model_validate(_with_none(tables))
    except ValidationError as error:
        lines = [f"{where}: {_place(each['loc'])}: {each['msg']}" for each in error.errors()]
        raise UsageError("\n".join(lines)) from None
    # After the form of the whole: what a field may hold depends on its name, which pydantic's types do not say.
    problems = [
        f'{where}: fields."{name}".value: {problem}'
        for name, stated in blueprint.fields.items()
        if (problem := problem_of(name, stated.value))
    ]
    if problems:
        raise UsageError("\n".join(problems))
    return blueprint


def blueprint_schema() -> dict[str, object]:
    """JSON schema of a blueprint's file."""
    return Blueprint.model_json_schema()


def blueprint_digest(blueprint: Blueprint) -> str:
    """SHA-256 of a blueprint's content, however its file is laid out."""
    return hashlib.sha256(canonical_json(blueprint.model_dump(mode="json"))).hexdigest()


def changes(before: Blueprint, after: Blueprint) -> list[BlueprintChange]:
    """What is different between two blueprints, place by place; quotations and reasons are not compared."""
    old, new = _places(before), _places(after)
    return [
        BlueprintChange(place, old.get(place), new.get(place))
        for place in (*old, *(place for place in new if place not in old))
        if old.get(place, _NOTHING) != new.get(place, _NOTHING)
    ]


_NOTHING = object()
"""Stands where a blueprint lacks a place, since None is a value."""


def _places(blueprint: Blueprint) -> dict[str, object]:
    """The values of a blueprint by their places."""
    places: dict[str, object] = {"title": blueprint.title, "name": blueprint.name}
    places |= {name: stated.value for name, stated in blueprint.fields.items()}
    for metric in blueprint.metrics:
        start = f"metrics.{metric.name}"
        places |= {
            f"{start}.{part}": getattr(metric, part).value for part in ("formula", "direction", "unit", "weight")
        }
        places |= {
            f"{start}.bank": metric.bank,
            f"{start}.figures": [(figure.baseline, figure.value) for figure in metric.figures],
        }
    places["baselines"] = [stated.value for stated in blueprint.baselines]
    return places


def _with_none(value: object) -> object:
    """Tables of values as their file has them, with None for a value that was left out: TOML has no null."""
    if isinstance(value, Mapping):
        table = {key: _with_none(each) for key, each in value.items()}
        if {"quotations", "assumed"} & table.keys():
            table.setdefault("value", None)
        return table
    return [_with_none(each) for each in value] if isinstance(value, list) else value


def _place(parts: Sequence[object]) -> str:
    return ".".join(json.dumps(part) if "." in str(part) else str(part) for part in parts)


def blueprint_toml(blueprint: Blueprint) -> str:
    """A blueprint as the text of its file."""
    head = [f"{key} = {_toml(getattr(blueprint, key))}" for key in ("format", "paper", "title", "name")]
    blocks = [_HEAD + "\n".join(head)]
    blocks += [f"[fields.{json.dumps(name)}]\n{_stated(stated)}" for name, stated in blueprint.fields.items()]
    for metric in blueprint.metrics:
        blocks += _metric(metric)
    blocks += [f"[[baselines]]\n{_stated(stated)}" for stated in blueprint.baselines]
    for contradiction in blueprint.contradictions:
        blocks.append(f"[[contradictions]]\nfield = {_toml(contradiction.field)}\nwhy = {_toml(contradiction.why)}")
        blocks += [f"[[contradictions.readings]]\n{_stated(stated)}" for stated in contradiction.readings]
    return "\n\n".join(blocks) + "\n"


def _metric(metric: MetricBlueprint) -> list[str]:
    blocks = [f"[[metrics]]\nname = {_toml(metric.name)}\nbank = {_toml(metric.bank)}"]
    parts = ("formula", "direction", "unit", "weight")
    blocks += [f"[metrics.{part}]\n{_stated(getattr(metric, part))}" for part in parts]
    blocks += [
        f"[[metrics.figures]]\nbaseline = {_toml(figure.baseline)}\nvalue = {_toml(figure.value)}\n"
        f"quotation = {_quotation(figure.quotation)}"
        for figure in metric.figures
    ]
    return blocks


def _stated(stated: Stated) -> str:
    lines = [] if stated.value is None else [f"value = {_toml(stated.value)}"]
    if stated.assumed:
        lines.append(f"assumed = {_toml(stated.assumed)}")
    if stated.quotations:
        lines += ["quotations = [", *(f"  {_quotation(each)}," for each in stated.quotations), "]"]
    return "\n".join(lines)


def _quotation(quotation: Quotation) -> str:
    quote, section = _toml(quotation.quote), _toml(quotation.section)
    return f"{{ quote = {quote}, section = {section}, start = {quotation.start} }}"


def _toml(value: Value) -> str:
    # A bool is an int of Python: JSON writes either as TOML does.
    if isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return f"[{', '.join(_toml(each) for each in value)}]"
    # JSON's strings are TOML's, but that TOML forbids a bare DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
