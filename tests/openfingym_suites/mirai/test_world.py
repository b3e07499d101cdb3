"""The simulated world: the same from a seed, made of known codes, and with something to learn in it."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter, defaultdict
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from openfingym import store
from openfingym.errors import StoreError, UsageError
from openfingym.vault import Vault
from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.gdelt.cleaning import clean_text
from openfingym_suites.mirai.simulated import simulated_vault, write_simulated
from openfingym_suites.mirai.splits import HORIZONS, Query, relation_queries
from openfingym_suites.mirai.world import SimulationSize, simulate
from openfingym_suites.mirai.world.dynamics import Dynamics
from openfingym_suites.mirai.world.geography import make_geography
from openfingym_suites.mirai.world.kinds import all_codes
from openfingym_suites.mirai.world.simulate import Continuation, SimulationOutput
from openfingym_suites.mirai.world.wording import NOTICES, phrases

EVER = "9000-01-01T00:00:00+00:00"
SMALL = SimulationSize(days=6, pairs=60, stories_a_day=6.0)
DIGEST = "afae5bdfc978d14f2626db0f70aec0e43e747e44299b248c23aec66ea76c052f"
"""Of a small world of seed 1. With other rows, the simulator has another version, and records that rest on the default
world are measured again."""
Pasts = dict[tuple[str, str], list[tuple[date, str]]]


def test_a_seed_decides_every_byte(tmp_path: Path) -> None:
    one, two, other = (write_simulated(tmp_path / str(index), SMALL, seed=seed) for index, seed in enumerate([1, 1, 2]))
    assert one.digest == two.digest != other.digest
    assert one.digest == DIGEST
    for path in sorted((tmp_path / "0").iterdir()):
        assert path.read_bytes() == (tmp_path / "1" / path.name).read_bytes()


def test_a_longer_world_begins_as_a_shorter_one() -> None:
    short, long = (simulate(SimulationSize(days=days, pairs=60, stories_a_day=6.0), seed=1) for days in (4, 6))
    assert long.records.head(len(short.records)).equals(short.records)
    assert long.texts.head(len(short.texts)).equals(short.texts)


def test_a_world_goes_on_otherwise_from_a_day_and_is_the_same_until_then() -> None:
    turn = SMALL.first_day + timedelta(days=3)
    own = simulate(SMALL, seed=1)
    one, again, other = (simulate(SMALL, seed=1, anew=Continuation(turn, seed)) for seed in (2**250, 2**250, 1))
    assert one.records.equals(again.records)
    assert one.texts.equals(again.texts)
    before = own.records[own.records["day"] < turn]
    for found in (one, other):
        assert found.records[found.records["day"] < turn].equals(before)
        assert found.texts.head(before["url"].nunique()).equals(own.texts.head(before["url"].nunique()))
        assert found.records["day"].max() == own.records["day"].max()

    def later(found: SimulationOutput) -> set[tuple[object, ...]]:
        rows = found.records[found.records["day"] >= turn]
        return set(rows[["day", "head", "relation", "tail"]].itertuples(index=False))

    # What is frequent happens in every world; most of what happens does not.
    for one_world, other_world in ((one, own), (one, other)):
        assert len(later(one_world) & later(other_world)) < 0.2 * len(later(one_world))


def test_what_comes_of_earlier_announcements_is_decided_anew() -> None:
    """Whoever saw in one world what was kept of them would know it in all others."""

    def announced(seed: int) -> list[tuple[int, int, str]]:
        dynamics = Dynamics(make_geography(60, np.random.default_rng(0)), 40.0, np.random.default_rng(1))
        for day in range(30):
            dynamics.stories_of(day)
        if seed:
            dynamics.draw_anew(np.random.default_rng(seed))
        return [(day, due.pair, due.kind.name) for day, dues in dynamics._due.items() for due in dues if due.scheme]

    first, *others = (announced(seed) for seed in range(4))
    assert len(first) > 20
    for other in others:
        assert [place for *place, _ in other] == [place for *place, _ in first], "the days were told"
        changed = sum(one != two for one, two in zip(first, other, strict=True))
        assert 0.1 * len(first) < changed < 0.7 * len(first)


@pytest.mark.parametrize("days", [0, 6, -3])
def test_a_day_that_is_not_within_the_world_is_refused(days: int) -> None:
    with pytest.raises(UsageError, match="cannot go on anew"):
        simulate(SMALL, anew=Continuation(SMALL.first_day + timedelta(days=days), 1))


def test_it_says_that_it_is_simulated(simulated_world: Vault) -> None:
    assert simulated_world.manifest.simulated
    assert "no event is real" in simulated_world.manifest.title
    urls = [row["url"] for row in simulated_world.as_of(EVER).rows("articles", columns=("url",))]
    assert all(".simulated.example/" in url for url in urls)


def test_a_vault_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    first = simulated_vault(SMALL, seed=3)
    before = sorted(path.stat().st_mtime_ns for path in first.folder.iterdir())
    assert simulated_vault(SMALL, seed=3).digest == first.digest
    assert sorted(path.stat().st_mtime_ns for path in first.folder.iterdir()) == before
    assert store.home() in first.folder.parents


def test_sizes_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError, match="expected 1 to 20000 days"):
        SimulationSize(days=0)


def test_events_are_of_known_codes_and_international(simulated_world: Vault) -> None:
    rows = simulated_world.as_of(EVER).rows("events")
    assert {row["relation"] for row in rows} <= {relation.code for relation in taxonomy.relations(2)} & all_codes()
    assert {row[end] for row in rows for end in ("head", "tail")} <= {country.iso3 for country in taxonomy.countries()}
    assert all(row["head"] != row["tail"] and row["mentions"] > 50 and row["articles"] >= 1 for row in rows)
    keys = Counter((row["date"], row["head"], row["relation"], row["tail"]) for row in rows)
    assert max(keys.values()) == 1


def test_every_relation_has_several_phrasings() -> None:
    assert all_codes() <= set(phrases())
    assert all(taxonomy.is_relation(code, level=2) and len(found) >= 3 for code, found in phrases().items())


def test_articles_hardly_share_a_wording(simulated_world: Vault) -> None:
    """No title of one relation is that of most: a keyword does not give the relation away."""
    view = simulated_world.as_of(EVER)
    verbs: dict[str, set[str]] = defaultdict(set)
    for code, found in phrases().items():
        for phrase in found:
            for word in re.findall(r"[a-z]{4,}", phrase.replace("{topic}", "")):
                verbs[word].add(code)
    shared = [word for word, codes in verbs.items() if len(codes) > 1]
    assert len(shared) > 100
    titles = [row["title"] for row in view.rows("articles", columns=("title",))]
    assert Counter(titles).most_common(1)[0][1] < len(titles) / 100


def test_articles_pass_the_cleaning_of_real_ones(simulated_world: Vault) -> None:
    texts = [row["text"] for row in simulated_world.as_of(EVER).rows("articles", columns=("text",))][::40]
    assert sum(clean_text(text) is None for text in texts) < len(texts) / 20


def test_days_are_announced_in_articles_before_they_come(simulated_world: Vault) -> None:
    """Of visits that many wrote of, a good part was told beforehand, with the day."""
    view = simulated_world.as_of(EVER)
    assert set(NOTICES) > {"summit", "ultimatum"}
    texts = view.rows("articles", columns=("text", "date"))
    dated = [
        row for row in texts if re.search(r" (on|in) (\d{1,2} [A-Z][a-z]+|[A-Z][a-z]+ \d{1,2}|\d+ days)", row["text"])
    ]
    assert len(dated) > len(texts) / 30


def _scores(queries: tuple[Query, ...], pasts: Pasts, horizon: int) -> tuple[float, float]:
    """Mean F1 at the second level of all that a pair ever did, and of what it did within the last week."""
    sums = [0.0, 0.0]
    for query in queries:
        cut = query.date - timedelta(days=horizon)
        past = [(day, code) for day, code in pasts[query.head, query.tail] if day <= cut]
        often = {code for code, _ in Counter(code for _, code in past).most_common(5)}
        recent = {code for day, code in past if (cut - day).days < 7} or often
        for place, predicted in enumerate(({code for _, code in past}, recent)):
            hits = len(predicted & set(query.answers))
            sums[place] += 2 * hits / max(1, len(predicted) + len(query.answers))
    return sums[0] / len(queries), sums[1] / len(queries)


def test_what_happened_lately_tells_more_the_nearer_the_day(simulated_world: Vault) -> None:
    pasts: Pasts = defaultdict(list)
    for row in simulated_world.as_of(EVER).rows("events"):
        pasts[row["head"], row["tail"]].append((row["date"], row["relation"]))
    queries = relation_queries(simulated_world, "2023-06") + relation_queries(simulated_world, "2023-07")
    found = [_scores(queries, pasts, horizon) for horizon in HORIZONS]
    assert found[0][1] > found[0][0] + 0.03
    assert found[0][1] > found[1][1] > found[3][1]
    assert 0.08 < found[0][0] < 0.4


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
@pytest.mark.parametrize("room", ["30k", "100k"])
def test_a_world_on_a_full_disk_leaves_nothing_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: str
) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(tmp_path)], check=True)
    try:
        with pytest.raises(StoreError, match="free some space"):
            simulated_vault(SMALL, seed=3)
        assert [path.name for path in tmp_path.rglob("*") if path.is_file() and not path.name.endswith(".lock")] == []
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
