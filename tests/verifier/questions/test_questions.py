"""Questions are asked, answered in time, resolved once from the right source, and scored; and nothing else happens.

Attacks: guessing an answer from its digest in the log; resolving twice, or a truth that is changed later; a question
with texts, times or numbers of other types; a changed forecast, truth or score in the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sqlite3
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from openfingym.digests import sha256_of_text
from openfingym.errors import DataError, StoreError, VerifierError
from openfingym.questions import ProviderAnswer, moment_ns
from openfingym_verifier import clock
from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.ledger import log, tree
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.ledger.schema import EPISODES, PRINCIPALS, PROBES, SCHEMA, SESSIONS, VERSION
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions import reading, references
from openfingym_verifier.questions.replaying import receive_together
from openfingym_verifier.questions.resolving import Resolver
from openfingym_verifier.questions.service import QuestionService
from openfingym_verifier.questions.verdicts import decide
from tests.verifier.scripted import CLOCK, HOUR, OPERATOR, START, Scripted, entries, question, resolved, service

REAL = {"clock": "real"}


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


async def problem_of(work: Coroutine[Any, Any, object]) -> str:
    with pytest.raises(Problem) as caught:
        await work
    return caught.value.slug


async def forecast(service: QuestionService, name: str, p: float, agent: str = "a", **more: Any) -> Any:
    return await service.forecast(OPERATOR, name, {"probability": p}, agent=agent, version="1", **more)


async def shown(service: QuestionService, name: str) -> dict[str, Any]:
    found: dict[str, Any] = await service.read(reading.question, name)
    return found


async def rows(service: QuestionService, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await service.read(reading.forecasts, principal=None, question_name=name)
    return found


def test_a_question_lives_from_asking_to_its_scores(tmp_path: Path) -> None:
    provider = Scripted({"q": resolved(1.0, provider_ns=START + 2 * HOUR)}, shows={"probability": 0.5})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question("q").to_dict()])
            await own.ask([question("q").to_dict()])  # the same again is nothing new
            first = await forecast(own, "q", 0.2, idempotency_key="k")
            await forecast(own, "q", 0.9)
            await forecast(own, "q", 0.4, agent="b")
            assert (await forecast(own, "q", 0.2, idempotency_key="k")).forecast == first.forecast
            assert await problem_of(forecast(own, "q", 0.3, idempotency_key="k")) == "idempotency-conflict"
            await own.clocks.advance(CLOCK, START + HOUR)
            assert await problem_of(forecast(own, "q", 0.9)) == "deadline-passed"
            assert (await forecast(own, "q", 0.2, idempotency_key="k")).forecast == first.forecast
            assert (await own.resolver.run()).resolved == 0
            assert provider.asked == []
            await own.clocks.advance(CLOCK, START + 2 * HOUR)
            done = await own.resolver.run()
            assert (done.resolved, done.scored, done.forecasts) == (1, 1, 2)
            assert (await own.resolver.run()).resolved == 0
            found = await rows(own, "q")
            assert [(row["counts"], row["loss"]) for row in found] == [
                (False, None), (True, pytest.approx(0.01)), (True, pytest.approx(0.36)),
            ]  # fmt: skip
            assert {row["market_loss"] for row in found} == {None, 0.25}
            assert (await shown(own, "q"))["state"] == "scored"
            assert await problem_of(forecast(own, "q", 0.9)) == "truth-known"

    run(live())
    assert len(entries(tmp_path, "question-asked")) == len(entries(tmp_path, "question-resolved")) == 1
    verify_chain(tmp_path)


def test_bad_questions_and_forecasts_leave_nothing_behind(tmp_path: Path) -> None:
    async def live() -> None:
        async with service(tmp_path, Scripted()) as own:
            good = question("good").to_dict()
            for bad, slug in (
                ({**good, "id": "x", "deadline_ns": START - 1, "generated_ns": START - 2}, "deadline-passed"),
                ({**good, "id": "x", "evaluation_ns": START}, "malformed-request"),
                ({**good, "id": "x", "provider": "nobody"}, "malformed-request"),
                ({**good, "id": "x", "query": {}}, "malformed-request"),
                ({**good, "id": "x", "clock": "unknown"}, "not-found"),
                (good, "malformed-request"),  # the same twice
            ):
                assert await problem_of(own.ask([good, bad])) == slug
            assert await own.read(reading.questions) == []
            numbers = question("n", form="value", unit="USD").to_dict()
            await own.ask([good, numbers])
            assert await problem_of(own.ask([{**good, "text": "Another?"}])) == "idempotency-conflict"
            for name, answer, slug in (
                ("good", {"probability": 1.01}, "out-of-range"),
                ("good", {"probability": float("nan")}, "out-of-range"),
                ("good", {"value": 0.5}, "malformed-submission"),
                ("n", {"value": 1.0, "unit": "EUR"}, "wrong-unit"),
                ("nobody", {"probability": 0.5}, "not-found"),
            ):
                assert await problem_of(own.forecast(OPERATOR, name, answer, agent="a", version="")) == slug
            assert await own.read(reading.forecasts, principal=None) == []

    run(live())


@pytest.mark.parametrize(
    "said",
    [
        DataError("<html>gateway timeout</html> is no JSON"),
        RuntimeError("a bug of the provider's"),
        resolved(1.5),
        resolved(float("nan")),
        resolved(None),
        resolved((0.5, 0.5)),
        resolved(1.0, provider_ns=START + 9 * HOUR),
        ProviderAnswer("perhaps", 1.0),  # type: ignore[arg-type]  # what a provider should not say
        ProviderAnswer("resolved", 1.0, evidence={"x": "y" * 20_000}),
    ],
)
def test_what_is_no_truth_is_an_error_that_is_tried_again(tmp_path: Path, said: ProviderAnswer | Exception) -> None:
    provider = Scripted({"q": said})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question("q").to_dict()])
            await forecast(own, "q", 0.2)
            await own.clocks.advance(CLOCK, START + 2 * HOUR)
            done = await own.resolver.run()
            assert (done.error, done.resolved, list(done.problems)) == (1, 0, ["q"])
            assert (await shown(own, "q"))["state"] == "error"
            provider.says["q"] = resolved(0.5)
            assert (await own.resolver.run()).scored == 1
            assert (await rows(own, "q"))[0]["loss"] == pytest.approx(0.09)

    run(live())
    verify_chain(tmp_path)


def test_a_disputed_outcome_waits_and_is_void_after_two_weeks(tmp_path: Path) -> None:
    provider = Scripted({"q": ProviderAnswer("waiting", reason="disputed"), "c": ProviderAnswer("void", reason="N/A")})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question("q").to_dict(), question("c").to_dict()])
            await forecast(own, "q", 0.2)
            await own.clocks.advance(CLOCK, START + 2 * HOUR + 14 * 24 * HOUR - 1)
            done = await own.resolver.run()
            assert (done.waiting, done.void) == (1, 1)
            assert (await shown(own, "q"))["reason"] == "disputed"
            await own.clocks.advance(CLOCK, START + 2 * HOUR + 14 * 24 * HOUR)
            assert (await own.resolver.run()).void == 1
            assert (await shown(own, "q"))["reason"] == "no truth in time: disputed"
            assert (await rows(own, "q"))[0]["loss"] is None

    run(live())
    verify_chain(tmp_path)


def test_pauses_grow_from_a_minute_to_a_day_and_one_late_look_voids_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [START]
    monkeypatch.setattr(clock, "now_ns", lambda: now[0])
    provider = Scripted()
    looks = []

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question("q", **REAL).to_dict()])
            now[0] = START + 2 * HOUR
            while (found := await shown(own, "q"))["state"] != "void":
                due = moment_ns(found["due_at"])
                now[0] = due - 1
                assert (await own.resolver.run(everything=False)).waiting == 0
                now[0] = due
                if (await own.resolver.run(everything=False)).waiting:
                    looks.append(now[0])
            assert len(provider.asked) == len(looks) + 1
            # Three weeks away, and the first look is long after two weeks.
            await own.ask([question("late", **REAL, deadline_ns=now[0] + 1, evaluation_ns=now[0] + 2).to_dict()])
            now[0] += 21 * 24 * HOUR
            assert (await own.resolver.run(everything=False)).waiting == 1

    monkeypatch.setattr("openfingym_verifier.questions.resolving.VOID_AFTER_S", 2 * 86_400.0)
    run(live())
    minutes = [(b - a) // (HOUR // 60) for a, b in itertools.pairwise(looks)]
    assert minutes[:6] == [1, 2, 4, 8, 16, 32]
    assert max(minutes) <= 24 * 60


def test_the_first_print_decides_and_later_ones_are_kept_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [START]
    monkeypatch.setattr(clock, "now_ns", lambda: now[0])
    asked = question("gdp", **REAL, form="value", unit="percent", measure="ratio")
    provider = Scripted({"gdp": resolved(2.0, vintage="2025-01-30")})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([asked.to_dict()])
            await own.forecast(OPERATOR, "gdp", {"value": 2.0, "unit": "percent"}, agent="a", version="")
            now[0] = START + 2 * HOUR
            await own.resolver.run()
            provider.says["gdp"] = resolved(2.4, vintage="2025-02-27")
            assert (await own.resolver.run(everything=False)).revised == 0  # not before a day has passed
            for said in (provider.says["gdp"], DataError("away"), resolved(2.4, vintage="2025-02-27"), resolved(2.5)):
                now[0] += 24 * HOUR
                provider.says["gdp"] = said
                await own.resolver.run(everything=False)
            found = (await shown(own, "gdp"))["resolutions"]
            assert [(one["kind"], one["truth"]) for one in found] == [
                ("resolved", 2.0), ("vintage", 2.4), ("correction", 2.5),
            ]  # fmt: skip
            assert (await rows(own, "gdp"))[0]["loss"] == 0.0
            looks = len(provider.asked)
            now[0] += 30 * 24 * HOUR
            await own.resolver.run(everything=False)
            await own.resolver.run(everything=False)
            assert len(provider.asked) <= looks + 1, "after a week nobody is asked again"

    run(live())
    verify_chain(tmp_path)


def test_later_prints_that_are_known_at_once_decide_nothing_and_are_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [START]
    monkeypatch.setattr(clock, "now_ns", lambda: now[0])
    second, third = resolved(2.4, vintage="second"), resolved(2.0, vintage="third")
    provider = Scripted({"gdp": resolved(2.0, vintage="first", later=(second,))})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question("gdp", **REAL, form="value", unit="percent").to_dict()])
            await own.forecast(OPERATOR, "gdp", {"value": 2.0, "unit": "percent"}, agent="a", version="")
            now[0] = START + 2 * HOUR
            await own.resolver.run()
            for _ in range(2):
                now[0] += 24 * HOUR
                await own.resolver.run(everything=False)
            provider.says["gdp"] = resolved(2.0, vintage="first", later=(second, third))
            now[0] += 24 * HOUR
            assert (await own.resolver.run(everything=False)).revised == 1
            found = (await shown(own, "gdp"))["resolutions"]
            assert [(one["kind"], one["truth"], one["vintage"]) for one in found] == [
                ("resolved", 2.0, "first"), ("vintage", 2.4, "second"), ("vintage", 2.0, "third"),
            ]  # fmt: skip
            assert (await rows(own, "gdp"))[0]["loss"] == 0.0

    run(live())
    verify_chain(tmp_path)


def test_who_forecast_after_the_outcome_was_known_counts_with_what_was_said_before(tmp_path: Path) -> None:
    provider = Scripted({"q": resolved(1.0, provider_ns=START + 1000)})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question("q").to_dict()])
            await forecast(own, "q", 0.5, agent="early")
            await own.clocks.advance(CLOCK, START + 2000)
            await forecast(own, "q", 1.0, agent="early")
            await forecast(own, "q", 1.0, agent="late")
            await own.clocks.advance(CLOCK, START + 2 * HOUR)
            assert (await own.resolver.run()).forecasts == 1
            assert [(row["agent"], row["loss"]) for row in await rows(own, "q") if row["counts"]] == [("early", 0.25)]

    run(live())
    verify_chain(tmp_path)


def test_a_slow_provider_delays_no_acknowledgement_and_its_answer_is_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "WAIT_S", 0.02)
    provider = Scripted(shows={"probability": 0.25, "at_ns": START}, wait_s=0.3)

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question("q").to_dict()])
            receipts = await asyncio.gather(*(forecast(own, "q", 0.5, agent=f"a{i}") for i in range(5)))
            assert not any(one.referenced for one in receipts)
            assert provider.looks == 1, "one look for all of them"
            while not all(row["reference"] for row in await rows(own, "q")):  # noqa: ASYNC110  # it waits for a file
                await asyncio.sleep(0.02)
            assert (await forecast(own, "q", 0.6)).referenced

    run(live())
    assert len(entries(tmp_path, "forecast-referenced")) == 5
    verify_chain(tmp_path)


def test_a_replay_waits_for_its_markets_and_writes_in_the_order_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slow a machine is, the same season has the same references, at one look a question."""
    monkeypatch.setattr(references, "WAIT_S", 0.0)
    provider = Scripted(shows={"probability": 0.25, "at_ns": START}, wait_s=0.1)
    stated = [("q1", "a"), ("q2", "a"), ("q1", "b"), ("q2", "b"), ("q1", "c")]
    documents = [
        {
            "question": name,
            "answer": {"probability": 0.5},
            "agent": agent,
            "version": "",
            "idempotency_key": name + agent,
        }
        for name, agent in stated
    ]

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            later = {"deadline_ns": clock.now_ns() + HOUR, "evaluation_ns": clock.now_ns() + 2 * HOUR}
            asked = question("q1"), question("q2"), question("now", **REAL, **later)
            await own.ask([one.to_dict() for one in asked])
            assert await receive_together(own, OPERATOR, documents) == 5
            assert await receive_together(own, OPERATOR, documents) == 0
            assert provider.looks == 2
            found = [row for name in ("q1", "q2") for row in await rows(own, name)]
            assert all(row["reference"] == {"probability": 0.25, "at_ns": START} for row in found)
            assert await problem_of(receive_together(own, OPERATOR, [{**documents[0], "question": "now"}])) == (
                "malformed-request"
            )
            assert provider.looks == 2, "nothing is asked for what is refused"

    run(live())
    assert [(entry["question"], entry["agent"]) for entry in entries(tmp_path, "forecast")] == stated
    verify_chain(tmp_path)


