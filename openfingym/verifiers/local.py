"""A verifier on the ledger of this machine, which stays when it ends: one at a time, and the others wait."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym import store
from openfingym.errors import OpenFinGymError
from openfingym.files.locks import take
from openfingym.packages.package import BuiltPackage

if TYPE_CHECKING:
    from openfingym_verifier.embedded import EmbeddedVerifier

WAIT_S = 60.0
"""How long a verifier that took the folder meanwhile is waited for."""


def start_on(
    state: Path, packages: Sequence[BuiltPackage], notice: Callable[[str], None] = lambda _: None
) -> EmbeddedVerifier:
    """Start a verifier on a state folder, once nobody else uses it.

    Args:
        state: the folder, made if missing.
        packages: the tasks that it is to hold; none for a ledger of questions alone.
        notice: told that another verifier is waited for.

    Raises:
        VerifierError: it does not start.
    """
    from openfingym_verifier.embedded import EmbeddedVerifier

    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = state / "lock"
    try:
        take(lock, wait=False, mode=0o644).release()
    except BlockingIOError:
        notice(f"waiting for another run or command that uses the ledger in {state}")
        take(lock, mode=0o644).release()
    return EmbeddedVerifier.start(packages, state, wait_s=WAIT_S)


def unsettled_packages(state: Path) -> list[BuiltPackage]:
    """The packages, as they were built then, of the tasks of rollouts in a ledger that wait for their final result.

    One that is gone, and the second of two builds of one task, is left out: its rollouts go on waiting.
    """
    found: dict[str, BuiltPackage] = {}
    for task, digest in _unsettled(state / "ledger.db"):
        if task in found:
            continue
        for public in sorted(store.package_folders(task, "")[0].glob("*")):
            package = BuiltPackage(*store.package_folders(task, public.name))
            try:
                if package.manifest.digest == digest:
                    found[task] = package
            except OpenFinGymError:
                continue
    return list(found.values())


def _unsettled(path: Path) -> list[tuple[str, str]]:
    """Tasks and their digests, those of the latest rollouts first; none where there is no ledger of this version."""
    query = (
        "SELECT task, task_digest FROM rollouts WHERE questions IS NOT NULL AND settled IS NULL"
        " AND json_extract(result, '$.state') = 'deferred' ORDER BY created_ns DESC"
    )
    if not path.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return list(dict.fromkeys(connection.execute(query).fetchall()))
    except sqlite3.DatabaseError:
        return []  # of an earlier version, which has no such rollout; what is damaged, the verifier says
