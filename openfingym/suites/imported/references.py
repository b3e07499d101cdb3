"""References from answers as they were published, in words: a part that a rule can decide, or else a text for a judge.

What cannot be read beyond doubt stays a text: a reference must not be guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from openfingym.answers import Part, Reference
from openfingym.answers.reading.cleaning import cleaned
from openfingym.answers.reading.dates import dates_of
from openfingym.answers.reading.numbers import NumberMention, numbers_of

_NOTE = re.compile(
    r"\(?\s*(?:(?:scoring (?:criteria|note|standard)s?|criteria|note|accuracy requirements?|required content)\s*:"
    r"|(?:[,;]\s*)?(?:only\s+)?(?:rounding (?:errors?|differences?)|errors? (?:of )?(?:±|\+/-))"
    r"|(?:评分(?:标准|说明|规则)?|注|备注|要求)\s*[:：]|(?:allow(?:able|ed)|permitted) error|允许(?:的)?误差|误差)",
    re.IGNORECASE,
)
"""Where a note on scoring begins, after the answer itself."""
_ABSOLUTE = re.compile(r"(?:±|\+/-|\\pm|正负|误差[^0-9]{0,12})\s*\$?([0-9]+(?:\.[0-9]+)?)\s*(%?)")
"""A tolerance, and whether it is in percent."""
_BETWEEN = re.compile(
    r"between the (?:high|low)|high(?:est)? and low|高[价点]?[和与至到]+(?:最)?低|最高[^。]{0,6}最低", re.IGNORECASE
)
"""Anything from the low to the high of the day is right."""
_WIDENED = re.compile(
    r"(?:expand|widen|extend)[^.]*?([0-9]+(?:\.[0-9]+)?)|(?:扩大|放宽)[^。]*?([0-9]+(?:\.[0-9]+)?)", re.IGNORECASE
)
"""The low and the high of the day, widened by an amount."""
_STRICT = re.compile(
    r"strictly identical|exact(?:ly)? (?:match|the same|identical)|严格一致|完全一致|必须一致", re.IGNORECASE
)
"""Nothing but the exact number is right."""
_DECIMALS = re.compile(
    r"(?:(one|two|three|four|five|six|[0-6])\s+decimal)|保留\s*([0-6一两二三四五六])\s*位?小?数?"
    r"|(nearest (?:integer|whole|million|thousand|dollar)|whole number|取整|整数)",
    re.IGNORECASE,
)
"""The decimals that a question asks for."""
_ASKED_UNIT = re.compile(
    r"\bin ((?:thousands?|millions?|billions?|trillions?)(?: of)?(?: (?:U\.?S\.? )?(?:dollars|USD"
    r"|CNY|RMB|yuan|HKD|EUR|euros|JPY|yen|GBP|pounds))?"
    r"|(?:thousand|million|billion) (?:dollars|USD|CNY|RMB|yuan|HKD|EUR|JPY)|percentage points"
    r"|percent(?:age)?|basis points)"
    r"|单位[:：]\s*([^\s,，。；;)）]{1,8})|多少(万亿|亿|百万|万)?(美元|港元|人民币|欧元|元)",
    re.IGNORECASE,
)
"""The unit that a question asks for."""
_COUNT_WORDS = ("0", "one 1 一", "two 2 二 两", "three 3 三", "four 4 四", "five 5 五", "six 6 六")
_COUNTS = {word: number for number, words in enumerate(_COUNT_WORDS) for word in words.split()}
_LAST = re.compile(
    r"^(?:rt_)?(?:last|price|latest|close|exchange_rate|current|最新价|收盘价|现价)(?:_price)?$", re.IGNORECASE
)
"""Keys of a service's answer under which the price is; below, those of the low and the high of its day."""
_LOW = re.compile(r"(?:^|_)(?:low|lo|最低)(?:_price)?$|最低价", re.IGNORECASE)
_HIGH = re.compile(r"(?:^|_)(?:high|hi|最高)(?:_price)?$|最高价", re.IGNORECASE)


def published_reference(question: str, answer: str, criteria: str = "", group: tuple[str, ...] = ()) -> Reference:
    """The reference of a question about the past.

    Args:
        question: text of the question, which may say how the answer is rounded and in which unit it is.
        answer: the published answer, perhaps with a note on scoring.
        criteria: how the answer is scored, if that is stated apart from it.
        group: tier of the question, or its subset and tier.
    """
    published, note = _parted(answer)
    criteria = criteria.strip() or note
    text = cleaned(published)
    part = _number(question, text, criteria) or _date(text)
    return Reference((part,) if part else (), group=group, text=answer.strip(), criteria=criteria)


def live_reference(question: str, criteria: str, ground_truth: object, group: tuple[str, ...] = ()) -> Reference:
    """The reference of a question about the latest price, from what a service answered when it was asked.

    One price can be compared by a rule; several are for a judge.

    Args:
        question: text of the question.
        criteria: how the answer is scored: ``Required Content: ...`` and ``Accuracy Requirements: ...``.
        ground_truth: what the service answered, a JSON value or its text.
        group: tier of the question, or its subset and tier.
    """
    record = _json(ground_truth)
    leaves = dict(_leaves(record))
    # A judge needs the beginning of it, and a reference has little room.
    text = json.dumps(record, ensure_ascii=False)[:1500]
    last, low, high = (_only(leaves, pattern) for pattern in (_LAST, _LOW, _HIGH))
    several = re.search(r"required content[^.;\n]*?(?:,| and )|需回答[^。\n]*?[、和]", criteria, re.IGNORECASE)
    part = None
    if last is not None and not several:
        absolute, wider = _ABSOLUTE.search(criteria), _WIDENED.search(criteria)
        if wider and low is not None and high is not None:
            part = Part(
                "price", "number", last, rule="widened", low=low, high=high, tolerance=float(wider[1] or wider[2])
            )
        elif _BETWEEN.search(criteria) and low is not None and high is not None:
            part = Part("price", "number", last, rule="between", low=low, high=high)
        elif absolute and not absolute[2]:
            part = Part("price", "number", last, rule="within", tolerance=float(absolute[1]))
        elif re.search(r"rounding|四舍五入", criteria, re.IGNORECASE):
            part = Part("price", "number", last)
    return Reference((part,) if part else (), group=group, text=text or question, criteria=criteria.strip()[:1000])