def test_a_provider_that_is_away_loses_no_forecast_and_a_closed_market_takes_none(tmp_path: Path) -> None:
    provider = Scripted(shows=DataError("connection refused"))

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question("q").to_dict(), question("closed").to_dict()])
            for p in (0.1, 0.2, 0.3):
                assert not (await forecast(own, "q", p)).referenced
            assert provider.looks == 1, "it is left alone for a while"
            assert [row["reference"] for row in await rows(own, "q")] == [None] * 3
            provider.shows = {"probability": 0.99, "closed": True}
            assert await problem_of(forecast(own, "closed", 0.99)) == "truth-known"
            assert await rows(own, "closed") == []

    run(live())


def test_two_resolvers_at_once_resolve_every_question_once(tmp_path: Path) -> None:
    names = [f"q{i}" for i in range(40)]
    provider = Scripted({name: resolved(1.0) for name in names})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question(name).to_dict() for name in names])
            for name in names:
                await forecast(own, name, 0.5)
            await own.clocks.advance(CLOCK, START + 2 * HOUR)
            provider.wait_s = 0.05
            others = [Resolver(own._ledger, own.clocks, own.providers) for _ in range(3)]
            done = await asyncio.gather(*(one.run() for one in others))
            assert len(provider.asked) == 3 * len(names), "each of them asked for itself"
            assert sum(one.resolved for one in done) == sum(one.scored for one in done) == len(names)

    run(live())
    assert len(entries(tmp_path, "question-resolved")) == len(entries(tmp_path, "forecast-scored")) == len(names)
    verify_chain(tmp_path)


