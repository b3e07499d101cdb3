"""Past seasons are read whole, from this library's own lines and from ForecastBench's sets, or not at all."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from openfingym.digests import canonical_json
from openfingym.errors import UsageError
from openfingym.questions import moment_ns
from openfingym.questions.history import read_history, read_questions

DUE = "2024-07-21"
SERIES = {
    "id": "DGS10",
    "source": "fred",
    "question": "Will it have increased by {resolution_date} as compared to {forecast_due_date}?",
    "resolution_criteria": "As FRED says.",
    "background": "N/A",
    "market_info_open_datetime": "N/A",
    "market_info_close_datetime": "N/A",
    "freeze_datetime": "2024-07-12T00:00:00+00:00",
    "freeze_datetime_value": "4.18",
    "url": "https://fred.stlouisfed.org/series/DGS10",
    "resolution_dates": ["2024-07-28", "2024-08-20"],
    "forecast_due_date": DUE,
}
MARKET = {**SERIES, "id": "m1", "source": "manifold", "resolution_dates": "N/A", "freeze_datetime_value": "0.25"}
OPEN = {**MARKET, "id": "m2"}


def resolution(question: dict[str, Any], date: str, value: float | None, **more: Any) -> dict[str, Any]:
    own = {"id": question["id"], "source": question["source"], "direction": None, "resolution_date": date}
    return {**own, "resolved_to": value, "resolved": True, **more}


def forecast(question: dict[str, Any], p: Any, date: str | None = None) -> dict[str, Any]:
    return {"id": question["id"], "source": question["source"], "forecast": p, "resolution_date": date, "reasoning": ""}


RESOLUTIONS = [
    resolution(SERIES, "2024-07-28", 1.0),
    resolution(SERIES, "2024-08-20", 0.0),
    resolution(MARKET, "2024-07-28", 0.5),
    resolution(OPEN, "2024-07-28", 0.88, resolved=False),
]
FORECASTS = [forecast(SERIES, 0.7, "2024-07-28"), forecast(SERIES, 0.6, "2024-08-20"), forecast(MARKET, 0.4),
             forecast(OPEN, 0.9)]  # fmt: skip
OWN = {
    "id": "cpi", "text": "What is CPI?", "form": "value", "unit": "percent", "measure": "ratio",
    "generated": "2025-10-23T08:00:00+02:00", "deadline": "2025-10-26T02:30:00+02:00",
    "evaluation": "2025-10-26T02:30:00+01:00", "truth": 3.0,
}  # fmt: skip


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, lines: list[Any]) -> Path:
        path = tmp_path / name
        path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in lines) + "\n")
        return path

    return write


@pytest.fixture
def season(write: Callable[..., Path], tmp_path: Path) -> list[Path]:
    """A set of each sort: questions as lines, resolutions and forecasts as the files that are published."""
    paths = [write("questions.jsonl", [SERIES, MARKET, OPEN])]
    for name, values in (("resolutions", RESOLUTIONS), ("forecasts", FORECASTS)):
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps({"forecast_due_date": DUE, "model": "M", "organization": "O", name: values}))
    return paths


def test_forecastbench_sets_are_read_by_their_own_names(season: list[Path]) -> None:
    found = read_history(season, clock="replay")
    names = [f"{DUE}/fred/DGS10/2024-07-28", f"{DUE}/fred/DGS10/2024-08-20"]
    markets = [f"{DUE}/manifold/m1/2024-07-28", f"{DUE}/manifold/m2/2024-07-28"]
    assert [one.id for one in found.questions] == names + markets
    assert found.questions[0].text == "Will it have increased by 2024-07-28 as compared to 2024-07-21?"
    assert found.questions[0].deadline_ns == moment_ns("2024-07-22T00:00:00Z")
    assert found.questions[0].evaluation_ns == moment_ns("2024-07-29T00:00:00Z")
    truths = {one["question"]: one for one in found.truths}
    assert [truths[name]["truth"] for name in names + markets] == [1.0, 0.0, 0.5, None]
    assert "not resolved" in truths[markets[1]]["reason"], "a price is no truth"
    assert truths[names[0]]["reference"] is None, "the value of a series is no probability"
    assert truths[markets[0]]["reference"]["probability"] == 0.25
    assert [(one.question, one.answer["probability"], one.agent) for one in found.forecasts] == [
        (name, p, "O/M") for name, p in zip(names + markets, (0.7, 0.6, 0.4, 0.9), strict=True)
    ]


def test_a_forecast_that_names_its_model_stays_its_own(season: list[Path]) -> None:
    named = read_history(season, clock="replay", agent="of-the-user").forecasts
    assert {one.agent for one in named} == {"O/M"}
    forecasts = json.loads(season[2].read_text())
    season[2].write_text(json.dumps({name: forecasts[name] for name in ("forecast_due_date", "forecasts")}))
    nameless = read_history(season, clock="replay", agent="of-the-user").forecasts
    assert {one.agent for one in nameless} == {"of-the-user"}


HOSTILE = (
    *(None, True, -1, 10**30, -(10**30), math.nan, math.inf, "", "N/A", "\ud800", "x" * 5000),
    *([], [1], [math.inf], [[1]], {"a": 1}),
    *("9999-12-31", "0001-01-01", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:00"),
)


@pytest.mark.parametrize("lines", [
    [MARKET, RESOLUTIONS[2], FORECASTS[2]], [RESOLUTIONS[2], MARKET], [FORECASTS[2], MARKET, RESOLUTIONS[2]],
    [{**OWN, "outcomes": [], "levels": [], "query": {}, "category": "", "market": "", "round": "", "rules": ""}],
    [{"question": "cpi", "answer": {"value": 3.1, "unit": "percent"}, "agent": "a", "at": 1, "version": ""}, OWN],
])  # fmt: skip
def test_whatever_stands_in_a_line_is_refused_or_fits_into_a_ledger(
    write: Callable[..., Path], lines: list[dict[str, Any]]
) -> None:
    first, *rest = lines
    for name in first:
        for value in HOSTILE:
            try:
                found = read_history([write("season.jsonl", [{**first, name: value}, *rest])], clock="c")
            except UsageError:
                continue
            for one in found.questions:
                texts = one.text, one.category, one.market, one.round, one.unit, one.rules
                assert all(isinstance(text, str) and text.encode() is not None for text in texts), (name, value)
                times = one.generated_ns, one.deadline_ns, one.evaluation_ns
                assert all(type(time) is int and 0 <= time < 2**62 for time in times), (name, value)
                canonical_json(one.to_dict())


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"questions":' + "[" * 200_000, '{"questions": [], "x": ' + "9" * 5000 + "}"]
)
def test_documents_that_nobody_of_good_will_writes_are_refused(write: Callable[..., Path], text: str) -> None:
    with pytest.raises(UsageError, match="season"):
        read_history([write("season.jsonl", [text])], clock="c")


def test_times_have_zones_so_that_a_change_of_the_clocks_is_an_hour(write: Callable[..., Path]) -> None:
    made = {"question": "cpi", "answer": {"value": 3.1, "unit": "percent"}, "agent": "a"}
    found = read_history([write("own.jsonl", [OWN, {**made, "at": "2025-10-26T00:29:00Z"}])], clock="c")
    (asked,) = found.questions
    assert asked.evaluation_ns - asked.deadline_ns == 3_600_000_000_000
    assert (asked.clock, asked.provider, found.forecasts[0].at_ns < asked.deadline_ns) == ("c", "recorded", True)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("<html>", ":2: not JSON"),
        ("[1]", ":2: list, expected an object"),
        ({"hello": 1}, "is no question, resolution or forecast"),
        ({**OWN, "id": "x", "deadline": "2025-10-26T02:30:00"}, "no time zone"),
        ({**OWN, "id": "x", "truth": None}, "neither a truth nor void"),
        ({**OWN, "id": "x", "truth": float("nan")}, ":2: "),
        ({**OWN, "id": "x", "generated": "2026-01-01T00:00:00Z"}, "in this order"),
        ({**OWN, "text": "Another?"}, "another question before"),
        ({**SERIES, "freeze_datetime": "yesterday"}, "no time"),
        ({**MARKET, "freeze_datetime_value": "4.18"}, "no probability"),
        (SERIES, "no resolution is given"),
        (RESOLUTIONS[0], "which nothing asks"),
        (resolution(SERIES, "2024-07-28", 1.5), "no probability"),
        ({**forecast(SERIES, 0.5), "model": "m"}, "which nothing asks"),
        (forecast(SERIES, 0.5), "names no model"),
        ({"question": "cpi", "answer": {"value": 3.1, "unit": "USD"}, "agent": "a"}, "is in percent"),
        ({"question": "cpi", "answer": {"value": 3.1}, "agent": "a"}, "unit and value"),
        ({"question": "cpi", "answer": {"value": 3, "unit": "percent"}, "agent": "a", "at": "2026-01-01T00:00Z"},
         "after its deadline"),
        ({"question": "nobody", "answer": {}, "agent": "a"}, "which nothing asks"),
    ],
)  # fmt: skip
def test_one_bad_line_and_nothing_is_read(write: Callable[..., Path], line: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read_history([write("season.jsonl", [OWN, line])], clock="c")


def test_packed_files_are_read_within_a_bound(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = write("x.jsonl", [OWN, {**OWN, "id": "ppi"}])
    packed = plain.with_name("x.json.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    season = read_history([packed], clock="replayed/x")
    assert season == read_history([plain], clock="replayed/x")
    assert len(season.questions) == 2
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(UsageError, match="cannot be unpacked"):
        read_history([packed], clock="replayed/x")
    monkeypatch.setattr("openfingym.questions.history.MOST_UNPACKED", 2**20)
    packed.write_bytes(gzip.compress(b" " * 2**20 + b"{}"))
    with pytest.raises(UsageError, match="unpacks to more than 1 MiB, the most that is read of it"):
        read_history([packed], clock="replayed/x")


def test_a_season_is_replayed_from_its_files_and_once(season: list[Path], tmp_path: Path) -> None:
    from openfingym.cli import cli

    def run(*arguments: str) -> Any:
        place = ["--state-folder", str(tmp_path / "ledger"), "--json"]
        done = CliRunner().invoke(cli, ["ledger", *arguments, *place], catch_exceptions=False, standalone_mode=False)
        return json.loads(done.stdout)

    found = run("import", *map(str, season))
    assert (found["questions"], found["forecasts"], found["scored"], found["void"]) == (4, 4, 3, 1)
    # Packed, it is the same season on the same clock.
    packed = [path.with_name(f"{path.name}.gz") for path in season]
    for path, plain in zip(packed, season, strict=True):
        path.write_bytes(gzip.compress(plain.read_bytes()))
    again = run("import", *map(str, packed))
    assert (again["scored"], again["void"], again["clock"]) == (0, 0, found["clock"])
    status = run("status")
    assert (status["forecasts"], status["questions"]["scored"], status["due"]) == (4, 3, 0)
    assert not any(row["simulated"] for row in run("list", "--state", "scored")), "what came is real"
    shown = run("show", f"{DUE}/manifold/m1/2024-07-28")
    (made,) = shown["forecasts"]
    assert (made["loss"], made["market_loss"]) == (pytest.approx(0.01), pytest.approx(0.0625))
    assert made["received_at"] == "2024-07-21T23:59:59Z"
    run("resolve", f"{DUE}/manifold/m1/2024-07-28", "--outcome", "yes", "--evidence", "https://example.org")
    shown = run("show", f"{DUE}/manifold/m1/2024-07-28")
    assert [one["kind"] for one in shown["resolutions"]] == ["resolved", "correction"]
    assert run("verify")["entries"] == run("status")["log_entries"]


ASKED = {
    "id": "rain", "text": "Will it rain?", "form": "probability", "provider": "manual",
    "generated": "2026-11-23T08:00:00Z", "deadline": "2026-11-26T00:00:00Z", "evaluation": "2026-11-27T00:00:00Z",
}  # fmt: skip


def test_questions_that_are_asked_now_are_read_with_their_own_providers(write):
    now = moment_ns("2026-11-24T00:00:00Z")
    price = {"id": "btc", "provider": "price", "query": {"venue": "binance", "symbol": "BTCUSDT", "above": 9.0}}
    found = read_questions(write("asked.jsonl", [ASKED, {**ASKED, **price}]), now)
    assert [(one.id, one.provider) for one in found] == [("rain", "manual"), ("btc", "price")]
    assert {one.clock for one in found} == {"real"}
    for change, said in (
        ({"deadline": "2026-11-24T00:00:00Z"}, "deadline of rain has passed"),
        ({"deadline": "2026-11-26T00:00:00"}, "no time zone"),
        ({"truth": 1.0}, "has 'truth'"),
        ({"clock": "mine"}, "no question by the real clock"),
        ({"form": "maybe"}, "its form is 'maybe'"),
        ({"deadline_ns": None}, "no time"),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            read_questions(write("bad.jsonl", [ASKED, {**ASKED, "id": "rain", **change}]), now)
        assert "bad.jsonl:2" in str(caught.value)
    with pytest.raises(UsageError, match="has the id rain"):
        read_questions(write("twice.jsonl", [ASKED, ASKED]), now)
