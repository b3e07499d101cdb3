"""The terms of a session: its symbols, its grid of time, and the rules of its account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

from openfingym.errors import DataError, UsageError
from openfingym.market.bars import DAY
from openfingym.market.ticks import SECOND
from openfingym.trading.market import BarPath, MarketRules


@dataclass(frozen=True)
class SessionTerms:
    """The terms of a session, all of which its tape holds.

    Raises:
        UsageError: the terms contradict one another, or a number is out of range.
    """

    symbols: tuple[str, ...]
    """Names of the symbols as an agent sees them, in the order of every array."""
    instruments: tuple[str, ...]
    """The venue's names of the same symbols."""
    interval_s: int
    """Whole seconds from one mark of the account to the next, and length of a bar."""
    steps: int
    """How many marks there are after the first one."""
    lookback: int
    """How many bars an observation shows."""
    cash: float
    """Cash of the account at the beginning, in units of currency; an account at a broker has its own."""
    rules: MarketRules
    """Costs and limits of trading; an account at a broker has the broker's."""
    orders: Literal["paper", "broker"] = "paper"
    """Where orders go: they are filled on paper against what the venue shows, or are sent to an account there."""

    def __post_init__(self) -> None:
        if self.orders not in ("paper", "broker"):
            raise UsageError(f"orders are filled on paper or sent to a broker; found {self.orders!r}")
        if len(self.symbols) != len(self.instruments) or not self.symbols:
            raise UsageError(
                f"{len(self.symbols)} symbols for {len(self.instruments)} instruments; expected one name for each, and "
                "at least one"
            )
        if not (1 <= self.interval_s <= DAY // SECOND and self.steps >= 1 and self.lookback >= 1 and self.cash > 0):
            raise UsageError(
                f"a session of {self.steps} steps of {self.interval_s} s with {self.lookback} bars and {self.cash} in "
                "cash cannot be; expected at least one of each, and at most a day a step"
            )

    @property
    def interval(self) -> int:
        """Length of a bar in nanoseconds."""
        return self.interval_s * SECOND

    def to_dict(self) -> dict[str, object]:
        """The terms as JSON, as a tape's header holds them."""
        return asdict(self) | {"symbols": list(self.symbols), "instruments": list(self.instruments)}

    @classmethod
    def from_dict(cls, document: Mapping[str, object]) -> Self:
        """The terms of a tape's header.

        Raises:
            DataError: the document does not hold terms.
        """
        try:
            given = {"orders": "paper", **document}  # which the tapes of earlier versions do not state
            values: dict[str, Any] = {each.name: given[each.name] for each in fields(cls)}
            rules = dict(values["rules"])
            values["rules"] = MarketRules(**rules | {"path": BarPath(rules["path"])})
            values |= {name: tuple(values[name]) for name in ("symbols", "instruments")}
            return cls(**values)
        except (KeyError, TypeError, ValueError, UsageError) as error:
            raise DataError(f"the tape is of no session that could be played again: {error}") from error


@dataclass(frozen=True)
class SessionOrder:
    """Which session a rollout is to have.

    Raises:
        UsageError: the fields contradict one another, or there is no such venue.
    """

    venue: Literal["simulated", "real"] = "simulated"
    """Where the session is: on a local venue that speaks the real one's protocols, or on the real one."""
    duration_s: int | None = None
    """Seconds that the session lasts; None for the task's own duration."""
    tape: str | None = None
    """Path of an earlier session's tape, whose market is played again; neither of the above counts then."""

    def __post_init__(self) -> None:
        if self.venue not in ("simulated", "real"):
            raise UsageError(f"a session is on a simulated venue or a real one; found {self.venue!r}")
        if self.tape is not None and self.duration_s is not None:
            raise UsageError("a session on a tape lasts as long as the tape: leave out its duration")

    def to_dict(self) -> dict[str, object]:
        """The order as a JSON object."""
        return asdict(self)
