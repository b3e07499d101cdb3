"""CAMEO and the countries, against the counts of the published ontology and ISO 3166-1."""

from __future__ import annotations

import re

import pytest

from openfingym.errors import UsageError
from openfingym_suites.mirai import taxonomy


def test_levels_have_the_published_numbers_of_codes() -> None:
    assert [len(taxonomy.relations(level)) for level in (1, 2, 3)] == [20, 149, 149]


def test_every_code_hangs_below_its_prefix() -> None:
    for relation in taxonomy.relations():
        assert relation.root == relation.code[:2]
        assert relation.parent == (None if relation.level == 1 else relation.code[:-1])
        assert relation in taxonomy.siblings_of(relation.code)
        assert all(taxonomy.parent_of(child.code) == relation for child in taxonomy.children_of(relation.code))


def test_the_two_quadratic_classes_differ_in_four_roots() -> None:
    differ = [root.code for root in taxonomy.relations(1) if root.quad != root.quad_gdelt]
    assert differ == ["05", "14", "15", "16"]
    for relation in taxonomy.relations():
        root = int(relation.root)
        assert relation.quad == 1 + sum(root > last for last in (4, 8, 16))
        assert relation.quad_gdelt == 1 + sum(root > last for last in (5, 8, 13))
        assert relation.binary == ("mediation" if root <= 8 else "conflict")


@pytest.mark.parametrize(
    ("raw", "code"),
    [("042", "042"), ("0211", "021"), (" 190 ", "190"), ("14", None), ("--", None), ("", None), ("X42", None)],
)
def test_codes_of_gdelt_are_brought_to_the_second_level(raw: str, code: str | None) -> None:
    assert taxonomy.second_level(raw) == code


def test_unknown_codes_are_refused_with_codes_that_are_like_them() -> None:
    with pytest.raises(UsageError, match=r"'0421' is not a CAMEO code; did you mean 042"):
        taxonomy.relation("0421")
    with pytest.raises(UsageError, match=r"'usa' is not an ISO 3166-1 alpha-3 code; did you mean USA"):
        taxonomy.country("usa")


def test_names_find_every_country_that_has_them() -> None:
    assert [country.iso3 for country in taxonomy.countries_named(" korea ")] == ["KOR", "PRK"]
    assert [country.iso3 for country in taxonomy.countries_named("Holland")] == ["NLD"]
    assert taxonomy.countries_named("Atlantis") == ()
    assert all(re.fullmatch("[A-Z]{3}", country.iso3) for country in taxonomy.countries())


def test_actors_are_standardised_to_iso() -> None:
    found = {code: taxonomy.country_of_actor(code) for code in ("ROM", "MTN", "TMP", "GZS", "EUR", "ANT", "BAG", "")}
    assert found == {
        "ROM": "ROU", "MTN": "MNE", "TMP": "TLS", "GZS": "PSE", "EUR": None, "ANT": None, "BAG": None, "": None,
    }  # fmt: skip
    assert set(taxonomy.dropped_actor_codes()).isdisjoint(taxonomy.actor_codes())
