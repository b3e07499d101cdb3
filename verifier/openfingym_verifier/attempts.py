"""A rate limit on wrong tokens: a few from one address at once, then one a second."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict

from openfingym_verifier.bucket import Bucket, Rate, take
from openfingym_verifier.problems import Problem

RATE = Rate(per_second=1.0, burst=10)
MAX_KNOWN = 4096
"""Largest number of addresses that are remembered."""


class Attempts:
    """Failed attempts, counted by address. Belongs to the event loop."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, address: str | None, now_ns: int) -> None:
        """Count an attempt against an address; :meth:`succeeded` takes it back.

        Args:
            address: address of the peer; None where it came through a unix socket, which only this user can reach.
            now_ns: present Unix time in nanoseconds.

        Raises:
            Problem: ``rate-limited``: too many wrong tokens came from the address.
        """
        if address is None:
            return
        network = _network(address)
        bucket, wait_s = take(self._buckets.get(network, Bucket(float(RATE.burst), now_ns)), RATE, now_ns)
        self._buckets[network] = bucket
        # Dropped first is the network that was heard of longest ago, whose bucket has most likely filled up again.
        self._buckets.move_to_end(network)
        if len(self._buckets) > MAX_KNOWN:
            self._buckets.popitem(last=False)
        if wait_s > 0.0:
            detail = f"Too many wrong tokens came from {address}; this one was not looked at. Wait {wait_s:.1f} s."
            raise Problem("rate-limited", detail, retry_after_s=wait_s, close=True)

    def succeeded(self, address: str | None) -> None:
        """Take back an attempt, whose token was right."""
        if address is not None:
            network = _network(address)
            bucket = self._buckets[network]
            self._buckets[network] = Bucket(bucket.tokens + 1.0, bucket.at_ns)


def _network(address: str) -> str:
    """The network an address counts under: whoever has one IPv6 address has a /64, which is 2^64 of them."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)
