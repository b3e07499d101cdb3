"""The right answer to a question as data: its parts, how far an answer may differ from them, and what is public."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Literal, get_args

from openfingym.answers.units import unit_of
from openfingym.errors import UsageError

PartType = Literal["number", "date", "text", "yes_no"]
Rule = Literal["rounding", "between", "within", "widened", "relative", "exact"]
Value = float | str | bool
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?|-Q[1-4]|-H[12])?")
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "between": ("low", "high"),
    "within": ("tolerance",),
    "relative": ("tolerance",),
    "widened": ("low", "high", "tolerance"),
}


@dataclass(frozen=True)
class Part:
    """One value that an answer must state.

    Example:
        >>> Part("revenue", "number", 62.57, "million USD", decimals=2).scale
        1000000.0
    """

    name: str
    """The name of the value, in the words of the question; public."""
    type: PartType
    """Whether the value is a number, a date, a text, or yes or no; public."""
    value: Value
    """The right value: a number in the asked unit; a date as ``2024-03-15``, ``2024-03``, ``2024``, ``2024-Q1`` or
    ``2024-H1``; a text; True for yes, False for no."""
    unit: str | None = None
    """The unit that is asked for, in words: ``million USD``, ``%``, ``USD per ounce``, ``亿元``; public."""
    scale: float = 0.0
    """How many of the basic unit one of the asked unit is, 1e6 for millions and 0.01 for %; 0 to read it from
    ``unit``."""
    decimals: int | None = None
    """How many decimals are asked for, of a number in its unit; None if the question states none. Public."""
    places: int | None = None
    """How many decimals the value was published with, where they are more than its digits show: 2 for 62.50, whose
    zero counts. None if the value has all its decimals."""
    rule: Rule = "rounding"
    """How far a number may differ from the value. ``rounding``: by rounding alone, to the asked decimals or, if none
    are asked for, to those with which it is written; ``between``: it lies from ``low`` to ``high``, after rounding;
    ``within``: by at most ``tolerance``; ``widened``: it lies from ``low - tolerance`` to ``high + tolerance``;
    ``relative``: by less than the share ``tolerance`` of the value, so that 0 is met by 0 alone; ``exact``: not at
    all."""
    low: float | None = None
    """The lower end of the range that the rules ``between`` and ``widened`` accept, in the asked unit."""
    high: float | None = None
    """The upper end of the range that the rules ``between`` and ``widened`` accept, in the asked unit."""
    tolerance: float | None = None
    """How far a number may differ by the rules ``within`` and ``widened``, in the asked unit; by the rule ``relative``,
    as a share of the value."""
    accept: tuple[Value, ...] = ()
    """Other values that are right: another spelling, a ticker, another definition. Numbers among them are compared by
    the rule ``rounding``, whatever the rule of the part is."""
    choices: tuple[str, ...] = ()
    """For a text, what else could have been chosen, such as the other companies of an index: an answer that names one
    of them beside the right one, or in its place, is wrong. Hidden from agents."""

    def __post_init__(self) -> None:
        _check(self)
        if self.type == "number" and not self.scale:
            object.__setattr__(self, "scale", float(unit_of(self.unit).scale))

    def public(self) -> dict[str, object]:
        """What an agent may know of the part before it answers; never its value."""
        form = None if self.type != "date" else _form(str(self.value))
        disclosed = {"name": self.name, "type": self.type, "unit": self.unit, "decimals": self.decimals, "form": form}
        return {key: value for key, value in disclosed.items() if value is not None}

    def written(self) -> Value:
        """The right value as an answer states it: rounded to the asked decimals."""
        if self.type != "number" or self.decimals is None:
            return self.value
        # Rounded as it is written in decimals: the nearest float64 of 2.675 is below 2.675, and would be rounded down.
        rounded = round(Decimal(repr(self.value)), self.decimals)
        return float(rounded) if self.decimals else int(rounded)


@dataclass(frozen=True)
class Reference:
    """The right answer to one question: an answer must state all its parts, or all its rows and no others."""

    parts: tuple[Part, ...] = ()
    """The parts of an answer that is not a table; empty for a table."""
    rows: tuple[tuple[Part, ...], ...] = ()
    """The rows of an answer that is a table or a list, each with parts of the same names; empty otherwise."""
    ordered: bool = False
    """Whether the rows must be stated in this order."""
    group: tuple[str, ...] = ()
    """The nested groups in which the question is averaged, the outermost first, such as ``("global", "T1")``."""
    text: str = ""
    """The right answer in words, as it was published; for a judge."""
    criteria: str = ""
    """The published instructions for scoring an answer; for a judge."""

    def __post_init__(self) -> None:
        if self.parts and self.rows:
            raise UsageError("a reference has parts or rows; found both")
        if not (self.parts or self.rows or self.text):
            raise UsageError("a reference is empty; expected parts, rows, or a text for a judge")
        names = [[part.name for part in row] for row in (self.parts, *self.rows)]
        if any(len(set(row)) != len(row) for row in names):
            raise UsageError("two parts of a reference have one name")
        if any(row != names[1] for row in names[1:]):
            raise UsageError("the rows of a reference have different parts; expected the same names in each")

    @property
    def columns(self) -> tuple[Part, ...]:
        """The parts of the answer, or those of its first row if it is a table."""
        return self.rows[0] if self.rows else self.parts

    def schema(self) -> dict[str, Any]:
        """What an agent may know of the answer beforehand: names, types, units and decimals of its parts, whether it is
        a table, and whether the order of rows counts; no values, and not how many rows there are.
        """
        return {
            "parts": [part.public() for part in self.columns],
            "table": bool(self.rows),
            "ordered": self.ordered,
        }

    def answer(self) -> str:
        """A right answer as text: the value of one part, a JSON object of several parts, or a JSON list of rows."""
        if self.rows:
            single = len(self.columns) == 1
            return json.dumps([row[0].written() if single else _object(row) for row in self.rows], ensure_ascii=False)
        if len(self.parts) == 1:
            value = self.parts[0].written()
            return ("yes" if value else "no") if isinstance(value, bool) else str(value)
        return json.dumps(_object(self.parts), ensure_ascii=False) if self.parts else self.text

    def to_json(self) -> str:
        """The reference as one line of JSON, from which fields at their defaults are left out.

        What all cells of a column have in common is stated once, under ``columns``: a reference has to fit into one row
        of packed numbers.
        """
        document: dict[str, Any] = {"group": list(self.group)} if self.group else {}
        document |= {name: getattr(self, name) for name in ("ordered", "text", "criteria") if getattr(self, name)}
        if self.parts:
            document["parts"] = [_stated(part) for part in self.parts]
        if self.rows:
            shared = [_shared([row[column] for row in self.rows]) for column in range(len(self.rows[0]))]
            document["columns"] = shared
            document["rows"] = [
                [_cell(_stated(part), common) for part, common in zip(row, shared, strict=True)] for row in self.rows
            ]
        return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Reference:
        """The reference that :meth:`to_json` wrote as ``text``.

        Raises:
            UsageError: the text is not a reference.
        """
        try:
            document = json.loads(text)
            columns = document.pop("columns", [])
            rows = tuple(
                tuple(_part({**common, **_cell_keys(cell)}) for cell, common in zip(row, columns, strict=True))
                for row in document.pop("rows", [])
            )
            parts = tuple(map(_part, document.pop("parts", [])))
            # Everything known has been taken out: a key that is left is a field of the class, or raises TypeError.
            return cls(parts, rows, group=tuple(document.pop("group", [])), **document)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise UsageError(f"this is no reference: {error}") from error


def expected(schema: Mapping[str, Any], language: str = "en") -> str:
    """The words in which an agent is told the form of the answer that is expected.

    Args:
        schema: the public schema of the right answer, from :meth:`Reference.schema`.
        language: language of the words: ``en`` for English, ``zh`` for Chinese.
    """
    parts, chinese = schema["parts"], language == "zh"
    if not parts:
        return "简短的最终答案" if chinese else "the final answer, short, without a report"
    if len(parts) == 1 and not schema["table"]:
        return _value_words(parts[0], chinese) + ("；只写答案本身" if chinese else "; the answer alone")
    listed = (", " if not chinese else "，").join(f'"{part["name"]}": {_value_words(part, chinese)}' for part in parts)
    if len(parts) == 1:
        listed = _value_words(parts[0], chinese)
    if not schema["table"]:
        return ("一个 JSON 对象：{" if chinese else "a JSON object: {") + listed + "}"
    shape = f"[{listed}, ...]" if len(parts) == 1 else f"[{{{listed}}}, ...]"
    if chinese:
        order = "，按题目要求的顺序" if schema["ordered"] else ""
        return f"一个 JSON 列表，每行一项{order}，不多不少：{shape}"
    order = ", in the order that is asked for" if schema["ordered"] else ""
    return f"a JSON list, one item a row, all rows and no others{order}: {shape}"


def _form(date: str) -> str:
    """The form in which a date is written, such as ``YYYY-MM``."""
    if len(date) == len("YYYY"):
        return "YYYY"
    if len(date) == len("YYYY-MM-DD"):
        return "YYYY-MM-DD"
    # The form of a quarter or a half year is always shown as Q1 or H1: the right number would be a hint.
    return f"YYYY-{date[5]}1" if date[5] in "QH" else "YYYY-MM"


def _value_words(part: Mapping[str, Any], chinese: bool) -> str:
    """What the value of a part is to look like, in words of either language."""
    unit, decimals = part.get("unit"), part.get("decimals")
    if part["type"] == "number":
        if chinese:
            digits = "" if decimals is None else "，取整数" if decimals == 0 else f"，保留 {decimals} 位小数"
            return ("数字" if unit is None else f"数字（单位：{unit}）") + digits
        digits = "" if decimals is None else ", a whole number" if decimals == 0 else f", {decimals} decimals"
        return ("a number" if unit is None else f"a number in {unit}") + digits
    words = {
        "date": (f"a date as {part.get('form')}", f"日期（{part.get('form')}）"),
        "text": ("a name or a few words", "名称或简短文字"),
        "yes_no": ("yes or no", "是或否"),
    }
    return words[part["type"]][chinese]


def _check(part: Part) -> None:
    """Raise a UsageError unless the part is sound and complete, with what is wrong with it."""
    where = f"the part {part.name!r}"
    if not part.name.strip():
        raise UsageError("a part of a reference has no name")
    if part.type not in get_args(PartType) or part.rule not in get_args(Rule):
        raise UsageError(f"{where} has type {part.type!r} and rule {part.rule!r}; expected one of "
                         f"{', '.join(get_args(PartType))} and of {', '.join(get_args(Rule))}")  # fmt: skip
    for value in (part.value, *part.accept):
        if problem := _unlike(part.type, value):
            raise UsageError(f"{where}: its value {value!r} is {problem}")
    bounds = {name: getattr(part, name) for name in ("low", "high", "tolerance")}
    if part.type == "number":
        lacking = [name for name in _NEEDS.get(part.rule, ()) if bounds[name] is None]
        if lacking:
            raise UsageError(f"{where}: the rule {part.rule!r} needs {' and '.join(lacking)}")
    if any(bound is not None and not math.isfinite(bound) for bound in bounds.values()):
        raise UsageError(f"{where}: low, high and tolerance must be finite, found {bounds}")
    if part.low is not None and part.high is not None and part.low > part.high:
        raise UsageError(f"{where}: low {part.low} is above high {part.high}")
    if (part.tolerance is not None and part.tolerance < 0) or part.scale < 0 or not math.isfinite(part.scale):
        raise UsageError(f"{where}: tolerance and scale must not be negative")
    if part.decimals is not None and not 0 <= part.decimals <= 12:
        raise UsageError(f"{where}: {part.decimals} decimals; expected 0 to 12")
    if part.places is not None and not 0 <= part.places <= 12:
        raise UsageError(f"{where}: published with {part.places} decimals; expected 0 to 12")


def _unlike(kind: str, value: object) -> str:
    """What is wrong with a value for a part of this type; empty if nothing is."""
    if kind == "yes_no":
        return "" if isinstance(value, bool) else "neither True nor False"
    if kind == "number":
        # True and False are integers in Python.
        sound = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return "" if sound else "no finite number"
    if not isinstance(value, str) or not value.strip():
        return "no text"
    return "" if kind == "text" or _DATE.fullmatch(value) else "no date such as 2024-03-15, 2024-03, 2024 or 2024-Q1"


def _object(parts: Sequence[Part]) -> dict[str, Value]:
    return {part.name: part.written() for part in parts}


_DEFAULTS = {field.name: field.default for field in fields(Part)}


def _stated(part: Part) -> dict[str, Any]:
    """The fields of a part that differ from their defaults, as JSON values."""
    stated = {name: getattr(part, name) for name in _DEFAULTS if getattr(part, name) != _DEFAULTS[name]}
    # A scale that was read from the unit is read from it again.
    if part.scale == float(unit_of(part.unit).scale):
        stated.pop("scale", None)
    return stated


def _part(stated: Mapping[str, Any]) -> Part:
    """The part of which these fields were stated."""
    keywords: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in stated.items()
    }
    return Part(**keywords)


def _shared(column: Sequence[Part]) -> dict[str, Any]:
    """The fields that are the same in all cells of a column; the value is never among them."""
    cells = [_stated(part) for part in column]
    return {
        key: value
        for key, value in cells[0].items()
        if key != "value" and all(cell.get(key) == value for cell in cells)
    }


def _cell(stated: Mapping[str, Any], common: Mapping[str, Any]) -> object:
    """A cell as JSON: its value alone if it has no other field of its own, else an object of its own fields."""
    own = {key: value for key, value in stated.items() if key not in common}
    return own["value"] if own.keys() == {"value"} else own


def _cell_keys(cell: object) -> Mapping[str, Any]:
    """The fields that :func:`_cell` wrote."""
    return cell if isinstance(cell, dict) else {"value": cell}
