"""ForecastBench's published sets: what has no resolution yet waits, what never gets one is void, and base rates have
the losses that pandas finds."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from openfingym.errors import UsageError
from openfingym.questions.forecastbench import BenchQuestion, BenchResolution, BenchSet
from openfingym.reports.forecasts.report import forecast_report

FOLDER = Path(__file__).parent / "forecastbench"
DUE = "2026-01-04"
SERIES = {
    "id": "DFF", "source": "fred", "question": "Higher on {resolution_date}?", "freeze_datetime": f"{DUE}T00:00:00Z",
    "freeze_datetime_value": "4.3", "forecast_due_date": DUE, "resolution_dates": ["2026-01-11", "2026-02-03"],
}  # fmt: skip
MARKET = {**SERIES, "id": "m", "source": "manifold", "resolution_dates": "N/A", "freeze_datetime_value": "0.3"}


def row(question: dict[str, Any], date: str, value: float | None, **more: Any) -> dict[str, Any]:
    return {"id": question["id"], "source": question["source"], "resolution_date": date, "resolved_to": value, **more}


def outcomes(questions: list[dict[str, Any]], resolutions: list[dict[str, Any]]) -> dict[str, object]:
    """The truth of each question, or the first word of why there is none, or ``waits``."""
    joined = BenchSet(list(map(BenchQuestion.read, questions)), list(map(BenchResolution.read, resolutions)))
    found: dict[str, object] = {}
    for one in joined.asked("replayed/x"):
        truth = one.truth
        told: object = "waits" if truth is None else truth["truth"]
        if truth is not None and told is None:
            told = truth["reason"].split()[0].strip(":")
        found[f"{one.bench.key}{one.direction} {one.date}"] = told
    return found


OTHER = {**SERIES, "id": "OTHER"}
PAIR = {**SERIES, "id": ["A", "B"], "resolution_dates": ["2026-01-11"]}


@pytest.mark.parametrize(
    ("questions", "resolutions", "expected"),
    [
        ([SERIES], [row(SERIES, "2026-01-11", 1.0)], {"DFF 2026-01-11": 1.0, "DFF 2026-02-03": "waits"}),
        (
            [SERIES, OTHER],
            [row(SERIES, "2026-01-11", 1.0), row(OTHER, "2026-01-11", 0.0), row(OTHER, "2026-02-03", 0.0)],
            {"DFF 2026-01-11": 1.0, "DFF 2026-02-03": "nullified", "OTHER 2026-01-11": 0.0, "OTHER 2026-02-03": 0.0},
        ),
        # A later row of another source says nothing of this one.
        (
            [SERIES, MARKET],
            [row(SERIES, "2026-01-11", 1.0), row(MARKET, "2026-03-01", 0.4, resolved=False)],
            {"DFF 2026-01-11": 1.0, "DFF 2026-02-03": "waits", "m 2026-03-01": "not"},
        ),
        ([SERIES, MARKET], [row(SERIES, "2026-01-11", None)],
         {"DFF 2026-01-11": "not", "DFF 2026-02-03": "waits", "m 2026-01-11": "nullified"}),
        (
            [PAIR],
            [{**row(PAIR, "2026-01-11", 1.0), "direction": [1, 1]}],
            {
                "A+B+1+1 2026-01-11": 1.0,
                "A+B+1-1 2026-01-11": "nullified",
                "A+B-1+1 2026-01-11": "nullified",
                "A+B-1-1 2026-01-11": "nullified",
            },
        ),
    ],
)  # fmt: skip
def test_what_has_no_resolution_waits_or_is_void(
    questions: list[dict[str, Any]], resolutions: list[dict[str, Any]], expected: dict[str, object]
) -> None:
    assert outcomes(questions, resolutions) == expected


def test_resolutions_of_others_are_counted_and_contradictions_refused() -> None:
    questions = [BenchQuestion.read(SERIES)]
    rows = [row(SERIES, "2026-01-11", 1.0), row(OTHER, "2026-01-11", 0.0)]
    assert BenchSet(questions, list(map(BenchResolution.read, rows))).unasked == 1
    with pytest.raises(UsageError, match=r"two resolutions of fred DFF on 2026-01-11 differ: 1.0 and 0.0"):
        BenchSet(questions, list(map(BenchResolution.read, [*rows, row(SERIES, "2026-01-11", 0.0)])))
    with pytest.raises(UsageError, match="add the file with their resolution set"):
        BenchSet(questions, [])
    with pytest.raises(UsageError, match="which nothing asks"):
        BenchSet(questions, [BenchResolution.read({**rows[0], "forecast_due_date": "2025-01-01"})])


BASE_RATES: dict[str, Callable[[dict[str, Any]], float]] = {
    "Always 0": lambda question: 0.0,
    "Always 1": lambda question: 1.0,
    "Freeze price": lambda question: float(question["freeze_datetime_value"]),
}


@pytest.fixture(scope="module", params=["2025-10-26", "2026-01-04"])
def season(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A published pair of sets, and forecasts of base rates on it, as files."""
    due, folder = request.param, tmp_path_factory.mktemp("forecastbench")
    for name in (f"{due}-llm.json", f"{due}_resolution_set.json"):
        (folder / name).write_bytes(gzip.decompress((FOLDER / f"{name}.gz").read_bytes()))
    questions = json.loads((folder / f"{due}-llm.json").read_text())["questions"]
    for name, said in BASE_RATES.items():
        stated = [
            {"id": one["id"], "source": one["source"], "forecast": said(one), "resolution_date": date}
            for one in questions
            for date in ([None] if one["resolution_dates"] == "N/A" else one["resolution_dates"])
            if name != "Freeze price" or date is None
        ]
        document = {"forecast_due_date": due, "organization": "Base", "model": name, "forecasts": stated}
        (folder / f"{name}.json").write_text(json.dumps(document))
    return due, folder


