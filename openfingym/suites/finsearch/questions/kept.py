"""The pool as it comes with the library: each question with its answer, its program and what it was proved with.

``scripts/finsearch_pool.py`` writes the file from the vault ``finsearch`` (:func:`write_pool`), once all is proved.
"""

from __future__ import annotations

import functools
import gzip
import importlib
import inspect
import io
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.answers import Reference
from openfingym.digests import sha256_of
from openfingym.errors import DataError
from openfingym.suites.finsearch.questions.drawing import AskedValue
from openfingym.suites.finsearch.questions.problem import SearchProblem
from openfingym.suites.suite import SuiteQuestion

if TYPE_CHECKING:
    from openfingym.vault import Vault

FILE = Path(__file__).parent / "pool.jsonl.gz"
PACKAGE = "openfingym.suites.finsearch.questions."


@dataclass(frozen=True, eq=False)
class KeptPool:
    """All questions and the vault that they are about."""

    snapshot: str
    """Digest of the vault."""
    problems: tuple[SearchProblem, ...]
    digest: str
    """Digest of the file."""

    def problem(self, wanted: str) -> SearchProblem:
        """The question with this id.

        Raises:
            KeyError: there is none.
        """
        return _by_id(self)[wanted]


@functools.cache
def _by_id(pool: KeptPool) -> dict[str, SearchProblem]:
    return {one.question.id: one for one in pool.problems}


@functools.cache
def kept_pool() -> KeptPool:
    """The pool of the library, read once a process.

    Raises:
        DataError: the file is damaged.
    """
    content = FILE.read_bytes()
    try:
        head, *lines = gzip.decompress(content).decode().splitlines()
        return KeptPool(json.loads(head)["snapshot"], tuple(map(_problem, lines)), sha256_of(content))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{FILE} is damaged ({error}); reinstall openfingym") from error


def write_pool(vault: Vault, problems: list[SearchProblem], file: Path = FILE) -> None:
    """Keep a pool; the same bytes for the same questions."""
    lines = [json.dumps({"snapshot": vault.digest}), *map(_line, problems)]
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as writer:
        writer.write("\n".join(lines).encode())
    file.write_bytes(packed.getvalue())


def source_of(program: Callable[..., Any]) -> str:
    """A program with the functions of this package that it calls, callees first, as Python."""
    found: dict[str, str] = {}

    def add(function: Callable[..., Any]) -> None:
        names = function.__code__.co_names
        inner = [one for one in _codes(function) for one in one.co_names]
        for name in dict.fromkeys((*names, *inner)):
            called = function.__globals__.get(name)
            if inspect.ismodule(called) and called.__name__.startswith(f"{PACKAGE}programs"):
                called = None  # a module of programs, which the script imports under the same name
            if inspect.isfunction(called) and called.__module__.startswith(PACKAGE) and called is not function:
                add(called)
        found.setdefault(function.__name__, inspect.getsource(function))

    add(program)
    return "\n\n".join(found.values())


def script_of(problem: SearchProblem, snapshot: str) -> str:
    """A program that anybody can run where the library is installed; it prints the answer."""
    module = inspect.getmodule(problem.program)
    assert module is not None
    known = {
        name: value for name, value in vars(module).items()
        if inspect.ismodule(value) and value.__name__.startswith(f"{PACKAGE}programs")
    }  # fmt: skip
    body = source_of(problem.program)
    imports = [f"import {value.__name__} as {name}" for name, value in sorted(known.items()) if f"{name}." in body]
    constants = [
        f"{name} = {value!r}" for name, value in vars(module).items()
        if name.isupper() and name in body and isinstance(value, tuple | float | int | str)
    ]  # fmt: skip
    lines = [
        "from __future__ import annotations",
        "from openfingym.suites.finsearch.questions.sources import VaultSources",
        "from openfingym.suites.finsearch.world import finsearch_vault",
        *(["import itertools"] if "itertools." in body else []),
        *imports,
        "",
        *constants,
        f"parameters = {problem.params!r}",
        "",
        "",
        body,
        "",
        f"vault = finsearch_vault()  # of digest {snapshot[:12]}",
        f"print({problem.program.__name__}(VaultSources(vault, {problem.question.as_of!r}), parameters))",
    ]
    return "\n".join(lines) + "\n"


def _codes(function: Callable[..., Any]) -> list[Any]:
    """Codes within a function: comprehensions and lambdas."""
    code = function.__code__
    return [one for one in code.co_consts if hasattr(one, "co_names")]


def _named(program: Callable[..., Any]) -> str:
    return f"{program.__module__.removeprefix(PACKAGE)}:{program.__name__}"


def _called(name: str) -> Callable[..., Any]:
    module, function = name.split(":")
    found: Callable[..., Any] = getattr(importlib.import_module(PACKAGE + module), function)
    return found


_PLAIN = ("table", "ordered", "template", "tier", "subset", "topic", "language", "why", "real")


def _line(problem: SearchProblem) -> str:
    found = {
        "question": json.loads(problem.question.to_json()),
        "reference": json.loads(problem.reference.to_json()),
        "program": _named(problem.program),
        "params": problem.params,
        "asks": [_stated(ask) for ask in problem.asks],
        "alternatives": {name: [_named(one), params] for name, (one, params) in problem.alternatives.items()},
        "sources": problem.sources,
        "names": problem.names,
        **{name: getattr(problem, name) for name in _PLAIN},
    }
    return json.dumps(found, ensure_ascii=False, sort_keys=True)


def _stated(ask: AskedValue) -> dict[str, Any]:
    return {name: value for name, value in asdict(ask).items() if value not in (None, {}, ())}


def _problem(line: str) -> SearchProblem:
    found = json.loads(line)
    return SearchProblem(
        question=SuiteQuestion.from_json(json.dumps(found["question"])),
        reference=Reference.from_json(json.dumps(found["reference"])),
        program=_called(found["program"]),
        params=found["params"],
        asks=tuple(_ask(one) for one in found["asks"]),
        alternatives={name: (_called(one), params) for name, (one, params) in found["alternatives"].items()},
        names=tuple(found["names"]),
        sources=tuple(found["sources"]),
        **{name: found[name] for name in _PLAIN},
    )


def _ask(found: dict[str, Any]) -> AskedValue:
    accept = {text: tuple(others) for text, others in found.pop("accept", {}).items()}
    return AskedValue(**{**found, "choices": tuple(found.get("choices", ())), "accept": accept})
