"""Whose fault a failure is: tried again, and then tried on what is known to be valid.

The attack: values at which a metric fails, for another try. They are scored twice, then with the baseline in their
place: if only the values fail, the agent is at fault.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.catalog import load_task
from openfingym.errors import SubmissionError, VerifierError
from openfingym.metrics import Score
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.problems import Problem, of_failure
from openfingym_verifier.rollouts.creation import CreationRequest
from openfingym_verifier.scoring.fault import UNSCORABLE, find_fault
from openfingym_verifier.scoring.truth import Grader, HiddenTask
from openfingym_verifier.scoring.truth import load_task as load_hidden
from openfingym_verifier.service import Service
from openfingym_verifier.submissions.intake import Submission

ODD = 0.25
"""A value at which the graders below fail."""


def outcomes(*given: object) -> Callable[[], Awaitable[object]]:
    """Gives or raises these, one a call."""
    left = list(given)

    async def one() -> object:
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    return one


def settle(compute: Callable[[], Awaitable[object]], control: Callable[[], Awaitable[object]]) -> object:
    async def run() -> object:
        return await find_fault(compute, control, "a score")

    return asyncio.run(run())


def test_a_score_that_comes_is_the_score() -> None:
    assert settle(outcomes(1), outcomes()) == 1
    assert settle(outcomes(VerifierError("a worker was killed"), 2), outcomes()) == 2


def test_what_alone_fails_is_at_fault() -> None:
    for control in (outcomes(1), outcomes(SubmissionError("a baseline may be refused", problem="memorised"))):
        with pytest.raises(SubmissionError, match="ZeroDivisionError") as caught:
            settle(outcomes(ZeroDivisionError("0.1234 / 0"), ZeroDivisionError("0.1234 / 0")), control)
        assert caught.value.problem == UNSCORABLE
        assert "0.1234" not in str(caught.value), "the message of an error may hold labels"


def test_where_the_valid_input_fails_too_it_is_ours() -> None:
    with pytest.raises(VerifierError, match="valid input"):
        settle(outcomes(ValueError(), ValueError()), outcomes(MemoryError()))


def test_a_refusal_is_one_at_once() -> None:
    with pytest.raises(SubmissionError, match="as it should be"):
        settle(outcomes(SubmissionError("as it should be", problem="memorised")), outcomes())


def test_only_what_is_known_to_be_ours_is_said_to_be() -> None:
    ours = (VerifierError(), sqlite3.OperationalError("database or disk is full"))
    unknown = (ValueError(), sqlite3.IntegrityError(), UnicodeEncodeError("a", "b", 0, 1, "c"))
    assert [of_failure(one).slug for one in ours] == ["unavailable"] * 2
    assert [of_failure(one).slug for one in unknown] == ["internal"] * 3


def test_a_full_disk_is_named() -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript("PRAGMA max_page_count = 3; CREATE TABLE t (x)")
        with pytest.raises(sqlite3.OperationalError) as caught:
            connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    found = of_failure(caught.value)
    assert found.slug == "unavailable"
    assert "disk is full" in found.detail


class Odd(Grader):
    """Fails at one value, or, if broken, at every one."""

    broken = False

    def public_score(self, values: NDArray[np.float64]) -> Score:
        return self._tried(values, super().public_score)

    def private_score(self, values: NDArray[np.float64]) -> Score:
        return self._tried(values, super().private_score)

    def _tried(self, values: NDArray[np.float64], score: Callable[[NDArray[np.float64]], Score]) -> Score:
        if self.broken or (values == ODD).any():
            raise np.linalg.LinAlgError("SVD did not converge")
        return score(values)


class Broken(Odd):
    """Always fails."""

    broken = True


@pytest.fixture(scope="module")
def package(packages: dict[str, BuiltPackage]) -> BuiltPackage:
    return packages["tiny"]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Callable[[HiddenTask], Service]]:
    open_now: list[tuple[Service, Ledger]] = []

    def start(task: HiddenTask) -> Service:
        ledger = Ledger(tmp_path / "state")
        open_now.append((Service({task.name: task}, ledger), ledger))
        return open_now[-1][0]

    yield start
    for service, ledger in open_now:
        service.close()
        ledger.close()


def graded_by(kind: type[Grader], package: BuiltPackage) -> HiddenTask:
    task = load_hidden(package)
    return replace(task, grader=kind(**{one.name: getattr(task.grader, one.name) for one in fields(Grader)}))


def submission(values: NDArray[np.float64]) -> Submission:
    stream = io.BytesIO()
    np.save(stream, values)

    async def body(_limit: int) -> bytes:
        return stream.getvalue()

    return Submission("application/x-npy", "a-key", body)


def test_values_at_which_scoring_fails_are_refused_and_end_rejected(
    package: BuiltPackage, running: Callable[[HiddenTask], Service]
) -> None:
    task = graded_by(Odd, package)
    service = running(task)

    async def main() -> dict[str, Any]:
        rollout = await service.create(CreationRequest(task.name, ttl_s=60.0))
        for _ in range(2):  # a repetition is told the same, and costs nothing more
            with pytest.raises(Problem, match="LinAlgError") as caught:
                await service.submit(rollout, submission(np.full(task.shape, ODD)))
            assert caught.value.slug == UNSCORABLE
        assert rollout.accepted == 1
        return await service.finalize(rollout)

    result = asyncio.run(main())
    assert (result["state"], result["total"]) == ("rejected", None)
    assert "LinAlgError" in result["reason"]


def test_a_scorer_that_always_fails_is_ours(package: BuiltPackage, running: Callable[[HiddenTask], Service]) -> None:
    task = graded_by(Broken, package)
    service = running(task)

    async def main() -> None:
        rollout = await service.create(CreationRequest(task.name, ttl_s=60.0))
        with pytest.raises(VerifierError, match="valid input"):
            await service.submit(rollout, submission(np.zeros(task.shape)))
        with pytest.raises(VerifierError):
            await service.finalize(rollout)
        assert rollout.result is None

    asyncio.run(main())


class Stumbling:
    """An episode that fails at an action, or always."""

    def __init__(self, episode: Any, *, always: bool) -> None:
        self._episode, self._always = episode, always

    def step(self, action: Any) -> Any:
        if self._always or (action and "odd" in action):
            raise OverflowError("int too large to convert to float")
        return self._episode.step(action)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._episode, name)


@pytest.mark.parametrize("always", [False, True])
def test_an_action_at_which_an_episode_fails(
    always: bool, store_home: Path, running: Callable[[HiddenTask], Service]
) -> None:
    task = load_hidden(build(load_task("equity-trading")))
    assert task.open_episode is not None
    begin = task.open_episode
    task = replace(task, open_episode=lambda number: Stumbling(begin(number), always=always))
    service = running(task)

    async def main() -> None:
        rollout = await service.create(CreationRequest(task.name, ttl_s=60.0))
        await service.episodes.start(rollout, {}, None)
        odd = {"episode": 1, "step": 1, "action": {"odd": 1}}
        if always:
            with pytest.raises(VerifierError, match="without acting"):
                await service.episodes.step(rollout, odd)
            return
        with pytest.raises(Problem, match="OverflowError") as caught:
            await service.episodes.step(rollout, odd)
        assert caught.value.slug == "malformed-action"
        # The episode stands where it stood.
        assert b'"step":1' in await service.episodes.step(rollout, {"episode": 1, "step": 1, "action": None})
        assert (await service.finalize(rollout))["state"] == "scored"

    asyncio.run(main())
