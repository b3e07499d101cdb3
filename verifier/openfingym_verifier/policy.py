"""Disclosure policies: everything for those who could read the labels anyway, and little for everybody else.

A *participant* is a party whose rollouts are added up, known by a key. Under the *strict* policy what one of them is
told about a task is bounded, however many rollouts it creates and in whichever season: so many answers on the public
fold, so many results on the private one, each no finer than the fold's sampling error. Under the *local* policy, the
default of the verifier that ``openfingym run`` starts for itself, whoever asks owns the machine on which the labels
lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from openfingym.results import PolicyName, TapePolicy

LOCAL_USER, OPERATOR = "local", "operator"
"""Names of the two principals that have no key: the user of a local verifier, and whoever holds the admin token of a
strict one."""


@dataclass(frozen=True)
class Policy:
    """A policy: what is disclosed, and to whom."""

    name: PolicyName
    private_disclosures: int | None = None
    """How many private results a participant is shown of each task as they come; those of later rollouts are held.
    None for all of them, exactly."""
    public_disclosures: int | None = None
    """How many submissions of a participant get feedback, for each task; None for all of them."""
    tapes: TapePolicy = "given"
    """Whether every rollout has hidden data of its own, where its task can have any."""
    instances: bool = True
    """Whether participants may have rollouts on instances, of which they are told everything."""
    question_ranges: bool = True
    """Whether participants may have rollouts that are asked some of a task's questions alone: the score of a single
    one would say whether its answer is true."""
    one_of_conflict: bool = False
    """Whether a participant may enter one task of a conflict group a season: of two tasks of which one shows what the
    other hides."""
    open_rollouts: int | None = None
    """How many rollouts a participant may have begun and not ended, all tasks together; None for any number."""
    stored_bytes: int | None = None
    """How much the ledger may keep of what a participant sends, in all its rollouts together; None for any amount."""


LOCAL = Policy("local")
STRICT = Policy(
    "strict",
    private_disclosures=3,
    public_disclosures=100,
    tapes="fresh",
    instances=False,
    question_ranges=False,
    one_of_conflict=True,
    open_rollouts=256,
    stored_bytes=1_000_000_000,
)
RELEASED = 3
"""Held results of a participant and task that the close of a season releases. All of them together would say of
hundreds of directions, chosen at random beforehand, whether they lead to the labels, which is enough to go there."""
POLICIES: Mapping[PolicyName, Policy] = MappingProxyType({policy.name: policy for policy in (LOCAL, STRICT)})
"""The policies by name."""
