"""A walk through hidden windows in the order of time, each shown after the one before it was answered.

The windows are with the verifier, behind the gate. What was answered stays: a program that is started again, or a
verifier that was restarted, goes on at the first window without an answer.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from openfingym_agent.answers import checked
from openfingym_agent.feedback import Feedback
from openfingym_agent.questions import questions_of
from openfingym_agent.transport import SubmissionRefused

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from openfingym_agent.environment import EpisodeTransport, Fold


class Window:
    """What is due at one time: what is known of it, and a place for the answer."""

    def __init__(self, walk: Walk, answer: dict[str, Any]) -> None:
        """Read what the verifier shows."""
        import numpy as np

        contract = walk.contract
        self._walk = walk
        self.number = int(answer["step"])
        """Position of the window in its fold, from 0."""
        self.left = int(answer["info"]["windows_left"])
        """Windows that are left, this one included."""
        self.arrays: dict[str, NDArray[Any]] = {}
        """Everything that is shown, by name; which arrays there are is in ``contract["window"]``. The first axis counts
        the items that are due together."""
        for name, form in contract["window"].items():
            found = answer["observation"][name]
            self.arrays[name] = np.array(found, dtype=form["dtype"]).reshape((len(found), *form["shape"]))
        self.answered = False
        """Whether :meth:`predict` was called."""

    @property
    def inputs(self) -> NDArray[Any]:
        """What is known, with an axis in front that counts the items: one, or one for each series."""
        return self.arrays["inputs"]

    @property
    def questions(self) -> list[dict[str, Any]]:
        """What is asked in words, of a task that asks questions: dictionaries with ``text``, what is ``known`` by name,
        and when each is ``asked``, until when it takes answers (``deadline``), and from when on it ``resolves``.

        Raises:
            ValueError: the task asks nothing in words.
        """
        return questions_of(self._walk.contract, self.arrays)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape that predictions must have: that of a submission, with this window's items alone."""
        return (len(next(iter(self.arrays.values()))), *self._walk.contract["submission_shape"][1:])

    def predict(self, predictions: ArrayLike) -> None:
        """Answer the window, for good.

        Args:
            predictions: real numbers of :attr:`shape`, in the unit of ``contract["unit"]``; where the window has one
                item, its axis may be left out.

        Raises:
            SubmissionRefused: the values do not fit the contract, and the window is still to be answered; or it was
                answered before.
            VerifierUnavailable: the verifier does not answer.
        """
        import numpy as np

        if self.answered:
            raise SubmissionRefused(
                f"window {self.number} was answered before, and an answer stays", problem="episode-over"
            )
        given, shape = np.asarray(predictions), self.shape
        if shape[0] == 1 and given.shape == shape[1:]:
            given = given[None]
        self._walk.answer(checked(given, shape, self._walk.contract))
        self.answered = True


class Walk:
    """One pass through the windows of a fold, which are shown as it is iterated over."""

    def __init__(self, contract: dict[str, Any], calls: EpisodeTransport, fold: Fold) -> None:
        """Use :meth:`openfingym_agent.Interface.iter_test` instead."""
        self.contract = contract
        """Shapes, units, limits and scoring of the task."""
        self.feedback: Feedback | None = None
        """Result of a walk for practice, once it has ended."""
        self._calls = calls
        self._fold: Fold = fold
        self._answer: dict[str, Any] = {}

    def __iter__(self) -> Iterator[Window]:
        """Show the windows in the order of time, from the first without an answer on.

        Raises:
            SubmissionRefused: the next window is asked for before the last one was answered; or the fold cannot be
                walked through any more.
            VerifierUnavailable: the verifier does not answer.
        """
        self._seen(self._calls.start(self._fold, uuid.uuid4().hex))
        try:
            while not self._answer["truncated"]:
                window = Window(self, self._answer)
                yield window
                if not window.answered:
                    raise SubmissionRefused(
                        f"window {window.number} has no answer yet: call window.predict(...) before the next one",
                        problem="out-of-step",
                    )
        finally:
            self._calls.close()

    def answer(self, values: NDArray[np.float64]) -> None:
        """Answer the window that was shown last."""
        action = json.dumps({"predictions": values.tolist()}, separators=(",", ":"))
        self._seen(self._calls.step(int(self._answer["episode"]), int(self._answer["step"]) + 1, action))

    def _seen(self, answer: dict[str, Any]) -> None:
        self._answer, info = answer, answer["info"]
        if "feedback" in info:
            self.feedback = Feedback.of(int(info["submission"]), info["feedback"], int(info["practice_left"]))
