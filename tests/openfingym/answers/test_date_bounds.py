"""A bound on a date, an offset from one, and one end of a range are no dates, in English and in Chinese."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.answers import Part, Reference, decide
from openfingym.answers.reading.dates import dates_of, doubt

FORMS = {
    "2024-03-04": ["2024-03-04", "4 March 2024", "March 4, 2024", "March 4th, 2024", "2024/03/04", "2024年3月4日"],
    "2024-04": ["April 2024", "2024年4月", "April of 2024"],
    "2024-Q2": ["Q2 2024", "second quarter of 2024", "2024年第二季度"],
    "2024-H1": ["H1 2024", "2024年上半年"],
    "2024": ["2024", "2024年", "FY2024", "fiscal year 2024"],
}
BEFORE = ["before", "after", "since", "until", "till", "by", "prior to", "no later than", "not later than", "up to"]
BEFORE += ["no earlier than", "earlier than", "later than", "on or before", "before or on", "not before", "through"]
BEFORE += ["as late as", "starting", "beginning from", "by the end of", "ahead of", "<", "<=", "≥", "before: "]
BEFORE += ["不晚于", "早于", "直到", "自", "自从", "不迟于"]
AFTER = [" or earlier", " or later", " and later", " onwards", " at the latest", ", at the earliest", " (or later)"]
AFTER += [" to date", " - present", "+", "之前", "以前", "前", "之后", "以后", "起", "为止", "以来", "或以后"]
VAGUE_BEFORE = ["around", "about", "two days after", "the day before", "the week of", "from", "截至", "大约"]
VAGUE_AFTER = [" or so", " or thereabouts", "前后", "左右", "的次日", "的前一天"]


def date(value: str) -> Reference:
    return Reference((Part("date", "date", value),))


def texts(value: str) -> st.SearchStrategy[str]:
    return st.sampled_from(FORMS[value])


@pytest.mark.parametrize("value", FORMS)
@pytest.mark.parametrize("word", BEFORE)
def test_a_bound_before_a_date_is_wrong(value: str, word: str) -> None:
    for form in FORMS[value]:
        assert decide(date(value), f"{word} {form}").outcome == "wrong", form
        assert decide(date(value), f"It was {word} {form}.").outcome == "wrong", form


@pytest.mark.parametrize("value", FORMS)
@pytest.mark.parametrize("word", AFTER)
def test_a_bound_after_a_date_is_wrong(value: str, word: str) -> None:
    for form in FORMS[value]:
        assert decide(date(value), f"{form}{word}").outcome == "wrong", form


@pytest.mark.parametrize("value", FORMS)
@pytest.mark.parametrize(
    ("before", "after"), [*((word + " ", "") for word in VAGUE_BEFORE), *(("", word) for word in VAGUE_AFTER)]
)
def test_what_may_mean_another_date_is_undecided(value: str, before: str, after: str) -> None:
    for form in FORMS[value]:
        assert decide(date(value), f"{before}{form}{after}").outcome == "undecided", form


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("2024-03-08", "4-8 March 2024"),
        ("2024-03-08", "4 or 8 March 2024"),
        ("2024-03-04", "March 4 or 5, 2024"),
        ("2024-03-04", "2024年3月4日至8日"),
        ("2024-03-04", "2024-03-04/08"),
        ("2024-03-04", "2024-03-04 to 2024-03-08"),
        ("2024-03-04", "between 2024-03-04 and 2024-03-08"),
        ("2024-Q2", "Q1-Q2 2024"),
        ("2024-Q2", "first or second quarter of 2024"),
        ("2024-Q1", "2024年第一、二季度"),
        ("2024-04", "March-April 2024"),
        ("2024-04", "March or April 2024"),
        ("2023", "2023-2024"),
        ("2023", "2023/24"),
    ],
)
def test_an_end_of_a_range_is_not_right(value: str, answer: str) -> None:
    assert decide(date(value), answer).outcome != "right"


@pytest.mark.parametrize(
    "answer",
    [
        *FORMS["2024-03-04"],
        "It was on Monday, March 4, 2024.",
        "after the close on March 4, 2024",
        "before the market opened on 2024-03-04",
        "2024-03-04T16:00:00Z",
        "2024-03-04 16:00",
        "as of March 4, 2024",
        "2024年3月4日收盘后",
        "reported by Reuters on 2024-03-04",
        "In the first quarter of 2024, on March 4, 2024",
        "The filing is dated March 4, 2024, and nothing else is.",
    ],
)
def test_a_date_with_other_words_is_right(answer: str) -> None:
    assert decide(date("2024-03-04"), answer).outcome == "right"


@pytest.mark.parametrize(
    ("value", "answer", "outcome"),
    [
        ("2024-03-04", "March 4", "undecided"),  # of which year is not said
        ("2024-03-04", "March 5", "wrong"),
        ("2024-03-04", "2024-03", "wrong"),
        ("2024-04", "2024-04-05", "right"),
        ("2024-04", "Q2 2024", "wrong"),
        ("2024-04", "H1 2024", "wrong"),
        ("2024-Q2", "April 2024", "wrong"),
        ("2024-Q2", "H1 2024", "wrong"),
        ("2024", "Q2 2024", "right"),
        ("2024", "first half: H1 2023", "wrong"),
        ("2024", "FY2024, Q2 2023", "wrong"),
        ("2024", "FY2024 or Q2 2023", "undecided"),
        *(("2024-01", form, "right") for form in ("January 2024", "2024年1月", "2024-01", "Jan. 2024")),
        *(("2024-12", form, "right") for form in ("December 2024", "2024年12月", "2024-12", "Dec 2024")),
        *(("2024-Q1", form, "right") for form in ("first quarter of 2024", "2024年第一季度", "Q1 2024", "2024Q1")),
        *(
            ("2024-Q2", form, "right")
            for form in ("second quarter of 2024", "2024年第二季度", "2024年2季度", "2024 Q2")
        ),
        *(("2024-Q3", form, "right") for form in ("third quarter of 2024", "2024年第三季度", "Q3 FY2024")),
        *(("2024-Q4", form, "right") for form in ("fourth quarter of 2024", "2024年第四季度", "Q4 2024")),
        *(("2024-H1", form, "right") for form in ("2024年上半年", "H1 2024", "2024H1")),
        *(("2024-H2", form, "right") for form in ("2024年下半年", "H2 2024")),
        *(("2024", form, "right") for form in ("FY24", "fiscal 2024", "2024年", "2024年度")),
        *(("2024-01-31", form, "right") for form in ("31 January 2024", "31/01/2024", "20240131", "2024年1月31日")),
        *(("2024-04", form, "wrong") for form in ("2024年13月", "2024年0月", "2024年5月", "13月4日")),
        *(("2024-04-05", form, "undecided") for form in ("4月5日", "April 5", "Apr 5th", "05/04/2024", "04/05/2024")),
        *(("2024-04-05", form, "wrong") for form in ("13月5日", "4月6日", "0月5日", "05/05/2024", "April 55, 2024")),
        *(("2024-12-05", form, "undecided") for form in ("12月5日", "Dec. 5", "05/12/2024")),
        *(("2024-01-05", form, "undecided") for form in ("1月5日", "January 5")),
        *(("2024-04-13", form, "right") for form in ("13/04/2024", "04/13/2024", "13.04.2024", "2024.04.13")),
        *(("2024-04-13", form, "wrong") for form in ("13/13/2024", "20241304", "2024-13-04")),
        *(("2024-02-29", form, "wrong") for form in ("2024-02-28", "2023-02-29", "20240230", "29/02/2023")),
    ],
)
def test_how_fine_a_date_has_to_be(value: str, answer: str, outcome: str) -> None:
    assert decide(date(value), answer).outcome == outcome


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(FORMS)).flatmap(texts),
    st.sampled_from([*BEFORE, *VAGUE_BEFORE]),
    st.text("ab .", max_size=9),
)
def test_a_word_of_doubt_counts_only_beside_the_date(form: str, word: str, between: str) -> None:
    def doubted(text: str) -> str:
        (mention,) = [
            m for m in dates_of(text) if form.endswith(text[m.start : m.end]) or text[m.start : m.end] == form
        ]
        return doubt(text, mention)

    if form == "2024" or not dates_of(form):
        return
    assert doubted(form) == ""
    assert doubted(f"{word} {form}") in {"bound", "vague"}
    # A sentence that ended between them took the word with it.
    assert doubted(f"{word} x{between}. On {form}") == ""
