"""Reading files of questions: our own form, and the two in which FinSearchComp was published.

====================================  ==========================================================
form                                  keys of a record
====================================  ==========================================================
our own                               ``id``, ``question``, ``reference`` (a
                                      :class:`~openfingym.answers.Reference` as JSON) or ``answer``
                                      with ``criteria`` in words; ``as_of``, ``tags``, ``language``
the paper's                           ``ID``, ``TIER``, ``QUESTION``, ``TOOL_TEMPLATE``, ``ANSWER``, ``TRACE``
the authors' code's                   ``prompt_id``, ``prompt``, ``response_reference``, ``tags``,
                                      ``source``, and of T1 ``ground_truth``, ``time``, ``method``
====================================  ==========================================================

A file is JSON Lines, or a JSON list of records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from openfingym.answers import Reference
from openfingym.errors import DataError, OpenFinGymError
from openfingym.suites.suite import UNDATED
from openfingym_suites.imported.references import live_reference, published_reference

LARGEST = 200 << 20
"""Most bytes of a file of questions."""
_TIER = re.compile(r"\(?(T[123])\)?", re.IGNORECASE)
_CHINESE = re.compile("[一-鿿]")


@dataclass(frozen=True)
class ImportedQuestion:
    """A question of a file, with its answer."""

    id: str
    text: str
    reference: Reference
    """The right answer, as parts that rules can decide, or as a text for a judge."""
    as_of: str
    """Time as of which it is asked, UTC, ISO 8601."""
    tags: tuple[str, ...] = ()
    language: str = "en"
    """``en`` or ``zh``."""
    source: str = ""
    """Where the question is from, as the file states it."""

    def to_json(self) -> str:
        """The question as a line of a file in our own form."""
        record = {
            "id": self.id,
            "question": self.text,
            "reference": json.loads(self.reference.to_json()),
            "as_of": self.as_of,
            "tags": list(self.tags),
            "language": self.language,
            "source": self.source,
        }
        return json.dumps(record, ensure_ascii=False, sort_keys=True)


def read_questions(path: Path) -> tuple[ImportedQuestion, ...]:
    """The questions of a file in any of the forms, in the order of their times; those of one time as they are there.

    Tools show what was known as of a question's time: in another order they would know what became of questions that
    are still to be asked.

    Args:
        path: the file, JSON Lines or a JSON list of records.

    Raises:
        DataError: the file cannot be read, a record is no question, two questions have the same id, or there are none.
    """
    questions: list[ImportedQuestion] = []
    for place, record in records_of(path):
        try:
            questions.append(_question(record, len(questions) + 1))
        except (OpenFinGymError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{path}, {place}: {error}") from error
    ids = [question.id for question in questions]
    if len(set(ids)) != len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise DataError(f"{path}: two questions have the id {twice!r}; give each its own")
    if not questions:
        raise DataError(f"{path} has no questions; expected JSON Lines, a record a line, or a JSON list of records")
    return tuple(sorted(questions, key=lambda question: datetime.fromisoformat(question.as_of)))


def records_of(path: Path) -> list[tuple[str, Mapping[str, object]]]:
    """The records of a file, each with its place in words, such as ``line 3``.

    Args:
        path: the file, JSON Lines or a JSON list of records.

    Raises:
        DataError: the file is too large, cannot be read as UTF-8, or has something else than JSON objects.
    """
    # utf-8-sig also reads files without a byte order mark, which spreadsheets put at the beginning.
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path} has more than {LARGEST >> 20} MiB; expected a file of questions")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as UTF-8: {error}") from error
    if text.lstrip().startswith("["):
        values = _parsed(text, str(path))
        assert isinstance(values, list)
        placed = [(f"record {number}", value) for number, value in enumerate(values, 1)]
    else:
        # Not splitlines(), which also splits at separators that JSON allows within a string.
        lines = enumerate(text.split("\n"), 1)
        placed = [(f"line {n}", _parsed(line, f"{path}, line {n}")) for n, line in lines if line.strip()]
    for place, value in placed:
        if not isinstance(value, dict):
            raise DataError(f"{path}, {place}: found {type(value).__name__}, expected a JSON object")
    return placed


def question_text(record: Mapping[str, object]) -> str:
    """The question of a record in any of the forms; empty if it has none."""
    return str(record.get("question") or record.get("QUESTION") or record.get("prompt") or "")


def reference_of(record: Mapping[str, object]) -> Reference:
    """The reference of a record in any of the forms.

    Raises:
        ValueError: the record has no answer.
        UsageError: the reference that it states is not sound.
    """
    name = str(record.get("id") or record.get("ID") or record.get("prompt_id") or "")
    return _reference(record, question_text(record), _group(record, name, _texts(record.get("tags"))))


def _parsed(text: str, where: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is no JSON: {error}") from error


def _question(record: Mapping[str, object], number: int) -> ImportedQuestion:
    """The question of a record in any of the forms, whose number names it if it has no id.

    Raises:
        ValueError: it has no question or no answer, or its time cannot be read.
        UsageError: the reference that it states is not sound.
    """
    text = question_text(record).strip()
    if not text:
        raise ValueError("it has no question; expected `question`, `QUESTION` or `prompt`")
    name = str(record.get("id") or record.get("ID") or record.get("prompt_id") or f"question-{number}")
    tags = _texts(record.get("tags"))
    group = _group(record, name, tags)
    return ImportedQuestion(
        id=name,
        text=text,
        reference=_reference(record, text, group),
        as_of=_as_of(record.get("as_of") or record.get("time")),
        tags=tuple(dict.fromkeys([*group, *tags])),
        language=str(record.get("language") or ("zh" if _CHINESE.search(text) else "en")),
        source=str(record.get("source") or ""),
    )


def _reference(record: Mapping[str, object], question: str, group: tuple[str, ...]) -> Reference:
    """The reference of a record: as it states it, or read from its answer in words.

    Args:
        record: the record, as the file has it.
        question: text of the question.
        group: subset and tier, as far as they are stated.

    Raises:
        ValueError: the record has no answer.
        UsageError: the reference that it states is not sound.
    """
    stated = record.get("reference")
    if isinstance(stated, Mapping):
        return Reference.from_json(json.dumps(stated))
    criteria = _words(record.get("criteria"))
    # A question on the latest price is compared with what a service said when it was asked, not with published words.
    if record.get("ground_truth"):
        return live_reference(
            question, _words(record.get("response_reference")) or criteria, record["ground_truth"], group
        )
    answer = _words(record.get("answer") or record.get("ANSWER") or record.get("response_reference") or stated)
    if not answer.strip():
        raise ValueError(
            "it has no answer; expected `reference`, `answer`, `ANSWER`, `response_reference` or `ground_truth`"
        )
    return published_reference(question, answer, criteria, group)


def _group(record: Mapping[str, object], name: str, tags: Sequence[str]) -> tuple[str, ...]:
    """The subset and the tier of a question, as far as its record states them."""
    known = {"global", "greater china", "greater-china", "china"}
    subset = next((tag for tag in tags if tag.casefold() in known), "")
    return tuple(part for part in (subset.casefold().replace(" ", "-"), _tier(record, name, tags)) if part)


def _tier(record: Mapping[str, object], name: str, tags: Sequence[str]) -> str:
    """The tier of a question by its own field, its id, which may begin with it, or its tags; empty for none."""
    for value in (str(record.get("tier") or record.get("TIER") or ""), name, *tags):
        if match := _TIER.match(value.strip()):
            return match[1].upper()
    return ""


def _as_of(value: object) -> str:
    """A time in ISO 8601, in UTC; without a zone it is taken for UTC.

    Raises:
        ValueError: it cannot be read.
    """
    if not value:
        return UNDATED
    try:
        # A day may also be written as 2025/08/01.
        moment = datetime.fromisoformat(str(value).strip().replace("/", "-"))
    except ValueError as error:
        raise ValueError(
            f"its time is {str(value)[:40]!r}; expected ISO 8601, such as 2025-08-01T20:00:00+00:00"
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _words(value: object) -> str:
    """A value as text: what is no text, as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _texts(value: object) -> tuple[str, ...]:
    """Tags from a list, or from a text with commas or semicolons between them."""
    if isinstance(value, str):
        return tuple(part.strip() for part in re.split(r"[,;]", value) if part.strip())
    return tuple(map(str, value)) if isinstance(value, list) else ()
