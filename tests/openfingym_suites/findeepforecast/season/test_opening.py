"""Vaults of worlds and generators, found by their names."""

from __future__ import annotations

import pytest

from openfingym.errors import UsageError
from openfingym.vault.bundled import bundled_vault
from openfingym_suites.findeepforecast.generation.events import EventGenerator
from openfingym_suites.findeepforecast.generation.finding import find_non_recurrent, find_recurrent
from openfingym_suites.findeepforecast.generation.recurrent import CalendarGenerator
from openfingym_suites.findeepforecast.world.opening import find_vault, is_simulated, vault_name


def test_a_vault_is_found_by_its_digest() -> None:
    name = vault_name(bundled_vault())
    assert find_vault("bundled").digest == find_vault(name).digest == find_vault(name[:20]).digest
    assert (is_simulated("findeepforecast"), is_simulated(name)) == (True, False)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mirai", "'mirai' is no vault of a world"),
        ("findeepforecast@12", "at least 12 digits"),
        ("findeepforecast@../../etc/pw", "at least 12 digits"),
        ("bundled@000000000000", r"bundled@000000000000 is not in the store, and this version of openfingym makes"),
        (f"{'bundled@c443f09c0eff'}{'0' * 52}", "which is another world"),
    ],
)
def test_another_vault_is_an_error_that_says_so(name: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find_vault(name)


def test_generators_by_name() -> None:
    assert isinstance(find_recurrent("calendars"), CalendarGenerator)
    assert isinstance(find_non_recurrent("news"), EventGenerator)
    with pytest.raises(UsageError, match=r"no generator of problems about events 'oracle'; known: news"):
        find_non_recurrent("oracle")
