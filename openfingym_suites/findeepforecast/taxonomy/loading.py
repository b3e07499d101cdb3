"""Reading the taxonomies from the package's tables, looking things up in them, and adding groundings."""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from importlib import resources
from pathlib import Path
from typing import get_args

import msgspec

from openfingym.errors import DataError, UsageError
from openfingym_suites.findeepforecast.taxonomy.entries import (
    CompanyMetric,
    CorporateEventType,
    Grounding,
    MacroEventType,
    MacroIndicator,
    SeriesEntry,
    UnitClass,
)
from openfingym_suites.findeepforecast.taxonomy.formulas import DAYS_A_QUARTER, Formula, Reported, read_formula

LEAST_TOLERANCE, MOST_TOLERANCE = 0.0, 0.5
"""Bounds between which every tolerance must be, as shares; another one is a mistake in a table."""


@dataclass(frozen=True)
class Provenance:
    """Where a version of the taxonomies is from."""

    version: str
    title: str
    valid_from: date
    """The first day on which it is valid."""
    provenance: Mapping[str, str]
    """Where each table is from, by its name."""
    missing: Mapping[str, str]
    """What the source lacks, by economy."""
    tolerances: str
    """Where the tolerances are from."""


@dataclass(frozen=True)
class Taxonomy:
    """Everything that is asked about.

    Attributes:
        about: its version, and where it is from.
        indicators: macro indicators by name.
        series: macro series by id, such as ``US:CPI``.
        metrics: metrics of companies by name, in the paper's order.
        inputs: items of reports by name, from which metrics are computed and which are not asked about.
        macro_events: types of macro events, level 1, by code.
        groundings: what types of macro events mean in economies, level 2, in every version.
        corporate_events: types of events of companies by number.
    """

    about: Provenance
    indicators: Mapping[str, MacroIndicator]
    series: Mapping[str, SeriesEntry]
    metrics: Mapping[str, CompanyMetric]
    inputs: Mapping[str, CompanyMetric]
    macro_events: Mapping[str, MacroEventType]
    groundings: Sequence[Grounding]
    corporate_events: Mapping[int, CorporateEventType]

    def metric(self, name: str) -> CompanyMetric:
        """A metric, or an input of metrics.

        Args:
            name: name of the metric in the paper.

        Raises:
            UsageError: there is none of that name.
        """
        metric = self.metrics.get(name) or self.inputs.get(name)
        if metric is None:
            raise UsageError(f"{name!r} is no metric of the taxonomy {self.about.version}; see its corporate_metrics")
        return metric

    def grounding(self, economy: str, code: str, on: date | None = None, *, event: str = "") -> Grounding | None:
        """What a subcategory means in an economy on a day.

        Args:
            economy: code of the economy, such as ``US``.
            code: code of the subcategory of level 1.
            on: the day; None for the version that begins last.
            event: name of a special event under the subcategory; empty for the subcategory itself.

        Returns:
            The grounding; None if the source has none of the economy, as of Hong Kong (:attr:`Provenance.missing`), or
            none was valid on that day.

        Raises:
            UsageError: there is no such code.
        """
        if code not in self.macro_events:
            raise UsageError(f"{code!r} is no code of level 1; there are {', '.join(self.macro_events)}")
        versions = [each for each in self.groundings if (each.economy, each.code, each.event) == (economy, code, event)]
        if on is not None:
            versions = [version for version in versions if version.valid(on)]
        return max(versions, key=lambda version: version.valid_from, default=None)

    def extended(self, groundings: Iterable[Grounding]) -> Taxonomy:
        """These taxonomies with more groundings: of another economy, of another event, or recalibrated ones.

        Level 1 stays as it is. A recalibrated grounding ends the one that was valid until then, on the day before.

        Args:
            groundings: the groundings to add, one after another.

        Raises:
            DataError: a code is not of level 1, or two groundings would be valid on one day.
        """
        every = list(self.groundings)
        for new in groundings:
            where = f"grounding {new.economy}/{new.code}, valid from {new.valid_from}"
            if new.code not in self.macro_events:
                raise DataError(f"{where}: level 1 has no {new.code!r}; it has {', '.join(self.macro_events)}")
            for place, old in enumerate(every):
                if (old.economy, old.code, old.event) != (new.economy, new.code, new.event) or not _overlap(old, new):
                    continue
                # Only one that is open-ended and began earlier can be ended by a later one.
                if old.valid_to is not None or old.valid_from >= new.valid_from:
                    raise DataError(f"{where}: another one is valid from {old.valid_from} to {old.valid_to or 'now'}")
                every[place] = replace(old, valid_to=date.fromordinal(new.valid_from.toordinal() - 1))
            every.append(new)
        return replace(self, groundings=tuple(every))

    def computed(self, name: str, reported: Reported, days: float = DAYS_A_QUARTER) -> float | None:
        """A metric's value: as it is reported, or else by its formula.

        Args:
            name: name of the metric.
            reported: gives figures as reported; see
                :data:`~openfingym_suites.findeepforecast.taxonomy.formulas.Reported`.
            days: days of the period.

        Returns:
            The value; None if it is neither reported nor can be computed.
        """

        def figure(item: str, back: int) -> float | None:
            value = reported(item, back)
            if value is not None:
                return value
            known = self.metrics.get(item)
            if known is None or known.formula is None:
                return None
            # Items of the formula may be metrics again, and those of a year ago be computed as of then.
            return known.formula.value(lambda inner, more: figure(inner, back + more), days)

        return figure(name, 0)


