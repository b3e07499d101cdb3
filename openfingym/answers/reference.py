"""The answer to a question as data: its parts, what each may differ by, and what may be told of them beforehand."""

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
    """One thing that an answer says.

    Example:
        >>> Part("revenue", "number", 62.57, "million USD", decimals=2).scale
        1000000.0
    """

    name: str
    """What it is called, in the words of the question; public."""
    type: PartType
    """Public."""
    value: Value
    """A number in the asked unit; a date as ``2024-03-15``, ``2024-03``, ``2024``, ``2024-Q1`` or ``2024-H1``; a text;
    True or False."""
    unit: str | None = None
    """The unit that is asked for, in words: ``million USD``, ``%``, ``USD per ounce``, ``亿元``; public."""
    scale: float = 0.0
    """What one of the unit is in the basic unit, 1e6 for millions and 0.01 for %; 0 to read it from the unit."""
    decimals: int | None = None
    """Decimals that are asked for, of a number in its unit; None where the question states none. Public."""
    rule: Rule = "rounding"
    """What a number may differ by. ``rounding``: by rounding alone, to the asked decimals or, where none are asked, to
    those that it is written with; ``between``: from low to high, after rounding; ``within``: by at most the tolerance;
    ``widened``: from low - tolerance to high + tolerance; ``relative``: by less than the tolerance, a share of it, so
    that 0 is met by 0 alone; ``exact``: by nothing."""
    low: float | None = None
    high: float | None = None
    tolerance: float | None = None
    """In the asked unit, as low and high; of ``relative`` a share."""
    accept: tuple[Value, ...] = ()
    """Other values that are right: another spelling, a ticker, another definition; of a number each by its own
    rounding."""
    choices: tuple[str, ...] = ()
    """Of a text, what else could have been chosen, such as the other companies of an index: an answer that names one of
    them beside the right one, or in its place, is wrong. Hidden."""

    def __post_init__(self) -> None:
        _check(self)
        if self.type == "number" and not self.scale:
            object.__setattr__(self, "scale", float(unit_of(self.unit).scale))

    def public(self) -> dict[str, object]:
        """What may be told of it."""
        form = None if self.type != "date" else _form(str(self.value))
        told = {"name": self.name, "type": self.type, "unit": self.unit, "decimals": self.decimals, "form": form}
        return {key: value for key, value in told.items() if value is not None}

    def written(self) -> Value:
        """The right value as an answer states it: rounded as is asked."""
        if self.type != "number" or self.decimals is None:
            return self.value
        rounded = round(Decimal(repr(self.value)), self.decimals)
        return float(rounded) if self.decimals else int(rounded)


