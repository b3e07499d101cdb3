"""Attacks on when a forecast was made: late ones, machines that slept, retries after the end, markets that closed.

Attacks: a machine's clock that is set back, a machine that sleeps, or a paused virtual machine that sets its clock
right, for an answer that is hours late; a retry after the end; a truth of a replay that is chosen after its forecasts
were read; a second print after the first week, or after a verdict; answers of a venue that cannot be stored; answers to
many questions at once, so that their markets are queried too late.
"""

from __future__ import annotations

import asyncio
import math
import time
from pathlib import Path

import pytest

from openfingym.errors import DataError
from openfingym.questions import ProviderAnswer
from openfingym_verifier import clock
from openfingym_verifier.audit.log import verify_chain
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions import reading
from tests.verifier.scripted import CLOCK, HOUR, OPERATOR, START, Scripted, entries, question, resolved, service

REAL = {"clock": "real"}
DAY = 24 * HOUR
NO_TRUTH = {"error", "resolvable", "void"}


async def forecast(own, name, p=0.5, *, agent="a", key=None):
    return await own.forecast(OPERATOR, name, {"probability": p}, agent=agent, version="", idempotency_key=key)


async def refused(work):
    with pytest.raises(Problem) as found:
        await work
    return found.value.slug


def test_a_deadline_passes_while_the_machine_sleeps_or_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A machine that sleeps: its monotonic clock stands still, the one since its boot goes on.
    before, slept = clock.now_ns(), [0]
    steady = time.clock_gettime_ns
    awake = (time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW)
    monkeypatch.setattr(time, "clock_gettime_ns", lambda name: steady(name) + (0 if name in awake else slept[0]))
    slept[0] = 2 * HOUR
    assert clock.now_ns() >= before + 2 * HOUR

    async def live() -> None:
        # A virtual machine that was paused: all its clocks stood still, and it has set the one of the day since.
        now = [START]
        monkeypatch.setattr(clock, "now_ns", lambda: now[0])
        async with service(tmp_path, Scripted()) as own:
            await own.ask([question("q", **REAL).to_dict(), question("s").to_dict()])
            await forecast(own, "q", key="k")
            monkeypatch.setattr(clock, "ahead_ns", lambda: HOUR)
            assert await refused(forecast(own, "q", 1.0)) == "deadline-passed"
            assert not (await forecast(own, "q", key="k")).new
            await forecast(own, "s")  # by another clock, which nobody paused
            assert [row["received_at"] for row in await own.read(reading.forecasts, principal=None)] == [
                "2025-01-01T00:00:00Z"
            ] * 2

    asyncio.run(live())


def test_a_clock_that_was_set_back_stays_behind_the_ledger_whatever_is_written_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [START]
    monkeypatch.setattr(clock, "now_ns", lambda: now[0])
    monkeypatch.setattr(clock, "ahead_ns", lambda: 0)

    async def live(first: bool = False) -> None:
        async with service(tmp_path, Scripted()) as own:
            await own.ask([question("q", **REAL).to_dict()])
            if first:
                now[0] = START + HOUR
                await own.ask([question("s", **REAL, deadline_ns=START + 2 * HOUR - 1).to_dict()])
            assert await refused(forecast(own, "q")) == "deadline-passed"
            # What is not about questions is dated by the machine's clock.
            entry = {"event": "rollout", "at_ns": now[0]}
            await own._ledger.writer.submit(lambda transaction: transaction.log("", entry))

    asyncio.run(live(first=True))
    now[0] = START
    for _ in range(2):
        asyncio.run(live())


def test_a_machine_whose_clock_is_set_forward_while_it_runs_is_seen() -> None:
    assert clock.ahead_ns() < HOUR
    with pytest.MonkeyPatch.context() as patch:
        day = time.time_ns
        patch.setattr(time, "time_ns", lambda: day() + 3 * HOUR)
        assert 2 * HOUR < clock.ahead_ns() < 4 * HOUR
        patch.setattr(time, "time_ns", lambda: day() - 3 * HOUR)
        assert clock.ahead_ns() == 0


def test_a_retry_after_the_end_gets_its_receipt_and_nothing_new(tmp_path: Path) -> None:
    provider = Scripted({"q": resolved(1.0)}, shows={"probability": 0.5})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question("q").to_dict(), question("r").to_dict()])
            first = await forecast(own, "q", 0.2, key="k")
            # Its market closes before the deadline.
            provider.shows = {"closed": True}
            await own.clocks.advance(CLOCK, START + 1)
            assert await refused(forecast(own, "q", 0.9)) == "truth-known"
            for _ in range(2):
                again = await forecast(own, "q", 0.2, key="k")
                assert (again.forecast, again.salt, again.received_ns, again.new) == (
                    first.forecast, first.salt, first.received_ns, False,
                )  # fmt: skip
                assert await refused(forecast(own, "q", 0.9, key="k")) == "idempotency-conflict"
                assert await refused(forecast(own, "r", 0.2, key="k")) == "idempotency-conflict"
                assert await refused(forecast(own, "q", 0.2, key="other")) in {"truth-known", "deadline-passed"}
                await own.clocks.advance(CLOCK, START + 2 * HOUR)
                await own.resolver.run()
            assert len(await own.read(reading.forecasts, principal=None)) == 1

    asyncio.run(live())
    verify_chain(tmp_path)


