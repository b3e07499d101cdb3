"""How a forecast is read from what was answered: by rule, and never by guessing.

- A table is looked for wherever it stands, in a full report too. Of those with two columns the last one counts that has
  a row named as a prediction; without such a name the last of two rows, as in the paper's code.
- Without a table, what stands behind the last ``Final Answer:``, a JSON object with the name ``prediction``, or an
  answer of one line counts. A report without any of these is unreadable.
- A figure is in the unit that is asked for. A number without a scale is taken as it stands: where million USD are
  asked for, 1435 is 1,435 million, and so is 1.435 billion; 1,435,000,000 without a word for its scale is 1,435,000,000
  million, whatever was meant. Per cent are converted where the unit is a share or a plain number. Another currency, and
  a scale of a share, are none of its unit.
- Two numbers, a range, a bound, YES and NO at once: no answer, and the state says why.
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
from openfingym.answers.units import unit_of
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.answers.reading.numbers import NumberMention
    from openfingym.suites.findeepforecast.problem import Track

State = Literal["answered", "empty", "unreadable", "ambiguous"]
LARGEST = 1e18
"""Figures at least as large as this are none."""
SMALLEST = 1e-18
"""Figures below this are 0."""
LONGEST_REPORT = 1_000_000
"""Characters of a report in which a table is looked for, from its end."""
LONGEST_LINE = 300
"""Characters of a prediction: of a cell, or of an answer without a table."""
HALF = 0.5
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
    """Of a figure the number, in the unit that is asked for; of an event the probability that it happens, 1 of YES and
    0 of NO where no other was given. None where nothing was read."""
    said: bool | None = None
    """Of an event, whether the answer was YES."""
    note: str = ""
    """Why nothing was read, and what was expected."""

    @property
    def canonical(self) -> str:
        """The answer as rules compare it: a plain number; YES or NO, with the probability where one was given. Empty
        where nothing was read.
        """
        if self.value is None:
            return ""
        if self.said is None:
            return plain_number(self.value)
        word = "YES" if self.said else "NO"
        return word if self.value == float(self.said) else f"{word} {plain_number(self.value)}"


def read_forecast(answer: str, track: Track, unit: str = "") -> ForecastReading:
    """What an answer says. Never raises, whatever the answer is.

    Args:
        answer: all that was answered; of more than a million characters the end.
        track: track of the question, which says whether a figure or a probability is expected.
        unit: unit of the figure that is asked for, such as ``million USD`` or ``%``.
    """
    text = cleaned(answer[-LONGEST_REPORT:])
    if not any(map(str.isalnum, text)):
        return ForecastReading("empty", note="there is no answer")
    found = _stated(text)
    if isinstance(found, ForecastReading):
        return found
    prediction, probability = found
    prediction = _PLACEHOLDER.sub("", prediction).strip(" []\"'")
    if not any(map(str.isalnum, prediction)):
        return ForecastReading("empty", note="the prediction is empty")
    if len(prediction) > LONGEST_LINE:
        return ForecastReading(
            "unreadable", note=f"the prediction has {len(prediction):,} characters; expected it alone"
        )
    return _event(prediction, probability) if track == "non-recurrent" else _figure(prediction, unit)


def read_canonical(text: str) -> ForecastReading:
    """What :attr:`ForecastReading.canonical` wrote, of either track; any other text is read without a unit."""
    track: Track = "non-recurrent" if _YES.match(text.strip()) or _NO.match(text.strip()) else "recurrent"
    if track == "non-recurrent" and len(parts := text.split()) == 2:
        return _event(parts[0], parts[1])
    return read_forecast(text, track)


def written(value: float | bool, field: str, probability: float | None = None) -> str:
    """An answer as the prompt asks for it: a table that says a number, or YES or NO.

    Args:
        value: the number, or whether it happens.
        field: what the table calls it (:attr:`~openfingym.suites.findeepforecast.forecasting.prompts.AskedForecast`).
        probability: that it happens, from 0 to 1; on the same side of one half as the answer.

    Raises:
        UsageError: the number or the probability is none.
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
    """What is said as prediction, and as probability, which may be empty."""
    tables = list(_tables(text))
    named = [rows for rows in tables if any(_PREDICTION.search(name) for name, _ in rows)]
    if named:
        return _of_rows(named[-1])
    if tables and (short := [rows for rows in tables if len(rows) == 1]):
        return short[-1][0][1], ""
    if (found := _object(text)) is not None:
        return found
    finals = tuple(dict.fromkeys(part for part in final_parts(text)))
    if len(finals) > 1:
        return ForecastReading("ambiguous", note=f"there are {len(finals)} final answers, which differ")
    line = finals[0].strip()
    if "\n" in line or len(line) > LONGEST_LINE:
        return ForecastReading("unreadable", note="there is no markdown table with two columns, and no single line")
    return line.partition(":")[2] if _PREDICTION.match(line) and ":" in line else line, ""


def _tables(text: str) -> Iterator[list[tuple[str, str]]]:
    """Rows of every table with two columns, each a name and a value; without its head, which a rule follows."""
    rows: list[tuple[str, str]] = []
    for line in [*text.split("\n"), ""]:
        stripped = line.strip().removeprefix("|").removesuffix("|")
        cells = _CELLS.split(stripped) if "|" in line else []
        if len(cells) != 2:
            if rows:
                yield rows
            rows = []
        elif all(_RULE.fullmatch(cell) for cell in cells):
            # The head is the row above a rule; rows before it are another table's.
            before, rows = rows[:-1], []
            if before:
                yield before
        else:
            rows.append((cells[0].strip(), cells[1].strip()))


