"""Prometheus metrics of the verifier: counts and durations, never values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# From a light score, within a millisecond, to the five minutes that a worker may take.
_LATENCY_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0)


class Telemetry:
    """The metrics of one verifier, in a registry of their own."""

    def __init__(self, *, queue_depth: Callable[[], float], open_rollouts: Callable[[], float]) -> None:
        """Register the metrics.

        Args:
            queue_depth: gives the number of ledger operations that are not on the disk yet.
            open_rollouts: gives the number of rollouts without a result.
        """
        self._registry = CollectorRegistry()
        self._submissions = Counter(
            "openfingym_submissions",
            "Submissions by task and by what became of them: accepted, replayed, failed, or a problem slug.",
            ["task", "outcome"],
            registry=self._registry,
        )
        self._scoring = Histogram(
            "openfingym_scoring_seconds",
            "Seconds from a submission's turn until it is checked and scored.",
            ["task"],
            buckets=_LATENCY_S,
            registry=self._registry,
        )
        self._episode_calls = Counter(
            "openfingym_episode_calls",
            "Starts and steps of episodes by task and by what became of them: answered, failed, or a problem slug.",
            ["task", "outcome"],
            registry=self._registry,
        )
        Gauge(
            "openfingym_ledger_queue_depth", "Ledger writes waiting for a commit.", registry=self._registry
        ).set_function(queue_depth)
        Gauge("openfingym_open_rollouts", "Rollouts without a result.", registry=self._registry).set_function(
            open_rollouts
        )

    def submission(self, task: str, outcome: str) -> None:
        """Count a submission, by what became of it: ``accepted``, ``replayed``, ``failed`` or a problem's slug."""
        self._submissions.labels(task, outcome).inc()

    def episode_call(self, task: str, outcome: str) -> None:
        """Count a start or a step, by what became of it: ``answered``, ``failed`` or a problem's slug."""
        self._episode_calls.labels(task, outcome).inc()

    def scored(self, task: str, seconds: float) -> None:
        """Record how long checking and scoring took."""
        self._scoring.labels(task).observe(seconds)

    def text(self) -> bytes:
        """All metrics in Prometheus' exposition format."""
        return generate_latest(self._registry)
