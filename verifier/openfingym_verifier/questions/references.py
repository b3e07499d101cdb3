"""What the market shows when a forecast comes in, captured by the verifier. Belongs to the event loop.

A provider may be slow, or away. It is asked in a thread, once in a few seconds for all forecasts about the same, and
about many markets at once where it can. It is waited for only briefly: a forecast is kept and acknowledged without its
answer, which is added when it comes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from openfingym.digests import canonical_json
from openfingym.questions.provider import ShowsTogether
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions.events import Referenced
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from openfingym.questions import Provider, Question
    from openfingym_verifier.ledger.writer import LedgerWriter
    from openfingym_verifier.questions.clocks import Clocks
    from openfingym_verifier.questions.providers import Providers
    from openfingym_verifier.questions.reading import LedgerQuestion

FRESH_S = 5.0
"""Seconds for which what a market showed is taken for what it shows."""
AWAY_S = 30.0
"""Seconds for which a provider that showed nothing is not asked about the same market again."""
WAIT_S = 0.25
"""Seconds that a forecast waits for its reference at most."""
ANSWER_S = 10.0
"""Seconds within which a reference is added to a forecast; one that comes later shows another moment."""
TOGETHER_S = 60.0
"""Seconds that many looks together are waited for at most."""
THREADS = 8
MOST_LOOKS = 4096
"""Largest number of looks that are remembered."""
LINGER_S = 0.02
"""Seconds that the first look at a provider's markets waits for others, such as those of the same submission."""
MOST_TOGETHER = 100
"""Largest number of looks that a provider is asked for at once."""
LONGEST_REFERENCE = 16 * 1024
"""Longest reference, in characters of JSON."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Look:
    """One look at a market."""

    known: LedgerQuestion
    """A question about the market."""
    clock_ns: int
    """When the look was begun, by that question's clock."""
    at_s: float
    """When the look was begun, in seconds of the monotonic clock."""
    shown: asyncio.Future[str | None]
    """What the market shows, as JSON; None where nothing was captured."""


