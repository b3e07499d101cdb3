"""The Gymnasium environment of questions with tools: a question is an episode, an action a call or an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces

from openfingym import catalog
from openfingym.envs.arguments import options_of
from openfingym.envs.hidden import Split
from openfingym.envs.stepped import SteppedEnv
from openfingym.errors import UsageError
from openfingym.kinds import Fold, score_fold
from openfingym.kinds.qa import KIND
from openfingym.kinds.qa_contract import QaContract
from openfingym.kinds.qa_episodes import MOST_TEXT
from openfingym.packages.build import build
from openfingym.task import Task
from openfingym.task.episodes import MAX_ACTION_BYTES, Step

if TYPE_CHECKING:
    from openfingym.task.episodes import EpisodeStep

Info = dict[str, object]


class AnyText(spaces.Text):
    """Texts of any characters, up to a length; Gymnasium's own space has texts of an alphabet."""

    def contains(self, x: Any) -> bool:
        """Whether it is a text of at most so many characters."""
        return isinstance(x, str) and len(x) <= self.max_length


class QuestionEnv(SteppedEnv[str, str]):
    """Questions, one an episode.

    ## Action space
    A JSON text: ``{"tool": name, "arguments": {...}}``, ``{"answer": ...}`` or ``null``.

    ## Observation space
    Text: the question and the form of its answer; then what a tool answered. ``info`` has the same as data.

    ## Reward
    0, and at the end of a training question minus its loss, by the task's own metrics. The score of hidden questions
    is the verifier's: 0 throughout.

    ## Episode end
    Terminated with the answer, or after too many invalid or repeated calls; truncated when its actions are spent.

    ## Arguments
    ``split``: ``train`` asks the training questions, in a random order; ``practice`` and ``test`` the hidden ones
    behind the verifier, each of the private fold once. :meth:`result` then gives the verified score.

    ## Version history
    v0: first version.
    """

    def __init__(self, task: str | Path | Task, *, split: Split = "train", fresh: bool = False) -> None:
        self.task = task if isinstance(task, Task) else catalog.load_task(task)
        if not isinstance(self.task.spec.contract, QaContract):
            raise UsageError(f"{self.task.name!r} asks no questions with tools; openfingym.make finds its environment")
        super().__init__(build(self.task), split, fresh=fresh)
        self._answers = self.package.array("train_answers")
        self._number = 0
        """The training question at hand."""
        self.observation_space = AnyText(2 * MOST_TEXT)
        self.action_space = AnyText(MAX_ACTION_BYTES)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """Ask the next question.

        Args:
            seed: seed from which training questions are drawn; with a hidden split it is only recorded.
            options: ``number`` is the number of the training question to ask, from 0; no other options are known.

        Raises:
            UsageError: every hidden question was asked, or there is no such option or number.
        """
        super().reset(seed=seed)
        asked = options_of(options)
        number = asked.pop("number", None)
        if unknown := asked:
            raise UsageError(f"unknown reset options: {', '.join(map(str, unknown))}; known: number")
        shown: Step | EpisodeStep
        if self._hidden is not None:
            if number is not None:
                raise UsageError("hidden questions are asked in their order; number is for split='train'")
            shown = self._hidden.start(seed)
        else:
            count = len(self._answers)
            if number is None:
                number = self.np_random.integers(count)
            if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < count:
                raise UsageError(f"there is no training question {number!r}; there are {count}, counted from 0")
            self._number = int(number)
            self._train = KIND.episode(self.task.spec, self._as_training, {}, self._number)
            shown = self._train.start()
        self._over = False
        # The question as text, for a model; as data it is in ``info``.
        observed = shown.observation
        text = f"{observed['question']}\n\nAs of: {observed['as_of']}\nAnswer: {observed['answer']}"
        return text, {**shown.info, "observation": dict(observed)}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Call a tool, or answer.

        Raises:
            UsageError: called before ``reset`` or after the end, or the action is no JSON or of no form that there is.
        """
        if self._over:
            raise UsageError("call reset() first; the question is over")
        try:
            message = json.loads(action)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"an action is a JSON text: {error}; found {str(action)[:100]!r}") from None
        shown = self._take(message)
        # Of hidden questions only the verifier knows the loss, and tells it at the end of the rollout.
        reward = -self._loss() if shown.done and self._hidden is None else 0.0
        info = {**shown.info, "observation": dict(shown.observation)}
        return str(shown.observation["text"]), reward, shown.terminated, shown.truncated, info

    def _as_training(self, name: str) -> Any:
        """A public array of the package; an episode asks for hidden questions, and gets the training ones."""
        return self.package.array("train_questions" if name == "test_questions" else name)

    def _loss(self) -> float:
        """Loss of the answer to the training question at hand, by the task's own metrics."""
        from openfingym.metrics import Truth

        assert self._train is not None
        spec = self.task.spec
        truth = Truth({"y_true": np.ascontiguousarray(self._answers[[self._number]])}, {}, 0)
        return float(
            score_fold(spec.contract, spec.scoring, Fold(slice(0, 1), truth), self._train.outcome()[None]).total
        )
