"""Playing an episode: what an agent may send, what is expected next, and what is answered.

Nothing here waits or writes; :mod:`openfingym_verifier.rollouts.episode_service` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pydantic_core

from openfingym.digests import canonical_json
from openfingym.errors import SubmissionError, VerifierError
from openfingym_verifier.problems import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.task.episodes import FoldName, Step, SteppedEpisode
    from openfingym_verifier.ledger.rows import EpisodeRow
    from openfingym_verifier.scoring.truth import HiddenTask

MAX_DIGITS = 18
"""Largest number of digits of an integer, which then fits into 64 bits."""
MAX_DETAIL = 1000
"""Longest explanation of a refused action, in characters: it may repeat what the agent sent."""


@dataclass(frozen=True)
class Move:
    """A request to take an action."""

    episode: int
    """Number of the episode, as its start was answered."""
    step: int
    """Which of the episode's actions it is, from 1."""
    action: object
    """The action as JSON values."""
    text: str
    """The action as canonical JSON: what is kept, and what a repetition is compared with."""


@dataclass
class Play:
    """The latest episode of a rollout, as far as it has been played."""

    row: EpisodeRow
    """The episode's row in the ledger."""
    episode: SteppedEpisode
    """The episode itself, as far as it has been played."""
    first: Step
    """What was seen before the first action."""
    last: Step
    """What the latest action led to; before the first action, what was seen then."""
    step: int = 0
    """Number of actions taken so far."""
    action: str = ""
    """The latest action as canonical JSON; empty before the first."""

    @classmethod
    def begin(cls, task: HiddenTask, row: EpisodeRow, actions: Sequence[str] = ()) -> Play:
        """Open an episode and take actions that were taken before.

        Args:
            task: the sequential task, on the tape of the rollout.
            row: the episode's row in the ledger.
            actions: the actions to take, in order, each as JSON.

        Raises:
            VerifierError: the episode refuses an action that it took before.
        """
        assert task.open_episode is not None
        # Episodes are numbered over both folds, those of the public one first.
        play = cls.of(row, task.open_episode(row.number + (task.episodes[0] if row.fold == "private" else 0)))
        for text in actions:
            try:
                play.took(text, play.episode.step(json.loads(text)))
            except SubmissionError as error:
                raise VerifierError(
                    f"action {play.step + 1} of episode {row.n} can no longer be repeated: {error}"
                ) from error
        return play

    @classmethod
    def of(cls, row: EpisodeRow, episode: SteppedEpisode) -> Play:
        """Begin an episode that was opened and not started."""
        first = episode.start()
        return cls(row, episode, first, first)

    def goes_on(self, fold: FoldName) -> bool:
        """Whether this is an episode of a fold that is not over."""
        return self.row.fold == fold and not self.last.done

    def took(self, text: str, led_to: Step) -> None:
        """Record an action and the step it led to."""
        self.step, self.action, self.last = self.step + 1, text, led_to


@dataclass
class EpisodeProgress:
    """The episodes that a rollout has begun, and the latest one as it is played."""

    rows: list[EpisodeRow]
    """The rollout's episodes, in the order they began."""
    play: Play | None
    """The latest episode as it is played; None before the first."""
    action_bytes: int
    """Bytes of all actions of the rollout that are in the ledger."""


def read_json(text: str | bytes) -> dict[str, object]:
    """A JSON object; NaN and Infinity are read, to be refused by name later.

    Raises:
        Problem: ``malformed-request``: the text is not a JSON object.
    """
    try:
        document = json.loads(text, parse_int=_integer)
    # Every error, such as one of endless nesting: whatever a text sets off is the text's fault.
    except Exception as error:
        raise Problem("malformed-request", f"Not valid JSON: {str(error)[:200]}") from None
    if not isinstance(document, dict):
        raise Problem("malformed-request", f"Expected a JSON object, found {type(document).__name__}.")
    return document


