"""One rollout under way, in a thread of its own: the launcher's own rollout, whose model is driven from outside."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from openfingym.agents import with_sampling
from openfingym.errors import OpenFinGymError, TaskError, UsageError
from openfingym.rollouts.hooks import RolloutHooks
from openfingym.rollouts.order import RolloutOrder, default_session
from openfingym.training.driver import AnswerExchange, DrivenAgent, Driver
from openfingym.training.rewards import Executed

if TYPE_CHECKING:
    from pathlib import Path

    from openfingym.agents import Agent
    from openfingym.agents.llm.session import ModelAgent
    from openfingym.models.meter import Allowance
    from openfingym.models.model import LanguageModel
    from openfingym.models.spec import ModelSpec
    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult, SplitName
    from openfingym.rollouts.launcher import Launcher

_log = logging.getLogger(__name__)

Borrow = Callable[[threading.Event], AbstractContextManager["tuple[Launcher, BuiltPackage]"]]
"""Lends a launcher and the package of the rollout's task, for as long as the rollout runs or until the event is set."""


@dataclass(frozen=True)
class Ending:
    """How a rollout ended, for whoever trains on it."""

    result: RolloutResult | None
    """The verified result; None where there is none, for a reason of ours."""
    failure: str | None
    """Why there is no reward; None where there is one."""
    executed: Executed
    """How far the agent got."""
    error: UsageError | TaskError | None = None
    """A mistake of the user's, which is raised where the rollout was asked for; None where there was none."""


class Running:
    """A rollout under way.

    Attributes:
        driver: gives the agent's loop the answers of its model.
        ending: resolved when nothing of the rollout is left.
        used_at: when the rollout was last used, by the monotonic clock.
        cut_at: when the rollout is cut off, by the monotonic clock; None for never.
    """

    def __init__(
        self,
        borrow: Borrow,
        agent: Agent,
        *,
        split: SplitName,
        instance: int | None,
        seed: int,
        allowance: Allowance | None,
        patience_s: float,
        deadline_s: float | None,
        out: Path | None,
        closed: Callable[[Running], None],
        model: ModelSpec | LanguageModel | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            borrow: lends the launcher and the package for the time of the rollout.
            agent: the agent whose loop is played.
            split: the split that the rollout is on.
            instance: number of the instance; None for the task as it is.
            seed: seed that programs are given.
            allowance: what the rollout may spend; None for what it may in an evaluation.
            patience_s: seconds for which each answer is waited for.
            deadline_s: seconds after which the rollout is cut off; None for never.
            out: folder below which the rollout is kept; None to keep nothing.
            closed: called in the rollout's thread when nothing of it is left.
            model: a model that is asked in the place of the driver, which then sees the conversation and gives no
                answers; None for the driver.
        """
        self.driver = Driver(patience_s=patience_s)
        self.ending: Future[Ending] = Future()
        self.used_at = time.monotonic()
        self.cut_at = None if deadline_s is None else self.used_at + deadline_s
        self._deadline_s = deadline_s
        self._borrow, self._agent, self._seed, self._allowance = borrow, agent, seed, allowance
        self._closed, self._out = closed, out
        self._split, self._instance, self._model = split, instance, model
        self._cancel = threading.Event()
        self._cut: str | None = None
        # Not waited for at the end of the process: what a trainer leaves behind may not keep it from ending.
        self._thread = threading.Thread(target=self._run, name="openfingym-episode", daemon=True)

    def start(self) -> None:
        """Begin the rollout, in a thread of its own."""
        self._thread.start()

    def cut(self, why: str) -> None:
        """End the rollout now, with what was accepted by then.

        Args:
            why: the failure, where nothing was accepted.
        """
        # The first reason stands; after the loop is over there is nothing to cut, and the result is only awaited.
        if not self.driver.over and self._cut is None:
            self._cut = why
        self._cancel.set()
        # Takes effect at once where the loop only waits for an answer; the event is looked at now and then.
        self.driver.submit(AnswerExchange(None))

    def join(self, timeout_s: float) -> None:
        """Wait until the rollout's thread has ended, at most ``timeout_s`` seconds."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            ending = self._played()
        except BaseException as error:  # a trainer that waits for the end would otherwise wait for ever
            _log.exception("a rollout failed in an unforeseen way")
            ending = Ending(None, f"{type(error).__name__}: {error}", self._executed(None))
        # The place is given back first: a caller that is told of the end may open the next episode at once.
        with contextlib.suppress(Exception):
            self._closed(self)
        self.ending.set_result(ending)
        self.driver.end()

    def _played(self) -> Ending:
        """Play the rollout by the launcher, as an evaluation does, and tell how it ended."""
        # A trainer has the tokens of the conversation, so nothing of it may be rewritten later.
        agent = with_sampling(self._agent, append_only=True) if _is_built_in(self._agent) else self._agent
        agent = replace(agent, acts=DrivenAgent(_acting(agent), self.driver))
        try:
            with self._borrow(self._cancel) as (launcher, package):
                result = launcher.run(
                    package,
                    agent,
                    RolloutOrder(
                        seed=self._seed,
                        session=default_session(package) if self._split == "test" else None,
                        split=self._split,
                        instance=self._instance,
                    ),
                    model=self.driver if self._model is None else self._model,
                    allowance=self._allowance,
                    out=self._out,
                    hooks=RolloutHooks(cancel=self._cancel),
                )
        except CancelledError:
            why = self._cut or "the verifier died while it ran"
            return Ending(None, why, self._executed(None))
        except (UsageError, TaskError) as error:
            return Ending(None, str(error), self._executed(None), error)
        except OpenFinGymError as error:
            return Ending(None, str(error), self._executed(None))
        failure = None if result.state in {"scored", "rejected"} else result.reason or f"it is {result.state}"
        # Rejected because nothing was accepted before it was cut off: that is the trainer's doing, and no reward.
        if result.state == "rejected" and (self._cut is not None or result.ended_by == "cancelled"):
            failure = self._cut or "the verifier died while it ran"
        return Ending(result, failure, self._executed(result))

    def _executed(self, result: RolloutResult | None) -> Executed:
        """How far the agent got, by the programs that ran and by what reached the verifier."""
        session = self.driver.session
        if session is None:
            return Executed()
        ends, player = session.tools.programs.ends, session.tools.player
        submitted = result is not None and result.submissions_accepted + result.submissions_rejected > 0
        return Executed(
            parsed=any(end.compiled for end in ends),
            ran=any(end.well for end in ends),
            submitted=submitted or (player is not None and player.told),
        )


def _acting(agent: Agent) -> ModelAgent:
    assert agent.acts is not None, "the desk takes no other"
    return agent.acts


def _is_built_in(agent: Agent) -> bool:
    """Whether the agent's loop is one of the library's, whose sampling can be set."""
    from openfingym.agents.llm import MODEL_AGENTS

    return isinstance(agent.acts, tuple(kind for kind in MODEL_AGENTS.values() if isinstance(kind, type)))
