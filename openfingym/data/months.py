"""Month ends, the clock of monthly data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def month_ends(first: str, count: int) -> NDArray[np.datetime64]:
    """The last days of ``count`` months from ``first`` (such as ``2004-05``), datetime64[ns][count], at midnight
    UTC.
    """
    # The day before the first of the next month, so that no length of a month has to be known.
    following = np.datetime64(first, "M") + np.arange(1, count + 1).astype("timedelta64[M]")
    return (following.astype("datetime64[D]") - np.timedelta64(1, "D")).astype("datetime64[ns]")