def test_a_verdict_needs_its_time_and_its_provider_and_corrects_without_rewriting(tmp_path: Path) -> None:
    provider = Scripted({"q": resolved(1.0)})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            manual = question("m", provider="manual", query={}, form="choice", outcomes=("A", "B"))
            await own.ask([question("q").to_dict(), manual.to_dict()])
            await own.forecast(OPERATOR, "m", {"choice": "B"}, agent="a", version="")
            await forecast(own, "q", 0.5)
            known = {name: await own.find(name) for name in ("q", "m")}

            async def verdict(name: str, truth: object, reason: str = "") -> Any:
                return await decide(own.resolver, own.clocks, known[name], truth, {"url": "x"}, reason)

            assert await problem_of(verdict("m", "B")) == "not-due"
            await own.clocks.advance(CLOCK, START + 2 * HOUR)
            assert await problem_of(verdict("q", 0.0)) == "malformed-request"
            assert await problem_of(verdict("m", "C")) == "malformed-request"
            assert (await verdict("m", "B")).scored == 1
            assert (await rows(own, "m"))[0]["correct"] is True
            await own.resolver.run()
            assert (await verdict("q", 0.0)).revised == 1
            assert (await verdict("q", 0.0)).revised == 0
            found = (await shown(own, "q"))["resolutions"]
            assert [(one["kind"], one["truth"]) for one in found] == [("resolved", 1.0), ("correction", 0.0)]
            assert (await rows(own, "q"))[0]["loss"] == 0.25

    run(live())
    verify_chain(tmp_path)


