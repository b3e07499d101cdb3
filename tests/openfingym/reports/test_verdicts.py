"""What reports conclude is right as often as they say: the short form of ``benchmarks/verdicts.py``."""

from __future__ import annotations

import math

import pytest

from openfingym.reports.statistics import POWER
from tests.openfingym.reports.verdict_designs import DESIGNS, measure, measure_own

REPORTS = 24
"""Reports a design: three standard errors of a share of 5 % are 13 points."""
WIDEST = 1.3
"""Median width of an interval over that of one who knows the variance."""


@pytest.mark.parametrize("name", DESIGNS)
def test_equal_models_are_seldom_told_apart_and_planted_differences_are_found(name: str) -> None:
    found = measure(DESIGNS[name], REPORTS)
    chance = 3.0 / math.sqrt(REPORTS)
    assert found.named <= 0.05 + chance * math.sqrt(0.05 * 0.95)
    assert found.covered >= 0.95 - chance * math.sqrt(0.05 * 0.95)
    # The oracle's own width is measured from as few reports.
    assert found.width <= WIDEST * 1.35
    assert found.found >= POWER - chance * math.sqrt(POWER * (1.0 - POWER))


def test_a_rows_own_interval_knows_how_tasks_of_one_series_go_together() -> None:
    covered, width = measure_own(DESIGNS["7 tasks of one series"], 80)
    apart = measure_own(DESIGNS["7 tasks of one series"], 80, paired=False)
    assert covered >= 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / 80)
    # Without what each window adds, errors are taken to go together wholly.
    assert width <= WIDEST < apart[1]