def _parted(answer: str) -> tuple[str, str]:
    """An answer without its note on scoring, and the note; an answer that is nothing but a note stays as it is."""
    match = _NOTE.search(answer)
    if match is None or match.start() == 0:
        return answer, ""
    return answer[: match.start()].rstrip(" ,;(（，；"), answer[match.start() :].lstrip(" ,;")


def _number(question: str, text: str, criteria: str) -> Part | None:
    """The number that an answer is, with its rule; None where it may say more than one number.

    Args:
        question: text of the question.
        text: the answer, cleaned, without a note on scoring.
        criteria: how the answer is scored.
    """
    mentions = numbers_of(text)
    # A short text of nothing but the two ends of a range, such as "100 to 110".
    if len(mentions) == 2 and all(mention.loose for mention in mentions) and len(text) < 40:
        return _range(text, mentions)
    # More than a few words, a date, or words before the number may be something else that is asked for.
    if len(mentions) != 1 or mentions[0].loose or dates_of(text) or len(re.findall(r"[^\W\d_]{2,}", text)) > 4:
        return None
    if _other_words(text, mentions[0]):
        return None
    mention = mentions[0]
    unit = text[mention.end - _unit_length(text, mention) :].strip(" .)") or None
    if unit is None and (asked := _ASKED_UNIT.search(question)):
        unit = asked[1] or asked[2] or f"{asked[3] or ''}{asked[4] or ''}"
    value = float(-mention.value if mention.direction < 0 else mention.value)
    decimals = _decimals(question)
    if _STRICT.search(criteria):
        return Part("answer", "number", value, unit, rule="exact")
    if absolute := _ABSOLUTE.search(criteria):
        # A tolerance in percent is relative, unless the answer itself is in percent.
        tolerance = float(absolute[1])
        if absolute[2] and not mention.share:
            tolerance = abs(value) * tolerance / 100.0
        return Part("answer", "number", value, unit, decimals=decimals, rule="within", tolerance=tolerance)
    if criteria and not re.search(r"rounding|四舍五入|unit|单位", criteria, re.IGNORECASE):
        # No rule knows the criterion.
        return None
    return Part("answer", "number", value, unit, decimals=decimals)


def _range(text: str, mentions: list[NumberMention]) -> Part | None:
    """Two numbers as the bounds of a right answer; None if they are in the wrong order."""
    low, high = (float(mention.value) for mention in mentions)
    if low > high:
        return None
    unit = text[mentions[1].end - _unit_length(text, mentions[1]) :].strip(" .)") or None
    return Part("answer", "number", (low + high) / 2.0, unit, rule="between", low=low, high=high)


def _other_words(text: str, mention: NumberMention) -> bool:
    """Whether words before a number, or a comma after it, may be a key point of their own, such as a name."""
    before = re.sub(
        r"(?:the answer is|about|approximately|around|约|为|是|大约|答案)\s*:?",
        "",
        text[: mention.start],
        flags=re.IGNORECASE,
    )
    return bool(re.search(r"[^\W\d_]{2,}", before)) or "," in text[mention.end :] or ";" in text


def _unit_length(text: str, mention: NumberMention) -> int:
    """How many characters of a mention are after its last digit: the unit, which was read with the number."""
    inside = text[mention.start : mention.end]
    digits = max((i for i, char in enumerate(inside) if char.isdigit()), default=-1)
    return len(inside) - digits - 1


def _date(text: str) -> Part | None:
    """The date that an answer is; None if it says anything else, or if the date can be read in two ways."""
    dates = dates_of(text)
    # A date without a year begins with "--".
    if len(dates) != 1 or len(dates[0].readings) != 1 or dates[0].readings[0].startswith("--"):
        return None
    rest = (text[: dates[0].start] + text[dates[0].end :]).strip(" .,")
    return None if rest else Part("answer", "date", dates[0].readings[0])


def _decimals(question: str) -> int | None:
    """The decimals that a question asks for; None if it says nothing of them."""
    match = _DECIMALS.search(question)
    if match is None:
        return None
    return 0 if match[3] else _COUNTS.get((match[1] or match[2]).casefold())


def _json(value: object) -> object:
    """A value, or what it is the JSON text of."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _leaves(value: object, depth: int = 0) -> Iterator[tuple[str, float]]:
    """The numbers in a JSON value, each with the key that it is under, at whatever level."""
    # A file may be nested so deep that Python would run out of stack.
    if depth > 8:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(inner, Mapping | list):
                yield from _leaves(inner, depth + 1)
            elif (number := _float(inner)) is not None:
                yield str(key), number
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, depth + 1)


def _float(value: Any) -> float | None:
    """A number, or a text that is one; None for anything else."""
    try:
        return None if isinstance(value, bool) else float(str(value).replace(",", ""))
    except ValueError:
        return None


def _only(leaves: Mapping[str, float], pattern: re.Pattern[str]) -> float | None:
    """The number under keys like a pattern; None if there is none, or if they have different ones."""
    numbers = {number for key, number in leaves.items() if pattern.search(key)}
    return numbers.pop() if len(numbers) == 1 else None
