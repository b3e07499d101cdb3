"""The cleaning of texts: each measure against a value found by hand or by another way of counting."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym_suites.mirai.gdelt import cleaning
from openfingym_suites.mirai.gdelt.pages import read_page, title_of_url
from openfingym_suites.mirai.gdelt.texts import is_local

GOOD = "The ministers of both countries met in the capital on Monday and agreed that they would soon talk again."


@given(st.text("ab ", max_size=80))
def test_repetition_of_characters_is_that_of_its_definition(text: str) -> None:
    """Counted again by the published definition, with plain loops."""
    sequences = [text[start : start + 10] for start in range(max(0, len(text) - 9))]
    counts = sorted((sequences.count(one) for one in set(sequences)), reverse=True)
    most = min(int(math.sqrt(len(counts))), len(counts) - counts.count(1))
    expected = sum(counts[:most]) / sum(counts) if counts else 0.0
    assert cleaning.character_repetition(text) == pytest.approx(expected)


@given(st.lists(st.sampled_from(["a", "B", "b", "c"]), max_size=40))
def test_repetition_of_words_is_the_share_of_sequences_that_occur_again(words: list[str]) -> None:
    sequences = [tuple(word.lower() for word in words[start : start + 5]) for start in range(max(0, len(words) - 4))]
    again = [one for one in sequences if sequences.count(one) > 1]
    assert cleaning.word_repetition(words) == pytest.approx(len(again) / max(1, len(sequences)))


def test_paragraphs_go_one_by_one_and_the_rest_stays() -> None:
    second = "Officials said that it had been a good meeting, and that more of them would follow in the summer."
    kept = cleaning.clean_text(f"{GOOD}\nToo short.\n{'=*=' * 30} a b c d\n\n{'again and again ' * 30}\n{second}")
    assert kept == f"{GOOD}\n\n{second}"
    assert cleaning.clean_text(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Nine words are one too few for a document.",
        "Los ministros de los dos países se reunieron en la capital y acordaron que hablarían de nuevo del caso.",
        "Министры обеих стран встретились в столице и договорились, что снова будут говорить о границе между ними.",
        "Buy porn here, porn there and more porn than you have ever seen in all of the places that you know of.",
        "the 1345 of 2452 and 3123 to 4872 in 9861 a 2312 is 7624 that 1237 for 8273 it 1287 was 8362",
        "the same four words " * 30,
    ],
)
def test_documents_beyond_a_bound_are_dropped(text: str) -> None:
    assert cleaning.clean_text(text) is None


@pytest.mark.parametrize(
    ("text", "english"),
    [
        (GOOD, True),
        ("Le président a dit que la situation dans le pays est difficile pour les citoyens.", False),
        ("Der Präsident sagte, dass die Lage in dem Land schwierig ist und das Geld nicht für alle reicht.", False),
        ("Presiden mengatakan bahwa situasi di negara itu sulit dan tidak ada uang untuk warga.", False),
        ("Kyiv, Warsaw, Berlin, Paris.", False),
    ],
)
def test_english_is_told_from_others(text: str, english: bool) -> None:
    assert (cleaning.english_share(text.split()) >= 0.8) is english


def test_a_page_gives_its_title_and_what_is_said_in_it() -> None:
    page = read_page(
        b"<html><head><meta charset='latin-1'><title>Site name</title>"
        b"<meta property='og:title' content='A &amp; B meet'>"
        b"<script>if (1 < 2) { document.write('<p>no</p>'); }</script></head><body><nav><ul><li>Menu</li></ul></nav>"
        b"<article><p>First <b>bold</b> caf\xe9<p>Second, never closed<div><aside><p>Advert</p></aside></div>"
        b"<blockquote>Quoted</blockquote></article><footer><p>Imprint</p></footer>"
    )
    assert page.title == "A & B meet"
    assert page.text.splitlines() == ["First bold café", "Second, never closed", "Quoted"]


@given(st.binary(max_size=300))
def test_no_page_breaks_the_reader(content: bytes) -> None:
    for page in (content, b"<p>" + content + b"</p><nav>" + content):
        assert isinstance(read_page(page).text, str)


@pytest.mark.parametrize("charset", ["undefined", "punycode", "idna", "unicode-escape", "Raw_Unicode_Escape", "hex"])
def test_a_page_is_read_whatever_encoding_it_states(charset: str) -> None:
    """Of punycode a page of this size would take minutes."""
    page = read_page(b"<meta charset=" + charset.encode() + b"><p>caf\xc3\xa9 " + b"words " * 100_000)
    assert page.text.startswith("caf\u00e9 words")


def test_titles_are_made_of_addresses() -> None:
    assert title_of_url("https://a.example/news/2023/03/leaders-meet-there-12345.html?x=1") == "Leaders meet there"
    assert title_of_url("https://a.example/12345") == "a.example"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.0.0.8", "169.254.169.254", "::1", "db.internal",
                                  "2130706433", "127.1", "0x7f.0.0.1", "0x7f000001", "127.0.0.1.", "localhost.",
                                  "router", "::ffff:127.0.0.1", ""])  # fmt: skip
def test_addresses_of_this_network_are_known(host: str) -> None:
    assert is_local(host)
    assert not is_local("news.example")
    assert not is_local("0x7.news.example")
    assert not is_local("93.184.216.34")
