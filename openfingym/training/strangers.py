"""What a server may show others than its own user: hidden data only through a verifier that counts what it tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from openfingym.errors import UsageError, VerifierError

if TYPE_CHECKING:
    from openfingym.listener import Listener
    from openfingym.verifiers import VerifierAddress


def require_strict(listener: Listener, tasks: Sequence[str], verifier: str | None, command: str) -> None:
    """Check that a server which shows hidden test data to others does so through a verifier with the strict policy.

    A verifier that is started for this user tells exact results each time, and after a hundred rollouts all labels. One
    that takes a participant's key has the strict policy, since with the local one no key is good.

    Args:
        listener: where the server listens. On loopback without a token its clients are this user's own.
        tasks: names of the tasks whose test data are hidden.
        verifier: location of the verifier, or a registry file; None for ``$OPENFINGYM_VERIFIER``.
        command: the command of the server, with its tasks and splits, for the message.

    Raises:
        UsageError: the verifier is a local one, or this server would be its operator.
        VerifierError: the verifier does not answer.
    """
    if not tasks or (listener.loopback and listener.token is None):
        return
    command += f" --host {listener.host} --port {listener.port}"
    command += " --token-file FILE" if listener.token is not None else ""
    from openfingym import catalog
    from openfingym.verifiers.finding import find_verifiers

    found = find_verifiers(verifier, [catalog.load_task(name) for name in tasks])
    if found is None:
        reason = "the local verifier that would be started here tells exact results, as often as asked"
        raise _refusal(reason, tasks, command, "http://127.0.0.1:8080", serves=True)
    for address in set(found.values()):
        _require_participant(address, tasks, command)


def _require_participant(address: VerifierAddress, tasks: Sequence[str], command: str) -> None:
    from openfingym.verifiers.address import QUICK_ANSWER_S
    from openfingym_verifier.principals import KEY_PREFIX

    if not address.admin_token.startswith(KEY_PREFIX):
        reason = f"with its admin token the verifier at {address.location} tells everything, whatever its policy"
        raise _refusal(reason, tasks, command, address.location)
    with address.connect(timeout_s=QUICK_ANSWER_S) as client:
        try:
            client.tasks()
        except VerifierError as error:
            if error.problem not in {"forbidden", "unauthorized"}:
                raise
            reason = f"the verifier at {address.location} does not take this key ({error})"
            raise _refusal(reason, tasks, command, address.location) from None


def _refusal(reason: str, tasks: Sequence[str], command: str, location: str, *, serves: bool = False) -> UsageError:
    """The error that says what would work.

    Args:
        reason: why what was asked for does not.
        tasks: names of the tasks.
        command: the command line of the server, without a verifier.
        location: location of the verifier that would do.
        serves: whether that verifier has to be started first.
    """
    hidden = ", ".join(tasks)
    named = " ".join(f"--task {name}" for name in tasks)
    lines = [f"openfingym verifier serve {named} --port 8080 --admin-token-file admin.token"] if serves else []
    operator = 'OPENFINGYM_ADMIN_TOKEN="$(cat admin.token)"'
    lines.append(f"{operator} openfingym verifier participant add NAME --verifier {location}   # prints a KEY")
    lines.append(f"OPENFINGYM_KEY=KEY {command} --verifier {location}")
    return UsageError(
        f"{hidden}: the test data are hidden, and a server for others needs a verifier with the strict policy, as one "
        f"of its participants; {reason}. This would do (a split of instances, such as train, needs no verifier):\n  "
        + "\n  ".join(lines)
    )
