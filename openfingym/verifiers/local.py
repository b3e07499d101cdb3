"""Starting a verifier on a ledger that stays on this machine; one verifier at a time uses it, and others wait."""

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
"""Seconds to wait for a verifier that took the folder in the moment before ours."""


def start_on(
    state: Path, packages: Sequence[BuiltPackage], notice: Callable[[str], None] = lambda _: None
) -> EmbeddedVerifier:
    """Start a verifier on a state folder, once nobody else uses it.

    Args:
        state: folder of the ledger; made if missing.
        packages: built packages of the tasks that the verifier is to hold; none for a ledger of questions alone.
        notice: called with a line for people when another verifier is waited for.

    Raises:
        VerifierError: the verifier does not start.
    """
    from openfingym_verifier.embedded import EmbeddedVerifier

    # For this user alone: the ledger holds what rollouts must not know.
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = state / "lock"
    # The verifier's own process takes the lock; here it is only waited for, with a line that says so. Somebody else may
    # take it in between, and so the new process waits a while too.
    try:
        take(lock, wait=False, mode=0o644).release()
    except BlockingIOError:
        notice(f"waiting for another run or command that uses the ledger in {state}")
        take(lock, mode=0o644).release()
    return EmbeddedVerifier.start(packages, state, wait_s=WAIT_S)


def unsettled_packages(state: Path) -> list[BuiltPackage]:
    """The built packages of the tasks whose rollouts in a ledger wait for their final result.

    A build that is not in the store any more is left out, as is the older of two builds of one task: their rollouts go
    on waiting.

    Args:
        state: folder of the ledger, which need not exist.
    """
    packages: dict[str, BuiltPackage] = {}
    for task, digest in _unsettled(state / "ledger.db"):
        # A verifier holds one build of each task; the build of the latest rollouts comes first.
        if task in packages:
            continue
        for public in sorted(store.package_folders(task, "")[0].glob("*")):
            package = BuiltPackage(*store.package_folders(task, public.name))
            try:
                if package.manifest.digest == digest:
                    packages[task] = package
            except OpenFinGymError:
                continue  # a damaged folder in the store, which may be of another build
    return list(packages.values())


def _unsettled(path: Path) -> list[tuple[str, str]]:
    """Names of tasks and digests of their builds, those of the latest rollouts first; empty where there is no ledger of
    this version.
    """
    query = (
        "SELECT task, task_digest FROM rollouts WHERE questions IS NOT NULL AND settled IS NULL"
        " AND json_extract(result, '$.state') = 'deferred' ORDER BY created_ns DESC"
    )
    if not path.is_file():
        return []
    try:
        # Read only: the one writer of a ledger is its verifier.
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            return list(dict.fromkeys(connection.execute(query).fetchall()))
    except sqlite3.DatabaseError:
        return []  # a ledger of an earlier version has no such rollout; a damaged one is reported by the verifier
