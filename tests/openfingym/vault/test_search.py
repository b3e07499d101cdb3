"""BM25 as of a time, against bm25s over the documents that were known."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from openfingym.vault import TableSpec, Vault, VaultWriter
from openfingym.vault.search import K1, B, SearchIndex, phrase_pattern, plain, words, write_index

from .worlds import START

SPEC = TableSpec(name="docs", columns={"number": "INTEGER", "outlet": "VARCHAR", "body": "VARCHAR"}, text=("body",))
COUNT = 300


@pytest.fixture(scope="module")
def documents() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    likely = 1 / np.arange(1, 401)
    bodies = [
        " ".join(rng.choice([f"w{i}" for i in range(400)], rng.integers(1, 60), p=likely / likely.sum()))
        for _ in range(COUNT)
    ]
    hours = np.sort(rng.integers(0, 100, COUNT))
    return pd.DataFrame(
        {
            "number": range(COUNT),
            "outlet": rng.choice(["wire", "post"], COUNT),
            "body": bodies,
            "known_at": [START + timedelta(hours=int(hour)) for hour in hours],
        }
    )


@pytest.fixture(scope="module")
def vault(documents: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Vault:
    with VaultWriter(tmp_path_factory.mktemp("docs") / "vault", name="docs", title="Docs", sources=[]) as writer:
        writer.add(SPEC, documents)
        return writer.finish()


@pytest.mark.parametrize("hour", [0, 7, 50, 99])
def test_scores_and_ranks_are_those_of_bm25s_on_what_was_known(
    vault: Vault, documents: pd.DataFrame, hour: int
) -> None:
    import bm25s

    time = START + timedelta(hours=hour)
    corpus = [words(body) for body in documents[documents.known_at <= time].body]
    peer = bm25s.BM25(k1=K1, b=B, method="lucene")
    peer.index(corpus, show_progress=False)
    rng = np.random.default_rng(hour)
    compared = 0
    for _ in range(20):
        query = [f"w{number}" for number in rng.choice(60, 4, replace=False)]
        there = [word for word in query if word in peer.vocab_dict]
        # The peer takes no empty query.
        scores = np.asarray(peer.get_scores(there)) if there else np.zeros(len(corpus))
        hits = vault.as_of(time).search("docs", " ".join(query), limit=10)
        found = np.array([hit.score for hit in hits])
        np.testing.assert_allclose(found, np.sort(scores)[::-1][: len(found)], rtol=1e-5)
        np.testing.assert_allclose([scores[hit.row["number"]] for hit in hits], found, rtol=1e-5)
        assert len(hits) == min(10, int((scores > 0).sum()))
        compared += len(hits)
    assert compared > 50 or hour == 0


def test_a_score_is_the_formula(tmp_path: Path) -> None:
    bodies = ["a b b", "b c", "a a a c c c", None]
    rows = pd.DataFrame({"number": range(4), "outlet": "x", "body": bodies, "known_at": START})
    with VaultWriter(tmp_path / "vault", name="docs", title="Docs", sources=[]) as writer:
        writer.add(SPEC, rows)
        view = writer.finish().as_of(START)
    rarity = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    scores = [rarity * times / (times + K1 * (1 - B + B * length / (11 / 4))) for times, length in ((2, 3), (1, 2))]
    assert [(hit.score, hit.row["number"]) for hit in view.search("docs", "B")] == [
        (pytest.approx(scores[0], rel=1e-15), 0),
        (pytest.approx(scores[1], rel=1e-15), 1),
    ]


def test_a_word_counts_65535_times_at_most_in_a_document(tmp_path: Path) -> None:
    bodies = ["b " + "a " * 65_535, "b " + "a " * 65_536, "a a"]
    with (tmp_path / "index").open("wb") as stream:
        write_index(stream, [bodies[:2], bodies[2:]])
    index = SearchIndex(tmp_path / "index")
    documents, times = index._postings("a", 3)
    assert (documents.tolist(), times.tolist()) == ([0, 1, 2], [65_535, 65_535, 2])
    assert [index._postings("b", known)[1].tolist() for known in (3, 1)] == [[1, 1], [1]]
    assert index._lengths.tolist() == [65_536, 65_537, 2]


def test_conditions_choose_among_documents_and_change_no_score(vault: Vault) -> None:
    view = vault.as_of(START + timedelta(hours=99))
    hits = view.search("docs", "w3 w5 w9", limit=COUNT)
    of_wire = view.search("docs", "w3 w5 w9", where={"outlet": "wire"}, limit=COUNT)
    assert of_wire == [hit for hit in hits if hit.row["outlet"] == "wire"]
    assert 0 < len(of_wire) < len(hits)
    assert view.search("docs", "w3 w5 w9", where={"outlet": "wire"}, limit=3) == of_wire[:3]


@pytest.mark.parametrize(
    ("phrase", "text", "holds"),
    [
        ("rate cut", "A rate-cut came", True),
        ("rate cut", "A rate of cut, corporate cuts", False),
        ("年净利润", "茅台2023年净利润为7亿元", True),
        ("净润", "净利润", False),
        ("2023年净利润", "茅台2023年净利润为7亿元", True),
        ("023年净利", "茅台2023年净利润为7亿元", False),
        ("茅台 2023", "茅台2023年", True),
    ],
)
def test_phrases_are_words_that_follow_each_other(phrase: str, text: str, holds: bool) -> None:
    assert bool(phrase_pattern(phrase).search(plain(text))) == holds


def test_equally_good_documents_are_in_the_order_in_which_they_were_known(tmp_path: Path) -> None:
    times = [START + timedelta(hours=hour) for hour in (3, 1, 2)]
    rows = pd.DataFrame({"number": range(3), "outlet": "x", "body": "same words", "known_at": times})
    with VaultWriter(tmp_path / "vault", name="docs", title="Docs", sources=[]) as writer:
        writer.add(SPEC, rows)
        view = writer.finish().as_of(times[0])
    for limit in (3, 2, 1):
        assert [hit.row["number"] for hit in view.search("docs", "words", limit=limit)] == [1, 2, 0][:limit]


@pytest.mark.parametrize("query", ["", "  ", "nobody wrote this", "?!", "\0", "w" * 10_000, "\ud800"])
def test_a_query_without_a_known_word_finds_nothing(vault: Vault, query: str) -> None:
    assert vault.as_of(START + timedelta(hours=99)).search("docs", query) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Talks, talks & TALKS!", ["talks", "talks", "talks"]),
        ("Erdoğan's élan", ["erdogan", "s", "elan"]),
        ("8-K of U.S. Steel_Corp, 3.5%", ["8", "k", "of", "u", "s", "steel", "corp", "3", "5"]),
        ("Straße ﬁne ２０２４", ["strasse", "fine", "2024"]),
        ("中国 политика", ["中国", "политика"]),
        ("茅台2023年净利润,7.1亿元", ["茅台", "2023", "年净", "净利", "利润", "7", "1", "亿元"]),
        ("沪 東京の株価 ｱｯﾌﾟﾙ", ["沪", "東京", "京の", "の株", "株価", "アッ", "ッフ", "フル"]),
    ],
)
def test_words_have_neither_case_nor_accents(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_phrases_are_held_as_a_plain_reading_has_it(vault: Vault, documents: pd.DataFrame) -> None:
    time = START + timedelta(hours=60)
    known = documents[documents.known_at <= time]
    texts = {row.number: f" {' '.join(words(row.body))} " for row in known.itertuples()}
    found = 0
    for phrases in (
        ["w0"],
        ["W0 w1"],
        ["w0, w1", "w2"],
        ["w3-w0_w1"],
        ["w1", "w1"],
        ["w0", "?!"],
        ["zz"],
        ["w0 w1 w0"],
        [],
    ):
        wanted = [f" {' '.join(words(phrase))} " for phrase in phrases]
        numbers = [number for number, text in texts.items() if all(phrase in text for phrase in wanted)]
        assert [row["number"] for row in vault.as_of(time).holding("docs", phrases)] == numbers, phrases
        some = [row["number"] for row in vault.as_of(time).holding("docs", phrases, where={"outlet": "wire"})]
        assert set(some) == set(numbers) & set(known[known.outlet == "wire"].number)
        found += 0 < len(numbers) < len(known)
    assert found > 4
