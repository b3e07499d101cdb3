"""Rows of the knowledge base, made from the folders of a forge and from task packages."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from openfingym.errors import OpenFinGymError
from openfingym_forge.blueprint import Blueprint, Stated
from openfingym_forge.blueprint_file import read_blueprint
from openfingym_forge.data.provenance import read_provenance
from openfingym_forge.folder import PaperFolder
from openfingym_forge.stage import RejectionReason

TABLES: dict[str, tuple[str, ...]] = {
    "papers": ("key",),
    "datasets": ("name",),
    "settings": ("paper", "name"),
    "protocols": ("paper", "name"),
    "metrics": ("name",),
    "blueprints": ("paper",),
    "tasks": ("name",),
    "decisions": ("paper", "number"),
    "task_datasets": ("task", "dataset"),
    "task_metrics": ("task", "metric"),
    "paper_datasets": ("paper", "dataset"),
    "paper_metrics": ("paper", "number"),
}
"""Columns of the key of each table, by the table's name. The last four tables are links."""
Rows = dict[str, list[dict[str, Any]]]
"""Rows by the name of their table."""


def empty_rows() -> Rows:
    """No row in any table."""
    return {table: [] for table in TABLES}


def paper_rows(folder: PaperFolder) -> Rows:
    """Rows of what the folder of a paper holds. A record that cannot be read becomes a decision that says so."""
    rows = empty_rows()
    stage, state = "", "waiting"
    try:
        for kept in folder.results():
            stage, state = kept.result.stage, kept.result.state
            for kind, reasons in (("reason", kept.result.reasons), ("note", kept.result.notes)):
                rows["decisions"] += [_decision(folder.key, stage, state, kind, reason) for reason in reasons]
            # A stage that passed is a decision as well.
            if not kept.result.reasons:
                rows["decisions"].append(_decision(folder.key, stage, state, "state", RejectionReason("", "")))
    except OpenFinGymError as error:
        rows["decisions"].append(
            _decision(folder.key, stage, "failed", "reason", RejectionReason("machinery", str(error)))
        )
    row: dict[str, Any] = {
        "key": folder.key, "title": folder.key, "abstract": "", "text": "", "language": "", "form": "", "origin": "",
        "digest": "", "licence": "", "arxiv_id": "",
    }  # fmt: skip
    try:
        if folder.has_paper:
            paper = asdict(folder.paper())
            row |= {name: paper[name] for name in row}
        if folder.blueprint_path.exists():
            _add_blueprint(rows, folder.key, read_blueprint(folder.blueprint_path))
        _add_data(rows, folder)
    except OpenFinGymError as error:
        rows["decisions"].append(
            _decision(folder.key, stage, "failed", "reason", RejectionReason("machinery", str(error)))
        )
    rows["papers"].append(row | {"stage": stage, "state": state})
    for number, decision in enumerate(rows["decisions"]):
        decision["number"] = number
    return rows


def task_rows(name: str, package: Path, *, shipped: bool) -> Rows:
    """Rows of what a task says of its data and metrics; none where its ``task.toml`` cannot be read.

    Args:
        name: name of the task.
        package: folder of the task.
        shipped: whether the task is one of the library's own.
    """
    rows = empty_rows()
    # Read as plain TOML: a task of a kind that is not installed here, or of another version, is known as well.
    try:
        tables: Mapping[str, Any] = tomllib.loads((package / "task.toml").read_text(encoding="utf-8"))
        ours = tables["metadata"]["openfingym"]
        task, dataset = tables["task"], ours.get("dataset", {})
        kind, note = ours.get("contract", {}).get("kind", ""), ours.get("provenance", {}).get("paper", "")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, AttributeError):
        return rows
    plain = {"name": name, "description": str(task.get("description", "")), "family": str(ours.get("family", ""))}
    rows["tasks"].append(plain | {"kind": str(kind), "source": str(note), "shipped": shipped})
    if data := str(dataset.get("name", "") or dataset.get("source", "")):
        rows["datasets"].append({"name": data, "source": str(dataset.get("source", "")), "licence": "", "how": ""})
        rows["task_datasets"].append({"task": name, "dataset": data})
    for metric in ours.get("scoring", {}).get("metrics", []):
        rows["metrics"].append({"name": str(metric["name"])})
        rows["task_metrics"].append({"task": name, "metric": str(metric["name"]), "weight": metric.get("weight", 0.0)})
    return rows


def _decision(paper: str, stage: str, state: str, kind: str, reason: RejectionReason) -> dict[str, Any]:
    # The number is given once all decisions of the paper are known.
    quotations = json.dumps([each.model_dump() for each in reason.quotations], ensure_ascii=False, sort_keys=True)
    why = {"code": reason.code, "text": reason.text, "quotations": quotations}
    return {"paper": paper, "number": 0, "stage": stage, "state": state, "kind": kind, **why}


def _add_blueprint(rows: Rows, key: str, blueprint: Blueprint) -> None:
    body = json.dumps(blueprint.model_dump(mode="json"), ensure_ascii=False, sort_keys=True)
    rows["blueprints"].append({"paper": key, "name": blueprint.name, "title": blueprint.title, "body": body})
    for name, stated in sorted(blueprint.fields.items()):
        table = "protocols" if name.partition(".")[0] in {"protocol", "split"} else "settings"
        rows[table].append({"paper": key, "name": name, **_stated(stated)})
    for number, metric in enumerate(blueprint.metrics):
        if metric.bank:
            rows["metrics"].append({"name": metric.bank})
        formula, direction = str(metric.formula.value), str(metric.direction.value)
        link = {"paper": key, "number": number, "metric": metric.bank, "called": metric.name}
        rows["paper_metrics"].append(link | {"formula": formula, "direction": direction})


def _stated(stated: Stated) -> dict[str, Any]:
    value = json.dumps(stated.model_dump(mode="json")["value"], ensure_ascii=False)
    quote = stated.quotations[0] if stated.quotations else None
    place = {"section": quote.section if quote else "", "start": quote.start if quote else -1}
    return {"value": value, "assumed": stated.assumed, "quote": quote.quote if quote else "", **place}


def _add_data(rows: Rows, folder: PaperFolder) -> None:
    provenance = read_provenance(folder.path / "data")
    if provenance is None:
        return
    # A download has no name of its own: its address tells it from others.
    name = provenance.how.partition(":")[2] or provenance.address or provenance.source
    about = {"source": provenance.source, "licence": provenance.licence, "how": provenance.how}
    rows["datasets"].append({"name": name, **about})
    rows["paper_datasets"].append({
        "paper": folder.key, "dataset": name, "how": provenance.how, "reused_from": provenance.reused_from,
    })  # fmt: skip
