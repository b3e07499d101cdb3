"""Changes of a mirror, which become the events that an agent sees, and messages for people."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from openfingym.market.brokers.reports import OrderState
from openfingym.market.brokers.tracked import TrackedOrder


class Change(NamedTuple):
    """What a report changed of an order."""

    order: TrackedOrder
    """The order, as it is now."""
    before: OrderState
    """Its state before."""
    filled: Decimal
    """By how much its filled quantity grew; below zero after a bust."""
    cost: Decimal
    """By how much the value of its fills grew."""
    fees: Mapping[str, Decimal]
    """By how much its fees grew, by asset."""


class Drift(NamedTuple):
    """An account states another holding than the mirror has."""

    asset: str
    """The asset whose holdings differ."""
    local: Decimal
    """Units of it by the mirror."""
    stated: Decimal
    """Units of it by the account."""
    adopted: bool
    """Whether the mirror has taken over what the account states."""
