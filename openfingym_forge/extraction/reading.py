"""Reading a model's answer to ``extract``: each claim is checked against the paper's text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from openfingym_forge.blueprint import Quotation, QuotedFigure, Stated, Value
from openfingym_forge.extraction.support import numbers_in, supported
from openfingym_forge.prompts import AnswerError
from openfingym_forge.quoting import QuotedText
from openfingym_forge.vocabulary import FORMS, problem_of

PARTS = ("formula", "direction", "unit", "weight")
"""Parts of a metric that a paper may state."""
# Words that a quotation for a direction has to have, in lower case.
_DIRECTION = {
    "lower": r"lower|small|less|low|minim|min\b|↓|fewer|loss|error|zero|smaller",
    "higher": r"high|great|larg|more|maxim|max\b|↑|big|best.*one|near.*one",
}


@dataclass
class FoundMetric:
    """What a paper states of one metric."""

    name: str
    """Name by which the paper calls the metric."""
    parts: dict[str, Stated] = field(default_factory=dict)
    """The stated ones of :data:`PARTS`, by name."""
    figures: list[QuotedFigure] = field(default_factory=list)
    """The paper's own results by the metric."""


@dataclass
class Readings:
    """The claims of an answer that the paper bears out, and what is wrong with the others."""

    fields: dict[str, list[Stated]] = field(default_factory=dict)
    """Every value that the paper states for a field, by the name of the field."""
    metrics: list[FoundMetric] = field(default_factory=list)
    baselines: list[Stated] = field(default_factory=list)
    """Names of the methods that the paper compares with."""
    problems: list[str] = field(default_factory=list)
    """Complaints about the other claims, for the model."""

    def add(self, other: Readings) -> None:
        """Add what another part of the paper states."""
        # Readings of one field may differ between parts, which makes a contradiction; the rest is merged by name.
        for name, stated in other.fields.items():
            self.fields.setdefault(name, []).extend(stated)
        known = {metric.name.lower(): metric for metric in self.metrics}
        for metric in other.metrics:
            mine = known.get(metric.name.lower())
            if mine is None:
                self.metrics.append(metric)
                continue
            mine.parts = metric.parts | mine.parts
            mine.figures += metric.figures
        names = {str(stated.value).lower() for stated in self.baselines}
        self.baselines += [stated for stated in other.baselines if str(stated.value).lower() not in names]
        self.problems += other.problems


def read(answer: object, text: QuotedText) -> Readings:
    """The claims of an answer that the paper bears out, and what is wrong with the rest.

    Args:
        answer: the JSON value of the answer.
        text: text of the paper.

    Raises:
        AnswerError: the answer as a whole has not the form that was asked for.
    """
    if not isinstance(answer, Mapping) or not isinstance(answer.get("fields"), Mapping):
        raise AnswerError('expected one JSON object with "fields", "metrics" and "baselines"')
    readings = Readings()
    for name, claims in answer["fields"].items():
        _read_field(str(name), claims, text, readings)
    for number, claims in enumerate(_list(answer, "metrics"), 1):
        _read_metric(f"metrics[{number}]", claims, text, readings)
    for number, claim in enumerate(_list(answer, "baselines"), 1):
        stated = _stated("baseline", claim, text, f"baselines[{number}]", readings)
        if stated is not None and isinstance(stated.value, str):
            readings.baselines.append(stated)
    return readings


def _list(answer: Mapping[object, object], key: str) -> list[object]:
    values = answer.get(key, [])
    if not isinstance(values, list):
        raise AnswerError(f'"{key}" must be a list')
    return values


def _read_field(name: str, claims: object, text: QuotedText, readings: Readings) -> None:
    """Add what an answer says of one field."""
    if name not in FORMS:
        readings.problems.append(f"{name}: no such field was asked for; leave it out")
        return
    listed = claims.get("readings") if isinstance(claims, Mapping) else None
    if not isinstance(listed, list):
        readings.problems.append(f'{name}: expected {{"readings": [{{"value": ..., "quote": ...}}]}}')
        return
    for number, claim in enumerate(listed, 1):
        stated = _stated(name, claim, text, f"{name} reading {number}", readings)
        if stated is not None:
            readings.fields.setdefault(name, []).append(stated)


