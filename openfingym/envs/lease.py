"""Verifiers shared by the environments of a process, and their results as a user sees them."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from openfingym.errors import OpenFinGymError, UsageError
from openfingym.results import RolloutResult
from openfingym.rollouts.verdict import Acted, judged

if TYPE_CHECKING:
    from openfingym.packages.package import BuiltPackage, PackageManifest
    from openfingym.rollouts.launcher import Launcher
    from openfingym.verifiers.address import VerifierAddress
    from openfingym.verifiers.client import VerifiedResult, VerifierClient

    Key = tuple[str, str, VerifierAddress | None]
    """Digest of a package, a backend, and the verifier that is named for the task; None for one that this process
    starts."""


class Lease:
    """A share of a launcher: environments of one task in one process use one verifier, where they name the same."""

    _lock = threading.Lock()
    _open: dict[Key, tuple[Launcher, contextlib.ExitStack, int]] = {}  # noqa: RUF012  # guarded by the lock

    def __init__(self, key: Key, launcher: Launcher) -> None:
        self._key = key
        self.launcher = launcher

    @classmethod
    def take(cls, package: BuiltPackage, backend: str) -> Lease:
        """A share of the launcher of this package and backend, which is started if nobody has one."""
        from openfingym.rollouts.launcher import Launcher
        from openfingym.verifiers import find_verifiers

        verifiers = find_verifiers(None, [package.task])
        # Part of the key: an environment for which another verifier is named must not be scored by the one in use.
        key = (package.manifest.digest, backend, None if verifiers is None else verifiers[package.task.name])
        # Held to the end, so that environments that begin together share one launcher.
        with cls._lock:
            if key not in cls._open:
                stack = contextlib.ExitStack()
                launcher = stack.enter_context(Launcher([package], backend=backend, verifiers=verifiers))
                cls._open[key] = (launcher, stack, 0)
            launcher, stack, users = cls._open[key]
            cls._open[key] = (launcher, stack, users + 1)
        return cls(key, launcher)

    @property
    def client(self) -> VerifierClient:
        """A client of the verifier that scores the task."""
        return self.launcher.client_for(self.launcher.packages[0])

    def __reduce__(self) -> NoReturn:
        raise UsageError(
            "this environment has a rollout at a verifier, and cannot be pickled or copied; make another by "
            "`openfingym.make`, or copy one that has not taken a step. A training environment can be copied at any time"
        )

    def give_back(self) -> None:
        """Release the verifier; the last environment to do so stops it."""
        with self._lock:
            launcher, stack, users = self._open.pop(self._key)
            if users > 1:
                self._open[self._key] = (launcher, stack, users - 1)
            else:
                # A verifier that ends badly is no failure of the environment that is closed.
                with contextlib.suppress(OpenFinGymError):
                    stack.close()


def as_result(
    verified: VerifiedResult, manifest: PackageManifest, agent: str, seed: int, refusal: str | None = None
) -> RolloutResult:
    """The result of an environment's rollout, as a user sees it.

    Args:
        verified: the result as the verifier signed it.
        manifest: what the package of the task, or its instance, states of itself.
        agent: name of the agent, as the verifier has it.
        seed: seed that ``reset`` was given.
        refusal: the verifier's answer to a submission that it refused, which says more than the reason in its result;
            None where nothing was refused.
    """
    blank = RolloutResult(
        rollout_id=verified.rollout_id,
        task=manifest.name,
        task_digest=manifest.digest,
        data_kind=manifest.data_kind,
        agent=agent,
        backend="none",
        isolation="outside",
        seed=seed,
        state="error",
    )
    result = judged(blank, verified, Acted())
    return replace(result, reason=refusal or result.reason)
