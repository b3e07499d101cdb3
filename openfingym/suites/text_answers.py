"""Answers in words for a suite: how a text becomes a row of a submission, and a packed reference a right answer.

What any answer is given as, a text, a number, a JSON object or a list, is kept as text; whether it is right is decided
when it is scored (:func:`openfingym.answers.decide`), never while the question is played.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.answers import BYTES, WIDTH, Reference, expected, pack, unpack
from openfingym.errors import UsageError
from openfingym.suites.suite import AnswerForm, UnreadableAnswerError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def text_form(schema: Mapping[str, Any] | None = None, *, width: int = WIDTH, language: str = "en") -> AnswerForm:
    """The form of answers in words.

    Args:
        schema: what may be told of one question's answer (:meth:`~openfingym.answers.Reference.schema`); None for what
            all questions of a task share.
        width: numbers of a row; an answer has at most 4 bytes a number.
        language: ``en`` or ``zh``.
    """
    told = expected(schema or {"parts": [], "table": False, "ordered": False}, language)
    return AnswerForm(
        labels=tuple(f"bytes {BYTES * i}-{BYTES * i + BYTES - 1}" for i in range(width)),
        expected=told,
        read=lambda answer: read_text(answer, width),
        write=lambda numbers: right_answer(numbers, width),
    )


def read_text(answer: object, width: int = WIDTH) -> NDArray[np.float64]:
    """The row of an answer.

    Raises:
        UnreadableAnswerError: it is empty, too long, or has characters that no text may have.
    """
    text = answer_text(answer)
    if not any(map(str.isalnum, text)):
        raise UnreadableAnswerError("The answer is empty.")
    try:
        return pack(text, width)
    except UsageError as error:
        raise UnreadableAnswerError(f"The answer cannot be taken: {error}.") from error


def answer_text(answer: object) -> str:
    """An answer as text: what is no text as JSON, and yes or no in place of true or false."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, str):
        return answer.strip()
    return "" if answer is None else json.dumps(answer, ensure_ascii=False)


def right_answer(numbers: NDArray[np.float64], width: int = WIDTH) -> str:
    """What is answered where a row is a packed reference: a right answer; of any other row its own text."""
    text = unpack(np.asarray(numbers, dtype=np.float64)[:width])
    try:
        return Reference.from_json(text).answer()
    except UsageError:
        return text
