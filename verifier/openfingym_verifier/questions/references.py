"""What the market shows when a forecast comes in, captured by the verifier. Belongs to the event loop.

A provider may be slow, or away. It is asked in a thread, once for all forecasts of a question in a few seconds, and
waited for only briefly: a forecast is kept and acknowledged without its answer, which is added when it comes.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.digests import canonical_json
from openfingym.questions.question import REAL_CLOCK
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions.events import Referenced
from openfingym_verifier.threads import in_threads

if TYPE_CHECKING:
    from openfingym_verifier.questions.clocks import Clocks
    from openfingym_verifier.questions.providers import Providers
    from openfingym_verifier.questions.reading import Known
    from openfingym_verifier.writer import Writer

FRESH_S = 5.0
"""How long what a market showed is taken for what it shows."""
AWAY_S = 30.0
"""How long a provider that showed nothing is left alone about a question."""
WAIT_S = 0.25
"""Longest that a forecast waits for its reference."""
ANSWER_S = 10.0
"""Longest that a reference is waited for, and then added; one that comes later shows another moment."""
THREADS = 8
MOST_LOOKS = 4096
LONGEST_REFERENCE = 16 * 1024
"""Bytes of a reference."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Look:
    """One look at a market."""

    shown: asyncio.Task[str | None]
    at_s: float
    clock_ns: int


class References:
    """Looks at markets for forecasts."""

    def __init__(self, providers: Providers, clocks: Clocks, writer: Writer) -> None:
        self._providers = providers
        self._clocks = clocks
        self._writer = writer
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="reference")
        self._looks: dict[str, _Look] = {}
        self._late: dict[asyncio.Task[str | None], list[int]] = {}
        self._followers: set[asyncio.Task[None]] = set()

    async def capture(self, known: Known, now_ns: int) -> tuple[str | None, asyncio.Task[str | None] | None]:
        """What the market shows, as JSON, or None; and what is left to wait for, for :meth:`add_later`.

        Raises:
            Problem: ``truth-known``: the market is closed, so that its outcome may be known.
        """
        look = self._look(known, now_ns)
        if not look.shown.done():
            await asyncio.wait({look.shown}, timeout=WAIT_S)
        if not look.shown.done():
            return None, look.shown
        return look.shown.result(), None

    def add_later(self, shown: asyncio.Task[str | None], known: Known, forecast: int) -> None:
        """Add to a forecast what the market showed, once the provider has answered."""
        if shown in self._late:
            self._late[shown].append(forecast)
            return
        self._late[shown] = [forecast]
        follower = asyncio.create_task(self._follow(shown, known))
        self._followers.add(follower)
        follower.add_done_callback(self._followers.discard)

    def close(self) -> None:
        """Wait for nobody any longer."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _look(self, known: Known, now_ns: int) -> _Look:
        name, now_s = known.question.id, time.monotonic()
        look = self._looks.get(name)
        if look is not None and self._holds(look, known, now_ns, now_s):
            return look
        if len(self._looks) >= MOST_LOOKS:
            self._looks.clear()
        look = self._looks[name] = _Look(asyncio.create_task(self._ask(known, now_ns)), now_s, now_ns)
        return look

    def _holds(self, look: _Look, known: Known, now_ns: int, now_s: float) -> bool:
        if not look.shown.done():
            return True
        if look.shown.exception() is None and look.shown.result() is None:
            return now_s < look.at_s + AWAY_S
        return now_s < look.at_s + FRESH_S if known.question.clock == REAL_CLOCK else now_ns == look.clock_ns

    async def _ask(self, known: Known, now_ns: int) -> str | None:
        question = known.question

        def reference() -> str | None:
            shown = self._providers.get(question.provider).reference(question, now_ns)
            if shown is None:
                return None
            if shown.get("closed") or shown.get("resolved"):
                raise Problem("truth-known", f"The market of {question.id} is closed; it takes no forecasts.")
            text = canonical_json(dict(shown)).decode()
            if len(text) > LONGEST_REFERENCE:
                raise ValueError(f"a reference of {len(text)} characters, expected at most {LONGEST_REFERENCE}")
            return text

        try:
            async with asyncio.timeout(ANSWER_S):
                return await in_threads(self._threads, reference)
        except Problem:
            raise
        except Exception as error:  # whatever a provider may raise: the forecast is kept without
            logger.warning(
                "%s: nothing was captured of its market: %s", question.id, str(error) or type(error).__name__
            )
            return None

    async def _follow(self, shown: asyncio.Task[str | None], known: Known) -> None:
        await asyncio.wait({shown})
        forecasts = self._late.pop(shown)
        # A market that is closed by now was perhaps closed then; forecasts made after its end are left out anyway.
        if shown.cancelled() or shown.exception() is not None or (text := shown.result()) is None:
            return
        await self._writer.submit(Referenced(known.question.id, forecasts, text, self._clocks.real()).apply)
