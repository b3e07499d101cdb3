"""The world of events and news between countries: simulated, or pulled from GDELT 2.0."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.suites.world import Pulled, PullOrder, World

if TYPE_CHECKING:
    from openfingym.vault import Vault
    from openfingym_suites.mirai.gdelt import PullReport

SHOWN = 5
"""The most missing files, and the most reasons, that are shown after a pull."""


class EventsWorld(World):
    """Countries with events and news."""

    about = "countries with events and news, 425 days; pulled, events and news from GDELT 2.0"
    simulates = True
    pulls = True

    def simulate(self, seed: int, days: int | None, folder: Path | None) -> Vault:
        """See :class:`~openfingym.suites.world.World`."""
        from openfingym_suites.mirai.simulated import simulated_vault, write_simulated
        from openfingym_suites.mirai.world import SimulationSize

        size = SimulationSize() if days is None else SimulationSize(days=days)
        return simulated_vault(size, seed=seed) if folder is None else write_simulated(folder, size, seed=seed)

    def pull(self, order: PullOrder, say: Callable[[str], None]) -> Pulled:
        """See :class:`~openfingym.suites.world.World`; the threshold is in mentions on an event's day."""
        from openfingym_suites.mirai.gdelt import PullOptions, pull

        given = {"base_url": order.base_url, "threshold": order.threshold, "work": order.work}
        given |= {"folder": order.folder, "texts": order.texts}
        chosen = {key: value for key, value in given.items() if value is not None}
        options = PullOptions(order.first, order.last, fetch=order.fetch, most_pages=order.most_pages, **chosen)  # type: ignore[arg-type]
        report = pull(options, say)
        return Pulled(report.vault, tuple(_lines(report)), _document(report))


def _lines(report: PullReport) -> list[str]:
    files = sum(day.files for day in report.days)
    lines = [f"{report.rows:,} rows in {files:,} files, {report.articles:,} articles"]
    gaps = report.gaps
    if gaps:
        lines.append(f"{len(gaps):,} files missing; the next pull tries again those that are in the list:")
        lines += [f"  {file}: {reason}" for file, reason in list(gaps.items())[:SHOWN]]
    without = list(report.without_text.items())[:SHOWN]
    return lines + [f"{count:,} articles without a text: {reason}" for reason, count in without]


def _document(report: PullReport) -> dict[str, object]:
    return {
        "rows": report.rows,
        "malformed": sum(day.malformed for day in report.days),
        "kept": sum(day.kept for day in report.days),
        "files": sum(day.files for day in report.days),
        "missing": report.gaps,
        "articles": report.articles,
        "dropped": report.dropped,
        "without_text": report.without_text,
    }


WORLD = EventsWorld()
