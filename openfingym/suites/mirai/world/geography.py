"""Who there is in a simulated world: how much each country counts, who is allied, who is at odds, and who deals with
whom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.mirai.taxonomy import ListedCountry, countries
from openfingym.suites.mirai.world.kinds import KINDS, all_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALLIANCES = 11
NEIGHBOURLY = 3.0
"""How much more a country deals with one of its own region."""


@dataclass(frozen=True, eq=False)
class Geography:
    """Countries and pairs of them (c countries, n pairs, k kinds of stories, r relations)."""

    countries: tuple[ListedCountry, ...]
    weight: NDArray[np.float64]
    """float64[c], how much a country counts; fat-tailed, and not as in the real world."""
    alliances: tuple[tuple[int, ...], ...]
    """Members of each alliance, the foremost first."""
    allies: tuple[tuple[int, ...], ...]
    """Of each country, those that share an alliance with it, the foremost first."""
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    """int64[n], the two countries of each pair."""
    affinity: NDArray[np.float64]
    """float64[n], from -1 (at odds) to 1 (allied)."""
    rate: NDArray[np.float64]
    """float64[n], stories a day in calm times, before it is scaled."""
    initiative: NDArray[np.float64]
    """float64[n], how often the first country of a pair is the one that acts."""
    kind_style: NDArray[np.float64]
    """float64[n, k], how much a pair inclines to each kind of story."""
    code_style: NDArray[np.float64]
    """float64[n, r], how much a pair inclines to each relation."""
    codes: tuple[str, ...]
    """The relations of :attr:`code_style`."""

    def touching(self) -> NDArray[np.float64]:
        """float64[n, n], 1 where two pairs have one country in common and all three are of one region, else 0."""
        regions = np.array([country.region for country in self.countries])
        region = np.where(regions[self.first] == regions[self.second], regions[self.first], "")
        ends = [np.stack([self.first, self.second], axis=1)]
        one = ends[0]
        shared = (one[:, None, :, None] == one[None, :, None, :]).any(axis=(2, 3))
        same = (region[:, None] == region[None, :]) & (region[:, None] != "")
        np.fill_diagonal(shared, val=False)
        touching: NDArray[np.float64] = (shared & same).astype(np.float64)
        return touching


def make_geography(pairs: int, rng: np.random.Generator) -> Geography:
    """A world of all countries that have a region and a code of an actor, with the ``pairs`` that deal most."""
    people = tuple(country for country in countries() if country.cameo and country.region)
    count = len(people)
    weight = np.minimum((1.0 - rng.random(count)) ** (-1.0 / 1.05), 60.0)
    regions = np.array([country.region for country in people])
    alliances = _alliances(weight, regions, rng)
    together = np.zeros((count, count))
    for members in alliances:
        together[np.ix_(members, members)] += 1.0
    near = np.where(regions[:, None] == regions[None, :], NEIGHBOURLY, 1.0)
    left, right = np.triu_indices(count, 1)
    allied = together[left, right] > 0
    pull = (weight[left] * weight[right]) ** 0.8 * near[left, right] * np.where(allied, 1.6, 1.0)
    pull = pull * rng.lognormal(0.0, 0.7, len(left))
    chosen = np.sort(np.argsort(-pull, kind="stable")[:pairs])
    first, second, rate = left[chosen], right[chosen], pull[chosen]
    rivals = rng.random(pairs) < np.where(near[first, second] > 1.0, 0.3, 0.12)
    affinity = np.where(
        together[first, second] > 0,
        0.2 + 0.6 * rng.random(pairs),
        np.where(rivals, -0.4 - 0.6 * rng.random(pairs), rng.normal(0.0, 0.25, pairs)),
    )
    codes = tuple(sorted(all_codes()))
    return Geography(
        countries=people,
        weight=weight,
        alliances=alliances,
        allies=tuple(_allies_of(index, alliances, weight) for index in range(count)),
        first=first,
        second=second,
        affinity=np.clip(affinity, -1.0, 1.0),
        rate=rate,
        initiative=rng.beta(2.0, 2.0, pairs),
        kind_style=rng.lognormal(0.0, 1.5, (pairs, len(KINDS))),
        code_style=np.minimum(rng.lognormal(-0.2, 0.9, (pairs, len(codes))), 2.5),
        codes=codes,
    )


def _alliances(
    weight: NDArray[np.float64], regions: NDArray[np.str_], rng: np.random.Generator
) -> tuple[tuple[int, ...], ...]:
    """Alliances, most of whose members are of one region; the foremost countries lead them."""
    found = []
    names = sorted(set(regions.tolist()))
    for index in range(ALLIANCES):
        home = names[index % len(names)]
        chance = np.sqrt(weight) * np.where(regions == home, 12.0, 1.0)
        size = int(rng.integers(6, 15))
        members = rng.choice(len(weight), size=size, replace=False, p=chance / chance.sum())
        found.append(tuple(sorted((int(member) for member in members), key=lambda member: -weight[member])))
    return tuple(found)


def _allies_of(country: int, alliances: tuple[tuple[int, ...], ...], weight: NDArray[np.float64]) -> tuple[int, ...]:
    together = {member for members in alliances if country in members for member in members} - {country}
    return tuple(sorted(together, key=lambda member: (-weight[member], member)))
