"""A model's answer to ``extract``, checked claim by claim against the paper's text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from openfingym.forge.blueprint import Quotation, QuotedFigure, Stated, Value
from openfingym.forge.extraction.support import numbers_in, supported
from openfingym.forge.prompts import AnswerError
from openfingym.forge.quoting import QuotedText
from openfingym.forge.vocabulary import FORMS, problem_of

PARTS = ("formula", "direction", "unit", "weight")
_DIRECTION = {
    "lower": r"lower|small|less|low|minim|min\b|↓|fewer|loss|error|zero|smaller",
    "higher": r"high|great|larg|more|maxim|max\b|↑|big|best.*one|near.*one",
}


@dataclass
class FoundMetric:
    """What a paper says of one metric; parts that it does not say are missing."""

    name: str
    parts: dict[str, Stated] = field(default_factory=dict)
    figures: list[QuotedFigure] = field(default_factory=list)


@dataclass
class Readings:
    """Everything that was quoted, and what would not do."""

    fields: dict[str, list[Stated]] = field(default_factory=dict)
    metrics: list[FoundMetric] = field(default_factory=list)
    baselines: list[Stated] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, other: Readings) -> None:
        """Add what another part of the paper says."""
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
    """What an answer says that its quotations bear out, and what is wrong with the rest.

    Raises:
        AnswerError: it has not the form that was asked for.
    """
    if not isinstance(answer, Mapping) or not isinstance(answer.get("fields"), Mapping):
        raise AnswerError('expected one JSON object with "fields", "metrics" and "baselines"')
    found = Readings()
    for name, said in answer["fields"].items():
        _read_field(str(name), said, text, found)
    for number, said in enumerate(_list(answer, "metrics"), 1):
        _read_metric(f"metrics[{number}]", said, text, found)
    for number, said in enumerate(_list(answer, "baselines"), 1):
        stated = _stated("baseline", said, text, f"baselines[{number}]", found)
        if stated is not None and isinstance(stated.value, str):
            found.baselines.append(stated)
    return found


def _list(answer: Mapping[object, object], key: str) -> list[object]:
    said = answer.get(key, [])
    if not isinstance(said, list):
        raise AnswerError(f'"{key}" must be a list')
    return said


def _read_field(name: str, said: object, text: QuotedText, found: Readings) -> None:
    if name not in FORMS:
        found.problems.append(f"{name}: no such field was asked for; leave it out")
        return
    readings = said.get("readings") if isinstance(said, Mapping) else None
    if not isinstance(readings, list):
        found.problems.append(f'{name}: expected {{"readings": [{{"value": ..., "quote": ...}}]}}')
        return
    for number, one in enumerate(readings, 1):
        stated = _stated(name, one, text, f"{name} reading {number}", found)
        if stated is not None:
            found.fields.setdefault(name, []).append(stated)


def _read_metric(place: str, said: object, text: QuotedText, found: Readings) -> None:
    name = said.get("name") if isinstance(said, Mapping) else None
    if not isinstance(said, Mapping) or not isinstance(name, str) or not name.strip():
        found.problems.append(f"{place}: expected an object with a name")
        return
    metric = FoundMetric(name.strip())
    for part in PARTS:
        if said.get(part) is not None:
            stated = _stated(part, said[part], text, f"{place}.{part}", found)
            if stated is not None:
                metric.parts[part] = stated
    figures = said.get("figures", [])
    for number, one in enumerate(figures if isinstance(figures, list) else [], 1):
        stated = _stated("figure", one, text, f"{place}.figures[{number}]", found)
        baseline = one.get("baseline") if isinstance(one, Mapping) else None
        if stated is not None and isinstance(baseline, str) and isinstance(stated.value, int | float):
            metric.figures.append(
                QuotedFigure(baseline=baseline, value=float(stated.value), quotation=stated.quotations[0])
            )
    found.metrics.append(metric)


def _stated(name: str, said: object, text: QuotedText, place: str, found: Readings) -> Stated | None:
    """One claim with its quotation; None, and a complaint, where it does not hold."""
    quote = said.get("quote") if isinstance(said, Mapping) else None
    if not isinstance(said, Mapping) or not isinstance(quote, str) or "value" not in said:
        found.problems.append(f'{place}: expected {{"value": ..., "quote": "words of the text"}}')
        return None
    value = _typed(name, said["value"])
    problem = _wrong(name, value)
    if problem:
        found.problems.append(f"{place}: {problem}")
        return None
    quotation = text.find(quote)
    if quotation is None:
        found.problems.append(f"{place}: the quote {quote[:120]!r} is not in the paper's text; copy it word by word")
        return None
    if not _says(name, value, quotation):
        found.problems.append(f"{place}: unsupported: the quote {quote[:120]!r} does not say {said['value']!r}")
        return None
    return Stated(value=value, quotations=[quotation])


def _typed(name: str, value: object) -> Value:
    """A JSON value as the type of its field; left as it is where it cannot be."""
    form = FORMS.get(name)
    if form is not None and form.type == "date" and isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return value
    if isinstance(value, float) and value.is_integer() and form is not None and form.type == "count":
        return int(value)
    if isinstance(value, list):
        return [one if isinstance(one, bool | int | float | str) else str(one) for one in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _wrong(name: str, value: Value) -> str:
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
    quote = quotation.quote
    if name == "direction":
        return re.search(_DIRECTION[str(value)], quote.lower()) is not None
    if name == "figure":
        return float(str(value)) in numbers_in(quote)
    if name == "weight":
        equal = re.search(r"equal|same|averag|mean|each|alike|only|sole|single|sum|alone", quote.lower())
        return equal is not None or supported("split.train", value, quote)
    return name not in FORMS or supported(name, value, quote)