class References:
    """Looks at markets for forecasts."""

    def __init__(self, providers: Providers, clocks: Clocks, writer: LedgerWriter) -> None:
        self._providers = providers
        self._clocks = clocks
        self._writer = writer
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="reference")
        self._looks: dict[object, _Look] = {}
        """The latest look at each market, by what it is about."""
        self._waiting: dict[str, list[_Look]] = {}
        """Looks for which a provider is yet to be asked, by its name; a name is there while its provider is asked."""
        self._late: dict[asyncio.Future[str | None], list[tuple[LedgerQuestion, int]]] = {}
        """Forecasts that were acknowledged without the reference that a future will give."""
        self._tasks: set[asyncio.Task[None]] = set()
        """Work under way: the event loop itself keeps no task from being collected."""

    async def capture(self, known: LedgerQuestion, now_ns: int) -> tuple[str | None, asyncio.Future[str | None] | None]:
        """What the market shows, as JSON, or None; and what is left to wait for, for :meth:`add_later`.

        Args:
            known: the question that a forecast answers.
            now_ns: when the forecast came, by the question's clock.

        Raises:
            Problem: ``truth-known``: the market is closed, so that its outcome may be known.
        """
        look = self._look(known, now_ns)
        # wait() leaves the future alone when the time is up; others wait for it too.
        if not look.shown.done():
            await asyncio.wait({look.shown}, timeout=WAIT_S)
        if not look.shown.done():
            return None, look.shown
        return look.shown.result(), None

    async def look_together(self, questions: Sequence[tuple[LedgerQuestion, int]]) -> None:
        """Look at many markets and wait for all of them, as in a replay, in which nobody waits for an acknowledgement.

        Args:
            questions: questions, each with the time by its clock.
        """
        looks = {self._look(known, now_ns).shown for known, now_ns in questions}
        if waiting := [shown for shown in looks if not shown.done()]:
            await asyncio.wait(waiting, timeout=TOGETHER_S)

    def add_later(self, shown: asyncio.Future[str | None], known: LedgerQuestion, forecast: int) -> None:
        """Add to a forecast what the market showed, once the provider has answered.

        Args:
            shown: what is left to wait for, from :meth:`capture`.
            known: the question that the forecast answers.
            forecast: number of the forecast.
        """
        # One task follows each look, whose references are then written together.
        if shown in self._late:
            self._late[shown].append((known, forecast))
            return
        self._late[shown] = [(known, forecast)]
        self._begin(self._follow(shown))

    def close(self) -> None:
        """Wait for nobody any longer."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _look(self, known: LedgerQuestion, now_ns: int) -> _Look:
        """The look that serves a forecast: a recent one, or a new one that is begun."""
        about, now_s = _about(known), time.monotonic()
        look = self._looks.get(about)
        if look is not None and _holds(look, known, now_ns, now_s):
            return look
        if len(self._looks) >= MOST_LOOKS:
            self._looks.clear()
        look = self._looks[about] = _Look(known, now_ns, now_s, asyncio.get_running_loop().create_future())
        # Perhaps nobody waits for it: asyncio would then log its exception as never retrieved.
        look.shown.add_done_callback(lambda shown: shown.cancelled() or shown.exception())
        name = known.question.provider
        if name in self._waiting:
            self._waiting[name].append(look)
        else:
            self._waiting[name] = [look]
            self._begin(self._ask_for(name))
        return look

    async def _ask_for(self, name: str) -> None:
        """Ask a provider until no look at its markets waits; what comes meanwhile is asked together next."""
        try:
            # In a thread, since its module is loaded.
            provider = await in_threads(self._threads, self._providers.get, name)
        except Exception:
            logger.exception("there is no provider %s", name)
            for look in self._waiting.pop(name):
                look.shown.set_result(None)
            return
        if isinstance(provider, ShowsTogether):
            await asyncio.sleep(LINGER_S)
        while looks := self._waiting[name][:MOST_TOGETHER]:
            del self._waiting[name][:MOST_TOGETHER]
            # One request after the other where many markets fit into one; else all markets at once, in threads.
            if isinstance(provider, ShowsTogether):
                await self._ask(partial(_together, provider), looks)
            else:
                for look in looks:
                    self._begin(self._ask(partial(_alone, provider), [look]))
        del self._waiting[name]

    async def _ask(self, ask: Callable[[Sequence[_Look]], Mapping[str, object]], looks: Sequence[_Look]) -> None:
        """Ask a provider, and end the looks with what it says, by the ids of their questions."""
        answers: Mapping[str, object] = {}
        try:
            async with asyncio.timeout(ANSWER_S):
                answers = await in_threads(self._threads, ask, looks)
        except Exception as error:  # whatever a provider may raise: the forecast is kept without
            answers = {look.known.question.id: error for look in looks}
        for look in looks:
            _end_look(look, answers.get(look.known.question.id))

    async def _follow(self, shown: asyncio.Future[str | None]) -> None:
        """Wait for a look, and add what was shown to the forecasts that were acknowledged without it."""
        await asyncio.wait({shown})
        late = self._late.pop(shown)
        # A market that is closed by now was perhaps closed then; forecasts made after its end are left out anyway.
        if shown.cancelled() or shown.exception() is not None or (text := shown.result()) is None:
            return
        by_question: dict[str, list[int]] = {}
        for known, forecast in late:
            by_question.setdefault(known.question.id, []).append(forecast)
        at_ns = self._clocks.real()
        for name, forecasts in by_question.items():
            await self._writer.submit(Referenced(name, forecasts, text, at_ns).apply)


def _about(known: LedgerQuestion) -> object:
    """Key of what a look serves: one question, or all that ask a real market the same."""
    question = known.question
    # A simulated market is drawn for each question by itself.
    if known.simulated or question.clock != REAL_CLOCK:
        return question.id
    return (
        question.provider,
        question.form,
        question.evaluation_ns,
        question.outcomes,
        tuple(sorted(question.query.items())),
    )


def _holds(look: _Look, known: LedgerQuestion, now_ns: int, now_s: float) -> bool:
    """Whether a look serves a forecast that comes now: it is under way, or recent by the question's clock."""
    if not look.shown.done():
        return True
    if look.shown.exception() is None and look.shown.result() is None:
        return now_s < look.at_s + AWAY_S
    return now_s < look.at_s + FRESH_S if known.question.clock == REAL_CLOCK else now_ns == look.clock_ns


def _alone(provider: Provider, looks: Sequence[_Look]) -> dict[str, object]:
    return {look.known.question.id: provider.reference(look.known.question, look.clock_ns) for look in looks}


def _together(provider: ShowsTogether, looks: Sequence[_Look]) -> dict[str, object]:
    """In a thread: what a provider says of them, with those by the same time asked together."""
    by_time: dict[int, list[Question]] = {}
    # On the real clock all are asked as of the latest: what a market shows is what it shows now.
    real_ns = max((look.clock_ns for look in looks if look.known.question.clock == REAL_CLOCK), default=0)
    for look in looks:
        question = look.known.question
        by_time.setdefault(real_ns if question.clock == REAL_CLOCK else look.clock_ns, []).append(question)
    answers: dict[str, object] = {}
    for now_ns, questions in by_time.items():
        answers.update(provider.references(questions, now_ns))
    return answers


def _end_look(look: _Look, shown: object) -> None:
    """End a look with what was shown, if it can be kept."""
    question = look.known.question
    try:
        if isinstance(shown, Exception):
            raise shown
        if shown is None:
            text = None
        elif not isinstance(shown, Mapping):
            raise TypeError(f"a reference is an object, found {type(shown).__name__}")
        # A market that is closed may have the outcome in its price; a forecast made now would not be one.
        elif shown.get("closed") or shown.get("resolved"):
            closed = Problem("truth-known", f"The market of {question.id} is closed; it takes no forecasts.")
            look.shown.set_exception(closed)
            return
        else:
            text = canonical_json(dict(shown)).decode()
            if len(text) > LONGEST_REFERENCE:
                raise ValueError(f"a reference of {len(text)} characters, expected at most {LONGEST_REFERENCE}")
    # A forecast counts without a reference too: what fails here must not refuse it.
    except Exception as error:
        logger.warning("%s: nothing was captured of its market: %s", question.id, str(error) or type(error).__name__)
        text = None
    look.shown.set_result(text)