def read_start(document: Mapping[str, object]) -> FoldName:
    """The fold of a request to start an episode.

    Raises:
        Problem: ``malformed-request``: the document has a key other than ``fold``, or another fold.
    """
    if document.keys() - {"fold"}:
        raise Problem(
            "malformed-request",
            'Expected {"fold": "private"} or {"fold": "public"}; without a fold it is the private one.',
        )
    match document.get("fold", "private"):
        case "private":
            return "private"
        case "public":
            return "public"
    raise Problem("malformed-request", 'fold is neither "private" nor "public".')


def read_move(document: Mapping[str, object]) -> Move:
    """The action that a parsed request asks for.

    Raises:
        Problem: ``malformed-request``; ``malformed-action`` for an action that JSON cannot hold.
    """
    episode, step = document.get("episode"), document.get("step")
    # The exact type, since true is an int by inheritance.
    if document.keys() != {"episode", "step", "action"} or type(episode) is not int or type(step) is not int:
        raise Problem("malformed-request", 'Expected {"episode": integer, "step": integer, "action": value or null}.')
    try:
        text = canonical_json(document["action"]).decode()
    except Exception:
        raise Problem(
            "malformed-action", "An action is JSON: no NaN, no Infinity, no lone surrogates, no endless nesting."
        ) from None
    # What is taken is what is kept, to the order of its keys: taken again, it leads to the same.
    return Move(episode, step, json.loads(text), text)


def is_repetition(play: Play | None, move: Move) -> bool:
    """Whether a move is the latest one once more; False if it is the next.

    Args:
        play: the latest episode of the rollout; None where none has begun.
        move: the request to take an action.

    Raises:
        Problem: the move is neither the latest one nor the next.
    """
    if play is None:
        raise Problem("out-of-step", "No episode has been started.")
    row = play.row
    if move.episode < row.n:
        raise Problem("episode-over", f"Episode {move.episode} is not open; the latest is episode {row.n}.")
    if move.episode > row.n:
        raise Problem("out-of-step", f"There is no episode {move.episode} yet; the latest is episode {row.n}.")
    if move.step == play.step >= 1:
        if move.text == play.action:
            return True
        raise Problem("idempotency-conflict", f"Step {move.step} of episode {row.n} was taken with another action.")
    if play.last.done:
        raise Problem("episode-over", f"Episode {row.n} ended with step {play.step}.")
    if move.step != play.step + 1:
        raise Problem("out-of-step", f"Found step {move.step} of episode {row.n}; expected {play.step + 1}.")
    return False


def take(play: Play, move: Move) -> Step:
    """The step that an action leads to; :meth:`Play.took` records it.

    Raises:
        Problem: ``malformed-action``: the action is not of the task's form, and the episode is unchanged.
    """
    try:
        return play.episode.step(move.action)
    except SubmissionError as error:
        raise Problem("malformed-action", str(error)[:MAX_DETAIL]) from None


def play_idly(task: HiddenTask, row: EpisodeRow, steps: int) -> None:
    """Play an episode without acting, as far as a step: an agent's action is not at fault if this fails as well.

    Args:
        task: the sequential task, on the tape of the rollout.
        row: the episode's row in the ledger.
        steps: number of steps to play; fewer if the episode ends before.

    Raises:
        VerifierError: the episode fails without any action.
    """
    try:
        play = Play.begin(task, row)
        while play.step < steps and not play.last.done:
            play.took("null", play.episode.step(None))
    except Exception as error:
        raise VerifierError(
            f"{task.name}: episode {row.number} cannot be played even without acting ({error})"
        ) from error


def answer(
    row: EpisodeRow, episodes_left: int, number: int, step: Step, more: Mapping[str, object] | None = None
) -> bytes:
    """What an agent is sent after an action, or before the first one, as JSON; numbers that are not finite are null.

    Args:
        row: the episode's row in the ledger.
        episodes_left: number of private episodes not yet begun.
        number: number of actions taken so far.
        step: what the latest of them led to.
        more: what else is said in ``info``.
    """
    document = {
        "episode": row.n,
        "fold": row.fold,
        "number": row.number,
        "episodes_left": episodes_left,
        "step": number,
        "observation": step.observation,
        "reward": step.reward,
        "terminated": step.terminated,
        "truncated": step.truncated,
        "info": {**step.info, **more} if more else step.info,
    }
    return pydantic_core.to_json(document, inf_nan_mode="null", fallback=_plain)


