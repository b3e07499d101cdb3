"""Guides: how things are defined and quoted, as most wrong answers mistake them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time
from importlib import resources

from openfingym_suites.finsearch.world.pages.facts import Facts
from openfingym_suites.finsearch.world.pages.page import SITES, WebPage, address


def guide_pages(facts: Facts) -> Iterator[WebPage]:
    """All guides, published on the first day of the world."""
    when = datetime.combine(facts.first_day, time(0), UTC)
    with resources.files(__package__).joinpath("guides.tsv").open(encoding="utf-8") as stream:
        guides = [line.rstrip("\n").split("\t") for line in stream][1:]
    for number, (language, title, text) in enumerate(guides):
        url = address("guide", facts.first_day, f"guide {number:02d}")
        yield WebPage(url, title, SITES["guide"], language, "guide", [], when, f"{text} (Simulated market.)")
