"""Reading a piece of news by rule: which event it names, by when, what is contested, and which way it leans.

The rules look for the phrases of :mod:`openfingym_suites.findeepforecast.world.matters` and for a few dozen turns of
phrase. They read the simulated world's news well, and the real world's badly: that is for a model.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from openfingym_suites.findeepforecast.world.known import Document
from openfingym_suites.findeepforecast.world.matters import Matter, matters

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_MONTH = "|".join(_MONTHS)
_DAY = re.compile(
    rf"(?P<iso>\d{{4}}-\d\d-\d\d)|(?P<day>\d{{1,2}}) (?P<month>{_MONTH}) (?P<year>\d{{4}})"
    rf"|(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}}), (?P<year2>\d{{4}})",
    re.IGNORECASE,
)
_BOUND = re.compile(r"\bat (least|most) (\d[\d,]*(?:\.\d+)?) ?([a-z]*)", re.IGNORECASE)
_FIGURE = re.compile(r"\bfigure is (\d[\d,]*(?:\.\d+)?)", re.IGNORECASE)
_QUOTED = re.compile(r'"([^"]{3,120})"')
_ROUTINE = ("as scheduled", "scheduled release", "diary:", "as the calendar has it", "regular monthly")
_RECAP = ("recap:", "looking back", "some time ago", "last quarter", "nothing is open")
_TIED = ("together with", "a package at", "both are due", "decision on both")
_CONTESTED = (
    "contested", "disputed", "open point", "is open", "opinions differ", "one camp", "some drafts",
)  # fmt: skip
_FOR = (
    "have been cleared", "has grown", "have gone to those", "dropped their objections", "all but settled",
    "on schedule", "get what they asked", "now expect it", "is likely", "well advanced",
)  # fmt: skip
_AGAINST = (
    "remains unanswered", "has thinned", "sent back", "gaining ground", "hard to defend", "fallen behind",
    "less than they asked", "now doubt it", "is unlikely",
)  # fmt: skip
_DELAY = ("could slip", "would cost time", "postponement has been mentioned", "may be delayed")
_DENIAL = ("declined to comment", "speculation", "ran ahead of events")
_CONFIRMS = (" confirms", "is official", "decision of ", "has announced", "is in effect")
_DROPS = ("will not go ahead", "has ruled out", "there will be no", "has decided against")
_POSTPONES = ("has put off", "needs more time", "no new date", "has set no date")
_VOIDS = ("no legal effect", "is withdrawn", "was in error", "is not valid")
# The first that fits counts: a document that takes a decision back may name the decision as well.
_ENDS = (("voids", _VOIDS), ("drops", _DROPS), ("postpones", _POSTPONES), ("confirms", _CONFIRMS))
_WORD = re.compile(r"[\w'-]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"])")


@dataclass(frozen=True)
class DocumentClaims:
    """What one document says."""

    document: Document
    matters: tuple[Matter, ...]
    """The events that it names, in the order in which it names them."""
    day: date | None
    """The first day that it names, by which the event is due; None if it names none."""
    bound: tuple[str, float] | None
    """The contested amount, such as ``("at_least", 25.0)``; None if it states none."""
    detail: str
    """The wording in quotation marks that is contested; empty if there is none."""
    leans: int
    """How many of its turns of phrase speak for the event, less those against it."""
    turns: int
    """How many of its turns of phrase speak for or against the event."""
    routine: bool
    """Whether it is about a release that is in a calendar."""
    recap: bool
    """Whether it looks back on what is settled."""
    tied: bool
    """Whether it ties several events together."""
    contested: bool
    """Whether it calls something open or contested."""
    delay: bool
    """Whether it warns of a delay."""
    denial: bool
    """Whether those who are asked neither confirm nor deny it."""
    says: str
    """``confirms``, ``drops``, ``postpones`` or ``voids`` if it reports a decision; else empty."""
    figure: float | None
    """The amount that was decided; None if it states none."""
    part: bool | None
    """Whether the detail is part of what was decided; None if it does not say."""


@functools.lru_cache(maxsize=65536)
def read_report(document: Document) -> DocumentClaims:
    """Read a document by rule. What was read is kept, since the same news is read again each week."""
    text = document.body
    low = text.lower()
    # Regular expressions are only tried on texts that hold a word of theirs, which most do not.
    day = _DAY.search(text)
    bound = _BOUND.search(text) if "at least" in low or "at most" in low else None
    figure = _FIGURE.search(text) if "figure is" in low else None
    quoted = _QUOTED.search(text) if '"' in text else None
    for_it, against = _count(low, _FOR), _count(low, _AGAINST)
    return DocumentClaims(
        document=document,
        matters=_matters(f"{document.title}. {text}"),
        day=_day(day) if day else None,
        bound=(f"at_{bound[1].lower()}", float(bound[2].replace(",", ""))) if bound else None,
        detail=quoted[1] if quoted else "",
        leans=for_it - against,
        turns=for_it + against,
        routine=_has(low, _ROUTINE),
        recap=_has(low, _RECAP),
        tied=_has(low, _TIED),
        contested=_has(low, _CONTESTED),
        delay=_has(low, _DELAY),
        denial=_has(low, _DENIAL),
        says=next((name for name, turns in _ENDS if _has(low, turns)), ""),
        figure=float(figure[1].replace(",", "")) if figure else None,
        part=None if quoted is None or "part of it" not in low else "not part of it" not in low,
    )


def _has(low: str, turns: Sequence[str]) -> bool:
    """Whether a text in lower case holds one of some turns of phrase."""
    return any(turn in low for turn in turns)


def _count(low: str, turns: Sequence[str]) -> int:
    """How often a text in lower case holds any of some turns of phrase."""
    return sum(low.count(turn) for turn in turns)


def sentence_with(text: str, pattern: str) -> str:
    """The first sentence of a text that matches a pattern, or else its first sentence; at most 300 characters.

    Args:
        text: the text to search.
        pattern: a regular expression, for text in any case.
    """
    sentences = _SENTENCE.split(text)
    match = next((sentence for sentence in sentences if re.search(pattern, sentence, re.IGNORECASE)), sentences[0])
    return match.strip()[:300]


def _day(match: re.Match[str]) -> date | None:
    """The day that a match of :data:`_DAY` names; None if it does not exist."""
    try:
        if match["iso"]:
            return date.fromisoformat(match["iso"])
        # Either "19 December 2025" or "December 19, 2025", whose groups have a 2 behind their names.
        day, month, year = (match[name] or match[f"{name}2"] for name in ("day", "month", "year"))
        return date(int(year), _MONTHS.index(month.lower()) + 1, int(day))
    except ValueError:
        return None


@functools.cache
def _by_first_word() -> dict[str, list[tuple[list[str], Matter]]]:
    """The phrases by which events are named, as words without the article, by their first word; the longest first."""
    by_word: dict[str, list[tuple[list[str], Matter]]] = {}
    for matter in sorted(matters(), key=lambda matter: (-len(matter.phrase), matter.phrase)):
        words = _WORD.findall(matter.phrase.lower())[1:]
        by_word.setdefault(words[0], []).append((words, matter))
    return by_word


def _matters(text: str) -> tuple[Matter, ...]:
    """The events that a text names, in the order in which it names them; of two at one place the longer phrase."""
    words = _WORD.findall(text.lower())
    by_word = _by_first_word()
    named: dict[str, Matter] = {}
    for place, word in enumerate(words):
        for phrase, matter in by_word.get(word, ()):
            if words[place : place + len(phrase)] == phrase:
                named.setdefault(matter.phrase, matter)
                break
    return tuple(named.values())