def test_refused_forecasts_leave_no_names_of_forecasters(tmp_path: Path) -> None:
    async def live() -> None:
        async with service(tmp_path, Scripted()) as own:
            await own.ask([question("q").to_dict()])
            await own.clocks.advance(CLOCK, START + HOUR)
            for place in range(5):
                assert await refused(forecast(own, "q", agent=f"agent {place}")) == "deadline-passed"
            with own._ledger.read() as connection:
                assert connection.execute("SELECT count(*) FROM forecasters").fetchone()[0] == 0

    asyncio.run(live())


def test_one_principal_has_so_many_names_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openfingym_verifier.questions.forecasters.MOST_NAMES", 3)

    async def live() -> None:
        async with service(tmp_path, Scripted()) as own:
            await own.ask([question("q").to_dict()])
            for place in range(3):
                await forecast(own, "q", agent=f"agent {place}")
            assert await refused(forecast(own, "q", agent="one more")) == "malformed-request"
            await forecast(own, "q", 0.7, agent="agent 1")
            assert len(await own.read(reading.forecasts, principal=None)) == 4

    asyncio.run(live())


def test_the_truth_of_a_replay_is_chosen_before_anybody_forecasts(tmp_path: Path) -> None:
    def truth(of: str, value: float) -> dict[str, object]:
        return {"question": of, "available_ns": START + 2 * HOUR, "truth": value}

    async def live() -> None:
        async with service(tmp_path, Scripted()) as own:
            await own.ask([question(name, provider="recorded", query={}).to_dict() for name in ("q", "r")])
            await own.record([truth("q", 1.0)])
            for name in ("q", "r"):
                await forecast(own, name, 0.9)
            await own.record([truth("q", 1.0)])  # the same again is nothing new
            assert await refused(own.record([truth("q", 0.0)])) == "idempotency-conflict"
            assert await refused(own.record([truth("r", 0.0)])) == "malformed-request"
            await own.clocks.advance(CLOCK, START + 2 * HOUR)
            await own.resolver.run()
            states = {row["question"]["id"]: row["state"] for row in await own.read(reading.questions)}
            assert states == {"q": "scored", "r": "resolvable"}

    asyncio.run(live())
    verify_chain(tmp_path)


def test_a_second_print_a_month_later_is_kept_beside_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [START]
    monkeypatch.setattr(clock, "now_ns", lambda: now[0])
    monkeypatch.setattr(clock, "ahead_ns", lambda: 0)
    provider = Scripted({"gdp": resolved(2.0, vintage="2025-01-01")})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question("gdp", **REAL, form="value").to_dict()])
            await own.forecast(OPERATOR, "gdp", {"value": 2.0}, agent="a", version="")
            now[0] = START + 2 * HOUR
            await own.resolver.run()
            for day in range(1, 100):
                now[0] = START + 2 * HOUR + day * DAY
                second = resolved(2.3, vintage="2025-01-31")
                if day == 5:
                    provider.says["gdp"] = DataError("away")
                elif day >= 30:
                    provider.says["gdp"] = resolved(2.0, vintage="2025-01-01", later=(second,))
                await own.resolver.run(everything=False)
            found = await own.read(reading.question, "gdp")
            said = [(one["kind"], one["truth"], one["vintage"]) for one in found["resolutions"]]
            assert said == [("resolved", 2.0, "2025-01-01"), ("vintage", 2.3, "2025-01-31")]
            assert found["due_at"] is None, "after two months nobody is asked again"
            assert 50 < len(provider.asked) <= 62
            (row,) = await own.read(reading.forecasts, principal=None)
            assert row["loss"] == 0.0

    asyncio.run(live())
    verify_chain(tmp_path)


