"""How a model is asked MIRAI's questions: the paper's prompts, the forms of an answer, and the vote over several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.asking import Approach, Prompt, UnreadableCallError
from openfingym.suites.suite import AnswerForm, UnreadableAnswerError
from openfingym_suites.mirai import answers
from openfingym_suites.mirai.arguments import IllegalCallError
from openfingym_suites.mirai.calls import parsed_call
from openfingym_suites.mirai.prompts import AnswerStyle, Style, prompt_of
from openfingym_suites.mirai.retrieval import Retrieved, asked
from openfingym_suites.mirai.tools import ILLEGAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.suite import SuiteQuestion

VOTES = 2
"""How many of several answers must name a code: the paper's text says more than two, its code at least two."""
STYLES: Mapping[str, tuple[AnswerStyle, int | None]] = {
    "set": ("set", None),
    "top10": ("ranking", 10),
    "top30": ("ranking", 30),
    "all": ("ranking", None),
    "probabilities10": ("probabilities", 10),
    "probabilities30": ("probabilities", 30),
    "probabilities": ("probabilities", None),
}
"""Forms in which an agent may be asked for its answer, by name: the style, and how many codes count (None: all)."""


def form_of(name: str) -> AnswerForm:
    """A form of an answer by its name."""
    style, most = STYLES[name]
    if style == "set":
        return AnswerForm(answers.labels(), answers.SET_FORM, read, write)
    expected = answers.RANKING_FORM if style == "ranking" else answers.PROBABILITY_FORM
    return AnswerForm(
        answers.labels(), expected, partial(_read_ranking, most=most, probabilities=style == "probabilities"), write
    )


def read(answer: object) -> NDArray[np.float64]:
    """The numbers of a set of codes, or of a ranking of second-level codes with or without probabilities.

    Raises:
        UnreadableAnswerError: the answer is neither.
    """
    parsed = answers.parsed_set(answer)
    if isinstance(parsed, answers.Unparsed):
        ranked = answers.parsed_ranking(answer)
        # The complaint is about the set, which is the form that was asked for.
        if isinstance(ranked, answers.Unparsed):
            raise UnreadableAnswerError(f"The answer could not be parsed: {parsed.complaint}.")
        parsed = ranked
    return parsed.numbers()


def write(numbers: NDArray[np.float64]) -> object:
    """A set of codes as a dictionary by first-level code; if they have scores, second-level codes with their scores."""
    # Twelve digits leave out the noise of a mean of floats, such as 0.30000000000000004.
    named = {
        label: round(float(number), 12) for label, number in zip(answers.labels(), numbers, strict=True) if number > 0
    }
    second = {code: number for code, number in named.items() if len(code) == 3}
    if any(number < 1.0 for number in second.values()):
        return dict(sorted(second.items(), key=lambda pair: -pair[1]))
    # All scores are 1, as those of a set are.
    first = sorted(code for code in named if len(code) == 2)
    return {root: sorted(code for code in second if code[:2] == root) for root in first}


def voted(samples: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The codes that at least :data:`VOTES` answers name, or all of them if there are fewer answers.

    The score of a code is its mean over all answers, or 1 if all answers are sets. A first-level code stays if one of
    its second-level codes does.
    """
    stacked = np.stack(samples)
    named = stacked > 0.0
    scores = 1.0 if np.isin(stacked, (0.0, 1.0)).all() else stacked.mean(axis=0)
    kept = np.where(named.sum(axis=0) >= min(VOTES, len(samples)), scores, 0.0)
    labels = answers.labels()
    # Answers of countries have another length, and no levels.
    if len(kept) == len(labels):
        for place, code in enumerate(labels):
            if len(code) == 3 and kept[place] > 0.0:
                kept[labels.index(code[:2])] = 1.0
    return np.asarray(kept)


def prompt(question: SuiteQuestion, way: Approach, subset: str, found: object) -> Prompt:
    """The paper's prompt; see :meth:`openfingym.suites.suite.Suite.prompt`."""
    # The usual form has no name; questions for countries have one form, "list", for which the style is not used.
    style, most = STYLES.get(way.answer, STYLES["set"])
    return prompt_of(
        _style(way),
        asked(question),
        subset=subset if way.method == "react" else "none",
        answer=style,
        most=most,
        retrieved=found if isinstance(found, Retrieved) else None,
        steps=way.steps,
        simulated=way.simulated,
    )


def _style(way: Approach) -> Style:
    if way.method == "react":
        styles: dict[str, Style] = {"function": "react-single", "block": "react-code", "tags": "thinking"}
        return styles.get(way.action, "react-single")
    if way.method == "rag":
        return "retrieval"
    if way.dictionary and way.method == "direct":
        return "dictionary"
    return "direct" if way.method == "direct" else "zero-shot-cot"


def read_call(text: str) -> tuple[str, dict[str, object]]:
    """The function that a line of text calls, with its arguments as JSON values.

    Raises:
        UnreadableCallError: the line is not a call; the message is in the paper's words.
    """
    try:
        return parsed_call(text)
    except IllegalCallError as error:
        raise UnreadableCallError(ILLEGAL.format(error)) from None


def _read_ranking(answer: object, *, most: int | None, probabilities: bool) -> NDArray[np.float64]:
    ranked = answers.parsed_ranking(answer, most, probabilities=probabilities)
    if isinstance(ranked, answers.Unparsed):
        raise UnreadableAnswerError(f"The answer could not be parsed: {ranked.complaint}.")
    return ranked.numbers()
