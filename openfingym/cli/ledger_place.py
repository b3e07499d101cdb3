"""Which ledger a command means: one in a folder, or that of a running verifier."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from openfingym.cli.printable import say
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.verifiers.client import VerifierClient

C = TypeVar("C", bound=Callable[..., object])


folder_option = click.option(
    "--state-folder",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the ledger. Default: ledger/ in the store.",
)


def mark_of(clock: str, *, simulated: bool | None = None) -> str:
    """What is printed behind a clock, or a question that is asked by it: ``SIMULATED`` or ``REPLAYED``, else nothing.

    Args:
        clock: name of the clock.
        simulated: whether the ledger says that the question's truth is made up; None for the clock itself.
    """
    from openfingym.questions.question import REAL_CLOCK, REPLAYED

    replayed = clock.startswith(REPLAYED)
    if simulated or (simulated is None and clock != REAL_CLOCK and not replayed):
        return "  SIMULATED"
    return "  REPLAYED" if replayed else ""


def place_options(command: C) -> C:
    """Give a command the options that say which ledger is meant."""
    return click.option(
        "--verifier",
        "address",
        metavar="LOCATION",
        help="URL or unix socket of a running verifier, in place of a folder.",
    )(folder_option(command))


def folder_of(folder: Path | None) -> Path:
    """The folder of the ledger that is meant: the one that is named, or else the one in the store."""
    from openfingym import store

    return folder or store.ledger_folder()


@contextlib.contextmanager
def connected(address: str | None, folder: Path | None) -> Iterator[VerifierClient]:
    """A client of a running verifier, or of one that is started on a folder once nobody else uses it.

    Args:
        address: location of a running verifier; None or empty to start one.
        folder: folder of the ledger on which one is started; None for that in the store.

    Raises:
        UsageError: both are given, or there is no token for the running verifier.
        VerifierError: the verifier does not start.
    """
    from openfingym.verifiers import VerifierAddress
    from openfingym.verifiers.address import token_of_environment
    from openfingym.verifiers.client import VerifierClient

    if address:
        if folder is not None:
            raise UsageError("give one of --verifier and --state-folder")
        with VerifierAddress(address, token_of_environment(address)).connect() as client:
            yield client
        return
    from openfingym.verifiers.local import start_on, unsettled_packages

    state = folder_of(folder)
    # With the packages of rollouts that wait for their result: resolving their questions may score them.
    with (
        start_on(state, unsettled_packages(state), lambda line: say(line, err=True)) as embedded,
        VerifierClient(uds=embedded.uds, admin_token=embedded.admin_token) as client,
    ):
        yield client
