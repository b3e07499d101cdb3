"""The countries of a simulated world: how large each is, who is allied, who is at odds, and who deals with whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.mirai.taxonomy import ListedCountry, countries
from openfingym_suites.mirai.world.kinds import KINDS, all_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALLIANCES = 11
"""How many alliances there are."""
NEIGHBOURLY = 3.0
"""How many times as much a country deals with one of its own region."""


@dataclass(frozen=True, eq=False)
class Geography:
    """Countries and the pairs of them that deal with each other.

    Shapes are stated with c countries, n pairs, k kinds of stories and r relations.
    """

    countries: tuple[ListedCountry, ...]
    """The countries; everywhere else a country is its place in this tuple."""
    weight: NDArray[np.float64]
    """float64[c], how much a country counts in the world; fat-tailed, and not as in the real world."""
    alliances: tuple[tuple[int, ...], ...]
    """The members of each alliance, the one of the largest weight first."""
    allies: tuple[tuple[int, ...], ...]
    """For each country, those that share an alliance with it, the one of the largest weight first."""
    first: NDArray[np.int64]
    """int64[n], the first country of each pair, whose place is below that of the second."""
    second: NDArray[np.int64]
    """int64[n], the second country of each pair."""
    affinity: NDArray[np.float64]
    """float64[n], from -1 (at odds) to 1 (allied)."""
    rate: NDArray[np.float64]
    """float64[n], stories a day in calm times, up to a factor that all pairs share."""
    initiative: NDArray[np.float64]
    """float64[n], how often the first country of a pair is the one that acts."""
    kind_style: NDArray[np.float64]
    """float64[n, k], a factor for how often a pair has each kind of story."""
    code_style: NDArray[np.float64]
    """float64[n, r], a factor for how often each relation occurs in stories of a pair."""
    codes: tuple[str, ...]
    """CAMEO codes of the relations, in the order of the columns of :attr:`code_style`."""

    def touching(self) -> NDArray[np.float64]:
        """float64[n, n], 1 where two pairs have one country in common and all three are of one region, else 0."""
        regions = np.array([country.region for country in self.countries])
        # The region of a pair, or "" if it has countries of two regions.
        region = np.where(regions[self.first] == regions[self.second], regions[self.first], "")
        ends = np.stack([self.first, self.second], axis=1)
        # Each end of a pair beside each end of the other: [n, n, 2, 2].
        shared = (ends[:, None, :, None] == ends[None, :, None, :]).any(axis=(2, 3))
        same = (region[:, None] == region[None, :]) & (region[:, None] != "")
        np.fill_diagonal(shared, val=False)
        touching: NDArray[np.float64] = (shared & same).astype(np.float64)
        return touching


def make_geography(pairs: int, rng: np.random.Generator) -> Geography:
    """Draw a world of all countries that have a region and a CAMEO code.

    Args:
        pairs: how many pairs of countries have stories of their own: those that deal most with each other.
        rng: the source of all random draws.
    """
    listed = tuple(country for country in countries() if country.cameo and country.region)
    count = len(listed)
    # A Pareto distribution of exponent 1.05 by its inverse: few countries count for much. 1 - random() is never 0.
    weight = np.minimum((1.0 - rng.random(count)) ** (-1.0 / 1.05), 60.0)
    regions = np.array([country.region for country in listed])
    alliances = _alliances(weight, regions, rng)
    shared_alliances = np.zeros((count, count))
    for members in alliances:
        shared_alliances[np.ix_(members, members)] += 1.0
    # A gravity model of who deals with whom: by the weights of both, by region and alliance, and by chance.
    near = np.where(regions[:, None] == regions[None, :], NEIGHBOURLY, 1.0)
    left, right = np.triu_indices(count, 1)
    allied = shared_alliances[left, right] > 0
    pull = (weight[left] * weight[right]) ** 0.8 * near[left, right] * np.where(allied, 1.6, 1.0)
    pull = pull * rng.lognormal(0.0, 0.7, len(left))
    # The strongest pairs, put back into the order of their countries.
    chosen = np.sort(np.argsort(-pull, kind="stable")[:pairs])
    first, second, rate = left[chosen], right[chosen], pull[chosen]
    # Rivals are commoner among neighbours. Allies always get on, whoever else might be their rival.
    rivals = rng.random(pairs) < np.where(near[first, second] > 1.0, 0.3, 0.12)
    affinity = np.where(
        shared_alliances[first, second] > 0,
        0.2 + 0.6 * rng.random(pairs),
        np.where(rivals, -0.4 - 0.6 * rng.random(pairs), rng.normal(0.0, 0.25, pairs)),
    )
    codes = tuple(sorted(all_codes()))
    return Geography(
        countries=listed,
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
    """Draw alliances of 6 to 14 countries, most of them of one region; the largest country comes first."""
    alliances = []
    region_names = sorted(set(regions.tolist()))
    for index in range(ALLIANCES):
        # Regions take turns as the home of an alliance.
        home = region_names[index % len(region_names)]
        chance = np.sqrt(weight) * np.where(regions == home, 12.0, 1.0)
        size = int(rng.integers(6, 15))
        members = rng.choice(len(weight), size=size, replace=False, p=chance / chance.sum())
        alliances.append(tuple(sorted((int(member) for member in members), key=lambda member: -weight[member])))
    return tuple(alliances)


def _allies_of(country: int, alliances: tuple[tuple[int, ...], ...], weight: NDArray[np.float64]) -> tuple[int, ...]:
    """The countries that share an alliance with one, by falling weight."""
    allies = {member for members in alliances if country in members for member in members} - {country}
    # The cap on weights makes ties, which are decided by number: a set has no order of its own.
    return tuple(sorted(allies, key=lambda member: (-weight[member], member)))
