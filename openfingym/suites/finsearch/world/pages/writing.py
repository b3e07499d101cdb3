"""All pages of a world, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.suites.finsearch.world.pages.page import Page
from openfingym.suites.finsearch.world.pages.real import real_pages

if TYPE_CHECKING:
    import pandas as pd

    from openfingym.suites.finsearch.world.simulate import World
    from openfingym.vault import View


def write_pages(world: World, bundled: View) -> pd.DataFrame:
    """The pages, those of one time in the order of their addresses."""
    import pandas as pd

    pages = [*real_pages(bundled)]
    pages.sort(key=lambda page: (page.published, page.url))
    names = [*Page.__slots__, "known_at"]
    return pd.DataFrame({name: [getattr(page, name) for page in pages] for name in names})
