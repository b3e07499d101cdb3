"""The command ``python -m openfingym_verifier``, which runs the verifier as a service."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from openfingym.errors import OpenFinGymError, UsageError, VerifierError
from openfingym.listener.listener import DEFAULT_HOST, THIS_MACHINE, Listener
from openfingym.listener.tls import TlsCertificate
from openfingym_verifier.participants.tokens import token_from_environment
from openfingym_verifier.serving import BODY_TIMEOUT_S, DEFAULT_PORT, serve

START_FAILED = 4
"""Exit code of a verifier that does not start."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m openfingym_verifier", description="Serve the verifier of some built packages."
    )
    parser.add_argument(
        "--package",
        nargs=2,
        action="append",
        default=[],
        metavar=("PUBLIC_DIR", "TRUTH_DIR"),
        type=Path,
        help="halves of a built package; repeat; none for questions alone",
    )
    parser.add_argument(
        "--state", type=Path, required=True, metavar="DIR", help="directory of the ledger and the signing key"
    )
    parser.add_argument("--host", help=f"listen on TCP (default {DEFAULT_HOST} unless --uds is given)")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="TCP port; 0 lets the system choose (default %(default)s)"
    )
    parser.add_argument("--uds", type=Path, metavar="PATH", help="listen on a unix socket, made with mode 0600")
    parser.add_argument(
        "--admin-token-env",
        default="OPENFINGYM_ADMIN_TOKEN",
        metavar="NAME",
        help="environment variable holding the admin token (default %(default)s)",
    )
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="PEM certificate that TCP is encrypted with")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="PEM key of the certificate")
    parser.add_argument(
        "--behind-proxy",
        nargs="?",
        const=THIS_MACHINE,
        metavar="ADDRESSES",
        help=f"a proxy encrypts and says who asks; its addresses or networks (default {THIS_MACHINE})",
    )
    parser.add_argument(
        "--body-timeout",
        type=float,
        default=BODY_TIMEOUT_S,
        metavar="S",
        help="seconds a body may take (default %(default)s)",
    )
    parser.add_argument(
        "--policy",
        choices=("strict", "local"),
        default="strict",
        help="what participants are told about hidden data (default %(default)s)",
    )
    parser.add_argument(
        "--stored-mb",
        type=float,
        metavar="MB",
        help="what the ledger may keep of what a participant sends (default: by the policy)",
    )
    parser.add_argument(
        "--fresh",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="hidden data of its own for every rollout, where there can be (default: with the strict policy)",
    )
    parser.add_argument(
        "--resolve-every", type=float, metavar="S", help="look for questions that are due every S seconds"
    )
    parser.add_argument(
        "--void-after", type=float, metavar="S", help="seconds without a truth that void a question (default two weeks)"
    )
    return parser


def _announce(addresses: list[str], _stop: Callable[[], None]) -> None:
    # What a person starting a service waits for.
    print(f"verifier ready on {', '.join(addresses)}", flush=True)  # noqa: T201


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve; returns the exit code: 0 after a signal, 2 for impossible arguments, 4 if the verifier does not start.

    Args:
        arguments: the command line without the name of the program; None for that of this process.
    """
    options = _parser().parse_args(arguments)
    # No child is to inherit it, and no other process to read it.
    admin_token = token_from_environment(options.admin_token_env)
    host = options.host or (None if options.uds else DEFAULT_HOST)
    try:
        from openfingym.packages.package import BuiltPackage

        if not admin_token:
            raise UsageError(f"set {options.admin_token_env} to the admin token, at least 16 random characters")
        serve(
            [BuiltPackage(public, truth) for public, truth in options.package],
            state=options.state,
            admin_token=admin_token,
            listener=Listener(
                host,
                options.port,
                options.uds,
                TlsCertificate.of(options.tls_cert, options.tls_key),
                options.behind_proxy,
            ),
            policy=options.policy,
            stored_mb=options.stored_mb,
            body_timeout_s=options.body_timeout,
            tapes=None if options.fresh is None else "fresh" if options.fresh else "given",
            resolve_every_s=options.resolve_every,
            void_after_s=options.void_after,
            on_ready=_announce,
        )
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the command line's own voice
        return error.exit_code
    except OpenFinGymError as error:
        # A command line says on standard error why it ends.
        print(f"error: the verifier does not start: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code if isinstance(error, VerifierError) else START_FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
