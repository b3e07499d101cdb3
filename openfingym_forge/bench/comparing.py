"""Comparing a blueprint with the answer key: which fields are right, wrong, missing or assumed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from openfingym_forge.bench.key import KeyPaper
from openfingym_forge.blueprint import Blueprint

_LATER = frozenset({"kind", "dataset", "split.scaling"})
"""Fields that only stages behind ``extract`` fill in."""
_TOLERANCE = 0.006
"""Relative difference of two numbers that is rounding, as of a third and 0.333."""


@dataclass
class PaperMark:
    """What is right and wrong in one paper's blueprint."""

    paper: str
    """Name of the paper in the key."""
    right: list[str] = field(default_factory=list)
    """Fields that were quoted with the key's value."""
    assumed_right: list[str] = field(default_factory=list)
    """Fields that were assumed with the key's value."""
    wrong: dict[str, tuple[object, object]] = field(default_factory=dict)
    """The value found and the value expected of fields that were quoted with another value than the key's."""
    assumed: dict[str, tuple[object, object]] = field(default_factory=dict)
    """The value found and the value expected of fields that were assumed with another value than the key's."""
    missing: list[str] = field(default_factory=list)
    """Fields of the key that the blueprint lacks."""
    metrics_right: int = 0
    """Metrics of the key that were found with their direction and weight."""
    metrics_found: int = 0
    metrics_expected: int = 0
    figures_right: int = 0
    """Results of baselines in the key that were found."""
    figures_expected: int = 0
    baselines_right: int = 0
    """Baselines of the key that were found."""
    baselines_found: int = 0
    baselines_expected: int = 0
    contradictions_found: tuple[str, ...] = ()
    """Fields in which the blueprint has a contradiction."""
    contradictions_expected: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)
    """What is wrong with metrics, in words."""

    @property
    def precision(self) -> float | None:
        """Share of the quoted fields of the key that are right; None where none was quoted."""
        return len(self.right) / n if (n := len(self.right) + len(self.wrong)) else None

    @property
    def recall(self) -> float | None:
        """Share of the key's fields that are right, quoted or assumed; None where the key has none."""
        right = len(self.right) + len(self.assumed_right)
        return right / n if (n := right + len(self.wrong) + len(self.assumed) + len(self.missing)) else None


def compare(blueprint: Blueprint | None, key: KeyPaper, *, later: bool = False) -> PaperMark:
    """Compare a blueprint with the key.

    Args:
        blueprint: the blueprint that was made of the paper; None where none was.
        key: what should have been found in the paper.
        later: whether fields count that only stages behind ``extract`` fill in.
    """
    mark = PaperMark(key.name, contradictions_expected=key.contradictions)
    mark.metrics_expected, mark.baselines_expected = len(key.metrics), len(key.baselines)
    mark.figures_expected = sum(len(figures) for figures in key.figures.values())
    expected = {name: value for name, value in key.fields.items() if later or name not in _LATER}
    if blueprint is None:
        mark.missing = list(expected)
        return mark
    for name, value in expected.items():
        # Of a field in which the paper contradicts itself, no value is an answer as well.
        if name in key.contradictions and blueprint.value(name) is None:
            continue
        _mark_field(mark, blueprint, name, value)
    _mark_metrics(mark, blueprint, key)
    mark.contradictions_found = tuple(dict.fromkeys(each.field for each in blueprint.contradictions))
    names = {_bare(str(stated.value)) for stated in blueprint.baselines}
    mark.baselines_found = len(names)
    mark.baselines_right = sum(_bare(name) in names for name in key.baselines)
    return mark


def _mark_field(mark: PaperMark, blueprint: Blueprint, name: str, expected: object) -> None:
    stated = blueprint.fields.get(name)
    if stated is None:
        mark.missing.append(name)
    elif alike(stated.value, expected):
        (mark.assumed_right if stated.assumed else mark.right).append(name)
    else:
        (mark.assumed if stated.assumed else mark.wrong)[name] = (stated.value, expected)


def _mark_metrics(mark: PaperMark, blueprint: Blueprint, key: KeyPaper) -> None:
    by_name = {_bare(metric.name): metric for metric in blueprint.metrics}
    mark.metrics_found = len(by_name)
    for expected in key.metrics:
        # Also by its initials: a paper calls one metric "mean absolute error" and MAE.
        metric = by_name.get(_bare(str(expected["name"]))) or by_name.get(_initials(str(expected["name"])))
        if metric is None:
            mark.problems.append(f"metric {expected['name']} is missing")
            continue
        differing = [
            part
            for part in ("direction", "weight")
            if part in expected and not alike(getattr(metric, part).value, expected[part])
        ]
        if differing:
            mark.problems += [f"metric {metric.name}: {part} {getattr(metric, part).value}" for part in differing]
        else:
            mark.metrics_right += 1
        figures = {_bare(figure.baseline): figure.value for figure in metric.figures}
        wanted = {
            name: values[str(expected["name"])] for name, values in key.figures.items() if expected["name"] in values
        }
        mark.figures_right += sum(alike(figures.get(_bare(name)), value) for name, value in wanted.items())


def alike(found: object, expected: object) -> bool:
    """Whether two values are the same: numbers within rounding, texts by letters and digits, lists in any order."""
    # A bool is a number of Python: True would be 1.
    if isinstance(expected, bool) or isinstance(found, bool):
        return found is expected
    if isinstance(expected, int | float) and isinstance(found, int | float):
        return abs(found - expected) <= _TOLERANCE * max(abs(found), abs(expected))
    if isinstance(expected, list) and isinstance(found, list):
        return sorted(_bare(str(each)) for each in found) == sorted(_bare(str(each)) for each in expected)
    if isinstance(expected, str) and isinstance(found, str):
        return _bare(found) == _bare(expected)
    return found == expected


def _initials(text: str) -> str:
    return "".join(word[0] for word in text.lower().split())


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
