"""A time on the command line, such as ``60s`` or ``5m``."""

from __future__ import annotations

import re

import click

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
"""Seconds of each unit, by its letter."""


class Seconds(click.ParamType[int]):
    """Whole seconds, as a number with or without a unit."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See :class:`click.ParamType`."""
        # Click converts defaults too, which are seconds already.
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"([1-9][0-9]{0,6})([smh]?)", str(value))
        if match is None:
            self.fail(
                f"{value!r} is no time; expected whole seconds, minutes or hours, such as 60s, 5m or 1h", param, ctx
            )
        return int(match[1]) * UNITS[match[2]]