def _read_metric(place: str, claims: object, text: QuotedText, readings: Readings) -> None:
    """Add what an answer says of one metric; a part that does not hold is left out, and the metric stays."""
    name = claims.get("name") if isinstance(claims, Mapping) else None
    if not isinstance(claims, Mapping) or not isinstance(name, str) or not name.strip():
        readings.problems.append(f"{place}: expected an object with a name")
        return
    metric = FoundMetric(name.strip())
    for part in PARTS:
        if claims.get(part) is not None:
            stated = _stated(part, claims[part], text, f"{place}.{part}", readings)
            if stated is not None:
                metric.parts[part] = stated
    figures = claims.get("figures", [])
    for number, claim in enumerate(figures if isinstance(figures, list) else [], 1):
        stated = _stated("figure", claim, text, f"{place}.figures[{number}]", readings)
        baseline = claim.get("baseline") if isinstance(claim, Mapping) else None
        if stated is not None and isinstance(baseline, str) and isinstance(stated.value, int | float):
            metric.figures.append(
                QuotedFigure(baseline=baseline, value=float(stated.value), quotation=stated.quotations[0])
            )
    readings.metrics.append(metric)


def _stated(name: str, claim: object, text: QuotedText, place: str, readings: Readings) -> Stated | None:
    """A claim with its quotation; None where it does not hold, which is added to the problems.

    Args:
        name: name of the field, or of the part of a metric, that the claim is about.
        claim: the claim, as JSON has it.
        text: text of the paper.
        place: where in the answer the claim stands, for the complaint.
        readings: what was read so far, to whose problems the complaint is added.
    """
    quote = claim.get("quote") if isinstance(claim, Mapping) else None
    if not isinstance(claim, Mapping) or not isinstance(quote, str) or "value" not in claim:
        readings.problems.append(f'{place}: expected {{"value": ..., "quote": "words of the text"}}')
        return None
    # First the value by itself, then whether the paper has the words, then whether the words say the value.
    value = _typed(name, claim["value"])
    problem = _wrong(name, value)
    if problem:
        readings.problems.append(f"{place}: {problem}")
        return None
    quotation = text.find(quote)
    if quotation is None:
        readings.problems.append(f"{place}: the quote {quote[:120]!r} is not in the paper's text; copy it word by word")
        return None
    if not _says(name, value, quotation):
        readings.problems.append(f"{place}: unsupported: the quote {quote[:120]!r} does not say {claim['value']!r}")
        return None
    return Stated(value=value, quotations=[quotation])


def _typed(name: str, value: object) -> Value:
    """A JSON value as the type of its field: JSON has no dates, and writes whole numbers as 5.0. What cannot be of that
    type stays as it is, to be complained about.
    """
    form = FORMS.get(name)
    if form is not None and form.type == "date" and isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return value
    if isinstance(value, float) and value.is_integer() and form is not None and form.type == "count":
        return int(value)
    if isinstance(value, list):
        return [each if isinstance(each, bool | int | float | str) else str(each) for each in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _wrong(name: str, value: Value) -> str:
    """What is wrong with a value by itself; empty for nothing."""
    if value is None:
        return "no value; leave it out where the paper does not state it"
    if name == "direction" and value not in _DIRECTION:
        return f"found {value!r}, expected lower or higher"
    if name == "weight" and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1):
        return f"found {value!r}, expected a share above 0, at most 1"
    if name == "figure" and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"found {value!r}, expected a number"
    if name in {"formula", "unit", "baseline"} and not isinstance(value, str):
        return f"found {value!r}, expected a text"
    return problem_of(name, value) if name in FORMS else ""


def _says(name: str, value: Value, quotation: Quotation) -> bool:
    """Whether a quotation says the value that it stands for."""
    quote = quotation.quote
    if name == "direction":
        return re.search(_DIRECTION[str(value)], quote.lower()) is not None
    if name == "figure":
        return float(str(value)) in numbers_in(quote)
    # A paper that weighs its metrics equally says so in words, and gives no share.
    if name == "weight":
        equal = re.search(r"equal|same|averag|mean|each|alike|only|sole|single|sum|alone", quote.lower())
        return equal is not None or supported("split.train", value, quote)
    return name not in FORMS or supported(name, value, quote)
