"""The process behind :class:`openfingym_verifier.embedded.EmbeddedVerifier`.

The first line of stdin is a JSON order with the packages, the state directory, the socket and
the admin token; the first and only line of stdout says that the verifier is ready, or why it is
not. The process ends when stdin reaches its end, which the operating system brings about however
the parent died.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from openfingym.errors import DigestMismatchError, OpenFinGymError
from openfingym.listener.listener import SHUTDOWN_S, Listener
from openfingym_verifier.serving import serve


def _reply(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _stop_at_eof(stop: Callable[[], None]) -> None:
    """Wait for the end of stdin, then stop the server."""
    # The descriptor itself: a daemon thread within Python's own reader would hold its lock when the interpreter ends.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    stop()
    # A request that does not end must not keep an orphan alive.
    threading.Timer(SHUTDOWN_S + 2.0, os._exit, (1,)).start()


def main() -> int:
    """Serve until stdin ends."""
    # Through a pipe: arguments and environment can be read by other processes of the user.
    order = json.loads(sys.stdin.readline())
    try:
        from openfingym.packages.package import BuiltPackage

        packages = [BuiltPackage(Path(public), Path(truth)) for public, truth in order["packages"]]

        def ready(_addresses: list[str], stop: Callable[[], None]) -> None:
            threading.Thread(target=_stop_at_eof, args=(stop,), name="parent-watch", daemon=True).start()
            _reply({"ready": True})

        serve(
            packages,
            state=Path(order["state"]),
            admin_token=order["admin_token"],
            listener=Listener(uds=Path(order["uds"])),
            policy=order["policy"],
            wait_s=order["wait_s"],
            on_ready=ready,
        )
    except OpenFinGymError as error:
        _reply({"ready": False, "message": str(error), "digest_mismatch": isinstance(error, DigestMismatchError)})
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