def test_a_machine_whose_clock_was_set_back_takes_no_forecast_after_its_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [START]
    monkeypatch.setattr(clock, "now_ns", lambda: now[0])

    async def before() -> None:
        async with service(tmp_path, Scripted()) as own:
            await own.ask([question("q", **REAL).to_dict()])
            now[0] = START + HOUR
            assert await problem_of(forecast(own, "q", 0.5)) == "deadline-passed"
            await own.ask([question("r", **REAL, deadline_ns=START + 2 * HOUR - 1).to_dict()])

    async def after() -> None:
        async with service(tmp_path, Scripted()) as own:
            assert await problem_of(forecast(own, "q", 0.5)) == "deadline-passed"

    run(before())
    now[0] = START  # the clock is set back, and the verifier started again
    run(after())


def test_a_simulated_clock_moves_forward_alone_and_the_real_one_never(tmp_path: Path) -> None:
    async def live() -> None:
        async with service(tmp_path, Scripted()) as own:
            assert await problem_of(own.clocks.advance(CLOCK, START - 1)) == "clock-backwards"
            assert await problem_of(own.clocks.advance("real", START)) == "malformed-request"
            assert await own.clocks.advance(CLOCK, START) == START

    run(live())
    assert len(entries(tmp_path, "clock-advanced")) == 1