def test_a_published_season_has_the_losses_that_pandas_finds(season: tuple[str, Path], tmp_path: Path) -> None:
    from openfingym.cli import cli

    due, folder = season
    files = sorted(map(str, folder.iterdir()))
    place = ["--state-folder", str(tmp_path / "ledger")]
    done = CliRunner().invoke(cli, ["ledger", "import", *files, *place, "--json"], catch_exceptions=False)
    counts = json.loads(done.stdout)

    def frame(name: str, part: str) -> pd.DataFrame:
        return pd.DataFrame(json.loads((folder / name).read_text())[part])

    asked, resolved = frame(f"{due}-llm.json", "questions"), frame(f"{due}_resolution_set.json", "resolutions")
    horizons = asked[asked["resolution_dates"] != "N/A"].explode("resolution_dates")
    markets = asked[asked["resolution_dates"] == "N/A"]
    # Counted by another way than the reader's: joins on source and date.
    true = resolved[resolved["resolved"]]
    last = true[true["source"].isin(horizons["source"])].groupby("source")["resolution_date"].max()
    ahead = horizons["resolution_dates"] > horizons["source"].map(last)
    assert counts["questions"] == len(horizons) + len(markets)
    assert counts["scored"] == len(true)
    assert counts["waiting"] == ahead.sum()
    assert counts["void"] == counts["questions"] - counts["scored"] - counts["waiting"] > 100
    assert counts["unasked"] == 0

    (track,) = forecast_report(tmp_path / "ledger").tracks
    assert track.data_kind == "replayed"
    found = {one.forecaster.agent.removeprefix("Base/"): one.figures.loss for one in track.rows}
    shown = markets.set_index("id")["freeze_datetime_value"].astype(float)
    of_markets = true[true["source"].isin(markets["source"])]
    expected = {name: ((true["resolved_to"] - p) ** 2).mean() for name, p in (("Always 0", 0.0), ("Always 1", 1.0))}
    expected["Freeze price"] = ((of_markets["resolved_to"] - of_markets["id"].map(shown)) ** 2).mean()
    assert found == pytest.approx(expected, abs=1e-12)
