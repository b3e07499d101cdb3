"""A plugin that says which files and tests take most processor time: ``python -m pytest -p tests.cost -n 2 tests/...``.

Wall time says little where processes share cores. What a test costs is the time of its process, of every process below
it and of those that have ended there, its fixtures included; a fixture that several tests share is the first one's.
What is no descendant, such as a container, is not seen. Linux only.

Cases of more than 0.5 s belong in ``slow.txt`` (see :mod:`tests.sweeps`); those of other functions are named.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests import sweeps

PROPERTY = "processor seconds"
MOST = 30
SLOW_S = 0.5
_before: dict[str, float] = {}
_spent: Counter[str] = Counter()
_slowest: dict[str, float] = {}
"""Seconds of the slowest case of each function."""


def processor_seconds() -> float:
    """Seconds that this process and all below it have taken so far."""
    parents: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(stat.parent.name)
        parents.setdefault(int(fields[1]), []).append(pid)
        ticks[pid] = sum(map(int, fields[11:15]))
    total, waiting = 0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        total += ticks.get(pid, 0)
        waiting += parents.get(pid, [])
    return total / os.sysconf("SC_CLK_TCK")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid: str) -> None:
    """Remember what was spent before a test, in the process that runs it."""
    _before[nodeid] = processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Send what a test took with its last report, which goes to the process that sums up."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append((PROPERTY, processor_seconds() - _before.pop(item.nodeid)))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add a test to its file and function."""
    for name, value in report.user_properties:
        if name == PROPERTY and report.when == "teardown":
            seconds, function = float(value), report.nodeid.partition("[")[0]  # type: ignore[arg-type]  # as appended
            for part in {report.nodeid.partition("::")[0], function}:
                _spent[part] += seconds
            _slowest[function] = max(_slowest.get(function, 0.0), seconds)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what took most."""
    files = Counter({name: spent for name, spent in _spent.items() if "::" not in name})
    terminalreporter.section(f"processor time: {files.total():.0f} s in tests")
    for sort in (files, _spent - files):
        for name, spent in sort.most_common(MOST):
            terminalreporter.write_line(f"{spent:8.1f} s  {name}")
        terminalreporter.write_line("")
    known = sweeps.slow()
    for function, slowest in sorted(_slowest.items(), key=lambda one: -one[1]):
        if slowest > SLOW_S and not sweeps.is_slow(function, known):
            terminalreporter.write_line(f"{slowest:8.1f} s  {function} is slow, and not in slow.txt")