UNLOGGED = {("questions", "due_ns"), ("questions", "attempts"), ("forecasters", "id"), ("resolutions", "id")}
"""When the resolver asks next; and numbers that rows have for nobody but SQLite."""


def test_any_changed_value_is_found(tmp_path: Path) -> None:
    provider = Scripted({"q": resolved(1.0, provider_ns=START + 2 * HOUR, vintage="v")}, shows={"probability": 0.5})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            past = question("past", provider="recorded", query={})
            await own.ask([question("q", category="c").to_dict(), question("open").to_dict(), past.to_dict()])
            await own.record([{"question": "past", "available_ns": START + 2 * HOUR, "truth": 1.0}])
            await forecast(own, "q", 0.2, idempotency_key="k")
            await forecast(own, "q", 0.4)
            await own.clocks.advance(CLOCK, START + 2 * HOUR)
            await own.resolver.run()

    run(live())
    file = tmp_path / "ledger.db"
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.commit()
    verify_chain(tmp_path)
    whole, tried = file.read_bytes(), 0
    for table in ("questions", "forecasters", "forecasts", "resolutions", "recordings", "clocks"):
        with contextlib.closing(sqlite3.connect(file)) as connection:
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            last = connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0]
        for column in columns:
            if (table, column) in UNLOGGED:
                continue
            with contextlib.closing(sqlite3.connect(file)) as connection:
                # Some texts and numbers must stay of their kind for SQLite to take them.
                fitting = {"state": "'void'", "counts": "1 - counts", "simulated": "1 - simulated", "kind": "'vintage'"}
                changed = fitting.get(
                    column, f"CASE typeof({column}) WHEN 'text' THEN {column} || 'x' ELSE coalesce({column}, 0) + 1 END"
                )
                connection.execute(f"UPDATE {table} SET {column} = {changed} WHERE rowid = ?", (last,))
                connection.commit()
            with pytest.raises(VerifierError):
                verify_chain(tmp_path)
            file.write_bytes(whole)
            tried += 1
    for statement in ("DELETE FROM resolutions", "DELETE FROM forecasts WHERE id = 1", "DELETE FROM clocks"):
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute(statement)
            connection.commit()
        with pytest.raises(VerifierError):
            verify_chain(tmp_path)
        file.write_bytes(whole)
    assert tried > 40


