"""Review: which questions are refused, by which rule; and which of the others are selected.

Experts of the paper keep about a fifth of what is generated, for quality and balance. Here a rule of the list
refuses, and a selection balances horizons, types, and which way the news leans. Neither knows how anything ended.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType

from openfingym.suites.findeepforecast.generation.protocols import Week
from openfingym.suites.findeepforecast.generation.reports import read_report
from openfingym.suites.findeepforecast.generation.signals import settled
from openfingym.suites.findeepforecast.generation.writing import ProposedQuestion
from openfingym.suites.findeepforecast.problem import ECONOMIES, Horizon
from openfingym.suites.findeepforecast.taxonomy import taxonomy

RULES: Mapping[str, str] = MappingProxyType(
    {
        "nonsense": "it is no single question in plain words about its subject",
        "duplicate": "the season asks it already, or something very near to it",
        "unanswerable": "it names no authority or no day, asks several things at once, or has no sharp edge",
        "leading": "its words presume how it ends",
        "resolved": "the news has its end already",
        "horizon": "its day is too near to the deadline, or too far",
        "taxonomy": "its event is none of the taxonomy, or not of its level",
        "certain": "the news leaves next to no doubt",
    }
)
"""Rules by which a question is refused, in the order in which they are tried."""
LEAST_AFTER = timedelta(days=3)
"""From the deadline to the day by which something counts: what is decided in the last days before it is not known
at the deadline."""
LONGEST = timedelta(days=92)
"""From generation to the day by which something counts."""
LEAST_UNCERTAINTY = 0.25
_NEAR_DAYS = 14
_NEAR_WORDS = 0.8
_LEADING = re.compile(
    r"\b(when will|why|how (?:much|many|far|soon)|given that|now that|as (?:widely )?expected|inevitabl\w+|"
    r"certain(?:ly)?|surely|obviously|undoubtedly|finally|despite|after (?:its|the|their) \w+ (?:approval|decision|"
    r"announcement)|following (?:its|the|their)|is sure to|is set to|fail(?:s|ed)? to|confirmed|already)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(soon|significant(?:ly)?|substantial(?:ly)?|major change|considerabl[ye]|large enough|in due course|"
    r"eventually|some time|about|around|roughly|possibly)\b",
    re.IGNORECASE,
)
_COMPOUND = re.compile(
    r"\b(and/or|and also|as well as|both\b.{1,80}\band|either\b.{1,80}\bor|and will|or will|, and)\b", re.I
)
_PLACEHOLDER = re.compile(r"[{}<>\[\]]|\b(?:TBD|N/A|lorem|XX+)\b|\ufffd")


@dataclass(frozen=True)
class Reviewed:
    """What is left of the drafts of a week, and what was refused."""

    drafts: tuple[ProposedQuestion, ...]
    refused: Mapping[str, int]
    examples: Mapping[str, str]
    """One refused text for each rule, for those who look after the writer."""


def review(drafts: Sequence[ProposedQuestion], week: Week, asked: Collection[str] = ()) -> Reviewed:
    """Refuse what breaks a rule.

    Args:
        drafts: the proposed questions, in the order in which they were written.
        week: when they are to be asked.
        asked: keys of the season's earlier problems.
    """
    refused: Counter[str] = Counter()
    examples: dict[str, str] = {}
    kept: list[ProposedQuestion] = []
    of_subject: dict[str, list[ProposedQuestion]] = {}
    asked_of: dict[str, list[str]] = {}
    for key in asked:
        asked_of.setdefault(key.rsplit(".", 4)[0], []).append(key)
    for draft in sorted(drafts, key=lambda one: (one.key, one.text)):
        subject = draft.key.rsplit(".", 4)[0]
        its = of_subject.setdefault(subject, [])
        rule = broken_rule(draft, week, its, asked_of.get(subject, ()))
        if rule is None:
            kept.append(draft)
            its.append(draft)
        else:
            refused[rule] += 1
            examples.setdefault(rule, draft.text[:300])
    return Reviewed(tuple(kept), dict(sorted(refused.items())), examples)


def broken_rule(
    draft: ProposedQuestion, week: Week, others: Sequence[ProposedQuestion] = (), asked: Collection[str] = ()
) -> str | None:
    """The first of :data:`RULES` that a draft breaks; None where it breaks none.

    Args:
        draft: the question that is proposed.
        week: when it is to be asked.
        others: what is asked in the same week.
        asked: keys of the season's earlier problems.
    """
    checks = {
        "nonsense": _is_nonsense(draft),
        "taxonomy": not _in_taxonomy(draft),
        "leading": bool(_LEADING.search(draft.text)),
        "unanswerable": not _is_answerable(draft),
        "resolved": settled([read_report(one) for one in draft.signal.documents]),
        "horizon": not _in_horizon(draft.by, week),
        "certain": draft.uncertainty < LEAST_UNCERTAINTY,
    }
    rule = next((name for name in checks if checks[name]), None)
    if rule is None and _is_duplicate(draft, others, asked):
        return "duplicate"
    return rule


def _is_nonsense(draft: ProposedQuestion) -> bool:
    text = draft.text.strip()
    letters = sum(one.isalpha() or one.isspace() for one in text)
    return (
        not 25 <= len(text) <= 500
        or not text.endswith("?")
        or text.count("?") != 1
        or not text.isprintable()
        or letters < 0.6 * len(text)
        or bool(_PLACEHOLDER.search(text))
        or len(set(re.findall(r"\w+", text.lower()))) < 5
        or not re.match(r"(will|is|by|between|does|do|are|on|before)\b", text, re.IGNORECASE)
    )


def _is_answerable(draft: ProposedQuestion) -> bool:
    """Whether somebody's word decides it, by a day that its text names, on a sharp edge."""
    if not draft.authority or draft.by is None or draft.by.isoformat() not in draft.text:
        return False
    if _COMPOUND.search(draft.text) or _VAGUE.search(draft.text):
        return False
    if draft.condition in {"at_least", "at_most"}:
        return f"{draft.condition.replace('_', ' ')} {draft.threshold:g}" in draft.text
    if draft.condition == "detail":
        return bool(draft.detail) and draft.detail in draft.text
    return draft.condition == "happens"


