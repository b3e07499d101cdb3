"""A request to a local Alpaca venue, and its parameters."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, NamedTuple

from openfingym.market.sim.alpaca.hours import NEW_YORK, midnight
from openfingym.market.sim.alpaca.ledger import AlpacaLedger
from openfingym.market.sim.alpaca.wire import AlpacaRefusalError, is_crypto
from openfingym.market.sim.events import ListedPair
from openfingym.market.ticks import SECOND

LAST = 4_102_444_800 * SECOND
"""The beginning of the year 2100, in nanoseconds since the epoch."""
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d))?", re.ASCII)


@dataclass(frozen=True)
class AlpacaCall:
    """A request."""

    params: Mapping[str, str]
    """Parameters of its query."""
    args: Mapping[str, str] = field(default_factory=dict)
    """Variable parts of its path, by name."""
    body: Mapping[str, Any] = field(default_factory=dict)
    """Fields of its body."""
    account: str = field(default="", repr=False)
    """Name of the account whose keys it carries; empty where it carries none."""

    def integer(self, name: str, default: int, most: int) -> int:
        """A parameter that is a whole number from 1 on.

        Args:
            name: name of the parameter.
            default: the number where it is not stated.
            most: the largest number allowed.

        Raises:
            AlpacaRefusalError: the parameter is not such a number.
        """
        given = self.params.get(name, "") or str(default)
        if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= most):
            raise AlpacaRefusalError(400, 40010001, f"invalid {name}: {given!r}; expected a number from 1 to {most}")
        return int(given)

    def time(self, name: str, default: int) -> int:
        """A parameter that is a time or a day, in nanoseconds since the epoch; a day begins at midnight in New York. A
        time outside 1970 to 2100 is taken for the nearest one inside.

        Args:
            name: name of the parameter.
            default: the time where it is not stated.

        Raises:
            AlpacaRefusalError: the parameter is not a time.
        """
        given = self.params.get(name)
        if not given:
            return default
        match = _STAMP.fullmatch(given)
        try:
            if match is None:
                raise ValueError(given)
            if match[2] is None:
                return min(max(0, midnight(date.fromisoformat(match[1]))), LAST)
            whole = datetime.fromisoformat(f"{match[1]}T{match[2]}{match[4]}")
            return min(max(0, int(whole.timestamp()) * SECOND + int((match[3] or "0").ljust(9, "0"))), LAST)
        except (ValueError, OverflowError):
            raise AlpacaRefusalError(400, 40010001, f"invalid {name}: {given!r}; expected a time by RFC 3339") from None

    def day(self, name: str, default: date) -> date:
        """A parameter that is a day, in New York.

        Args:
            name: name of the parameter.
            default: the day where it is not stated.

        Raises:
            AlpacaRefusalError: the parameter is not a day.
        """
        at = self.time(name, -1)
        return default if at < 0 else datetime.fromtimestamp(at // SECOND, NEW_YORK).date()

    def choice(self, name: str, *allowed: str) -> str:
        """A parameter that is one of some words, the first of which is the default.

        Raises:
            AlpacaRefusalError: the parameter is another word.
        """
        given = self.params.get(name) or allowed[0]
        if given not in allowed:
            raise AlpacaRefusalError(400, 40010001, f"invalid {name}: {given!r}; expected one of {', '.join(allowed)}")
        return given

    def token(self, name: str = "page_token") -> list[str]:
        """The parts of a page token; none where there is no token.

        Raises:
            AlpacaRefusalError: the venue has given no such token.
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
        """The listings of the symbols that are asked for, by name; symbols that are not listed have no data.

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
    """The token for the page after the one that ended with a row.

    Args:
        symbol: the symbol of the row.
        numbers: the numbers by which the rows of a symbol are sorted.
    """
    return base64.urlsafe_b64encode("|".join([symbol, *map(str, numbers)]).encode()).decode()


class AlpacaRoute(NamedTuple):
    """A request that the venue takes."""

    method: str
    """Method of HTTP."""
    path: str
    """Path, with the names of its variable parts in braces."""
    run: Callable[[AlpacaLedger, AlpacaCall], Any]
    """Carries it out, and gives the body of the answer."""
    placing: bool = False
    """Whether it places an order."""
