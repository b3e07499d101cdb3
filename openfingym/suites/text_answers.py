"""Answers in words for a suite: how a text becomes a row of a submission, and a packed reference a right answer.

An answer of any form, a text, a number, a JSON object or a list, is stored as text. Whether it is right is decided when
it is scored (:func:`openfingym.answers.decide`), and never while the question is played.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.answers import Reference
from openfingym.answers.packing import BYTES, WIDTH, pack, unpack
from openfingym.answers.reference import expected
from openfingym.errors import UsageError
from openfingym.suites.suite import AnswerForm, UnreadableAnswerError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def text_form(schema: Mapping[str, Any] | None = None, *, width: int = WIDTH, language: str = "en") -> AnswerForm:
    """The form of answers in words.

    Args:
        schema: what an agent may be told about the answer to one question
            (:meth:`~openfingym.answers.Reference.schema`); None for what all questions of a task share.
        width: numbers of a row; an answer has at most 4 bytes a number.
        language: language in which the agent is told, ``en`` or ``zh``.
    """
    instruction = expected(schema or {"parts": [], "table": False, "ordered": False}, language)
    return AnswerForm(
        labels=tuple(f"bytes {BYTES * i}-{BYTES * i + BYTES - 1}" for i in range(width)),
        expected=instruction,
        read=lambda answer: read_text(answer, width),
        write=lambda numbers: right_answer(numbers, width),
    )


def read_text(answer: object, width: int = WIDTH) -> NDArray[np.float64]:
    """The row of a submission for an answer: float64[width].

    Args:
        answer: the answer, a text or another JSON value.
        width: numbers of a row; an answer has at most 4 bytes a number.

    Raises:
        UnreadableAnswerError: the answer is empty, too long, or has characters that no text may have.
    """
    text = answer_text(answer)
    # Punctuation alone says nothing. Letters of any script count.
    if not any(map(str.isalnum, text)):
        raise UnreadableAnswerError("The answer is empty.")
    try:
        return pack(text, width)
    except UsageError as error:
        raise UnreadableAnswerError(f"The answer cannot be taken: {error}.") from error


def answer_text(answer: object) -> str:
    """An answer as text: yes or no for true or false, nothing for null, and JSON for other values that are no text."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, str):
        return answer.strip()
    return "" if answer is None else json.dumps(answer, ensure_ascii=False)


def right_answer(numbers: NDArray[np.float64], width: int = WIDTH) -> str:
    """The right answer of a row that is a packed reference; of any other row, the text that it is.

    Args:
        numbers: float64[at least width], the row.
        width: numbers of the row that have the text.
    """
    text = unpack(np.asarray(numbers, dtype=np.float64)[:width])
    try:
        return Reference.from_json(text).answer()
    except UsageError:
        return text
