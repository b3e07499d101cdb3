"""A token bucket as a pure function of the clock, so that it can be stored and restored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rate:
    """How fast a bucket refills, and what it holds when full."""

    per_second: float
    """Tokens that a bucket gains in a second."""
    burst: int
    """Tokens in a full bucket."""


@dataclass(frozen=True)
class Bucket:
    """The state of a token bucket at an instant."""

    tokens: float
    """Tokens in the bucket, of which each request takes one."""
    at_ns: int
    """Unix time in nanoseconds at which ``tokens`` was true."""


def take(bucket: Bucket, rate: Rate, now_ns: int) -> tuple[Bucket, float]:
    """Take one token if there is one.

    Args:
        bucket: state of the bucket when it was last used.
        rate: refill rate and capacity of the bucket.
        now_ns: present Unix time in nanoseconds; a clock that went back counts as not having moved.

    Returns:
        The new state and 0.0, or the unchanged state and the seconds until a token is there.
    """
    elapsed_s = max(0, now_ns - bucket.at_ns) / 1e9
    tokens = min(float(rate.burst), bucket.tokens + elapsed_s * rate.per_second)
    if tokens >= 1.0:
        return Bucket(tokens - 1.0, max(now_ns, bucket.at_ns)), 0.0
    return bucket, (1.0 - tokens) / rate.per_second
