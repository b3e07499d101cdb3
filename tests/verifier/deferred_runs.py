"""A small task whose questions are deferred, verifiers that hold it, and what their ledgers say."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.errors import SubmissionError, VerifierError
from openfingym.packages.build import write_package
from openfingym.packages.package import BuiltPackage
from openfingym.task import Task
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.embedded import EmbeddedVerifier

ROOT = Path(__file__).parents[2]
ASKED = 7
"""Private questions of the small task."""


QUICK = {"window_s": 6, "public": 0.195, "private": 0.005}
"""What makes a task have few questions, which take answers for six seconds."""


def quick_task(root: Path, base: str, name: str, changes: Mapping[str, object] | None = None) -> BuiltPackage:
    """A task of questions with few of them; with other values in its file."""
    folder = root / name
    text = (ROOT / "tasks" / base / "task.toml").read_text().replace(base, name)
    for key, value in {**QUICK, **(changes or {})}.items():
        text, count = re.subn(rf"^{key} = .*$", f"{key} = {json.dumps(value)}", text, flags=re.MULTILINE)
        assert count == 1, key
    folder.mkdir()
    (folder / "task.toml").write_text(text)
    (folder / "instruction.md").write_text("# Quick\n")
    package = BuiltPackage(folder.parent / "public", folder.parent / "truth")
    write_package(Task.read(folder), package.public, package.truth)
    assert package.manifest.n_private == ASKED
    return package


def quick_markets(root: Path) -> BuiltPackage:
    """``polymarket-forecast`` with few questions, which take answers for six seconds."""
    return quick_task(root, "polymarket-forecast", "quick-markets")


@contextmanager
def running(package: BuiltPackage, state: Path) -> Iterator[VerifierClient]:
    with (
        EmbeddedVerifier.start([package], state) as verifier,
        closing(VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token)) as client,
    ):
        yield client


def rows(state: Path, query: str, *bound: object) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{state}/ledger.db?mode=ro", uri=True)) as connection:
        return connection.execute(query, bound).fetchall()


def shown_of(client: VerifierClient, ticket: Any) -> dict[str, np.ndarray]:
    """What the window of all of a rollout's questions shows, by name, while it is not answered."""
    at = client.start_episode(ticket.token)
    assert at.info["windows_left"] == 1, "questions that are asked at one time are shown together"
    return {name: np.array(values) for name, values in at.observation.items()}


def begin(client: VerifierClient, clock: str = "simulated", agent: str = "tester") -> Any:
    return client.create_rollout("quick-markets", agent=agent, questions={"clock": clock})


def refused(action: Callable[[], object]) -> str:
    with pytest.raises((SubmissionError, VerifierError)) as caught:
        action()
    return str(caught.value)


def truths_of(state: Path, rollout: str) -> np.ndarray:
    query = (
        "SELECT truth FROM rollout_questions r JOIN resolutions USING (question) WHERE r.rollout_id = ? AND n = 1"
        " ORDER BY row"
    )
    return np.array([json.loads(row[0]) for row in rows(state, query, rollout)], dtype=float)
