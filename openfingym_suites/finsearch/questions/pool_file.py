"""The file of the pool, which comes with the library: each question with its answer, program and other readings.

``scripts/finsearch_pool.py`` draws the pool from the vault ``finsearch`` and writes the file (:func:`write_pool`), once
every question is proved.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.answers import Reference
from openfingym.digests import sha256_of
from openfingym.errors import DataError
from openfingym.suites.suite import SuiteQuestion
from openfingym_suites.finsearch.questions.drawing import AskedValue
from openfingym_suites.finsearch.questions.problem import SearchProblem
from openfingym_suites.finsearch.questions.stored_program import StoredProgram, name_of

if TYPE_CHECKING:
    from openfingym.vault import Vault

FILE = Path(__file__).parent / "pool.jsonl.gz"


@dataclass(frozen=True, eq=False)
class QuestionPool:
    """All questions of the suite, and the vault that they are about."""

    snapshot: str
    """Digest of the vault: SHA-256, in hexadecimal."""
    problems: tuple[SearchProblem, ...]
    digest: str
    """Digest of the file: SHA-256, in hexadecimal."""

    def problem(self, question_id: str) -> SearchProblem:
        """The question with an id.

        Raises:
            KeyError: there is none.
        """
        return _by_id(self)[question_id]


@functools.cache
def _by_id(pool: QuestionPool) -> dict[str, SearchProblem]:
    return {problem.question.id: problem for problem in pool.problems}


@functools.cache
def stored_pool() -> QuestionPool:
    """The pool of the library, read once a process.

    Raises:
        DataError: the file is damaged.
    """
    content = FILE.read_bytes()
    try:
        head, *lines = gzip.decompress(content).decode().splitlines()
        return QuestionPool(json.loads(head)["snapshot"], tuple(map(_problem, lines)), sha256_of(content))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{FILE} is damaged ({error}); reinstall openfingym") from error


def write_pool(vault: Vault, problems: list[SearchProblem], file: Path = FILE) -> None:
    """Write a pool: the same bytes for the same questions.

    Args:
        vault: the vault that the questions are about.
        problems: all questions, in order.
        file: the file that is written.
    """
    lines = [json.dumps({"snapshot": vault.digest}), *map(_line, problems)]
    packed = io.BytesIO()
    # The header of a gzip file has a name and a time, which would make the bytes differ.
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as writer:
        writer.write("\n".join(lines).encode())
    file.write_bytes(packed.getvalue())


_PLAIN = ("table", "ordered", "template", "tier", "subset", "topic", "language", "why", "real")
"""Fields of a question that are JSON values as they are."""


def _line(problem: SearchProblem) -> str:
    alternatives = problem.alternatives.items()
    record = {
        "question": json.loads(problem.question.to_json()),
        "reference": json.loads(problem.reference.to_json()),
        "program": name_of(problem.program),
        "params": problem.params,
        "asks": [_stated(ask) for ask in problem.asks],
        "alternatives": {name: [name_of(program), params] for name, (program, params) in alternatives},
        "sources": problem.sources,
        "names": problem.names,
        **{name: getattr(problem, name) for name in _PLAIN},
    }
    return json.dumps(record, ensure_ascii=False, sort_keys=True)


def _stated(ask: AskedValue) -> dict[str, Any]:
    """What an asked value states; fields that are empty are left out."""
    return {name: value for name, value in asdict(ask).items() if value not in (None, {}, ())}


def _problem(line: str) -> SearchProblem:
    record = json.loads(line)
    alternatives = record["alternatives"].items()
    return SearchProblem(
        question=SuiteQuestion.from_json(json.dumps(record["question"])),
        reference=Reference.from_json(json.dumps(record["reference"])),
        program=StoredProgram(record["program"]),
        params=record["params"],
        asks=tuple(map(_ask, record["asks"])),
        alternatives={name: (StoredProgram(program), params) for name, (program, params) in alternatives},
        names=tuple(record["names"]),
        sources=tuple(record["sources"]),
        **{name: record[name] for name in _PLAIN},
    )


def _ask(stated: dict[str, Any]) -> AskedValue:
    accept = {text: tuple(others) for text, others in stated.get("accept", {}).items()}
    return AskedValue(**{**stated, "choices": tuple(stated.get("choices", ())), "accept": accept})
