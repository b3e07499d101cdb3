"""Definitions of series for tests, as the text of a TOML file."""

from __future__ import annotations

RAIN = """generator = "simulated"
category = "events"
market = "US"
horizons_days = [7]
events = ["Does it rain"]
"""
"""Keys of a source that asks one question a round."""


def definition(
    name: str,
    *,
    title: str = "A test (SIMULATED)",
    clock: str = "simulated",
    timezone: str = "Asia/Singapore",
    start: str = "2026-10-28T00:00:00Z",
    more: str = "",
    generate: str = "Thursday 08:00",
    deadline: str = "Sunday 23:59",
    schedule: str = "",
    source: str = RAIN,
) -> str:
    """The definition of a series with one source.

    Args:
        name: name of the series.
        title: title of the series.
        clock: ``real``, ``simulated`` or ``replayed``.
        timezone: zone of the schedule.
        start: the moment before which no round is generated.
        more: other keys of the series, as lines.
        generate: when a round is generated.
        deadline: when a round takes no more answers.
        schedule: other keys of the schedule, as lines.
        source: keys of the source, as lines.
    """
    return f"""
name = "{name}"
title = "{title}"
clock = "{clock}"
timezone = "{timezone}"
start = {start}
{more}
[schedule]
generate = "{generate}"
deadline = "{deadline}"
resolve = "Monday 09:00"
publish = "Monday 12:00"
{schedule}
[[sources]]
{source}"""