def _in_taxonomy(draft: ProposedQuestion) -> bool:
    found = taxonomy()
    if draft.signal.market not in ECONOMIES:
        return False
    if draft.signal.level == "macro":
        return draft.kind in found.macro_events
    return draft.kind.isdigit() and int(draft.kind) in found.corporate_events


def _in_horizon(by: date | None, week: Week) -> bool:
    if by is None:
        return False
    last = datetime.combine(by, time(0), UTC)
    return _moment(week.deadline_ns) + LEAST_AFTER <= last <= _moment(week.generated_ns) + LONGEST


def _is_duplicate(draft: ProposedQuestion, others: Sequence[ProposedQuestion], asked: Collection[str]) -> bool:
    """Whether it is asked, or nearly: of its story, or of its subject and type within two weeks, or in its words."""
    if any(_is_near(draft, key) for key in (*asked, *(one.key for one in others))):
        return True
    words = _words(draft.text)
    same = (_words(one.text) for one in others if one.signal.subject == draft.signal.subject)
    return any(len(words & one) > _NEAR_WORDS * len(words | one) for one in same)


def _is_near(draft: ProposedQuestion, key: str) -> bool:
    """Whether a key is of the draft's story, or of its subject and type and a day within two weeks."""
    subject, kind, _, _, story = draft.key.rsplit(".", 4)
    parts = key.rsplit(".", 4)
    if len(parts) < 5 or parts[0] != subject:
        return False
    if parts[4] == story:
        return True
    if parts[1] != kind or draft.by is None or not _is_day(parts[2]):
        return False
    return abs((date.fromisoformat(parts[2]) - draft.by).days) <= _NEAR_DAYS


def _is_day(text: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[\w-]+", text.lower()))


def select(drafts: Sequence[ProposedQuestion], week: Week, wanted: int) -> list[ProposedQuestion]:
    """Choose questions of one stratum, so that horizons, types and leanings of the news are even.

    One after another, the draft is taken whose horizon is rarest among those taken, then whose type is, then which
    brings the mean leaning of the news nearest to one half; then the most uncertain, and the first by its key.

    Args:
        drafts: reviewed ones of the stratum.
        week: when they are to be asked.
        wanted: how many.
    """
    left = sorted(drafts, key=lambda one: one.key)
    taken: list[ProposedQuestion] = []
    horizons: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    tilt = 0.0
    while left and len(taken) < wanted:
        best = min(
            left,
            key=lambda one: (
                horizons[horizon_of(one.by, week)],
                kinds[one.kind],
                round(abs(tilt + one.leaning - 0.5), 1),
                -one.uncertainty,
                one.key,
            ),
        )
        left.remove(best)
        taken.append(best)
        horizons[horizon_of(best.by, week)] += 1
        kinds[best.kind] += 1
        tilt += best.leaning - 0.5
    return sorted(taken, key=lambda one: one.key)


def settled_ns(by: date) -> int:
    """When the end of an event is expected to be known: the morning after the last day on which it counts."""
    return round(datetime.combine(by + timedelta(days=1), time(6), UTC).timestamp()) * 10**9


def horizon_of(by: date | None, week: Week) -> Horizon:
    """``week`` up to 10 days from generation to when the end is known, ``month`` up to 45, else ``quarter``."""
    days = (settled_ns(by) - week.generated_ns) / (86_400 * 10**9) if by else 0.0
    return "week" if days <= 10 else "month" if days <= 45 else "quarter"


def _moment(ns: int) -> datetime:
    return datetime.fromtimestamp(ns / 10**9, UTC)