def _overlap(old: Grounding, new: Grounding) -> bool:
    """Whether both are valid on some day."""
    first, second = sorted((old, new), key=lambda each: each.valid_from)
    return first.valid_to is None or first.valid_to >= second.valid_from


@functools.cache
def read_taxonomy() -> Taxonomy:
    """The taxonomies of the paper, read once a process."""
    formulas = _formulas()
    indicators = {row["indicator"]: _indicator(row) for row in _rows("macro_indicators")}
    metrics = {row["metric"]: _metric(row, formulas) for row in _rows("corporate_metrics")}
    inputs = [
        CompanyMetric(
            row["item"], "Input", row["description"], _unit_class(row["unit_class"]), 0.05, "none is asked about it"
        )
        for row in _rows("corporate_inputs")
    ]
    # Groundings are added to the other tables below, so that the paper's are checked like anybody's.
    tables = Taxonomy(
        msgspec.json.decode(_file("taxonomy.json").read_bytes(), type=Provenance),
        indicators,
        {row["series_id"]: SeriesEntry(row["series_id"], indicators[row["indicator"]], row["economy"])
         for row in _rows("macro_series")},
        metrics,
        {item.name: item for item in inputs},
        {row["code"]: MacroEventType(row["code"], row["name"], row["category_code"], row["category"],
                                     row["description"]) for row in _rows("macro_events")},
        (),
        {int(row["no"]): CorporateEventType(int(row["no"]), row["category"], row["group"], row["event_type"],
                                            row["description"]) for row in _rows("corporate_event_types")},
    )  # fmt: skip
    _check(tables, formulas)
    return tables.extended(
        _groundings(_file("macro_event_groundings.json").read_bytes(), "macro_event_groundings.json")
    )


def read_groundings(path: str | Path) -> tuple[Grounding, ...]:
    """Groundings of your own, to extend the taxonomies by.

    Args:
        path: path of a JSON file: a list of objects with the attributes of :class:`Grounding`.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from error
    return _groundings(content, str(path))


def _groundings(content: bytes, where: str) -> tuple[Grounding, ...]:
    try:
        return msgspec.json.decode(content, type=tuple[Grounding, ...])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{where}: expected a list of groundings: {error}") from error


def _file(name: str) -> Path:
    return Path(str(resources.files(__package__))) / "data" / name


def _rows(name: str) -> list[dict[str, str]]:
    """The rows of a table of the package, by its name without the ending."""
    with _file(f"{name}.tsv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def _formulas() -> dict[str, Formula]:
    """The formulas of metrics, by the metric's name."""
    return {
        row["metric"]: read_formula(
            row["expression"],
            needs=[need for need in (row["needs"] or "").split(",") if need],
            assumed=row["assumed"] or "",
        )
        for row in _rows("corporate_formulas")
    }


def _unit_class(text: str) -> UnitClass:
    if text not in get_args(UnitClass):
        raise DataError(f"{text!r} is no class of units; expected one of {', '.join(get_args(UnitClass))}")
    return text  # type: ignore[return-value]  # it is one of them


def _metric(row: Mapping[str, str], formulas: Mapping[str, Formula]) -> CompanyMetric:
    return CompanyMetric(
        row["metric"],
        row["category"],
        row["description"],
        _unit_class(row["unit_class"]),
        float(row["epsilon_rel"]),
        row["epsilon_note"],
        int(row["no"]),
        formulas.get(row["metric"]),
    )


def _indicator(row: Mapping[str, str]) -> MacroIndicator:
    return MacroIndicator(
        int(row["no"]),
        row["indicator"],
        row["description"],
        tuple(row["economies"].split(",")),
        _unit_class(row["unit_class"]),
        float(row["epsilon_rel"]),
        row["epsilon_note"],
    )


def _check(tables: Taxonomy, formulas: Mapping[str, Formula]) -> None:
    """Refuse tables that do not fit each other.

    Raises:
        DataError: a formula is of unknown items, a derived metric has none, or a tolerance is out of bounds.
    """
    known = {*tables.metrics, *tables.inputs}
    for name, formula in formulas.items():
        unknown = [item for item in (*formula.items, *formula.needs) if item not in known]
        if name not in tables.metrics or unknown:
            raise DataError(f"corporate_formulas.tsv: {name!r} is of {unknown or 'no metric'}, which is unknown")
    for metric in tables.metrics.values():
        if metric.derived and metric.formula is None:
            raise DataError(f"corporate_formulas.tsv: no formula of {metric.name!r}, which no report states")
        if not LEAST_TOLERANCE < metric.tolerance < MOST_TOLERANCE:
            raise DataError(f"corporate_metrics.tsv: the tolerance of {metric.name!r} is {metric.tolerance}")