def _of_rows(rows: Sequence[tuple[str, str]]) -> tuple[str, str] | ForecastReading:
    predictions = [value for name, value in rows if _PREDICTION.search(name) and not _PROBABILITY.search(name)]
    probabilities = [value for name, value in rows if _PROBABILITY.search(name)]
    if len(set(predictions)) > 1 or len(set(probabilities)) > 1:
        return ForecastReading("ambiguous", note="the table has two predictions, which differ")
    return predictions[0] if predictions else "", probabilities[0] if probabilities else ""


def _object(text: str) -> tuple[str, str] | None:
    """What a JSON object with the name ``prediction`` says, of nothing but such an object."""
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    folded = {str(name).casefold(): value for name, value in found.items()}
    stated = next((folded[name] for name in ("prediction", "forecast", "answer", "value") if name in folded), None)
    probability = folded.get("probability")
    return _scalar(stated), _scalar(probability)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return "YES" if value else "NO"
    return str(value) if isinstance(value, str | int | float) else ""


def _event(text: str, probability: str) -> ForecastReading:
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
    if (chance > HALF) is not said and chance != HALF:
        return ForecastReading("ambiguous", note=f"the prediction is {text[:20]}, and its probability {chance:g}")
    return ForecastReading("answered", _rounded(chance), said)


def _yes_or_no(text: str) -> bool | None:
    """Whether a text says yes; None where it says neither, or both, or says one of them within a sentence: "I have no
    idea" is no answer.
    """
    yes, no = _YES.search(text), _NO.search(text)
    if not any(one and _is_set_off(text, one) for one in (yes, no)):
        return None
    if yes and no:
        first = min(yes, no, key=lambda match: match.start())
        # "NO: yes, there is talk of it": what comes first and is set off is the answer.
        alone = not first.start() and re.match(r"\s*[,.;:(!-]", text[first.end() :])
        return None if not alone else first is yes
    return None if yes is None and no is None else yes is not None


def _is_set_off(text: str, said: re.Match[str]) -> bool:
    """Whether a word is the answer: nothing stands before it but its introduction, or nothing behind it."""
    before, behind = text[: said.start()], text[said.end() :]
    introduced = not any(map(str.isalnum, before)) or _INTRODUCTION.fullmatch(before)
    return bool(introduced and not _GOES_ON.match(behind)) or not any(map(str.isalnum, behind))


def _chance(text: str) -> float | None:
    """A probability as a number from 0 to 1, or in per cent."""
    found = _numbers(text)
    if len(found) != 1 or found[0].loose:
        return None
    one = found[0]
    value = float(one.value * one.scale) if one.share and one.scale is not None else float(one.value)
    if one.scale is not None and not one.share:
        return None
    return value if 0.0 <= value <= 1.0 else None


def _figure(text: str, unit: str) -> ForecastReading:
    if _FLOAT.fullmatch(text):
        return _finite(float(text))
    found = _numbers(text)
    if len(found) > 1:
        # What stands in brackets behind the answer says how it came about.
        shorter = _numbers(_BRACKETS.sub(" ", text))
        found = shorter if len(shorter) == 1 else found
    if not found:
        return ForecastReading("unreadable", note=f"the prediction is {text[:60]!r}; expected a number")
    values = {_in_unit(one, unit) for one in found}
    if any(one.loose for one in found) or len(values) > 1:
        return ForecastReading(
            "ambiguous", note=f"the prediction is {text[:60]!r}; expected one number, without a range"
        )
    value = values.pop()
    if value is None:
        return ForecastReading(
            "unreadable", note=f"the prediction is {text[:60]!r}; expected a number in {unit or 'its unit'}"
        )
    return _finite(value)


def _numbers(text: str) -> list[NumberMention]:
    try:
        found = numbers_of(text)
    except (ArithmeticError, ValueError):  # digits that no decimal holds
        return []
    return [one._replace(scale=Decimal(1)) if _spelled(one, text) else one for one in found]


def _spelled(one: NumberMention, text: str) -> bool:
    """Whether a number is in words that say its scale, as nine hundred million does."""
    return one.scale is None and abs(one.value) >= 1000 and not any(map(str.isdigit, text[one.start : one.end]))


def _in_unit(one: NumberMention, unit: str) -> float | None:
    """A number in the unit that is asked for; None where it is in another."""
    asked = unit_of(unit)
    value = -abs(one.value) if one.direction < 0 else one.value
    if one.currencies and (asked.share or (asked.currencies and not one.currencies & asked.currencies)):
        return None
    if one.scale is None:
        return float(value)
    if one.share:
        if asked.share:
            return float(value * one.scale / asked.scale)
        return float(value * one.scale) if asked.scale == 1 and not asked.currencies else None
    return None if asked.share else float(value * one.scale / asked.scale)


def _finite(value: float) -> ForecastReading:
    if not (math.isfinite(value) and abs(value) < LARGEST):
        return ForecastReading("unreadable", note=f"the prediction is {value:g}; expected a finite number")
    return ForecastReading("answered", _rounded(value))


def _rounded(value: float) -> float:
    return 0.0 if abs(value) < SMALLEST else float(value)
