"""Files of questions: our own form, and both in which FinSearchComp was published.

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
from openfingym.suites.imported.references import live_reference, published_reference

LARGEST = 200 << 20
"""Bytes of a file of questions."""
LATEST = "2100-01-01T00:00:00+00:00"
"""As of when a question is asked that states no time: everything that is known may be looked up."""
_TIER = re.compile(r"\(?(T[123])\)?", re.IGNORECASE)
_CHINESE = re.compile("[一-鿿]")


@dataclass(frozen=True)
class ImportedQuestion:
    """A question of a file, with its answer."""

    id: str
    text: str
    reference: Reference
    as_of: str
    """UTC, ISO 8601."""
    tags: tuple[str, ...] = ()
    language: str = "en"
    source: str = ""

    def to_json(self) -> str:
        """A line in our own form."""
        found = {
            "id": self.id,
            "question": self.text,
            "reference": json.loads(self.reference.to_json()),
            "as_of": self.as_of,
            "tags": list(self.tags),
            "language": self.language,
            "source": self.source,
        }
        return json.dumps(found, ensure_ascii=False, sort_keys=True)


def read_questions(path: Path) -> tuple[ImportedQuestion, ...]:
    """The questions of a file, in any of the forms.

    Raises:
        DataError: a record is none, with its place; or two have one id.
    """
    found: list[ImportedQuestion] = []
    for place, record in records_of(path):
        try:
            found.append(_question(record, len(found) + 1))
        except (OpenFinGymError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{path}, {place}: {error}") from error
    ids = [question.id for question in found]
    if len(set(ids)) != len(ids):
        twice = next(one for one in ids if ids.count(one) > 1)
        raise DataError(f"{path}: two questions have the id {twice!r}; give each its own")
    if not found:
        raise DataError(f"{path} has no questions; expected JSON Lines, a record a line, or a JSON list of records")
    return tuple(found)


def records_of(path: Path) -> list[tuple[str, Mapping[str, object]]]:
    """The records of a file, each with its place in words.

    Raises:
        DataError: it cannot be read, or is not of records.
    """
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
        lines = enumerate(text.split("\n"), 1)
        placed = [(f"line {n}", _parsed(line, f"{path}, line {n}")) for n, line in lines if line.strip()]
    for place, value in placed:
        if not isinstance(value, dict):
            raise DataError(f"{path}, {place}: found {type(value).__name__}, expected a JSON object")
    return placed


def question_text(record: Mapping[str, object]) -> str:
    """The question of a record of any form, empty where it has none."""
    return str(record.get("question") or record.get("QUESTION") or record.get("prompt") or "")


def reference_of(record: Mapping[str, object]) -> Reference:
    """The reference of a record of any form.

    Raises:
        ValueError: it has no answer.
        UsageError: its reference is none.
    """
    name = str(record.get("id") or record.get("ID") or record.get("prompt_id") or "")
    return _reference(record, question_text(record), _group(record, name, _texts(record.get("tags"))))


def _parsed(text: str, where: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is no JSON: {error}") from error


def _question(record: Mapping[str, object], number: int) -> ImportedQuestion:
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
    stated = record.get("reference")
    if isinstance(stated, Mapping):
        return Reference.from_json(json.dumps(stated))
    criteria = _words(record.get("criteria"))
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
    """Subset and tier, as far as they are stated."""
    known = {"global", "greater china", "greater-china", "china"}
    subset = next((tag for tag in tags if tag.casefold() in known), "")
    return tuple(part for part in (subset.casefold().replace(" ", "-"), _tier(record, name, tags)) if part)


def _tier(record: Mapping[str, object], name: str, tags: Sequence[str]) -> str:
    for value in (str(record.get("tier") or record.get("TIER") or ""), name, *tags):
        if match := _TIER.match(value.strip()):
            return match[1].upper()
    return ""


def _as_of(value: object) -> str:
    if not value:
        return LATEST
    try:
        found = datetime.fromisoformat(str(value).strip().replace("/", "-"))
    except ValueError as error:
        raise ValueError(
            f"its time is {str(value)[:40]!r}; expected ISO 8601, such as 2025-08-01T20:00:00+00:00"
        ) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _words(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(part.strip() for part in re.split(r"[,;]", value) if part.strip())
    return tuple(map(str, value)) if isinstance(value, list) else ()