def test_a_verdict_of_the_operator_hides_nothing_that_the_provider_says_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [START]
    monkeypatch.setattr(clock, "now_ns", lambda: now[0])
    monkeypatch.setattr(clock, "ahead_ns", lambda: 0)
    provider = Scripted({"kept": resolved(0.0)})

    async def live() -> None:
        from openfingym_verifier.questions.verdicts import decide

        async with service(tmp_path, provider) as own:
            await own.ask([question(name, **REAL).to_dict() for name in ("voided", "kept")])
            now[0] = START + 2 * HOUR
            await own.resolver.run()
            for name, truth in (("voided", None), ("kept", 1.0)):
                known = await own.find(name)
                await decide(own.resolver, own.clocks, known, truth, {"why": "I say so"}, "" if truth else "no more")
            provider.says = {"voided": resolved(1.0), "kept": resolved(0.0)}
            now[0] += DAY
            await own.resolver.run(everything=False)
            found = {name: (await own.read(reading.question, name))["resolutions"] for name in ("voided", "kept")}
            assert [(one["kind"], one["truth"]) for one in found["voided"]] == [("void", None), ("correction", 1.0)]
            assert [(one["kind"], one["truth"]) for one in found["kept"]] == [
                ("resolved", 0.0), ("correction", 1.0), ("correction", 0.0),
            ]  # fmt: skip

    asyncio.run(live())
    assert len(entries(tmp_path, "question-correction")) == 3


@pytest.mark.parametrize(
    "said",
    [
        resolved(1.0, vintage=None), resolved(1.0, vintage=3), resolved(1.0, provider_ns=2**70),
        resolved(1.0, provider_ns=-(2**70)), resolved(1.0, provider_ns=math.nan), resolved(1.0, provider_ns="now"),
        ProviderAnswer("resolved", 1.0, source=None), ProviderAnswer("resolved", 1.0, source="\ud800"),
        ProviderAnswer("void", reason="\ud800"), ProviderAnswer("waiting", reason="\ud800"),
        ProviderAnswer("waiting", reason=None), ProviderAnswer("void", evidence=None), DataError("\ud800"),
        resolved(1.0, later=None), resolved(1.0, later=(3,)), 5,
    ],
)  # fmt: skip
def test_whatever_one_answer_is_the_other_questions_are_resolved(tmp_path: Path, said: object) -> None:
    provider = Scripted({"bad": said, "good": resolved(1.0)})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question(name).to_dict() for name in ("bad", "good")])
            await forecast(own, "good")
            await own.clocks.advance(CLOCK, START + 2 * HOUR)
            for _ in range(2):
                await own.resolver.run()
            states = {row["question"]["id"]: row["state"] for row in await own.read(reading.questions)}
            assert states["good"] == "scored"
            # What nobody can write is escaped in a source; the truth beside it is one.
            assert states["bad"] in ({"scored"} if getattr(said, "source", "") == "\ud800" else NO_TRUTH)

    asyncio.run(live())
    verify_chain(tmp_path)


class Together(Scripted):
    """Shows many markets at once, slowly, and none alone."""

    def references(self, questions, now_ns):
        self.asked += [len(questions)]
        time.sleep(0.1)
        return {one.id: self.shows.get(one.id, DataError("away")) for one in questions}

    def reference(self, question, now_ns):
        raise AssertionError("it is asked about many")


def test_a_whole_rollout_of_questions_is_looked_at_together_and_each_forecast_has_its_own_reference(
    tmp_path: Path,
) -> None:
    names = [f"q{place}" for place in range(59)]
    shows = {name: {"probability": place / 100, "at_ns": START} for place, name in enumerate(names)}
    shows["q7"], shows["q8"] = {"probability": 0.99, "closed": True}, "no object"
    provider = Together(shows=shows)

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            await own.ask([question(name, **REAL, **soon()).to_dict() for name in names])
            found = await asyncio.gather(*(forecast(own, name) for name in names), return_exceptions=True)
            assert [str(one.slug) for one in found if isinstance(one, Problem)] == ["truth-known"]
            assert len(provider.asked) < 30
            assert sum(provider.asked) == 59
            rows = {row["question"]: row["reference"] for row in await own.read(reading.forecasts, principal=None)}
            assert "q7" not in rows
            assert rows.pop("q8") is None
            assert rows == {name: shows[name] for name in names if name not in {"q7", "q8"}}

    asyncio.run(live())


def test_questions_about_the_same_are_looked_at_once_and_others_are_not_mixed_up(tmp_path: Path) -> None:
    provider = Scripted(shows={"probability": 0.5, "at_ns": START})

    async def live() -> None:
        async with service(tmp_path, provider) as own:
            times = soon()
            same = [question(f"s{place}", **REAL, **times, query={"market": "one"}) for place in range(5)]
            other = question("o", **REAL, **times, query={"market": "other"})
            later = question(
                "l", **REAL, **{**times, "evaluation_ns": times["evaluation_ns"] + 1}, query={"market": "one"}
            )
            await own.ask([one.to_dict() for one in (*same, other, later)])
            for one in same:
                assert (await forecast(own, one.id)).referenced
            assert provider.looks == 1
            await forecast(own, "o")
            await forecast(own, "l")
            assert provider.looks == 3

    asyncio.run(live())


def soon() -> dict[str, int]:
    now_ns = clock.now_ns()
    return {"generated_ns": now_ns - 1, "deadline_ns": now_ns + HOUR, "evaluation_ns": now_ns + 2 * HOUR}
