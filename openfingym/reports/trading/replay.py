"""Replaying a finished trading run from the verifier's record of its actions.

This needs the hidden half of the task, and so is for the operator, after the run. The simulator is deterministic: the
same actions must lead to the account's record as the verifier kept it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym import catalog
from openfingym.errors import OpenFinGymError, StoreError, UsageError
from openfingym.files.strange import MEGABYTE, parse_json, read_array, read_bytes
from openfingym.kinds.trading import kind as trading
from openfingym.kinds.trading.contract import TradingContract
from openfingym.metrics.performance import RecordColumn
from openfingym.packages.build import build
from openfingym.reports.trading.surface import Decided, PlayedEpisode
from openfingym.reports.trading.trace import EpisodeTrace
from openfingym.results import read_run
from openfingym.results.run_folder import ACTIONS
from openfingym.trading.actions import HOLD, Decision, parse_decision
from openfingym.verifiers.backing import require_sound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult
    from openfingym.trading.session import Session

RECORD_LIMIT = 256 * MEGABYTE
"""Most bytes of a file of a run."""


@dataclass(frozen=True, eq=False)
class Replay:
    """One episode that was played again."""

    trace: EpisodeTrace
    """What happened in it, row by row."""
    tape: PlayedEpisode
    """What was decided in it, from which it can be scored again under other rules."""


def replay(folder: Path) -> list[Replay]:
    """The private episodes of a run, in order of time; one that was never begun is an account that does nothing.

    Args:
        folder: folder of the finished run.

    Raises:
        StoreError: the folder is not a run, or its actions do not lead to the record that it has.
        UsageError: the run is not of a trading task, was a live session, has no score, or its task has another build.
    """
    result = read_run(folder)
    package = package_of(result)
    require_sound(folder, result)
    n_public, n_private = package.manifest.n_public, package.manifest.n_private
    actions = read_actions(folder)
    record = _read_record(folder)
    replays = []
    for place in range(n_private):
        # Episodes are numbered through both folds, the public ones first.
        session = trading.session(package.task.spec, package.array, package.read_truth(), n_public + place)
        again = play(session, actions.get(place, ()))
        if len(record) != n_public + n_private or not np.array_equal(again.trace.record, record[n_public + place]):
            raise StoreError(
                f"{folder}: episode {place} comes out differently from its actions; the run was made by another version"
            )
        replays.append(again)
    return replays


def baseline_traces(package: BuiltPackage) -> list[EpisodeTrace]:
    """The private episodes as the baseline plays them: equal weights, bought at the first open and held."""
    n_public, n_private = package.manifest.n_public, package.manifest.n_private
    truth = package.read_truth()
    sessions = (
        trading.session(package.task.spec, package.array, truth, n_public + place) for place in range(n_private)
    )
    return [play(session, [trading.hold_action(package.task.spec)]).trace for session in sessions]


def package_of(result: RolloutResult) -> BuiltPackage:
    """The built package with which a trading run was made.

    Raises:
        UsageError: the run is not of a trading task, was on a tape of its own or in a live session, has no score, or
            its task has another build here.
    """
    if result.tape != "given":
        raise UsageError(
            f"rollout {result.rollout_id} was played on a {result.tape} tape, whose bars only its verifier can make "
            "again"
        )
    if result.session is not None:
        raise UsageError(
            f"run {result.rollout_id} was a live session, whose orders met a book and not bars: neither a tear sheet "
            "nor a cost-delay surface can be drawn of it; `openfingym tape replay` plays the tape in its folder again"
        )
    task = catalog.load_task(result.task)
    if not isinstance(task.spec.contract, TradingContract):
        raise UsageError(
            f"{result.task!r} is a {task.spec.contract.kind} task; this report is for runs of trading tasks"
        )
    if result.state != "scored":
        raise UsageError(f"run {result.rollout_id} was not scored, its state is {result.state!r}: {result.reason}")
    # With simulated data, and with real data if it was pulled here: whichever has the digest of the run.
    for candidate in (task, catalog.load_task(result.task, real=True)):
        try:
            package = build(candidate)
        except OpenFinGymError:
            continue
        if package.manifest.digest == result.task_digest:
            return package
    raise UsageError(
        f"run {result.rollout_id} was made with another build of {result.task!r} ({result.task_digest[:16]}) than "
        "there is here; use the version of openfingym that made it"
    )


def play(session: Session, actions: Iterator[object] | list[object] | tuple[object, ...]) -> Replay:
    """Play a session from its start to its end.

    Args:
        session: a session in which nothing was done yet.
        actions: the actions at its first steps; nothing is done at the later ones.
    """
    symbols = session.bars.symbols
    first, positions, decided, events = session.first, [session.simulator.positions()], [], []
    remaining = iter(actions)
    while not session.done:
        # Not None, which is an action if the record has a null.
        action = next(remaining, _NOTHING)
        decision: Decision = HOLD if action is _NOTHING else parse_decision(action, symbols)
        ids = session.decide(decision)
        if action is not _NOTHING:
            decided.append(Decided(decision, tuple(ids)))
        events += session.advance()
        positions.append(session.simulator.positions())
    # An account that is bankrupt ends early, and keeps its positions.
    positions += [positions[-1]] * (session.steps + 1 - len(positions))
    # From rows of the market's bars to rows of the episode, the first of which is 0.
    rows = slice(first, first + session.steps + 1)
    trace = EpisodeTrace(
        times=session.bars.times[rows],
        symbols=symbols,
        prices=session.bars.close[rows],
        positions=np.array(positions),
        events=tuple(event._replace(bar=event.bar - first) for event in events),
        record=session.record,
    )
    tape = PlayedEpisode(
        session.bars,
        session.simulator.market,
        float(session.record[0, RecordColumn.EQUITY]),
        first,
        session.steps,
        tuple(decided),
    )
    return Replay(trace, tape)


_NOTHING = object()
"""What stands for the actions that are missing at the end."""


def _read_record(folder: Path) -> NDArray[np.float64]:
    """The account's record of all episodes as the verifier kept it; it is checked by comparing it with a replay."""
    name = "submissions/1.npy"
    try:
        record: NDArray[np.float64] = np.atleast_1d(read_array(folder, name, RECORD_LIMIT))
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder / name}: not a readable record of the account ({error})") from error
    return record


def read_actions(folder: Path) -> dict[int, list[object]]:
    """The actions of a run in each private episode, by the episode's index in its fold, in the order of the steps.

    Raises:
        StoreError: the record of actions cannot be read.
    """
    actions: dict[int, list[object]] = {}
    try:
        for line in read_bytes(folder, ACTIONS, RECORD_LIMIT).decode().splitlines():
            entry: Any = parse_json(line)
            if entry["fold"] == "private":
                actions.setdefault(int(entry["number"]), []).append(entry["action"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise StoreError(f"{folder / 'actions.jsonl'}: not a readable record of actions ({error})") from error
    return actions
