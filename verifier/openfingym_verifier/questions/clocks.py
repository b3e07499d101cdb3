"""Times by which questions are asked, answered and resolved. Belongs to the event loop; the ledger holds them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from openfingym.questions.question import IDENTIFIER, REAL_CLOCK
from openfingym_verifier import clock
from openfingym_verifier.problems import Problem
from openfingym_verifier.questions.events import ClockAdvanced
from openfingym_verifier.questions.reading import clocks_of

if TYPE_CHECKING:
    from openfingym.questions import Question
    from openfingym_verifier.ledger.ledger import Ledger

MOST_LOOKED_AT = 100_000
"""Number of newest entries of the log whose times are looked at."""

logger = logging.getLogger(__name__)


class Clocks:
    """The verifier's own clock, and simulated ones, which their operator moves."""

    def __init__(self, ledger: Ledger) -> None:
        """Read the simulated clocks, and the time at which the ledger was written last."""
        self._ledger = ledger
        with ledger.read() as connection:
            self._simulated = clocks_of(connection)
            query = (
                "SELECT max(json_extract(entry, '$.at_ns')) FROM (SELECT entry FROM log ORDER BY seq DESC LIMIT :most)"
            )
            (latest,) = connection.execute(query, {"most": MOST_LOOKED_AT}).fetchone()
        # Were the machine's clock set back between two runs, a deadline that had passed would lie ahead again. Not the
        # last entry alone: those of other events are by a clock that knows nothing of this.
        self._floor = int(latest or 0)
        behind = self._floor - clock.now_ns()
        if behind > 0:
            logger.warning(
                "this machine's clock is %.0f s behind the ledger's latest entry, which counts", behind / 1e9
            )

    @property
    def simulated(self) -> dict[str, int]:
        """Where the simulated clocks stand, in nanoseconds since the epoch, by name."""
        return dict(self._simulated)

    def real(self) -> int:
        """The verifier's own time, which never runs backwards, in nanoseconds since the epoch."""
        return max(clock.now_ns(), self._floor)

    def now(self, name: str) -> int:
        """The time on a clock, in nanoseconds since the epoch.

        Raises:
            Problem: ``not-found``: there is no such clock.
        """
        if name == REAL_CLOCK:
            return self.real()
        if name not in self._simulated:
            raise Problem("not-found", f"There is no clock {name[:80]}; make it with POST /v1/clocks/{name[:80]}.")
        return self._simulated[name]

    def is_over(self, question: Question, now_ns: int) -> bool:
        """Whether the deadline of a question has passed by its clock, or, of the real one, by the machine's.

        A machine that was paused may have set its own clock right, and nobody can be told that it is earlier.
        """
        ahead_ns = clock.ahead_ns() if question.clock == REAL_CLOCK else 0
        return now_ns + ahead_ns >= question.deadline_ns

    async def advance(self, name: str, now_ns: int) -> int:
        """Make a simulated clock, or move one forward; returns where it stands.

        Args:
            name: name of the clock.
            now_ns: where it is to stand, in nanoseconds since the epoch.

        Raises:
            Problem: ``clock-backwards``: the clock is later already; ``malformed-request``: the name is that of the
                real clock, or of a wrong form.
        """
        if name == REAL_CLOCK or not IDENTIFIER.fullmatch(name):
            raise Problem(
                "malformed-request",
                "A simulated clock has a name of letters, digits and ._:/+-, other than 'real'; the real clock is "
                "nobody's to move.",
            )
        refused = await self._ledger.writer.submit(ClockAdvanced(name, now_ns, self.real()).apply)
        if isinstance(refused, Problem):
            raise refused
        # Another move may have been written meanwhile, and taken into memory before this one.
        self._simulated[name] = max(now_ns, self._simulated.get(name, now_ns))
        return self._simulated[name]
