"""A request to a local Alpaca venue, and what it may ask for."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, NamedTuple

from openfingym.market.sim.alpaca.hours import NEW_YORK, SECOND, midnight
from openfingym.market.sim.alpaca.ledger import AlpacaLedger
from openfingym.market.sim.alpaca.wire import AlpacaRefusalError, is_crypto
from openfingym.market.sim.events import ListedPair

LAST = 4_102_444_800 * SECOND
"""The year 2100."""
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d))?", re.ASCII)


@dataclass(frozen=True)
class AlpacaCall:
    """A request."""

    params: Mapping[str, str]
    """Of its query."""
    args: Mapping[str, str] = field(default_factory=dict)
    """Of its path."""
    body: Mapping[str, Any] = field(default_factory=dict)
    account: str = field(default="", repr=False)

    def integer(self, name: str, default: int, most: int) -> int:
        """A whole number from 1 to ``most``.

        Raises:
            AlpacaRefusalError: it is none.
        """
        given = self.params.get(name, "") or str(default)
        if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= most):
            raise AlpacaRefusalError(400, 40010001, f"invalid {name}: {given!r}; expected a number from 1 to {most}")
        return int(given)

    def time(self, name: str, default: int) -> int:
        """A time or a day in nanoseconds since the epoch; a day begins at midnight in New York. What is outside 1970
        to 2100 is taken for the nearest time inside.

        Raises:
            AlpacaRefusalError: it is none.
        """
        given = self.params.get(name)
        if not given:
            return default
        found = _STAMP.fullmatch(given)
        try:
            if found is None:
                raise ValueError(given)
            if found[2] is None:
                return min(max(0, midnight(date.fromisoformat(found[1]))), LAST)
            whole = datetime.fromisoformat(f"{found[1]}T{found[2]}{found[4]}")
            return min(max(0, int(whole.timestamp()) * SECOND + int((found[3] or "0").ljust(9, "0"))), LAST)
        except (ValueError, OverflowError):
            raise AlpacaRefusalError(400, 40010001, f"invalid {name}: {given!r}; expected a time by RFC 3339") from None

    def day(self, name: str, default: date) -> date:
        """A day.

        Raises:
            AlpacaRefusalError: it is none.
        """
        at = self.time(name, -1)
        return default if at < 0 else datetime.fromtimestamp(at // SECOND, NEW_YORK).date()

    def choice(self, name: str, *allowed: str) -> str:
        """One of some words, of which the first is the default.

        Raises:
            AlpacaRefusalError: it is none of them.
        """
        given = self.params.get(name) or allowed[0]
        if given not in allowed:
            raise AlpacaRefusalError(400, 40010001, f"invalid {name}: {given!r}; expected one of {', '.join(allowed)}")
        return given

    def token(self, name: str = "page_token") -> list[str]:
        """The parts of a page token; none where there is no token.

        Raises:
            AlpacaRefusalError: the venue has given no such one.
        """
        try:
            parts = base64.b64decode(self.params.get(name, ""), b"-_", validate=True).decode().split("|")
            if parts == [""]:
                return []
            if len(parts) == 3 and all(part.isascii() and part.isdigit() for part in parts[1:]):
                return parts
        except (binascii.Error, ValueError):
            pass
        raise AlpacaRefusalError(400, 40010001, f"invalid {name}")

    def listings(self, ledger: AlpacaLedger, crypto: bool) -> list[ListedPair]:
        """Those of the symbols wanted that are listed, by name; others have no data.

        Raises:
            AlpacaRefusalError: no symbols are named, or a coin's pair has no slash.
        """
        names = sorted({name.strip().upper() for name in self.params.get("symbols", "").split(",") if name.strip()})
        if not names:
            raise AlpacaRefusalError(400, 40010001, "symbols is required")
        wrong = [name for name in names if is_crypto(name) != crypto]
        if wrong:
            raise AlpacaRefusalError(400, 40010001, f"invalid symbol: {wrong[0]}")
        listed = ledger.exchange.listings
        return [listed[name] for name in names if name in listed]


def page_token(symbol: str, *numbers: int) -> str:
    """What brings the page after the one that ended with this row."""
    return base64.urlsafe_b64encode("|".join([symbol, *map(str, numbers)]).encode()).decode()


class AlpacaRoute(NamedTuple):
    """What a request may ask for."""

    method: str
    path: str
    run: Callable[[AlpacaLedger, AlpacaCall], Any]
    placing: bool = False
