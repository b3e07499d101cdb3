"""Blueprints as the stages before assembly leave them, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from openfingym_forge.blueprint import Blueprint, MetricBlueprint, Stated, Value


def stated(value: Value) -> Stated:
    return Stated(value=value, assumed="for the test")


def metric(bank: str, weight: Value = None) -> MetricBlueprint:
    return MetricBlueprint(
        name=bank.upper(),
        formula=stated(bank),
        direction=stated("lower"),
        unit=stated(None),
        weight=stated(weight),
        bank=bank,
    )


def forecast_blueprint(**changes: Value) -> Blueprint:
    """A forecast of three Treasury yields; ``contract__horizon=5`` changes ``contract.horizon``."""
    values: dict[str, Value] = {
        "family": "forecasting",
        "kind": "forecast",
        "asset_class": "rates",
        "frequency": "daily",
        "panel": "three Treasury yields",
        "description": "Forecast yields.",
        "contract.lookback": 10,
        "contract.horizon": 5,
        "contract.value_semantics": "yield_level",
        "contract.unit": "percent per annum",
        "split.train": 0.6,
    }
    values |= {name.replace("__", "."): value for name, value in changes.items()}
    return Blueprint(
        paper="yields-in-three-steps-1a2b3c4d",
        title="Yields in Three Steps",
        name="yields-forecast",
        fields={name: stated(value) for name, value in values.items()},
        metrics=[metric("mae", 0.5), metric("rmse", 0.5)],
    )


def write_data(folder: Path, dataset: dict[str, Any] | None = None, **more: Any) -> Path:
    """``data/provenance.json`` below a paper's folder; by default of the bundled Treasury yields."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    stated_ = dataset or {"name": "ust-par-yields", "channels": ["2y", "5y", "10y"], "first": "2013-01-01"}
    found = {
        "how": "bundled:ust-par-yields",
        "source": "",
        "licence": "public domain",
        "pass_on": True,
        "dataset": stated_,
    }
    (data / "provenance.json").write_text(json.dumps(found | more))
    return data
