"""Review: which proposed questions are refused, by which rule, and which of the others are selected.

The paper's experts keep about a fifth of what is generated, for quality and balance. Here a list of rules refuses
questions, and a selection balances horizons, types, and which way the news leans. Neither knows how anything ended.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from types import MappingProxyType

from openfingym.questions.question import moment_at, moment_ns
from openfingym_suites.findeepforecast.claims import read_report
from openfingym_suites.findeepforecast.generation.protocols import Week
from openfingym_suites.findeepforecast.generation.signals import settled
from openfingym_suites.findeepforecast.generation.writing import ProposedQuestion
from openfingym_suites.findeepforecast.problem import ECONOMIES, Horizon
from openfingym_suites.findeepforecast.taxonomy import read_taxonomy

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
"""Rules by which a question is refused, each with what is wrong with the question."""
LEAST_AFTER = timedelta(days=3)
"""Shortest time from the deadline to the last day on which an event counts: most events are decided in the last three
days, which are after the deadline then.
"""
LONGEST = timedelta(days=92)
"""Longest time from the generation to the last day on which an event counts."""
LEAST_UNCERTAINTY = 0.25
"""Uncertainty of the news below which a question is refused as certain."""
_NEAR_DAYS = 14
"""Days by which two questions about one subject and type must be apart."""
_NEAR_WORDS = 0.8
"""Share of common words above which two questions about one subject are the same."""
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
    """The result of a review of the drafts of a week."""

    drafts: tuple[ProposedQuestion, ...]
    """The drafts that broke no rule."""
    refused: Mapping[str, int]
    """How many drafts were refused, by the rule that they broke first."""
    examples: Mapping[str, str]
    """A refused text for each rule, by which a writer can be improved."""


def review(drafts: Sequence[ProposedQuestion], week: Week, asked: Collection[str] = ()) -> Reviewed:
    """Refuse what breaks a rule.

    Args:
        drafts: the proposed questions, in any order.
        week: the week that is to ask them.
        asked: keys of the season's earlier problems.
    """
    refused: Counter[str] = Counter()
    examples: dict[str, str] = {}
    kept: list[ProposedQuestion] = []
    of_subject: dict[str, list[ProposedQuestion]] = {}
    # Duplicates are looked for within a subject, with which every key begins; the other four parts have no dots.
    asked_of: dict[str, list[str]] = {}
    for key in asked:
        asked_of.setdefault(key.rsplit(".", 4)[0], []).append(key)
    # In the order of keys, so that which of two duplicates stays does not depend on the order of the drafts.
    for draft in sorted(drafts, key=lambda draft: (draft.key, draft.text)):
        subject = draft.key.rsplit(".", 4)[0]
        others = of_subject.setdefault(subject, [])
        rule = broken_rule(draft, week, others, asked_of.get(subject, ()))
        if rule is None:
            kept.append(draft)
            others.append(draft)
        else:
            refused[rule] += 1
            examples.setdefault(rule, draft.text[:300])
    return Reviewed(tuple(kept), dict(sorted(refused.items())), examples)


def broken_rule(
    draft: ProposedQuestion, week: Week, others: Sequence[ProposedQuestion] = (), asked: Collection[str] = ()
) -> str | None:
    """The first of :data:`RULES` that a draft breaks, with ``duplicate`` tried last; None if it breaks none.

    Args:
        draft: the question that is proposed.
        week: the week that is to ask it.
        others: the questions about the same subject that the week asks already.
        asked: keys of the season's earlier problems about the subject.
    """
    checks = {
        "nonsense": _is_nonsense(draft),
        "taxonomy": not _in_taxonomy(draft),
        "leading": bool(_LEADING.search(draft.text)),
        "unanswerable": not _is_answerable(draft),
        "resolved": settled([read_report(document) for document in draft.signal.documents]),
        "horizon": not _in_horizon(draft.by, week),
        "certain": draft.uncertainty < LEAST_UNCERTAINTY,
    }
    rule = next((name for name in checks if checks[name]), None)
    if rule is None and _is_duplicate(draft, others, asked):
        return "duplicate"
    return rule


def _is_nonsense(draft: ProposedQuestion) -> bool:
    """Whether a text is no single question in plain words: too short or long, of symbols, or with placeholders."""
    text = draft.text.strip()
    letters = sum(letter.isalpha() or letter.isspace() for letter in text)
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
    """Whether an authority decides it, by a day that the text names, and the text states exactly what is asked."""
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
    types = read_taxonomy()
    if draft.signal.market not in ECONOMIES:
        return False
    if draft.signal.level == "macro":
        return draft.kind in types.macro_events
    return draft.kind.isdigit() and int(draft.kind) in types.corporate_events


def _in_horizon(by: date | None, week: Week) -> bool:
    if by is None:
        return False
    last = datetime.combine(by, time(0), UTC)
    return moment_at(week.deadline_ns) + LEAST_AFTER <= last <= moment_at(week.generated_ns) + LONGEST


def _is_duplicate(draft: ProposedQuestion, others: Sequence[ProposedQuestion], asked: Collection[str]) -> bool:
    """Whether a draft, or nearly the same, is asked already: about its story, or about its subject and type within two
    weeks, or in nearly its words.
    """
    if any(_is_near(draft, key) for key in (*asked, *(other.key for other in others))):
        return True
    words = _words(draft.text)
    same_subject = (_words(other.text) for other in others if other.signal.subject == draft.signal.subject)
    return any(len(words & theirs) > _NEAR_WORDS * len(words | theirs) for theirs in same_subject)


def _is_near(draft: ProposedQuestion, key: str) -> bool:
    """Whether a key is about the draft's story, or about its subject and type and a day within two weeks."""
    # subject.kind.day.condition.story; keys of other generators may have other parts.
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
    """Choose questions of one stratum, so that horizons, types and leanings of the news are balanced.

    One after another, the draft is taken whose horizon is rarest among those taken; of several the one whose type is;
    then the one that brings the mean leaning of the news nearest to one half; then the most uncertain one; then the
    first by its key.

    Args:
        drafts: the reviewed drafts of the stratum.
        week: the week that is to ask them.
        wanted: the most questions to choose.
    """
    left = sorted(drafts, key=lambda draft: draft.key)
    taken: list[ProposedQuestion] = []
    horizons: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    tilt = 0.0
    while left and len(taken) < wanted:
        best = min(
            left,
            key=lambda draft: (
                horizons[horizon_of(draft.by, week)],
                kinds[draft.kind],
                # Rounded, so that small differences leave the choice to the uncertainty.
                round(abs(tilt + draft.leaning - 0.5), 1),
                -draft.uncertainty,
                draft.key,
            ),
        )
        left.remove(best)
        taken.append(best)
        horizons[horizon_of(best.by, week)] += 1
        kinds[best.kind] += 1
        tilt += best.leaning - 0.5
    return sorted(taken, key=lambda draft: draft.key)


def settled_ns(by: date) -> int:
    """When the end of an event is expected to be known: 06:00 UTC after the last day on which it counts, in nanoseconds
    since the epoch.
    """
    return moment_ns(datetime.combine(by + timedelta(days=1), time(6), UTC))


def horizon_of(by: date | None, week: Week) -> Horizon:
    """The horizon of a question about an event.

    Args:
        by: the last day on which the event counts; None, which no reviewed draft has, counts as near.
        week: the week that asks.
    """
    return week.horizon(settled_ns(by)) if by else "week"
