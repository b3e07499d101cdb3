"""Pages of the world: what real publishers wrote, and what the simulated ones write of what is known to them."""

from openfingym_suites.finsearch.world.pages.writing import write_pages

__all__ = ["write_pages"]
