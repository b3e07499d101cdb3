"""The instrument that a channel of a dataset is about, by one name in all datasets that have it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym.data.dataset import DatasetInfo

_BAR = re.compile(r"_?(open|high|low|close|adj_close|volume)$")
_PAIR = re.compile(r"[a-z]{3}_[a-z]{3}")


def instrument(info: DatasetInfo | None, channel: str, own: str = "") -> str:
    """The instrument that a channel of a dataset is about, by one name in all datasets that have it.

    Args:
        info: what is known of the dataset; None for an author's own data.
        channel: name of the channel.
        own: digest of an author's own data, which tells them from those of others; empty for the library's.
    """
    if info is None or own:
        return f"{own[:12]} {channel}"
    if info.kind != "real":
        return f"{info.name} {channel}"
    if info.measure == "yield":
        return f"{info.source.split(',')[0]} {channel}"
    # A channel that is a kind of price alone is of the instrument that the dataset is named after.
    name = _BAR.sub("", channel) or info.name.split("-")[0]
    return f"{'exchange rate' if _PAIR.fullmatch(name) else 'share'} {name}"
