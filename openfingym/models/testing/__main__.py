"""``python -m openfingym.models.testing [PORT]``: a stand-in of its own, until interrupted."""

from __future__ import annotations

import contextlib
import sys
import threading

from openfingym.models.testing.server import StandIn


def main() -> None:
    """Serve, and say where."""
    with StandIn(port=int(sys.argv[1]) if len(sys.argv) > 1 else 0) as stand_in:
        sys.stdout.write(f"{stand_in.base_url}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
