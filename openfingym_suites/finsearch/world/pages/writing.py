"""Writing all pages of a world, as rows of the table ``pages``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from openfingym_suites.finsearch.world.pages.facts import Facts, facts_of
from openfingym_suites.finsearch.world.pages.guides import guide_pages
from openfingym_suites.finsearch.world.pages.notes import announcement_pages, move_pages, review_pages, week_pages
from openfingym_suites.finsearch.world.pages.offices import release_pages
from openfingym_suites.finsearch.world.pages.page import WebPage
from openfingym_suites.finsearch.world.pages.posts import post_pages
from openfingym_suites.finsearch.world.pages.profiles import company_pages
from openfingym_suites.finsearch.world.pages.real import real_pages
from openfingym_suites.finsearch.world.pages.reports import report_pages

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.vault import View
    from openfingym_suites.finsearch.world.simulate import SimulatedMarket

_WRITERS = (
    guide_pages,
    report_pages,
    announcement_pages,
    move_pages,
    week_pages,
    review_pages,
    release_pages,
    company_pages,
    post_pages,
)


def simulated_pages(facts: Facts) -> Iterator[WebPage]:
    """All pages that are written from facts. Of facts as of a time, only the pages up to that time are sound."""
    for writer in _WRITERS:
        yield from writer(facts)


def write_pages(world: SimulatedMarket, bundled: View) -> pd.DataFrame:
    """Rows of ``pages``, in the order of publication; pages of one time are in the order of their addresses.

    Args:
        world: the simulated market that pages are about.
        bundled: everything in the vault with the real texts.
    """
    import pandas as pd

    pages = [*real_pages(bundled), *simulated_pages(facts_of(world))]
    pages.sort(key=lambda page: (page.published, page.url))
    names = [*WebPage.__slots__, "known_at"]
    return pd.DataFrame({name: [getattr(page, name) for page in pages] for name in names})
