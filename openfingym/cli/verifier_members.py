"""``openfingym verifier participant`` and ``collect``: keys of participants, and fetching results that were held."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import printable, say
from openfingym.cli.render import print_json, print_table

if TYPE_CHECKING:
    from openfingym.results import RolloutResult
    from openfingym.verifiers.client import VerifierClient

address_option = click.option(
    "--verifier",
    "address",
    help="URL or unix socket of the running verifier; default: $OPENFINGYM_VERIFIER.",
    metavar="LOCATION",
)


@click.group()
def participant() -> None:
    """Give keys to participants, and withdraw them; needs the admin token.

    A key creates rollouts, and ends and reads those that it created. What its holder is told about hidden data is added
    up over all of them; give each party one key, in $OPENFINGYM_KEY, or its keys one organisation.
    """


@participant.command()
@click.argument("name")
@click.option(
    "--organisation",
    metavar="NAME",
    help="The organisation that it belongs to: its keys are one party, and their rollouts are its own.",
)
@address_option
@json_option("an object")
def add(name: str, organisation: str | None, address: str | None, as_json: bool) -> None:
    """Give a participant NAME a key, and print it: it is shown this once."""
    with client_of(address) as client:
        key = client.add_participant(name, organisation)
    if as_json:
        print_json({"name": name, "key": key})
    else:
        say(key)


@participant.command()
@click.argument("name")
@address_option
def revoke(name: str, address: str | None) -> None:
    """Withdraw the key of participant NAME; what it was told stays added up."""
    with client_of(address) as client:
        client.revoke_participant(name)


@participant.command("list")
@address_option
@json_option("a list, an object a participant")
def list_participants(address: str | None, as_json: bool) -> None:
    """List everybody who was given a key."""
    with client_of(address) as client:
        participants = client.participants()
    if as_json:
        print_json([asdict(member) for member in participants])
    else:
        print_table(
            "",
            ["participant", "organisation", "since", "revoked"],
            [
                (member.name, member.organisation or "-", member.created_at, member.revoked_at or "-")
                for member in participants
            ],
        )


@click.command()
@click.argument(
    "runs", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="RUN..."
)
@click.option(
    "--verifier", "address", help="URL or socket of the verifier, or a registry file; default: $OPENFINGYM_VERIFIER."
)
@click.pass_context
def collect(ctx: click.Context, runs: tuple[Path, ...], address: str | None) -> None:
    """Fetch results that were held and entered, once their season is closed.

    RUN is a run's folder, or a folder with runs anywhere below it. The exit status is 3 where a result is held still.
    """
    from openfingym.reports.runs import run_folders
    from openfingym.results import read_run

    # A folder may have been moved since it was written.
    results = (replace(read_run(folder), path=folder) for folder in run_folders(runs))
    waiting = [result for result in results if result.state == "deferred"]
    if not waiting:
        say("no result is held")
        return
    held = _collect(waiting, address)
    say(f"collected {len(waiting) - held} of {len(waiting)} results" + (f"; {held} are held still" if held else ""))
    ctx.exit(3 if held else 0)


def _collect(waiting: list[RolloutResult], address: str | None) -> int:
    """Ask for each result and keep what is released.

    Args:
        waiting: results that are held, with the folders of their runs.
        address: location of the verifier, or of a registry.

    Returns:
        The number of results that are still held.
    """
    from openfingym import catalog
    from openfingym.errors import UsageError
    from openfingym.results.run_folder import rewrite_result
    from openfingym.rollouts.run_files import proof_of
    from openfingym.rollouts.verdict import with_verified
    from openfingym.verifiers import find_verifiers

    tasks = [catalog.load_task(name) for name in sorted({result.task for result in waiting})]
    verifiers = find_verifiers(address, tasks)
    if verifiers is None:
        raise UsageError("name the verifier that holds the results, with --verifier or in $OPENFINGYM_VERIFIER")
    clients = {place: place.connect() for place in set(verifiers.values())}
    held = 0
    try:
        for result in waiting:
            client = clients[verifiers[result.task]]
            # Of a rollout that has ended, this gives the result as it may be shown by now.
            verified = client.finalize(result.rollout_id)
            if verified.state == "held":
                say(f"{result.task}: {result.rollout_id}: {printable(verified.reason or 'held')}")
                held += 1
            else:
                rewrite_result(with_verified(result, verified), proof_of(client, result.rollout_id))
    finally:
        for client in clients.values():
            client.close()
    return held


def client_of(address: str | None) -> VerifierClient:
    """A client of the verifier that is named, or of the environment's.

    Raises:
        UsageError: no verifier is named, or there is no token.
    """
    import os

    from openfingym.errors import UsageError
    from openfingym.verifiers import VerifierAddress
    from openfingym.verifiers.address import QUICK_ANSWER_S, VERIFIER_VARIABLE, token_of_environment

    location = address or os.environ.get(VERIFIER_VARIABLE)
    if not location:
        raise UsageError(
            "name the verifier with --verifier, as http://host:port or the path of its socket, or in "
            f"${VERIFIER_VARIABLE}"
        )
    return VerifierAddress(location, token_of_environment(location)).connect(timeout_s=QUICK_ANSWER_S)
