"""Pages of statistical offices and central banks: one for each release, with earlier figures as they are known then."""

from __future__ import annotations

from collections.abc import Iterator

from openfingym_suites.finsearch.world.macro import ReleasedFigure
from openfingym_suites.finsearch.world.pages.facts import Facts, statistic_names
from openfingym_suites.finsearch.world.pages.page import SITES, WebPage, address, later


def release_pages(facts: Facts) -> Iterator[WebPage]:
    """A page for each first figure of a monthly or quarterly statistic."""
    names = statistic_names()
    for series, points in facts.points.items():
        # Rates of markets, which no office releases.
        if series.startswith(("CN_CGB", "CN_SHIBOR", "HK_HIBOR", "US_NOTE")):
            continue
        name, name_zh, units, country = names[series]
        latest: dict[object, ReleasedFigure] = {}
        previous: ReleasedFigure | None = None
        # Of figures that come at one time, revisions are taken first: the page of the new figure states them.
        for point in sorted(points, key=lambda each: (each.known_at, each.release == "first")):
            if point.release == "first":
                month = point.reference_date
                # Every other month in Chinese, so that both languages have pages of each series.
                chinese = country in {"CN", "TW", "MO"} and month.month % 2 == 1
                last = latest.get(previous.reference_date) if previous else None
                yield _page(series, name_zh if chinese else name, units, point, last, latest, chinese=chinese)
                previous = point
            latest[point.reference_date] = point


def _page(
    series: str,
    name: str,
    units: str,
    point: ReleasedFigure,
    last: ReleasedFigure | None,
    latest: dict[object, ReleasedFigure],
    *,
    chinese: bool,
) -> WebPage:
    """The page of a release.

    Args:
        series: id of the series.
        name: name of the series in the language of the page.
        units: units of its figures, in words.
        point: the figure that is released.
        last: the figure of the period before, as known now; None if there is none.
        latest: the figure of each period as known now, by its first day.
        chinese: whether the page is in Chinese.
    """
    month = point.reference_date
    if chinese:
        title = f"{name}:{month:%Y年%m月}"
        text = f"{name},{month:%Y年%m月}:{point.value:,}({units})。"
        if last:
            text += f"上一期({last.reference_date:%Y年%m月})为{last.value:,}。"
    else:
        title = f"{name}, {month:%B %Y}"
        text = f"{name} in {month:%B %Y}: {point.value:,} ({units})."
        if last:
            text += f" The period before, {last.reference_date:%B %Y}, is now given as {last.value:,}."
    year = latest.get(month.replace(year=month.year - 1))
    if year:
        text += f"上年同期为{year.value:,}。" if chinese else f" A year before it was {year.value:,}, as now known."
    text += "首次公布数据,可能修订。模拟数据。" if chinese else " First figure; it may be revised. Simulated."
    url = address("offices", point.known_at.date(), series, month.isoformat())
    language = "zh" if chinese else "en"
    return WebPage(url, title, SITES["offices"], language, "release", [], later(point.known_at, 1), text)
