"""Whose runs are: the principals of a report, as their verifiers state them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from openfingym.verifiers.backing import Backing

if TYPE_CHECKING:
    from openfingym.reports.runs import RunConfig
    from openfingym.results import RolloutResult

LOCAL = "local"
"""The principal of a verifier that runs for one user, and lets this user do as it pleases."""


def with_principals(results: Sequence[RolloutResult], configs: Mapping[str, RunConfig]) -> Iterator[RolloutResult]:
    """The results, each with the principal that a known log states, and with none where no receipt backs it: anybody
    can write a name into a file.

    Names are each verifier's own, so that the log is added to a name that is used at several. But ``local`` at the
    verifiers that were met from this machine is always its user: each command that starts a verifier has a log of its
    own.

    Args:
        results: the results of runs.
        configs: the configuration of each rollout with the backing of its receipt, by the id of the rollout.
    """
    backings = [configs[result.rollout_id].backing for result in results]
    logs: dict[str | None, set[str]] = defaultdict(set)
    for backing in backings:
        logs[backing.principal].add(_place(backing))
    for result, backing in zip(results, backings, strict=True):
        who, place = backing.principal, _place(backing)
        name = f"{who} at {place}" if who and place and len(logs[who]) > 1 else who
        yield result if result.principal == name else replace(result, principal=name)


def _place(backing: Backing) -> str:
    """The log that a principal's name is of; empty for the user of this machine."""
    return "" if backing.principal == LOCAL and backing.met else backing.origin
