"""Stage ``triage``: which kind serves a blueprint, with the reason; protocols that leak are refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from openfingym_forge.blueprint import Blueprint, Quotation, Stated, Value
from openfingym_forge.blueprint_file import read_blueprint, write_blueprint
from openfingym_forge.paper import Paper
from openfingym_forge.stage import CandidateTask, Role, StageResult
from openfingym_forge.triage import TriageStage

QUOTE = Quotation(quote="as the paper says", section="", start=0)


class Silent:
    """Triage asks no model."""

    def ask(self, role: Role, purpose: str, prompt: str) -> str:
        """Refuse."""
        raise AssertionError(f"asked {role} for {purpose}: {prompt[:40]}")


def triaged(folder: Path, fields: Mapping[str, Value], text: str = "") -> tuple[StageResult, Blueprint]:
    """What the stage makes of fields, named with a double underscore for a point."""
    stated = {name.replace("__", "."): Stated(value=value, quotations=[QUOTE]) for name, value in fields.items()}
    return _run(folder, Blueprint(paper="p", title="T", name="t", fields=stated), text)


def _run(folder: Path, blueprint: Blueprint, text: str = "") -> tuple[StageResult, Blueprint]:
    path = folder / "blueprint.toml"
    write_blueprint(path, blueprint)
    paper = Paper("p", "T", "", text, (), (), "en", "text", "p.txt", "0" * 64, "1" * 64)
    result = TriageStage().run(CandidateTask(folder, paper, Silent(), blueprint))
    return result, read_blueprint(path)


FORECAST: dict[str, Value] = {
    "family": "forecasting",
    "frequency": "daily",
    "contract__horizon": 5,
    "contract__lookback": 20,
    "contract__value_semantics": "log_return",
}


@pytest.mark.parametrize(
    ("text", "fields", "kind", "verdict"),
    [
        ("", FORECAST, "forecast", "routed"),
        ("", {"family": "forecasting", "contract__horizon": 5}, "forecast", "partial match"),
        (
            "",
            {"family": "forecasting", "frequency": "monthly", "data__features": ["size", "value"]},
            "rows",
            "routed",
        ),
        ("Models learn from each outcome.", FORECAST, "rolling", "routed"),
        ("", {"family": "forecasting", "asset_class": "lob"}, "", "no match"),
        (
            "",
            {"family": "generation", "contract__horizon": 30, "contract__value_semantics": "price_level"},
            "generation",
            "routed",
        ),
        ("We score the nodes of a graph.", {"family": "fraud", "data__source": "Amazon"}, "nodes", "routed"),
        ("The label of a graph is hidden.", {"family": "fraud", "data__source": "Motifs"}, "graphs", "routed"),
        ("Card payments are classified.", {"family": "fraud"}, "", "novel required"),
        ("", {"family": "trading", "data__series": ["a"], "frequency": "daily"}, "trading", "partial match"),
        ("We study market making.", {"family": "trading"}, "", "no match"),
    ],
)
def test_the_kind_and_why(tmp_path: Path, text: str, fields: dict[str, Value], kind: str, verdict: str) -> None:
    result, blueprint = triaged(tmp_path, fields, text)
    assert (result.facts["kind"], result.facts["verdict"]) == (kind, verdict)
    assert result.facts["why"]
    if kind:
        assert result.state == "passed"
        assert blueprint.value("kind") == kind
    else:
        assert [reason.code for reason in result.reasons] == ["no-kind"]


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("protocol__shuffled", True, "shuffled-split"),
        ("protocol__scaling", "all", "scaling-on-test"),
        ("protocol__overlap", True, "overlapping-windows"),
    ],
)
def test_a_protocol_that_leaks_is_refused_with_its_words(tmp_path: Path, field: str, value: Value, code: str) -> None:
    result, _ = triaged(tmp_path, FORECAST | {field: value})
    assert [(reason.code, reason.quotations) for reason in result.reasons] == [(code, (QUOTE,))]


def test_trading_gets_its_parameters_and_keeps_what_the_paper_says(tmp_path: Path) -> None:
    _, blueprint = triaged(
        tmp_path,
        {"family": "trading", "frequency": "daily", "data__series": ["aapl", "ibm"], "contract__fee_bps": 7.0},
    )
    assert blueprint.value("contract.symbols") == ["aapl", "ibm"]
    assert blueprint.value("contract.fee_bps") == 7.0
    assert blueprint.fields["contract.steps"].assumed
    assert blueprint.value("description")


def test_what_a_person_changed_stays(tmp_path: Path) -> None:
    fields = {name.replace("__", "."): Stated(value=value, quotations=[QUOTE]) for name, value in FORECAST.items()}
    fields["kind"] = Stated(value="rolling", assumed="changed by Ada: step by step")
    result, blueprint = _run(tmp_path, Blueprint(paper="p", title="T", name="t", fields=fields))
    assert result.facts["kind"] == "rolling"
    assert blueprint.fields["kind"].assumed == "changed by Ada: step by step"


def test_doing_it_again_changes_nothing(tmp_path: Path) -> None:
    _, once = triaged(tmp_path, FORECAST)
    _, twice = _run(tmp_path, once)
    assert twice == once