def outcomes(
    task: HiddenTask,
    rows: Sequence[EpisodeRow],
    actions: Callable[[int], Sequence[str]],
    session: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The submission that a rollout's episodes amount to.

    An episode never begun counts as one without actions; of a public one played several times, the last time counts.

    Args:
        task: the sequential task that was played.
        rows: the rollout's episodes, in the order they began.
        actions: gives the actions of the n-th of them, from 1, each as JSON.
        session: outcome of the private episode, where that was a live session.

    Returns:
        float64 of the task's submission shape.

    Raises:
        VerifierError: the recorded actions cannot be played, or an outcome has another shape than the task says.
    """
    from openfingym_verifier.ledger.rows import EpisodeRow

    counts: dict[FoldName, int] = dict(zip(("public", "private"), task.episodes, strict=True))
    # Later rows replace earlier ones of the same episode.
    latest = {(row.fold, row.number): row for row in rows}
    values = np.empty(task.shape)
    every = [(fold, number) for fold, count in counts.items() for number in range(count)]
    for index, (fold, number) in enumerate(every):
        if session is not None and fold == "private":
            values[index] = session
            continue
        row = latest.get((fold, number))
        play = (
            Play.begin(task, EpisodeRow(0, fold, number, None))
            if row is None
            else Play.begin(task, row, actions(row.n))
        )
        outcome = play.episode.outcome()
        if outcome.shape != task.shape[1:]:
            raise VerifierError(f"{task.name}: an outcome has shape {outcome.shape}, expected {task.shape[1:]}")
        values[index] = outcome
    return values


def walked(
    task: HiddenTask, rows: Sequence[EpisodeRow], actions: Callable[[int], Sequence[str]]
) -> NDArray[np.float64]:
    """The submission that the walks of a rollout amount to.

    Args:
        task: the task that was walked through.
        rows: the rollout's walks, in the order they began.
        actions: gives the actions of the n-th of them, from 1, each as JSON.

    Returns:
        float64 of the task's submission shape: of each fold the latest walk; NaN where nothing was answered.
    """
    assert task.walk is not None
    values = np.full(task.shape, np.nan)
    for row in {row.fold: row for row in rows}.values():
        values[task.walk.items_of(row.fold)] = Play.begin(task, row, actions(row.n)).episode.outcome()
    return values


def complete(task: HiddenTask, values: NDArray[np.float64], fold: FoldName | None = None) -> NDArray[np.float64]:
    """The answers of a walk with the baseline's where there are none.

    Args:
        task: the task that was walked through; of any other the submission is returned as it is.
        values: the answers, float64 of the task's submission shape; NaN where nothing was answered.
        fold: the fold that is completed; None for both. The baseline's answers to private windows follow from outcomes
            that only a walk shows, so that what is kept for its principal to read must be completed in the public fold
            alone.
    """
    if task.walk is None:
        return values
    filled = np.where(np.isnan(values), task.grader.baseline, values)
    if fold is None:
        return filled
    completed, items = values.copy(), task.walk.items_of(fold)
    completed[items] = filled[items]
    return completed


def stored_values(payload: bytes, task: HiddenTask) -> NDArray[np.float64]:
    """The values of a submission, float64 of the task's shape, from the bytes that the ledger keeps; with the
    baseline's answers where a walk has none.
    """
    return complete(task, np.frombuffer(payload, "<f8").reshape(task.shape))


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise ValueError(f"an integer has more than {MAX_DIGITS} characters")
    return int(text)


def _plain(value: object) -> object:
    """A mapping that is no dictionary as one; all else in an observation is JSON already."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"an observation holds {type(value).__name__}, which is no JSON value")
