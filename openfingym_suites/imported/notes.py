"""Notes on scoring, in English and Chinese: how far an answer may differ from the published one.

A note is read clause by clause. What is left of a clause without the words known here must be a number, a range or a
unit, or nothing: a clause with any other word is not understood, and makes the question one for a judge. What a note
allows or demands must not be guessed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from openfingym_suites.imported.quantities import Quantity, QuantityRange, quantity, quantity_range, unit_words

NoteKind = Literal["nothing", "rounding", "exact", "tolerance", "range", "unit", "day", "wider-day"]


@dataclass(frozen=True)
class ScoringNote:
    """What one clause of a note says."""

    kind: NoteKind
    """``nothing`` that has a bearing on numbers; ``rounding``: differences by rounding alone are allowed; ``exact``:
    none are; ``tolerance``: those up to ``amount``; ``range``: whatever lies in ``range`` is right; ``unit``: the unit
    of the answer; ``day``: whatever lies between the low and the high of the day; ``wider-day``: that, widened by
    ``amount`` at both ends."""
    amount: Quantity | None = None
    """The tolerance, or by how much the range of the day is widened."""
    relative: bool = False
    """Whether the note calls the tolerance relative."""
    range: QuantityRange | None = None
    """The range of right answers."""
    unit: str = ""
    """The words of a unit."""


_LABEL = re.compile(
    r"\s*(?:scoring (?:criteri(?:a|on)|notes?|standards?|rules?)|criteria|notes?|accuracy requirements?|accuracy"
    r"|(?:评分|判分)(?:标准|说明|规则|要求)?|(?:答案|精度|准确性|误差)?要求|答案说明|注意?|备注|说明)\s*:\s*",
    re.IGNORECASE,
)
"""What a note calls itself."""
_ENGLISH = {
    "exact": r"strictly (?:identical|consistent|the same)|exact(?:ly)? (?:match(?:ing)?|the same|identical)|exact",
    "day": (
        r"high(?:est)?(?: price)?s?(?: and | to |-|/)(?:the )?low(?:est)?(?: prices?)?"
        r"|low(?:est)?(?: price)?s?(?: and | to |-|/)(?:the )?high(?:est)?(?: prices?)?"
    ),
    "wider": r"expand(?:s|ed|ing)?|widen(?:s|ed|ing)?|extend(?:s|ed|ing)?",
    "rounding": r"round(?:ing|ed)(?:[ -]?off)?",
    "relative": r"relative",
    "error": (
        r"errors?|differences?|discrepanc(?:y|ies)|deviations?|variations?|tolerances?|margins?(?: of error)?"
        r"|plus or minus"
    ),
    "fine": (
        r"allow(?:s|ed|able|ing)?|accept(?:s|ed|able|ing)?|permit(?:s|ted)?|permissible|tolerated|ok(?:ay)?"
        r"|fine|correct|right|valid|sufficient"
    ),
    "within": r"within",
    "filler": (
        r"the|an?|any|anything|answers?|values?|numbers?|results?|prices?|is|are|be|may be|can be|will be"
        r"|must be|should be|must|should|also|all|both|as|considered|deemed|counted|only|alone|minor|small"
        r"|slight|caused by|of|for|in|on|by|to the|due to|between|from|lies|falls|ranges?|up to|at most"
        r"|no (?:more|greater) than|not exceeding|absolute|max(?:imum)?|reference|published|day's|day"
    ),
}
"""English words of notes by what they say; whole phrases first, whose words mean something else one by one."""
_CHINESE = {
    "exact": (
        r"不允许(?:有|存在)?(?:任何)?误差|(?:不得|不能)有(?:任何)?误差|(?:严格|完全)(?:保持)?(?:一致|相同)"
        r"|必须一致"
    ),
    "day": r"最?高[点价]?[和与至到、-]*最?低[点价]?|最?低[点价]?[和与至到、-]*最?高[点价]?",
    "wider": r"扩大|放宽",
    "rounding": r"四舍五入法?",
    "relative": r"相对",
    "error": r"误差|偏差|偏离|浮动|差异|正负|上下|±|\+/-|\\pm",
    "fine": r"允许|容许|可?接受|可以|可|正确|对|给分",
    "within": r"以内|之内",
    "filler": (
        r"答案|结果|回答|数值|数字|数据|答出|该值|只|仅|均|都|即|皆|也|是|为|被|视为|算作?|判为?|认为|存在"
        r"|出现|有|因|由于?|后|所?造成|所?导致|所?带来|所?产生|所?引起|的|在|介于|处于|落在|不超过|不大于|至多"
        r"|控制|之间|区间|范围|内|绝对值?|值|幅度|当日|当天|任意|任何|与参考答案|与标准答案|小数|必须|需要?"
        r"|应当?|要求|价格"
    ),
}
"""Chinese words of notes by what they say, and signs."""
_KNOWN = re.compile(
    "|".join(
        rf"(?P<{kind}>(?<![A-Za-z])(?:{english})(?![A-Za-z])|{_CHINESE[kind]})" for kind, english in _ENGLISH.items()
    ),
    re.IGNORECASE,
)
_UNIT = re.compile(r"(?:(?:the )?units?\s*(?:is|are|:)|单位\s*(?:是|为|:)|\bin\b)?\s*(\D+)", re.IGNORECASE)
_NO_MATTER = re.compile(
    r"(?:the )?units? (?:may be |can be |is |are )?(?:omitted|not required|optional)"
    r"|(?:可以?)?(?:不写|省略|不带|无需)单位|单位(?:可以?)?(?:不写|省略)",
    re.IGNORECASE,
)
# The comma of March 15, 2024 belongs to the date.
_BREAK = re.compile(r";|\n|(?<![0-9]),|,(?![0-9]|\s*(?:19|20)[0-9]{2}\b)|(?<![A-Z])\.(?=\s|$)")
_SUFFICES = re.compile(r"(?:答出|回答)?(.*?[^均都皆也])(?:即可|就可以)")


def clauses(text: str) -> list[str]:
    """The clauses of a text, after :func:`~openfingym.answers.reading.cleaning.cleaned`: an answer first, then its
    notes, which commas, semicolons, lines or brackets set off.
    """
    # The brackets of an account, as in (0.59)%, have nothing or a sign of money before them.
    opened = re.sub(r"(?<=[\w%‰\s])\(([^()]*)\)", r"; \1; ", text)
    return [clause.strip() for clause in _BREAK.split(opened) if clause.strip(" .:")]


def suffices(clause: str) -> str:
    """A clause without the words which say that the answer in it is enough, as 62.57亿元即可 does."""
    match = _SUFFICES.fullmatch(clause)
    return match[1] if match else clause


def read_notes(texts: Sequence[str]) -> tuple[ScoringNote, ...] | None:
    """What the clauses of a note say; None if one of them is not understood.

    Args:
        texts: the clauses, from :func:`clauses`.
    """
    notes = []
    for text in texts:
        note = read_note(text)
        if note is None:
            return None
        notes.append(note)
    return tuple(notes)


def read_note(text: str) -> ScoringNote | None:
    """What one clause says; None if it is not understood."""
    clause = _LABEL.sub("", text.strip(), count=1).strip(" .:")
    if not clause or _NO_MATTER.fullmatch(clause):
        return ScoringNote("nothing")
    found = {str(match.lastgroup) for match in _KNOWN.finditer(clause)} - {"filler"}
    rest = " ".join(_KNOWN.sub(" ", clause).split()).strip(" .:")
    if not rest:
        return _without_amount(found)
    if "fine" in found and found <= {"fine", "within"} and (stated := quantity_range(rest)):
        return ScoringNote("range", range=stated)
    if amount := quantity(rest):
        return None if amount.value < 0 else _with_amount(found, amount)
    match = _UNIT.fullmatch(clause)
    unit = unit_words(match[1]) if match else None
    return ScoringNote("unit", unit=unit) if unit else None


def _without_amount(found: set[str]) -> ScoringNote | None:
    """What a clause of known words without a number says, by what its words say."""
    if "rounding" in found and found <= {"rounding", "error", "fine", "within"}:
        return ScoringNote("rounding")
    if found == {"exact"}:
        return ScoringNote("exact")
    return ScoringNote("day") if "day" in found and found <= {"day", "fine", "within"} else None


def _with_amount(found: set[str], amount: Quantity) -> ScoringNote | None:
    """What a clause of known words with one number says; None if they do not say what the number is."""
    if {"day", "wider"} <= found <= {"day", "wider", "fine"}:
        return None if amount.unit else ScoringNote("wider-day", amount)
    # "Within 1 %" is about an error, and "within 5" may be another answer.
    is_error = "error" in found or ("within" in found and amount.size.share)
    if is_error and found <= {"error", "fine", "relative", "within"}:
        return ScoringNote("tolerance", amount, "relative" in found)
    return None


def tolerance_of(note: ScoringNote, value: Decimal, unit: str) -> Decimal | None:
    """How far an answer may differ from a value, in the value's own unit; None if the note's unit does not fit it.

    Args:
        note: a note of the kind ``tolerance``.
        value: the published value.
        unit: the words of its unit.
    """
    assert note.amount is not None
    amount, size, own = note.amount, note.amount.size, Quantity(value, 0, unit).size
    if note.relative:
        return abs(value) * amount.value * size.scale if size.share else None
    if size.share and not own.share:
        # A percentage is one of the value; points of a percentage need a value in per cent.
        return abs(value) * amount.value / 100 if amount.unit in {"%", "percent", "per cent"} else None
    if not amount.unit:
        return amount.value
    if size.share != own.share or (size.currencies and own.currencies and not size.currencies & own.currencies):
        return None
    return amount.value * size.scale / own.scale
