"""The engine: each rollout once, failures of ours tried again, and limits that hold.

Attacks: an error after feedback, which gave a second try (such a rollout is not run again); and an agent that fails ten
times, which ended everybody's batch (errors are counted by agent).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from openfingym.errors import RuntimeFailureError, StoreError, VerifierAwayError, VerifierError
from openfingym.results import RolloutResult, read_run
from openfingym.rollouts import RolloutEngine, RolloutSpec, RunFolder
from openfingym.rollouts.engine import Patience
from tests.openfingym.rollouts.driving import AGENT, PaperRunner, runs, spec

AT_ONCE = Patience(pause_s=0.0)
SPECS = [spec(seed=seed) for seed in range(12)]


@contextlib.asynccontextmanager
async def engine(out: Path, runner: PaperRunner, **options: object) -> AsyncIterator[RolloutEngine]:
    with RunFolder.open(out) as folder:
        async with RolloutEngine(runner, folder, **{"patience": AT_ONCE, **options}) as made:  # type: ignore[arg-type]
            yield made
    assert runner.closed
    assert not runner.now, "nothing may run on"
    assert not (out / ".staging").exists()


def run(out: Path, runner: PaperRunner, specs: list[RolloutSpec] = SPECS, **options: object) -> list[RolloutResult]:
    async def main() -> list[RolloutResult]:
        async with engine(out, runner, **options) as made:
            return await made.run(specs)

    return asyncio.run(main())


def test_all_are_run_once_in_order_and_none_a_second_time(tmp_path: Path) -> None:
    first, second = PaperRunner(), PaperRunner()
    results = run(tmp_path, first)
    assert [(result.seed, result.state) for result in results] == [(seed, "scored") for seed in range(12)]
    assert all(result.path == tmp_path / one.folder for result, one in zip(results, SPECS, strict=True))
    assert run(tmp_path, second) == results
    assert (sum(first.runs.values()), sum(second.runs.values())) == (12, 0)


def test_one_that_is_missing_is_the_only_one_run(tmp_path: Path) -> None:
    run(tmp_path, PaperRunner(), SPECS[:-1])
    runner = PaperRunner()
    assert len(run(tmp_path, runner)) == 12
    assert list(runner.runs) == [SPECS[-1].identity]


def test_the_same_submitted_twice_is_one_rollout(tmp_path: Path) -> None:
    runner = PaperRunner(seconds=0.05)

    async def main() -> None:
        async with engine(tmp_path, runner) as made:
            both = await asyncio.gather(made.submit(spec()), made.submit(spec()))
            assert both[0] is both[1]
            assert (await made.submit(spec())) is both[0]

    asyncio.run(main())
    assert list(runner.runs.values()) == [1]


def test_attempts_are_told_apart_in_the_results(tmp_path: Path) -> None:
    results = run(tmp_path, PaperRunner(), [spec(attempt=n) for n in range(3)])
    assert [read_run(result.path).attempt for result in results if result.path] == [0, 1, 2]


def test_a_failure_of_ours_is_tried_again_and_the_evidence_kept(tmp_path: Path) -> None:
    runner = PaperRunner(states=lambda one, time: "error" if one.seed % 3 == 0 and time == 1 else "scored")
    assert {result.state for result in run(tmp_path, runner)} == {"scored"}
    assert sorted(runner.runs.values()) == [1] * 8 + [2] * 4
    evidence = [read_run(path) for path in sorted((tmp_path / ".failed").iterdir())]
    assert [(found.state, found.seed) for found in evidence] == [("error", 0), ("error", 3), ("error", 6), ("error", 9)]
    assert len(runs(tmp_path)) == 12


def test_a_failure_of_ours_that_stays_is_a_result_without_a_score(tmp_path: Path) -> None:
    runner = PaperRunner(states=lambda one, time: "error" if one.seed == 5 else "scored")
    results = run(tmp_path, runner)
    assert [result.state for result in results].count("error") == 1
    assert results[5].total is None
    assert runner.runs[SPECS[5].identity] == 3
    assert len(list((tmp_path / ".failed").iterdir())) == 2


def test_a_model_that_stays_away_is_not_asked_all_over_again_at_once(tmp_path: Path) -> None:
    class Away(PaperRunner):
        async def run(self, one, out, started):  # type: ignore[no-untyped-def]
            return replace(await super().run(one, out, started), boundary="model")

    runner = Away(states=lambda one, time: "error")
    assert [result.state for result in run(tmp_path, runner, [spec()])] == ["error"]
    assert list(runner.runs.values()) == [1]


def test_the_agents_fault_is_not_tried_again(tmp_path: Path) -> None:
    runner = PaperRunner(states=lambda one, time: "rejected")
    assert {result.state for result in run(tmp_path, runner)} == {"rejected"}
    assert set(runner.runs.values()) == {1}


def test_one_failure_of_ours_after_the_other_ends_the_run_before_it_burns_everything(tmp_path: Path) -> None:
    runner = PaperRunner(places=1, states=lambda one, time: "error")
    with pytest.raises(RuntimeFailureError, match=rf"^1\d rollouts of {AGENT.name} in a row .* --retry error"):
        run(tmp_path, runner, [spec(seed=seed) for seed in range(50)], patience=Patience(1, 0.0))
    assert 10 <= len(runs(tmp_path)) <= 12, "what was about to end may end"


def test_an_agent_with_which_nothing_works_does_not_stop_the_others(tmp_path: Path) -> None:
    runner = PaperRunner(places=1, states=lambda one, time: "error" if one.agent.name == "broken" else "scored")
    agents = [replace(AGENT, name=name) for name in ("broken", "well")]
    mixed = [spec(seed=seed, agent=agent) for seed in range(30) for agent in agents]
    with pytest.raises(RuntimeFailureError, match=r"^1\d rollouts of broken in a row [^\n]*$"):
        run(tmp_path, runner, mixed, patience=Patience(1, 0.0))
    ran = Counter(one.agent.name for one in mixed if runner.runs.get(one.identity))
    assert ran["well"] == 30
    assert 10 <= ran["broken"] <= 12, "what was about to end may end"


def test_what_has_seen_feedback_is_never_rolled_again(tmp_path: Path) -> None:
    class Told(PaperRunner):
        async def run(self, one, out, started):  # type: ignore[no-untyped-def]
            return replace(await super().run(one, out, started), boundary="verifier", told=True)

    runner = Told(states=lambda one, time: "error")
    assert [result.state for result in run(tmp_path, runner, [spec()])] == ["error"]
    assert list(runner.runs.values()) == [1]


@pytest.mark.parametrize(("error", "tries"), [(VerifierError, 3), (VerifierAwayError, 1)])
def test_without_a_verifier_the_run_ends_and_nothing_counts(
    tmp_path: Path, error: type[VerifierError], tries: int
) -> None:
    class Unreachable(PaperRunner):
        async def run(self, one, out, started):  # type: ignore[no-untyped-def]
            self.runs[one.identity] = self.runs.get(one.identity, 0) + 1
            raise error("the verifier cannot be reached")

    runner = Unreachable()
    with pytest.raises(error):
        run(tmp_path, runner, [spec()])
    assert list(runner.runs.values()) == [tries]
    assert runs(tmp_path) == []


def test_places_and_heavy_scoring_are_bounded_each_on_its_own(tmp_path: Path) -> None:
    runner = PaperRunner(places=5, seconds=0.01)
    specs = [spec(task=task, seed=seed) for seed in range(20) for task in ("light", "heavy")]
    run(tmp_path, runner, specs, heavy=["heavy"], scoring=2)
    assert runner.most["any"] == 5
    assert runner.most["heavy"] == 2
    assert runner.most["light"] >= 3, "light ones do not wait for heavy ones"


def test_broken_off_it_keeps_what_is_finished_and_goes_on(tmp_path: Path) -> None:
    def states(_one: RolloutSpec, _time: int) -> str:
        if sum(broken_off.runs.values()) >= 4:
            broken_off.seconds = 3600.0  # of those that begin from now on
        return "scored"

    broken_off = PaperRunner(places=2, states=states)

    async def main() -> None:
        async with engine(tmp_path, broken_off) as made:
            running = asyncio.ensure_future(made.run(SPECS))
            while not (broken_off.seconds and len(broken_off.now) == 2):  # noqa: ASYNC110  # nobody tells
                await asyncio.sleep(0.01)
            running.cancel()
            await asyncio.wait([running])

    asyncio.run(main())
    kept = len(runs(tmp_path))
    assert 2 <= kept <= 6
    assert len(broken_off.cleaned) == 2, "what was running was given the time to clean up"
    runner = PaperRunner()
    assert len(run(tmp_path, runner)) == 12
    assert sum(runner.runs.values()) == 12 - kept


def test_what_cannot_be_written_ends_the_run_with_the_remedy(tmp_path: Path) -> None:
    runner = PaperRunner(seconds=0.05)

    async def main() -> None:
        async with engine(tmp_path, runner) as made:
            task = made.submit(SPECS[0])
            await asyncio.sleep(0.01)
            (tmp_path / "some-task").write_text("in the way")
            await task

    with pytest.raises(StoreError, match="--out"):
        asyncio.run(main())


def test_hundreds_queued_at_two_places(tmp_path: Path) -> None:
    class Counting(PaperRunner):
        async def run(self, one, out, started):  # type: ignore[no-untyped-def]
            assert len(list((tmp_path / ".staging").iterdir())) <= 2, "a folder is made for what has a place"
            return await super().run(one, out, started)

    runner = Counting(places=2)
    assert len(run(tmp_path, runner, [spec(seed=seed) for seed in range(200)])) == 200
    assert runner.most["any"] == 2
    assert set(runner.runs.values()) == {1}
