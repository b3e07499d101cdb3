"""What a piece of news says, read by rule: which event, by when, what of it is contested, and which way it leans.

The rules look for phrases of :mod:`openfingym.suites.findeepforecast.world.matters` and for a few dozen turns of
English. They read the simulated world's news well and the real world's badly, for which there is a model.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from openfingym.suites.findeepforecast.world.known import Document
from openfingym.suites.findeepforecast.world.matters import Matter, matters

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
_ENDS = (("voids", _VOIDS), ("drops", _DROPS), ("postpones", _POSTPONES), ("confirms", _CONFIRMS))
_WORD = re.compile(r"[\w'-]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"])")


@dataclass(frozen=True)
class DocumentClaims:
    """What one document says."""

    document: Document
    matters: tuple[Matter, ...]
    """Events that it names, in the order in which it does."""
    day: date | None
    """The day by which it says that the event is due."""
    bound: tuple[str, float] | None
    """``("at_least", 25.0)`` where it says that an amount is contested."""
    detail: str
    """Wording in quotation marks that it says is contested."""
    leans: int
    """How many of its turns speak for the event, less those against it."""
    turns: int
    """How many speak for or against it."""
    routine: bool
    """Whether it is about a release that a calendar has."""
    recap: bool
    """Whether it looks back on what is settled."""
    tied: bool
    """Whether it ties events together."""
    contested: bool
    """Whether it says that something is open."""
    delay: bool
    """Whether it warns of a delay."""
    denial: bool
    """Whether somebody who is asked neither confirms nor denies it."""
    says: str
    """``confirms``, ``drops``, ``postpones`` or ``voids`` where it tells of an end; else nothing."""
    figure: float | None
    """The amount that it states of what is confirmed."""
    part: bool | None
    """Whether it states that a detail is part of what is confirmed."""


@functools.lru_cache(maxsize=65536)
def read_report(document: Document) -> DocumentClaims:
    """Read a document by rule."""
    text = document.body
    low = text.lower()
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
    return any(turn in low for turn in turns)


def _count(low: str, turns: Sequence[str]) -> int:
    return sum(low.count(turn) for turn in turns)


def sentence_with(text: str, pattern: str) -> str:
    """The sentence of a text that a regular expression is found in, shortened to 300 characters; else its first."""
    sentences = _SENTENCE.split(text)
    hit = next((one for one in sentences if re.search(pattern, one, re.IGNORECASE)), sentences[0])
    return hit.strip()[:300]


def _day(found: re.Match[str]) -> date | None:
    try:
        if found["iso"]:
            return date.fromisoformat(found["iso"])
        day, month, year = (found[name] or found[f"{name}2"] for name in ("day", "month", "year"))
        return date(int(year), _MONTHS.index(month.lower()) + 1, int(day))
    except ValueError:
        return None


@functools.cache
def _by_first_word() -> dict[str, list[tuple[list[str], Matter]]]:
    """The words of every phrase by which an event is named, without its article, by their first one."""
    found: dict[str, list[tuple[list[str], Matter]]] = {}
    for one in sorted(matters(), key=lambda one: (-len(one.phrase), one.phrase)):
        words = _WORD.findall(one.phrase.lower())[1:]
        found.setdefault(words[0], []).append((words, one))
    return found


def _matters(text: str) -> tuple[Matter, ...]:
    """The events that a text names, in the order in which it does; of two at one place the longer one."""
    words = _WORD.findall(text.lower())
    first = _by_first_word()
    found: dict[str, Matter] = {}
    for place, word in enumerate(words):
        for phrase, matter in first.get(word, ()):
            if words[place : place + len(phrase)] == phrase:
                found.setdefault(matter.phrase, matter)
                break
    return tuple(found.values())
