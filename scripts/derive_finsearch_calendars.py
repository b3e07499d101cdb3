"""Write the exchange calendars of the simulated market from ``exchange-calendars``, once.

Run: ``python scripts/derive_finsearch_calendars.py``. They are kept in the package, so that a world has the same days
whatever version of the library is installed, and is made without the seconds that computing them takes.
"""

from __future__ import annotations

from pathlib import Path

FIRST, LAST = "2008-01-01", "2026-06-30"
TARGET = Path(__file__).parents[1] / "openfingym_suites/finsearch/world/calendars.tsv"


def main() -> None:
    """Write the file."""
    import pandas as pd
    from exchange_calendars import get_calendar

    lines = ["calendar\tday\tcloses"]
    for name in ("XNYS", "XSHG", "XHKG", "XLON", "XTKS", "XETR", "XPAR", "XSES"):
        calendar = get_calendar(name, start=FIRST, end=LAST)
        sessions = calendar.sessions
        closed = pd.bdate_range(FIRST, LAST).difference(sessions)
        lines += [f"{name}\t{day:%Y-%m-%d}\t" for day in closed]
        early = calendar.early_closes
        lines += [
            f"{name}\t{day:%Y-%m-%d}\t{calendar.closes[day].tz_convert(calendar.tz):%H:%M}" for day in sorted(early)
        ]
        if weekend := [day for day in sessions if day.weekday() > 4]:
            raise SystemExit(f"{name} has sessions at weekends, such as {weekend[0]}")
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
