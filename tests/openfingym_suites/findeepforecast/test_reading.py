"""Reading answers: what is written is read, reports around a table change nothing, and nothing raises."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym.errors import UsageError
from openfingym_suites.findeepforecast.forecasting.prompts import AskedForecast, full_prompt, table
from openfingym_suites.findeepforecast.forecasting.reading import (
    LARGEST,
    SMALLEST,
    plain_number,
    read_canonical,
    read_forecast,
    written,
)

MILLION = "million USD"
UNITS = ["", MILLION, "%", "USD", "index", "百万元", "x", "days"]
FIGURES = st.floats(-1e15, 1e15).filter(lambda value: not 0 < abs(value) < SMALLEST)
REPORT = """# Outlook

| Source | Says |
|---|---|
| Filing of 3 Oct | 1,390 |
| Analysts | 1,512 |

The likely figure is between 1,400 and 1,500, or 2 % more than a year before.

"""


def value_of(text, track="recurrent", unit=MILLION):
    found = read_forecast(text, track, unit)
    assert found.state == "answered", found
    return found.value


@given(FIGURES, st.sampled_from(UNITS), st.booleans())
def test_a_number_that_is_written_is_read(value, unit, report):
    asked = AskedForecast("How much?", "recurrent", "corporate", unit)
    answer = written(value, asked.field)
    assert value_of(f"{REPORT}{answer}\n\nSources: 7 pages." if report else answer, unit=unit) == value
    assert read_canonical(read_forecast(answer, "recurrent", unit).canonical).value == value


@given(st.booleans(), st.none() | st.just(0.5) | st.floats(SMALLEST, 1), st.booleans())
def test_yes_and_no_are_read_with_their_probability(said, chance, report):
    answer = written(said, "Prediction (YES/NO)", chance)
    found = read_forecast(f"{REPORT}{answer}" if report else answer, "non-recurrent")
    if chance is not None and chance != 0.5 and (chance > 0.5) is not said:
        assert found.state == "ambiguous"
        return
    assert (found.state, found.said) == ("answered", said)
    assert found.value == (float(said) if chance is None else chance)
    again = read_canonical(found.canonical)
    assert (again.value, again.said) == (found.value, found.said)


@given(st.text(max_size=60), st.sampled_from(["recurrent", "non-recurrent"]), st.sampled_from(UNITS))
def test_nothing_raises(text, track, unit):
    for answer in (text, f"| {text} | {text} |", f"| Prediction | {text} |\n| Probability | {text} |", f"{{{text}"):
        found = read_forecast(answer, track, unit)
        assert (found.value is None) == (found.state != "answered")
        assert found.note or found.state == "answered"
        if found.value is not None:
            assert abs(found.value) < LARGEST
            again = read_canonical(found.canonical)
            assert (again.value, again.said) == (found.value, found.said)


@given(st.lists(st.sampled_from("0123456789.,-+%xe$()| \n:YESNOyesno万亿millionbp—~／１［"), max_size=40).map("".join))
def test_nothing_made_of_pieces_of_answers_raises(text):
    for track in ("recurrent", "non-recurrent"):
        found = read_forecast(text, track, MILLION)
        assert (found.value is None) == (found.state != "answered")


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1,435", MILLION, 1435),
        ("$1,435 million", MILLION, 1435),
        ("USD 1.435bn", MILLION, 1435),
        ("14.35亿美元", MILLION, 1435),
        ("143,500万", MILLION, 1435),
        ("１，４３５", MILLION, 1435),
        ("1,435 (in millions)", MILLION, 1435),
        ("1,435 (up 3% from 1,390)", MILLION, 1435),
        ("approximately **1,435** million USD", MILLION, 1435),
        ("Nine hundred million dollars", MILLION, 900),
        ("$12.5 thousand", MILLION, 0.0125),
        ("(1,435)", MILLION, -1435),
        ("−1,435", MILLION, -1435),
        ("-$1,435m", MILLION, -1435),
        ("$(62.5)", MILLION, -62.5),
        ("1.435e3", MILLION, 1435),
        ("1.2885%", "%", 1.2885),
        ("128.85 bps", "%", 1.2885),
        ("fell 0.3%", "%", -0.3),
        ("1.234,56", "EUR", 1234.56),
        ("2.35x", "x", 2.35),
        ("45%", "", 0.45),
        ("2025", "index", 2025),
        # The unit of the question decides: no scale is guessed from the size of a number.
        ("1,435,000,000", MILLION, 1_435_000_000),
        ("$1,435,000,000", MILLION, 1_435_000_000),
        ("0.0129", "%", 0.0129),
        ("–0.59%", "%", -0.59),
        ("Net loss: $3.4 million", MILLION, -3.4),
        ("plunged 8.9%", "%", -8.9),
        ("$62.57$ million", MILLION, 62.57),
        ("62.57 Mrd. USD", MILLION, 62570),
        ("1,435 crores", MILLION, 14350),
        ("25 days", "days", 25),
    ],
)
def test_the_unit_of_the_question_decides(text, unit, value):
    assert value_of(text, unit=unit) == pytest.approx(value, rel=1e-12)
    assert value_of(f"| Field | Value |\n|:--|--:|\n| Prediction ({unit}) | {text} |", unit=unit) == pytest.approx(
        value
    )


@pytest.mark.parametrize(
    ("text", "track", "state"),
    [
        ("", "recurrent", "empty"),
        ("🙂 --", "recurrent", "empty"),
        (table(AskedForecast("?", "recurrent", "macro", "%")), "recurrent", "empty"),
        (table(AskedForecast("?", "non-recurrent", "macro"), probability=True), "non-recurrent", "empty"),
        ("1,400 - 1,500", "recurrent", "ambiguous"),
        ("more than 1,400", "recurrent", "ambiguous"),
        ("1,435 or 1,500", "recurrent", "ambiguous"),
        ("Final answer: 12\n\nFinal answer: 13", "recurrent", "ambiguous"),
        ("| Prediction | 1 |\n| Final forecast | 2 |", "recurrent", "ambiguous"),
        ("YES or NO", "non-recurrent", "ambiguous"),
        ("| Prediction | NO |\n| Probability | 72% |", "non-recurrent", "ambiguous"),
        ("| Prediction | NO |\n| Probability | often |", "non-recurrent", "unreadable"),
        ("€1,435 million", "recurrent", "unreadable"),
        ("5 %", "recurrent", "unreadable"),
        ("1e300", "recurrent", "unreadable"),
        ("1e9999", "recurrent", "unreadable"),
        ("nan", "recurrent", "unreadable"),
        ("1,435 zork", "recurrent", "unreadable"),
        ("1,435 million zork", "recurrent", "unreadable"),
        ("XYZ 1,435 million", "recurrent", "unreadable"),
        ("25 weeks", "recurrent", "unreadable"),
        ("- 1,435", "recurrent", "unreadable"),
        ("flurbed by 1,435", "recurrent", "unreadable"),
        ("| Prediction | ▲ 1,435 |", "recurrent", "unreadable"),
        ("YES", "recurrent", "unreadable"),
        ("12", "non-recurrent", "unreadable"),
        ("Perhaps", "non-recurrent", "unreadable"),
        (REPORT.partition("|")[0] + "It will be 1,435.\n\nOr so.", "recurrent", "unreadable"),
        ("9" * 400, "recurrent", "unreadable"),
    ],
)
def test_what_is_no_answer_has_a_state(text, track, state):
    found = read_forecast(text, track, MILLION)
    assert (found.state, found.value) == (state, None)
    assert found.note


def test_the_last_prediction_counts_wherever_it_stands():
    draft = written(1390.0, "Prediction (million USD)")
    final = written(1435.0, "Prediction (million USD)")
    assert value_of(f"Draft:\n\n{draft}\n\n{REPORT}Now:\n\n```\n{final}\n```\n\n{'More words. ' * 20_000}") == 1435.0
    # Without a name, the last table of two rows, as in the paper's code.
    assert value_of(f"{REPORT}\n\n| a | b |\n|---|---|\n| c | 1,435 |\n\nWith regards") == 1435.0
    assert value_of(f"{draft}\n\n{REPORT}") == 1390.0
    # Of two tables that nothing stands between, each has its own head.
    assert value_of(f"{draft}\n{final}") == 1435.0


@pytest.mark.parametrize(
    "answer",
    [
        *("YES", "**yes**", "[Yes]", "yes.", "YES (no doubt)", "true", "是", "ｙｅｓ", "Answer: YES"),
        *("<answer>yes</answer>", '{"prediction": "YES"}', '{"Prediction": true}'),
    ],
)
def test_yes_in_many_forms(answer):
    found = read_forecast(answer, "non-recurrent")
    assert (found.state, found.said, found.value) == ("answered", True, 1.0)


def test_what_cannot_be_written_is_refused():
    for value in (math.inf, math.nan, -LARGEST):
        with pytest.raises(UsageError, match="finite number"):
            plain_number(value)
    with pytest.raises(UsageError, match="from 0 to 1"):
        written(True, "Prediction (YES/NO)", 1.5)


def test_the_prompt_has_the_layout_of_the_paper():
    asked = AskedForecast(
        "Is it probable that Air Liquide SA will announce a new production facility in North America by 2025-12-19?",
        "non-recurrent",
        "corporate",
        details={
            "Company": "Air Liquide SA",
            "Ticker": "AI",
            "Index": "CAC 40",
            "Event Type": "Business Expansions",
        },
    )
    text = full_prompt(asked)
    places = [
        text.index(part)
        for part in (
            asked.text,
            "Event Details\n\n- Company: Air Liquide SA\n- Ticker: AI\n- Index: CAC 40\n- Event Type: Business ",
            "Requirements:\n\nProvide your prediction as either **YES** or **NO**",
            "Please complete your assessment based on:\n\n- Recent news and corporate announcements\n",
            "Submission Format",
            "| Field | Value |\n|-----|-----|\n| Prediction (YES/NO) | [Your prediction] |",
            "Additional Guidelines\n\n(1) **Independence:**",
            "(2) **Recency:**",
            "(3) **Output Format:** Your response must consist **ONLY** of the completed markdown table",
        )
    ]
    assert places == sorted(places)
    # What a model that copies the prompt answers is no answer.
    assert read_forecast(text, "non-recurrent").state == "empty"
    figure = AskedForecast("Estimate it.", "recurrent", "macro", "%", deadline="2025-11-02 23:59 (UTC+8)")
    assert "| Prediction (%) | [Your prediction] |" in full_prompt(figure)
    assert "- Deadline: 2025-11-02 23:59 (UTC+8)" in full_prompt(figure)


@pytest.mark.parametrize(
    "said",
    [
        "I was given no task: its instruction says how to load it",
        "I have no idea",
        "There is no doubt that it will",
        "no data were found",
        "It is true that talks began",
    ],
)
def test_a_word_within_a_sentence_is_no_answer(said: str) -> None:
    assert read_forecast(said, "non-recurrent", "").state == "unreadable"


@pytest.mark.parametrize(
    ("said", "yes"),
    [
        ("My forecast is NO because nothing is signed.", False),
        ("I predict YES, given the news", True),
        ("Yes, it will happen", True),
        ("After weighing it all: no.", False),
    ],
)
def test_a_sentence_that_answers_is_read(said: str, yes: bool) -> None:
    assert read_forecast(said, "non-recurrent", "").said is yes
