"""The trunk knows no suite by name: suites, their worlds, generators, reports, commands and stand-in answers are found
through entry points, as those of anybody's package are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from openfingym.plugins import own_packages
from openfingym.suites.registry import known_suites

ROOT = Path(__file__).resolve().parents[2]
TRUNK = ("openfingym", "openfingym_v1", "verifier/openfingym_verifier", "runtime/openfingym_runtime", "runtime/agent")
NAMED = re.compile(r"mirai|finsearch|findeepforecast|suites\.imported|openfingym_suites", re.IGNORECASE)
"""The concrete suites; ``imported`` is a common word, and only looked for as a module."""
CITED = re.compile(r"et al\. 20\d\d \(\w+\)")
"""A paper, by whose name its suite goes: a metric says where it is from."""


def trunk() -> Iterator[tuple[str, str]]:
    """Places and texts of the modules of the trunk."""
    for package in TRUNK:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def named(text: str) -> list[str]:
    """Lines that name a concrete suite, but for papers."""
    return [line.strip() for line in text.splitlines() if NAMED.search(CITED.sub("", line))]


def test_no_line_of_the_trunk_names_a_suite() -> None:
    assert [f"{place}: {line}" for place, text in trunk() for line in named(text)] == []


def test_the_suites_are_found_all_the_same() -> None:
    assert {"findeepforecast", "finsearch", "imported", "mirai"} <= set(known_suites())


def test_what_the_own_distribution_brings_is_its_own() -> None:
    assert {"openfingym", "openfingym_suites"} <= own_packages()
    assert "numpy" not in own_packages()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('suite = "mirai"', True),
        ("from openfingym_suites.imported import SUITE", True),
        ('"""As in FinSearchComp."""', True),
        ('source = "Ye et al. 2024 (MIRAI)"', False),
        ("imported = read()", False),
    ],
)
def test_a_name_is_found_and_a_paper_is_not(line: str, found: bool) -> None:
    assert bool(named(line)) is found
