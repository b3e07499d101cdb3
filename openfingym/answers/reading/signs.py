"""The sign of a number: hyphens that are a minus, a dash or the mark of a list, brackets, and a minus behind it."""

from __future__ import annotations

import re
from typing import NamedTuple

from openfingym.answers.reading.number_patterns import BEFORE
from openfingym.answers.reading.said import Doubt, Said
from openfingym.answers.reading.suffixes import Suffix, suffix_of

_REACH = 16
"""How many characters before its digits a number's sign, currency and bracket may take."""
_SPACELESS = re.compile("[\u0e00-\u0e7f\u3040-\u9fff가-힣]")
"""A letter of a script that writes no spaces between a word and a number."""
_CLOSING = re.compile(r" ?\)")
_TRAILING = re.compile(r"-(?=$|[)%$€£¥\n,.;]|( ))")


class Lead(NamedTuple):
    """What stands before the digits of a number and belongs to it."""

    start: int
    """Index of its first character."""
    sign: str = ""
    """``-``, ``+``, ``±`` or ``+/-``; empty without one, or with a hyphen that is a dash."""
    money: str = ""
    """The sign or code of a currency; empty without one."""
    bracket: int = -1
    """Index of the bracket that opens right before the number; -1 without one."""
    doubt: Doubt = ""
    """What the signs leave open."""


def lead_of(text: str, start: int, floor: int) -> Lead | None:
    """The sign, currency and bracket before a number; None if the number is part of a word.

    Args:
        text: the text in which the number was found.
        start: index of the first digit of the number.
        floor: index from which something may belong to it: where the number before ends; 0 for the first.
    """
    if not start:
        return Lead(0)
    previous = text[start - 1]
    before = BEFORE.search(text, max(floor, start - _REACH), start)
    # The pattern fits the empty text as well.
    assert before is not None
    begin, money = before.start(), before["money"] or ""
    if begin == start and ((previous.isalnum() and not _SPACELESS.match(previous)) or previous in "_.'"):
        return None
    # The letters of a currency may be the end of a word.
    if begin and money[:1].isalpha() and text[begin - 1].isalpha() and not _SPACELESS.match(text[begin - 1]):
        if previous != " ":
            return None
        # Of a word such as ABCHF nothing is known.
        return Lead(start, doubt="sign" if money.isupper() and len(money) > 2 else "")
    outer, inner = before.start("outer"), before.start("bracket")
    # A sign within the brackets says what they would, as in (-0.59%).
    bracket = inner if inner >= 0 else -1 if before["sign"] or before["sign2"] else outer
    if before["sign"] and before["sign2"]:
        return Lead(begin, "", money, bracket, "sign")
    sign = before["sign2"] or before["sign"] or ""
    if sign not in {"-", "+"}:
        return Lead(begin, sign, money, bracket)
    at = before.start("sign2") if before["sign2"] else before.start("sign")
    return _signed(text, Lead(begin, sign, money, bracket), at, floor)


def _signed(text: str, lead: Lead, at: int, floor: int) -> Lead | None:
    """What a hyphen or a plus before a number is.

    Args:
        text: the text in which the number was found.
        lead: what stands before the number, with this sign.
        at: index of the sign.
        floor: where the number before ends; 0 for the first.
    """
    spaced = text[at + 1] == " "
    before = text[:at].rstrip(" ")
    previous = text[at - 1] if at else ""
    if spaced and (not before or before[-1] in "\n|"):
        # In Markdown this is the mark of a list, of which the hyphen may have been meant for a minus.
        return lead._replace(sign="", doubt="bullet" if lead.sign == "-" else "")
    if lead.sign == "+":
        return lead
    if floor and not text[floor:at].strip():
        return lead._replace(sign="")
    # A hyphen as in GPT-4, and a dash with a space on one side or on both.
    if previous.isalnum() and not _SPACELESS.match(previous):
        return lead._replace(sign="", doubt="bullet") if spaced else None
    dash = (previous == " " and spaced) or previous in {")", "%"}
    return lead._replace(sign="", doubt="bullet") if dash else lead


def _bracketed(text: str, lead: Lead, end: int, behind: int, last: int | None) -> tuple[str, Doubt, int] | None:
    """The sign that brackets around a number give it, what they leave open, and where they end; None without such.

    In accounts, brackets are a minus: $(62.57), (0.59)%, or nothing but (62.57 million). Behind another number they
    state it once more. Elsewhere they may be either.

    Args:
        text: the text in which the number was found.
        lead: what stands before the number, with an opening bracket.
        end: index after the last digit of the number.
        behind: index after its unit.
        last: where the number before ends; None for the first.
    """
    closing = _CLOSING.match(text, end) or _CLOSING.match(text, behind)
    if closing is None:
        return None
    before = text[: lead.start].rstrip(" $*")
    # A remark would have its unit within the brackets.
    unit_outside = closing.start() == end and suffix_of(text, closing.end()).scale is not None
    if unit_outside or _money_before(text, lead):
        return "-", "", closing.end()
    if not before or before[-1] in "\n|:=":
        return "-", "", closing.end()
    if last is not None and re.fullmatch(r"[^,.;:\n]{0,24}", text[last : lead.bracket]):
        return "", "", behind
    return "", "sign", closing.end()


def _money_before(text: str, lead: Lead) -> bool:
    """Whether a currency stands before the opening bracket, as in $(62.57)."""
    return bool(lead.money) and text[lead.start : lead.bracket].strip() != ""


def trailing(text: str, end: int) -> Doubt | None:
    """Whether a minus stands behind a number, as in 62.57-: empty if so, ``sign`` if it may be a dash, None if not.

    Args:
        text: the text in which the number was found.
        end: index after its last digit, or after its unit.
    """
    if text[end : end + 1] != "-":
        return None
    match = _TRAILING.match(text, end)
    if match is None:
        return None
    return "sign" if match[1] and text[match.end() :].strip() else ""


def in_brackets(
    text: str, lead: Lead, end: int, unit: Suffix, last: int | None
) -> tuple[Lead, str, Doubt, Suffix, bool]:
    """What stands before a number with a bracket, its sign, what that leaves open, its unit, and whether the bracket is
    closed right behind it.
    """
    found = _bracketed(text, lead, end, unit.end, last)
    if found is None:
        # The bracket begins a remark, in which the number is the first word.
        return lead._replace(start=lead.bracket + 1), lead.sign, lead.doubt, unit, False
    sign, doubt, closed_at = found
    if closed_at > unit.end:
        after = suffix_of(text, closed_at)
        unit = Suffix(
            after.end,
            after.scale or unit.scale,
            after.share or unit.share,
            after.currencies or unit.currencies,
            after.power or unit.power,
        )
    # Two signs do not say which of them counts.
    return lead, sign or lead.sign, "sign" if sign and lead.sign == "-" else doubt or lead.doubt, unit, True


def together(sign: str, doubt: Doubt, before: Said, behind: Said) -> tuple[int, Doubt]:
    """The direction that a sign and the words on both sides of a number give it, and what they leave open.

    A sign counts before the words: "fell by -0.59 %" is -0.59. Where they contradict each other, nothing is known.
    """
    words = before.direction or behind.direction
    opposed = before.direction * behind.direction < 0
    if sign == "-":
        rises = (before.direction > 0 and not before.noun) or behind.direction > 0
        return 0, "sign" if rises else doubt
    if sign == "+":
        return (0, "sign") if words < 0 else (1, doubt)
    if opposed or doubt == "sign":
        return 0, "sign"
    if doubt == "bullet":
        return words, "" if words < 0 else "bullet"
    return words, "" if words else before.doubt or behind.doubt
