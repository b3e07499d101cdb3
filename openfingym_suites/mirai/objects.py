"""Questions for countries: towards which will a country take a relation on a day, ``(t + l, s, r, ?)``.

An answer is a list of countries, the likeliest first. As numbers, float64[countries], each country that is named has 1
over its place in the list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.suite import AnswerForm, SuiteQuestion, UnreadableAnswerError
from openfingym_suites.mirai import answers, splits, taxonomy

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXT = (
    "Please forecast the countries towards which {head} will take the relation {relation} ({name}) on {day} based on "
    "historical information up to {known}. I.e. forecast the object ISO codes in query event Event(date={date}, "
    "head_entity=ISOCode({head_iso}), relation=CAMEOCode({relation}), tail_entity=ISOCode(?))."
)
"""The paper's question for relations (appendix F.1.2), turned round."""
FORM = f"{answers.COUNTRY_FORM}; the most likely country first"
_SAMPLES = 10
"""How many countries an answer that is drawn names."""


@cache
def labels() -> tuple[str, ...]:
    """ISO 3166-1 alpha-3 codes of all countries."""
    return tuple(country.iso3 for country in taxonomy.countries())


def form() -> AnswerForm:
    """A list of countries, the likeliest first."""
    return AnswerForm(labels(), FORM, read, write)


def read(answer: object) -> NDArray[np.float64]:
    """The numbers of a list of countries.

    Raises:
        UnreadableAnswerError: the answer is not such a list.
    """
    parsed = answers.parsed_countries(answer)
    if isinstance(parsed, answers.Unparsed):
        raise UnreadableAnswerError(f"The answer could not be parsed: {parsed.complaint}.")
    return _numbers(parsed.countries)


def write(numbers: NDArray[np.float64]) -> object:
    """The countries with a number above 0, the highest first."""
    order = np.argsort(-np.asarray(numbers), kind="stable")
    return [labels()[place] for place in order.tolist() if numbers[place] > 0]


def truth(query: splits.Query) -> NDArray[np.float64]:
    """The true answer of a query, float64[countries]: 1 for the countries of its events, else 0."""
    return (_numbers(query.answers) > 0).astype(np.float64)


def question(query: splits.Query, horizon: int) -> SuiteQuestion:
    """A query, as it is put to an agent."""
    known, head = splits.as_of(query.date, horizon), taxonomy.country(query.head)
    return SuiteQuestion(
        id=f"{query.id}-{horizon}",
        text=TEXT.format(
            head=head.name,
            relation=query.relation,
            name=taxonomy.relation(query.relation).name,
            day=f"{query.date:%B %d, %Y}",
            known=f"{known:%B %d, %Y}",
            date=query.date,
            head_iso=query.head,
        ),
        as_of=known.isoformat(),
        query={"date": str(query.date), "head": query.head, "relation": query.relation, "today": f"{known:%Y-%m-%d}"},
        tags=(f"{query.date:%Y-%m}", f"{horizon} d"),
    )


def prior(truths: NDArray[np.float64]) -> NDArray[np.float64]:
    """All countries that were an answer to a training question, the most frequent first."""
    return _numbers(_by_frequency(truths))


def skillless(truths: NDArray[np.float64], rows: int, generator: np.random.Generator) -> dict[str, NDArray[np.float64]]:
    """Answers without skill by name: nothing, every country, a few of the most frequent, and some that are drawn."""
    often = _by_frequency(truths)
    guesses = {"nothing": np.zeros((rows, truths.shape[1])), "every country alike": np.ones((rows, truths.shape[1]))}
    fixed = {"every country by its code": labels(), "the most frequent backwards": often[::-1]}
    fixed |= {f"the {most} most frequent": often[:most] for most in (1, 3, 10)}
    guesses |= {name: np.repeat(_numbers(listed)[None], rows, axis=0) for name, listed in fixed.items()}
    chances = truths.mean(axis=0) / truths.mean(axis=0).sum()
    # Without replacement no more can be drawn than have a chance.
    size = min(_SAMPLES, int((chances > 0).sum()))
    drawn = [generator.choice(len(chances), size, replace=False, p=chances) for _ in range(rows)]
    guesses["drawn as often as in training"] = np.stack([_numbers([labels()[place] for place in row]) for row in drawn])
    return guesses


def _by_frequency(truths: NDArray[np.float64]) -> Sequence[str]:
    order = np.argsort(-truths.sum(axis=0), kind="stable")
    return [labels()[place] for place in order.tolist() if truths[:, place].any()]


def _numbers(countries: Sequence[str]) -> NDArray[np.float64]:
    """Countries in the order of a ranking as numbers, float64[countries]: 1 over the place, and 0 for the others."""
    places = _places()
    row = np.zeros(len(places))
    for rank, code in enumerate(countries, 1):
        row[places[code]] = 1.0 / rank
    return row


@cache
def _places() -> Mapping[str, int]:
    return {code: place for place, code in enumerate(labels())}
