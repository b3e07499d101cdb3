"""Reading a forecast from an answer: by rule, and never by guessing.

- A table is looked for wherever it stands, even in a long report. Of tables with two columns the last one counts that
  has a row named Prediction or the like; if none has, the last one of two rows, as in the paper's code.
- Without a table, the text behind the last ``Final Answer:`` counts, or a JSON object with the name ``prediction``, or
  an answer of one line. A report without any of these is unreadable.
- A figure is in the unit that is asked for. A number without a scale is taken as it stands: if million USD are asked
  for, 1435 is 1,435 million, and so is 1.435 billion; 1,435,000,000 without a word for its scale is 1,435,000,000
  million, whatever was meant. Per cent are converted if the unit is a share or a plain number. Another currency, or a
  scale where a share is asked for, is not in its unit.
- What is not known is not guessed: a word beside the number that may be its scale, or a sign that may be a dash.
- Two numbers, a range, a bound, or YES and NO at once are not an answer; the state says why.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from openfingym.answers.reading.cleaning import cleaned, final_parts
from openfingym.answers.reading.numbers import numbers_of
from openfingym.answers.reading.suffixes import understood, words_of
from openfingym.answers.units import unit_of
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.answers.reading.numbers import NumberMention
    from openfingym_suites.findeepforecast.problem import Track

State = Literal["answered", "empty", "unreadable", "ambiguous"]
"""What came of reading an answer."""
LARGEST = 1e18
"""Numbers of at least this size are refused."""
SMALLEST = 1e-18
"""Numbers below this size are 0, so that no answer is written with hundreds of digits."""
LONGEST_REPORT = 1_000_000
"""How many characters of a report are read, from its end."""
LONGEST_LINE = 300
"""The most characters of a prediction: of a cell, or of an answer without a table."""
HALF = 0.5
"""The probability on either side of which an event is forecast to happen or not."""
_CELLS = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s:-]*-[\s:-]*")
_PREDICTION = re.compile(r"\b(?:final\s+)?(?:prediction|forecast|estimate|answer)\b|预测|答案", re.IGNORECASE)
_PROBABILITY = re.compile(r"\b(?:probability|confidence|likelihood)\b|概率|置信", re.IGNORECASE)
_YES = re.compile(r"(?<![\w'])(?:yes|true)(?![\w'])|(?<!不)(?:是|会)(?!否)", re.IGNORECASE)
_NO = re.compile(r"(?<![\w'])(?:no|false)(?![\w'])|否|不是|不会", re.IGNORECASE)
_INTRODUCTION = re.compile(
    r"[^.!?\n]{0,60}\b(?:is|be|answer|prediction|forecast|verdict|say|says|predict|think|believe|expect)[^\w.!?]*",
    re.IGNORECASE,
)
"""What may stand before YES or NO in a sentence that answers."""
_GOES_ON = re.compile(r"\s+(?!because|since|as\b|for\b|given|by\b|with\b|it\b|they\b|the\b|this\b|yes\b|no\b)[a-z]")
"""A word behind YES or NO that makes it part of a phrase, such as idea, task or doubt."""
_PLACEHOLDER = re.compile(r"\[[^\]]*(?:your prediction|how probable)[^\]]*\]", re.IGNORECASE)
_FLOAT = re.compile(r"[+-]?(?:\d{1,60}(?:\.\d{0,60})?|\.\d{1,60})(?:e[+-]?\d{1,4})?", re.IGNORECASE)
_BRACKETS = re.compile(r"\([^()]*\)")


@dataclass(frozen=True)
class ForecastReading:
    """What an answer says."""

    state: State
    value: float | None = None
    """The number of a figure, in the unit that is asked for; or the probability of an event, which is 1 for YES and 0
    for NO if the answer states none. None if nothing was read.
    """
    said: bool | None = None
    """Whether the answer about an event was YES; None for a figure, or if nothing was read."""
    note: str = ""
    """Why nothing was read, and what was expected; empty if something was."""

    @property
    def canonical(self) -> str:
        """The answer in the form that rules compare; empty if nothing was read.

        It is a plain number; or YES or NO, with the probability if one was given.
        """
        if self.value is None:
            return ""
        if self.said is None:
            return plain_number(self.value)
        word = "YES" if self.said else "NO"
        return word if self.value == float(self.said) else f"{word} {plain_number(self.value)}"


def read_forecast(answer: str, track: Track, unit: str = "") -> ForecastReading:
    """Read an answer. No answer raises an error.

    Args:
        answer: the whole answer; of one longer than a million characters, the end is read.
        track: the track of the question, which decides whether a figure or an event is asked about.
        unit: the unit of the figure that is asked for, such as ``million USD`` or ``%``.
    """
    text = cleaned(answer[-LONGEST_REPORT:])
    if not any(map(str.isalnum, text)):
        return ForecastReading("empty", note="there is no answer")
    stated = _stated(text)
    if isinstance(stated, ForecastReading):
        return stated
    prediction, probability = stated
    # A table that was copied without being filled in holds its own placeholder.
    prediction = _PLACEHOLDER.sub("", prediction).strip(" []\"'")
    if not any(map(str.isalnum, prediction)):
        return ForecastReading("empty", note="the prediction is empty")
    if len(prediction) > LONGEST_LINE:
        return ForecastReading(
            "unreadable", note=f"the prediction has {len(prediction):,} characters; expected it alone"
        )
    return _event(prediction, probability) if track == "non-recurrent" else _figure(prediction, unit)


def read_canonical(text: str) -> ForecastReading:
    """Read what :attr:`ForecastReading.canonical` wrote, of either track; any other text is read without a unit."""
    track: Track = "non-recurrent" if _YES.match(text.strip()) or _NO.match(text.strip()) else "recurrent"
    if track == "non-recurrent" and len(parts := text.split()) == 2:
        return _event(parts[0], parts[1])
    return read_forecast(text, track)


def written(value: float | bool, field: str, probability: float | None = None) -> str:
    """An answer as the prompt asks for it: a table that says a number, or YES or NO.

    Args:
        value: the number of a figure, or whether an event happens.
        field: the name of the answer in the table, as
            :attr:`~openfingym_suites.findeepforecast.forecasting.prompts.AskedForecast.field` gives it.
        probability: the probability that the event happens, from 0 to 1, on the same side of one half as the answer;
            None to state none.

    Raises:
        UsageError: the number is too large or not finite, or the probability is not from 0 to 1.
    """
    if probability is not None and not 0.0 <= probability <= 1.0:
        raise UsageError(f"a probability is {probability}; expected one from 0 to 1")
    said = ("YES" if value else "NO") if isinstance(value, bool) else plain_number(value)
    rows = [f"| {field} | {said} |"]
    if probability is not None:
        rows.append(f"| Probability | {plain_number(probability)} |")
    return "\n".join(["| Field | Value |", "|-----|-----|", *rows])


def plain_number(value: float) -> str:
    """A number without an exponent, to the last digit.

    Raises:
        UsageError: it is not finite, or too large.
    """
    if not abs(value) < LARGEST:
        raise UsageError(f"a forecast is {value}; expected a finite number below {LARGEST:g}")
    text = format(Decimal(repr(_rounded(value))), "f")
    return text.removesuffix(".0")


def _stated(text: str) -> tuple[str, str] | ForecastReading:
    """The texts of the prediction and of the probability, which may be empty; or why there are none."""
    tables = list(_tables(text))
    named = [rows for rows in tables if any(_PREDICTION.search(name) for name, _ in rows)]
    if named:
        return _of_rows(named[-1])
    # A head and one row are the two rows of the paper's code.
    if tables and (short := [rows for rows in tables if len(rows) == 1]):
        return short[-1][0][1], ""
    if (stated := _object(text)) is not None:
        return stated
    # The same answer given twice is one.
    finals = tuple(dict.fromkeys(part for part in final_parts(text)))
    if len(finals) > 1:
        return ForecastReading("ambiguous", note=f"there are {len(finals)} final answers, which differ")
    line = finals[0].strip()
    if "\n" in line or len(line) > LONGEST_LINE:
        return ForecastReading("unreadable", note="there is no markdown table with two columns, and no single line")
    return line.partition(":")[2] if _PREDICTION.match(line) and ":" in line else line, ""


def _tables(text: str) -> Iterator[list[tuple[str, str]]]:
    """The rows of every markdown table with two columns, each a name and a value, without the head."""
    rows: list[tuple[str, str]] = []
    for line in [*text.split("\n"), ""]:
        stripped = line.strip().removeprefix("|").removesuffix("|")
        cells = _CELLS.split(stripped) if "|" in line else []
        if len(cells) != 2:
            if rows:
                yield rows
            rows = []
        elif all(_RULE.fullmatch(cell) for cell in cells):
            # The head is the row above the line of dashes; rows before it belong to another table.
            before, rows = rows[:-1], []
            if before:
                yield before
        else:
            rows.append((cells[0].strip(), cells[1].strip()))


def _of_rows(rows: Sequence[tuple[str, str]]) -> tuple[str, str] | ForecastReading:
    """The texts of the prediction and of the probability in a table; or why they are ambiguous."""
    predictions = [value for name, value in rows if _PREDICTION.search(name) and not _PROBABILITY.search(name)]
    probabilities = [value for name, value in rows if _PROBABILITY.search(name)]
    if len(set(predictions)) > 1 or len(set(probabilities)) > 1:
        return ForecastReading("ambiguous", note="the table has two predictions, which differ")
    return predictions[0] if predictions else "", probabilities[0] if probabilities else ""


def _object(text: str) -> tuple[str, str] | None:
    """The texts of the prediction and of the probability, if the whole answer is a JSON object; None if it is not."""
    if not text.startswith("{"):
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    folded = {str(name).casefold(): value for name, value in document.items()}
    stated = next((folded[name] for name in ("prediction", "forecast", "answer", "value") if name in folded), None)
    probability = folded.get("probability")
    return _scalar(stated), _scalar(probability)


def _scalar(value: object) -> str:
    """A JSON value as the text of a prediction; empty for a list, an object or null."""
    if isinstance(value, bool):
        return "YES" if value else "NO"
    return str(value) if isinstance(value, str | int | float) else ""


def _event(text: str, probability: str) -> ForecastReading:
    """The reading of a prediction about an event.

    Args:
        text: the text of the prediction.
        probability: the text of its probability; empty if there is none.
    """
    said = _yes_or_no(text)
    if said is None:
        both = _YES.search(text) and _NO.search(text)
        state: State = "ambiguous" if both else "unreadable"
        return ForecastReading(state, note=f"the prediction is {text[:60]!r}; expected YES or NO")
    if not _PLACEHOLDER.sub("", probability).strip():
        return ForecastReading("answered", float(said), said)
    chance = _chance(_PLACEHOLDER.sub("", probability))
    if chance is None:
        return ForecastReading("unreadable", note=f"the probability is {probability[:60]!r}; expected one from 0 to 1")
    # One half is on neither side, and fits both answers.
    if (chance > HALF) is not said and chance != HALF:
        return ForecastReading("ambiguous", note=f"the prediction is {text[:20]}, and its probability {chance:g}")
    return ForecastReading("answered", _rounded(chance), said)


def _yes_or_no(text: str) -> bool | None:
    """Whether a text says yes; None if it says neither, or both, or one of them within a sentence.

    "I have no idea" is not an answer.
    """
    yes, no = _YES.search(text), _NO.search(text)
    if not any(match and _is_set_off(text, match) for match in (yes, no)):
        return None
    if yes and no:
        first = min(yes, no, key=lambda match: match.start())
        # As in "NO: yes, there is talk of it": the first word, set off by punctuation, is the answer.
        alone = not first.start() and re.match(r"\s*[,.;:(!-]", text[first.end() :])
        return None if not alone else first is yes
    return None if yes is None and no is None else yes is not None


def _is_set_off(text: str, said: re.Match[str]) -> bool:
    """Whether a word is the answer and not part of a phrase: behind an introduction alone, or at the end."""
    before, behind = text[: said.start()], text[said.end() :]
    introduced = not any(map(str.isalnum, before)) or _INTRODUCTION.fullmatch(before)
    return bool(introduced and not _GOES_ON.match(behind)) or not any(map(str.isalnum, behind))


def _chance(text: str) -> float | None:
    """A probability as a number from 0 to 1, or in per cent."""
    mentions = _numbers(text)
    if len(mentions) != 1 or mentions[0].loose:
        return None
    number = mentions[0]
    value = float(number.value * number.scale) if number.share and number.scale is not None else float(number.value)
    # Of millions or the like there is no probability.
    if number.scale is not None and not number.share:
        return None
    return value if 0.0 <= value <= 1.0 else None


def _figure(text: str, unit: str) -> ForecastReading:
    """The reading of a prediction about a figure.

    Args:
        text: the text of the prediction.
        unit: the unit that is asked for.
    """
    # A plain number, also with an exponent, needs no reading of words, scales and separators.
    if _FLOAT.fullmatch(text):
        return _finite(float(text))
    mentions = _numbers(text)
    if len(mentions) > 1:
        # Further numbers in brackets usually say how the answer came about.
        shorter = _numbers(_BRACKETS.sub(" ", text))
        mentions = shorter if len(shorter) == 1 else mentions
    if not mentions:
        return ForecastReading("unreadable", note=f"the prediction is {text[:60]!r}; expected a number")
    if problem := _unknown(mentions, unit):
        return ForecastReading("unreadable", note=f"the prediction is {text[:60]!r}; {problem}")
    # The same value in two forms, such as 1.4 billion and 1,400 million, is one answer.
    values = {_in_unit(mention, unit) for mention in mentions}
    if any(mention.loose for mention in mentions) or len(values) > 1:
        return ForecastReading(
            "ambiguous", note=f"the prediction is {text[:60]!r}; expected one number, without a range"
        )
    value = values.pop()
    if value is None:
        return ForecastReading(
            "unreadable", note=f"the prediction is {text[:60]!r}; expected a number in {unit or 'its unit'}"
        )
    return _finite(value)


def _unknown(mentions: Sequence[NumberMention], unit: str) -> str:
    """What is not known of the size or the sign of numbers, and what was expected; empty if all is known."""
    words = words_of(unit)
    for mention in mentions:
        if not understood(mention.beside, words, plain=not unit):
            return f"nothing tells how much {mention.beside!r} is; expected a number in {unit or 'its unit'} alone"
        if mention.doubt:
            return "it may be negative or not; expected a number with a sign, such as -0.59 or 0.59, and no other words"
    return ""


def _numbers(text: str) -> list[NumberMention]:
    """The numbers that a text mentions; a number in words is one with a scale."""
    try:
        mentions = numbers_of(text)
    except (ArithmeticError, ValueError):  # more digits than a decimal holds
        return []
    return [mention._replace(scale=Decimal(1)) if _spelled(mention, text) else mention for mention in mentions]


def _spelled(mention: NumberMention, text: str) -> bool:
    """Whether a number is in words that say its scale, as nine hundred million does."""
    digits = any(map(str.isdigit, text[mention.start : mention.end]))
    return mention.scale is None and abs(mention.value) >= 1000 and not digits


def _in_unit(mention: NumberMention, unit: str) -> float | None:
    """A number in the unit that is asked for; None if it is in another.

    Args:
        mention: the number with its scale, its currencies, and whether it is a share.
        unit: the unit that is asked for.
    """
    asked = unit_of(unit)
    # "A fall of 3 %" is -3, and so is "a fall of -3 %".
    value = -abs(mention.value) if mention.direction < 0 else mention.value
    if mention.currencies and (asked.share or (asked.currencies and not mention.currencies & asked.currencies)):
        return None
    # Without a word for its scale, the number is in the unit as it stands.
    if mention.scale is None:
        return float(value)
    if mention.share:
        if asked.share:
            return float(value * mention.scale / asked.scale)
        # Per cent become a plain number, such as a ratio, but no amount of money.
        return float(value * mention.scale) if asked.scale == 1 and not asked.currencies else None
    return None if asked.share else float(value * mention.scale / asked.scale)


def _finite(value: float) -> ForecastReading:
    """The reading of a number, which is refused if it is not finite or too large."""
    if not (math.isfinite(value) and abs(value) < LARGEST):
        return ForecastReading("unreadable", note=f"the prediction is {value:g}; expected a finite number")
    return ForecastReading("answered", _rounded(value))


def _rounded(value: float) -> float:
    return 0.0 if abs(value) < SMALLEST else float(value)
