"""Which day, week or month a bar of Yahoo's is of, and which bars were not finished when Yahoo answered.

Yahoo appends the current quote as a row of its own: within an open session, but also beside a week or month that is not
over, and in the evening, when the session that it states is the next one. What is not finished is not a bar.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EARLY_S = 3 * 3600
"""How long before its first midnight a week or month may be stamped: an hour where clocks have changed since."""
FRIDAY = 4
"""The last weekday on which an exchange trades, after whose session a week is over."""


def bar_dates(stamps: NDArray[np.int64], zone: ZoneInfo, interval: str) -> NDArray[np.datetime64]:
    """The date of each bar of a day, week or month, datetime64[D][n]: the exchange's, of its first day.

    Args:
        stamps: Unix seconds of the bars, [n].
        zone: time zone of the exchange.
        interval: ``1d``, ``1wk`` or ``1mo``.
    """
    early = 0 if interval == "1d" else EARLY_S
    days = [datetime.fromtimestamp(stamp + early, zone).date() for stamp in stamps.tolist()]
    return np.array(days, dtype="datetime64[D]")


def live_rows(stamps: NDArray[np.int64], meta: Mapping[str, Any], zone: ZoneInfo, interval: str) -> NDArray[np.bool_]:
    """Rows of what had not ended when Yahoo answered, bool[n].

    Args:
        stamps: Unix seconds of the rows, [n], increasing.
        meta: what the answer says of itself: the time of its last quote, by which everything is judged, and a session.
        zone: time zone of the exchange.
        interval: length of the bars, such as ``1h`` or ``1wk``.
    """
    live = np.zeros(len(stamps), dtype=bool)
    session = (meta.get("currentTradingPeriod") or {}).get("regular") or {}
    now, opens, closes = (
        None if second is None else int(second)
        for second in (meta.get("regularMarketTime"), session.get("start"), session.get("end"))
    )
    long_bars = interval in {"1d", "1wk", "1mo"}
    if long_bars:
        periods = _periods(bar_dates(stamps, zone, interval), interval)
        # A last row of the period of the one before is the quote, whatever its time is.
        live[-1:] = periods[-1:] == periods[-2:-1] if len(periods) > 1 else False
    if now is None:
        return live
    if opens is not None and closes is not None and opens <= now < closes:
        live |= stamps >= opens
    if long_bars:
        # The quote's own row has its second; a bar is stamped with the beginning of a session or a day.
        live |= stamps == now
    if interval in {"1wk", "1mo"}:
        quoted = datetime.fromtimestamp(now, zone).date()
        over = closes is not None and now >= closes and _is_last_day(quoted, interval)
        live |= periods >= _periods(np.array([quoted], dtype="datetime64[D]"), interval)[0] + over
    return live


def _periods(days: NDArray[np.datetime64], interval: str) -> NDArray[np.int64]:
    """Number of the day, week (from Monday on) or month of each date, int64[n]."""
    if interval == "1mo":
        return days.astype("datetime64[M]").astype(np.int64)
    numbers = days.astype(np.int64)
    # The first of January 1970 was a Thursday.
    return (numbers + 3) // 7 if interval == "1wk" else numbers


def _is_last_day(day: date, interval: str) -> bool:
    """Whether nothing is traded any more in the week or month after a day's session."""
    if interval == "1wk":
        return day.weekday() >= FRIDAY
    following = np.busday_offset(np.datetime64(day, "D"), 1, roll="backward")
    return bool(following.astype("datetime64[M]") > np.datetime64(day, "D").astype("datetime64[M]"))