@dataclass(frozen=True)
class Reference:
    """The answer to one question. All of its parts must be right, or all rows there and none besides."""

    parts: tuple[Part, ...] = ()
    """Of an answer that is no table."""
    rows: tuple[tuple[Part, ...], ...] = ()
    """Of a table or a list: each row has the same parts."""
    ordered: bool = False
    """Whether the order of rows counts."""
    group: tuple[str, ...] = ()
    """Under which averages are taken, the outermost first, such as ``("global", "T1")``."""
    text: str = ""
    """The answer in words, as it was published; for a judge."""
    criteria: str = ""
    """How it is to be scored, as it was published; for a judge."""

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
        """The parts of the answer, or those of its first row."""
        return self.rows[0] if self.rows else self.parts

    def schema(self) -> dict[str, Any]:
        """What may be told of it beforehand: names, types, units, decimals, whether it is a table; no values, and not
        how many rows there are.
        """
        return {
            "parts": [part.public() for part in self.columns],
            "table": bool(self.rows),
            "ordered": self.ordered,
        }

    def answer(self) -> str:
        """A right answer: of one part its value, of more a JSON object, of a table a JSON list of objects."""
        if self.rows:
            single = len(self.columns) == 1
            return json.dumps([row[0].written() if single else _object(row) for row in self.rows], ensure_ascii=False)
        if len(self.parts) == 1:
            value = self.parts[0].written()
            return ("yes" if value else "no") if isinstance(value, bool) else str(value)
        return json.dumps(_object(self.parts), ensure_ascii=False) if self.parts else self.text

    def to_json(self) -> str:
        """One line of JSON without what is at its default; columns of a table are stated once."""
        found: dict[str, Any] = {name: list(getattr(self, name)) for name in ("group",) if getattr(self, name)}
        found |= {name: getattr(self, name) for name in ("ordered", "text", "criteria") if getattr(self, name)}
        if self.parts:
            found["parts"] = [_stated(part) for part in self.parts]
        if self.rows:
            shared = [_shared([row[column] for row in self.rows]) for column in range(len(self.rows[0]))]
            found["columns"] = shared
            found["rows"] = [
                [_cell(_stated(part), common) for part, common in zip(row, shared, strict=True)] for row in self.rows
            ]
        return json.dumps(found, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Reference:
        """What :meth:`to_json` wrote.

        Raises:
            UsageError: it is no reference.
        """
        try:
            found = json.loads(text)
            columns = found.pop("columns", [])
            rows = tuple(
                tuple(_part({**common, **_cell_keys(cell)}) for cell, common in zip(row, columns, strict=True))
                for row in found.pop("rows", [])
            )
            parts = tuple(map(_part, found.pop("parts", [])))
            return cls(parts, rows, group=tuple(found.pop("group", [])), **found)
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise UsageError(f"this is no reference: {error}") from error


def expected(schema: Mapping[str, Any], language: str = "en") -> str:
    """What an agent is told of the form of an answer.

    Args:
        schema: what :meth:`Reference.schema` gave.
        language: ``en`` or ``zh``.
    """
    parts, chinese = schema["parts"], language == "zh"
    if not parts:
        return "简短的最终答案" if chinese else "the final answer, short, without a report"
    if len(parts) == 1 and not schema["table"]:
        return _value_words(parts[0], chinese) + ("；只写答案本身" if chinese else "; the answer alone")
    listed = (", " if not chinese else "，").join(f'"{part["name"]}": {_value_words(part, chinese)}' for part in parts)
    if len(parts) == 1:
        listed = f"{_value_words(parts[0], chinese)}"
    if not schema["table"]:
        return ("一个 JSON 对象：{" if chinese else "a JSON object: {") + listed + "}"
    shape = f"[{listed}, ...]" if len(parts) == 1 else f"[{{{listed}}}, ...]"
    if chinese:
        order = "，按题目要求的顺序" if schema["ordered"] else ""
        return f"一个 JSON 列表，每行一项{order}，不多不少：{shape}"
    order = ", in the order that is asked for" if schema["ordered"] else ""
    return f"a JSON list, one item a row, all rows and no others{order}: {shape}"


def _form(date: str) -> str:
    """How a date is written, such as ``YYYY-MM``."""
    if len(date) == len("YYYY"):
        return "YYYY"
    if len(date) == len("YYYY-MM-DD"):
        return "YYYY-MM-DD"
    return f"YYYY-{date[5]}1" if date[5] in "QH" else "YYYY-MM"


def _value_words(part: Mapping[str, Any], chinese: bool) -> str:
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


def _unlike(kind: str, value: object) -> str:
    """What is wrong with a value, empty where nothing is."""
    if kind == "yes_no":
        return "" if isinstance(value, bool) else "neither True nor False"
    if kind == "number":
        sound = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        return "" if sound else "no finite number"
    if not isinstance(value, str) or not value.strip():
        return "no text"
    return "" if kind == "text" or _DATE.fullmatch(value) else "no date such as 2024-03-15, 2024-03, 2024 or 2024-Q1"


def _object(parts: Sequence[Part]) -> dict[str, Value]:
    return {part.name: part.written() for part in parts}


_DEFAULTS = {field.name: field.default for field in fields(Part)}


def _stated(part: Part) -> dict[str, Any]:
    """What is not at its default; lists in place of tuples."""
    found = {name: getattr(part, name) for name in _DEFAULTS if getattr(part, name) != _DEFAULTS[name]}
    found["value"] = part.value
    if part.type != "number" or part.scale == float(unit_of(part.unit).scale):
        found.pop("scale", None)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def _part(found: Mapping[str, Any]) -> Part:
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}
    return Part(**given)


def _shared(column: Sequence[Part]) -> dict[str, Any]:
    """What all cells of a column have alike, their values aside."""
    every = [_stated(part) for part in column]
    return {key: value for key, value in every[0].items() if key != "value" and all(o.get(key) == value for o in every)}


def _cell(stated: Mapping[str, Any], common: Mapping[str, Any]) -> object:
    own = {key: value for key, value in stated.items() if key not in common}
    return own["value"] if own.keys() == {"value"} else own


def _cell_keys(cell: object) -> Mapping[str, Any]:
    return cell if isinstance(cell, dict) else {"value": cell}
