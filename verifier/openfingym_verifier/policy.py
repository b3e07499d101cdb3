"""Disclosure policies: everything for those who could read the labels anyway, and little for everybody else.

A *participant* is a party whose rollouts are added up, known by a key, or an organisation with several keys. Under the
*strict* policy what one of them is told about a task is bounded, however many rollouts it creates: so many answers on
the public fold, and of the private one what its season tells. A *sealed* season tells nothing before its close, when
every entry is told once, no finer than the fold's sampling error; a *disclosing* one tells all parties together a few
rungs of one ladder before that. Under the *local* policy, the default of the verifier that ``openfingym run`` starts
for itself, whoever asks owns the machine on which the labels lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from openfingym.results.result import PolicyName, TapePolicy

LOCAL_USER, OPERATOR = "local", "operator"
"""Names of the two principals that have no key: the user of a local verifier, and whoever holds the admin token of a
strict one."""


@dataclass(frozen=True)
class Policy:
    """A policy: what is disclosed, and to whom."""

    name: PolicyName
    private_disclosures: int | None = None
    """How many results of a participant on each task the ladder of a disclosing season answers; None for all of them,
    exactly, without a ladder and whatever the season."""
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
LADDER_STEP = 0.05
"""Height of a rung of the ladder of a disclosing season, in relative totals. A climb by 1,000 parties in rungs of 0.01
gained a third of the baseline's loss on a fold of 20 windows, in rungs of 0.02 up to a sixth, and in these nothing."""
LADDER_ANSWERS = 30
"""How many results the ladder of a fold answers, of all parties and seasons together. Beyond some tens even bare yes
and no begin to lead to the labels."""
LADDER_LUCK = 0.01
"""Chance that, in all answers of a ladder together, a result raises it that is not better than the top it reaches."""
ENTRIES = 3
"""How many rollouts a participant may enter of each task and season; one of them is its primary entry."""
POLICIES: Mapping[PolicyName, Policy] = MappingProxyType({policy.name: policy for policy in (LOCAL, STRICT)})
"""The policies by name."""