def test_a_ledger_of_version_5_is_upgraded_with_what_it_holds(tmp_path: Path) -> None:
    tmp_path.joinpath("ledger.db").touch()
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as connection:
        steps = SCHEMA + log.SCHEMA + EPISODES + PRINCIPALS + PROBES + SESSIONS
        connection.executescript(f"BEGIN; {steps} PRAGMA user_version = 5; COMMIT;")
        head = log.GENESIS
        connection.execute("BEGIN")
        for n in range(300):
            text = log.canonical_json({"event": "of-old", "at_ns": n, "rollout": ""})
            found = log.entry_hash(head, text)
            connection.execute(
                "INSERT INTO log (rollout_id, entry, prev_hash, hash) VALUES ('', ?, ?, ?)",
                (text.decode(), head, found),
            )
            head = found
        connection.execute("COMMIT")
    verify_chain(tmp_path, expected_head=head)

    async def live() -> None:
        async with service(tmp_path, Scripted()) as own:
            await own.ask([question("q").to_dict()])
            await forecast(own, "q", 0.5)

    run(live())
    assert verify_chain(tmp_path, expected_head=head).entries > 300
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert tree.size_of(connection) == 303


def test_a_damaged_file_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(b"<html>this is no ledger</html>" * 200)
    with pytest.raises(StoreError, match="cannot be opened") as kept:
        Ledger(tmp_path)
    # Nothing of it is held any longer, though its error is: it can be mended and opened in the same process.
    (tmp_path / "ledger.db").unlink()
    Ledger(tmp_path).close()
    del kept


def test_digests_of_forecasts_cannot_be_guessed(tmp_path: Path) -> None:
    async def live() -> None:
        async with service(tmp_path, Scripted()) as own:
            await own.ask([question("q").to_dict()])
            one, other = await forecast(own, "q", 0.5), await forecast(own, "q", 0.5, agent="b")
            assert one.digest != other.digest
            assert one.digest == sha256_of_text(one.salt + '{"probability":0.5}')

    run(live())
    (first, _) = entries(tmp_path, "forecast")
    assert "0.5" not in str(first["payload"])
    assert first["reference"] is None


def test_a_file_that_somebody_else_has_locked_refuses_for_a_moment_and_loses_nothing(tmp_path: Path) -> None:
    async def live() -> None:
        async with service(tmp_path, Scripted()) as own:
            await own.ask([question("q").to_dict()])
            await forecast(own, "q", 0.1)
            own._ledger.writer._connection.execute("PRAGMA busy_timeout = 20")
            with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                with pytest.raises(sqlite3.OperationalError, match="locked"):
                    await forecast(own, "q", 0.2)
                other.execute("ROLLBACK")
            await forecast(own, "q", 0.3)
            assert [row["answer"]["probability"] for row in await rows(own, "q")] == [0.1, 0.3]

    run(live())
    verify_chain(tmp_path)
