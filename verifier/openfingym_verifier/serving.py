"""Running the verifier as a service, in a process of its own."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import OpenFinGymError, UsageError

if TYPE_CHECKING:
    from openfingym.listener import Listener
    from openfingym.packages.package import BuiltPackage
    from openfingym.results.result import PolicyName, TapePolicy

DEFAULT_PORT = 8080
BODY_TIMEOUT_S = 30.0
PR_SET_DUMPABLE = 4
SWITCH_INTERVAL_S = 0.00005
"""How long one thread may keep the interpreter from another: a commit must not wait for a score to be ready before it
starts."""


def serve(
    packages: Sequence[BuiltPackage],
    *,
    state: Path,
    admin_token: str,
    monitor_token: str | None = None,
    listener: Listener,
    policy: PolicyName,
    stored_mb: float | None = None,
    body_timeout_s: float = BODY_TIMEOUT_S,
    tapes: TapePolicy | None = None,
    resolve_every_s: float | None = None,
    void_after_s: float | None = None,
    wait_s: float = 0.0,
    origin: str | None = None,
    on_ready: Callable[[list[str], Callable[[], None]], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, in a process that does nothing else: files it makes are its user's alone from now
    on, other processes of that user cannot look into it, and its threads take turns more often.

    Args:
        packages: the built packages of the tasks to hold.
        state: directory of the ledger and the signing key; made if missing, used by one verifier at a time.
        admin_token: bearer token of the operator, at least 16 characters.
        monitor_token: bearer token of those who may read the metrics and nothing else; None for nobody but the
            operator.
        listener: where it listens.
        policy: name of the policy on what is told to whom; see :mod:`openfingym_verifier.policy`.
        stored_mb: megabytes that the ledger may keep of what a participant sends; None leaves it to the policy.
        body_timeout_s: seconds that the body of a submission may take to arrive.
        tapes: ``fresh`` gives every rollout hidden data of its own, where its task can have any; None leaves it to the
            policy.
        resolve_every_s: seconds between two looks for questions that are due; None to resolve on request alone.
        void_after_s: seconds after its evaluation time that a question is void without a truth; None for two weeks.
        wait_s: seconds to wait for another verifier that uses the state directory.
        origin: name of the log, which its checkpoints and its key bear; None for the one it has, or a random one.
        on_ready: called once, on the event loop, with the addresses and a thread-safe function that stops the server.

    Raises:
        DigestMismatchError: a package is not what it was when it was built.
        StoreError: a package or the state directory cannot be read.
        UsageError: an argument is out of range, the address would send tokens unencrypted, or it is beyond this machine
            with the local policy.
        VerifierError: an address or the state directory is in use.
    """
    listener.require_encrypted()
    if policy == "local" and not listener.loopback:
        raise UsageError(
            "the local policy tells exact results, as often as asked, and is for this machine alone: beyond it serve "
            "with --policy strict, which tells its operator as much"
        )
    encryption = None if listener.tls is None else listener.tls.context()
    # Next to nothing of what is loaded until it is ready is garbage, and all of it stays: to look for some, now and
    # again and again, takes a tenth of the start.
    gc.disable()
    # Before any label or token is read.
    _forbid_inspection()
    _single_threaded_blas()
    import openfingym_verifier.http.app as http
    from openfingym.task.episodes import MAX_ACTION_BYTES
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.storage import MB
    from openfingym_verifier.participants.tokens import TokenIssuer, load_key
    from openfingym_verifier.policy import POLICIES
    from openfingym_verifier.scoring.truth import load_tasks
    from openfingym_verifier.scoring.workers import Workers
    from openfingym_verifier.service import Service

    # The ledger and its side files hold submissions, and are made under names that SQLite chooses.
    os.umask(0o077)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with contextlib.ExitStack() as stack:
        workers = Workers()
        stack.callback(workers.close)
        # This process loads the tasks on one core; meanwhile the others get ready to score.
        if metrics := _to_prepare(packages):
            workers.prepare(metrics)
        tasks = load_tasks(packages)
        ledger = Ledger(state, wait_s=wait_s)
        stack.callback(ledger.close)
        tokens = TokenIssuer(load_key(state / "token.key"), admin_token, monitor_token)
        # Before rollouts are restored, which may take a while: an address that is taken is found out at once.
        sockets = stack.enter_context(listener.bound())
        rules = POLICIES[policy]
        if stored_mb is not None:
            rules = replace(rules, stored_bytes=round(stored_mb * MB))
        service = Service(
            tasks,
            ledger,
            workers,
            policy=rules,
            tapes=tapes,
            origin=origin,
            void_after_s=void_after_s,
        )
        stack.callback(service.close)
        app = http.build_app(service, tokens, listener.connections, body_timeout_s=body_timeout_s, version=_version())
        # What is loaded by now is never looked through again.
        gc.freeze()
        gc.enable()
        resolving = None if resolve_every_s is None else lambda: service.questions.resolver.watch(resolve_every_s)
        listener.serve_asgi(
            app,
            sockets,
            encryption=encryption,
            longest_message=MAX_ACTION_BYTES,
            on_ready=on_ready,
            beside=resolving,
        )


def _to_prepare(packages: Sequence[BuiltPackage]) -> tuple[str, ...]:
    """Names of the metrics of heavy tasks that have to be compiled."""
    from openfingym.kinds import is_heavy
    from openfingym.metrics import find_metric

    names: dict[str, None] = {}
    for package in packages:
        # What is wrong with a package is said where it is loaded.
        with contextlib.suppress(OpenFinGymError):
            # A package remembers what was read of it, and must know nothing from before its digest was checked.
            spec = replace(package).task.spec
            if is_heavy(spec):
                metrics = [entry.name for entry in spec.scoring.metrics]
                names |= dict.fromkeys(name for name in metrics if find_metric(name).prepare is not None)
    return tuple(names)


def _forbid_inspection() -> None:
    """Make this process unreadable to others of the same user: labels and tokens are in its memory."""
    if sys.platform == "linux":
        import ctypes

        # A process that cannot be dumped cannot be traced either, and its files below /proc belong to root.
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def _single_threaded_blas() -> None:
    """Limit BLAS to one thread: a second one slows small reductions tenfold and competes with the event loop."""
    import threadpoolctl

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imported here, so that the BLAS it loads is one that the limit below finds.
    import numpy as np

    del np
    threadpoolctl.threadpool_limits(limits=1, user_api="blas")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("openfingym")
    except PackageNotFoundError:  # a checkout on the path, not installed
        return "0+checkout"
