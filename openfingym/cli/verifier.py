"""``openfingym verifier ...``: serving a verifier, and asking verifiers how they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.completion import complete_task
from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json
from openfingym.cli.verifier_members import collect, participant
from openfingym.cli.verifier_seasons import enter, season
from openfingym.errors import OpenFinGymError, UsageError

if TYPE_CHECKING:
    from openfingym.results.result import PolicyName
    from openfingym.task import Task
    from openfingym.verifiers import VerifierAddress
    from openfingym.verifiers.client import HeldTask, Load
    from openfingym.verifiers.registry import Registry, RegistryEntry

FAILED = 4
"""Exit status where a verifier does not answer as it should."""
FILE = click.Path(dir_okay=False, path_type=Path)


@click.group()
def verifier() -> None:
    """Serve the verifier, ask it how it is, and say who takes part."""


for command in (participant, season, enter, collect):
    verifier.add_command(command)


@verifier.command()
@click.option(
    "--task",
    "names",
    multiple=True,
    metavar="TASK",
    shell_complete=complete_task,
    help="A task to serve; may be repeated. Default: every known task.",
)
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 lets the system choose."
)
@click.option("--uds", type=click.Path(path_type=Path), help="Serve on this unix socket instead of TCP.")
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of its ledger. Default: verifier/ in the store.",
)
@click.option(
    "--admin-token-file",
    "token_file",
    type=FILE,
    help="File with the admin token, made with a new one if missing. Default: $OPENFINGYM_ADMIN_TOKEN, or admin.token "
    "in the state folder.",
)
@click.option(
    "--monitor-token-file",
    "monitor_file",
    type=FILE,
    help="File with the token of who may read /metrics and nothing else, made if missing. Default: the admin token's "
    "holder alone.",
)
@click.option(
    "--tls-cert",
    "tls_cert",
    type=FILE,
    help="PEM certificate to encrypt TCP with.",
)
@click.option("--tls-key", "tls_key", type=FILE, help="PEM key of the certificate.")
@click.option(
    "--behind-proxy",
    "proxies",
    is_flag=False,
    flag_value="127.0.0.1,::1",
    metavar="[ADDRESSES]",
    help="A proxy encrypts, and says who asks: its addresses or networks; without any, it is on this machine.",
)
@click.option(
    "--policy",
    type=click.Choice(["strict", "local"]),
    default="strict",
    show_default=True,
    help="What participants are told about hidden data: what their season tells, or everything.",
)
@click.option(
    "--stored-mb",
    "stored_mb",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="MB",
    help="What the ledger may keep of what one participant sends. Default: 1000 with the strict policy.",
)
@click.option(
    "--register",
    "registry",
    type=FILE,
    help="Be listed in this registry file meanwhile.",
)
@click.option(
    "--fresh/--no-fresh",
    default=None,
    help="Give every rollout hidden data of its own, where its task can have any. Default: with the strict policy.",
)
@click.option(
    "--resolve-every",
    "resolve_every",
    type=click.FloatRange(min=1.0),
    metavar="S",
    help="Look for questions that are due every S seconds. Default: only when `openfingym ledger resolve` asks.",
)
@click.option(
    "--void-after",
    "void_after",
    type=click.FloatRange(min=0.0),
    metavar="DAYS",
    help="Days after its evaluation time that a question is void without a truth. Default: 14.",
)
@click.option(
    "--origin",
    metavar="NAME",
    help="Name of the log in checkpoints and receipts, such as verifier.example.org/log; it stays. "
    "Default: a random one.",
)
def serve(
    names: tuple[str, ...],
    host: str,
    port: int,
    uds: Path | None,
    state: Path | None,
    token_file: Path | None,
    monitor_file: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    proxies: str | None,
    policy: PolicyName,
    stored_mb: float | None,
    fresh: bool | None,
    origin: str | None,
    registry: Path | None,
    resolve_every: float | None,
    void_after: float | None,
) -> None:
    """Serve tasks until interrupted.

    Rollouts are created with the admin token, or by participants with the keys that `openfingym verifier participant
    add` makes. Beyond this machine, serve with a certificate or behind a proxy that has one.
    """
    import contextlib

    from openfingym import catalog, store
    from openfingym.listener import Listener, TlsCertificate
    from openfingym.packages.build import build
    from openfingym.packages.exposure import exposure_of_package
    from openfingym.task.exposure import conflicts
    from openfingym.verifiers.registry import unregister
    from openfingym_verifier.serving import serve as serve_packages

    # An address that would show tokens to the network is refused before labels are loaded.
    listener = Listener(None if uds else host, port, uds, TlsCertificate.of(tls_cert, tls_key), proxies)
    listener.require_encrypted()
    state = state or store.home() / "verifier"
    token, token_file = _admin_token(token_file, state)
    packages = [build(catalog.load_task(name)) for name in names or tuple(catalog.task_folders())]
    tasks = [package.task for package in packages]
    with contextlib.ExitStack() as stack:

        def announce(where: list[str], _stop: object) -> None:
            # Only now: the address has its port, and whoever reads the registry gets an answer there.
            if registry is not None:
                entry = _enlist(registry, where[0], tasks, token_file)
                stack.callback(unregister, registry, entry)
            say(f"serving {', '.join(task.name for task in tasks)} on {', '.join(where)}, policy {policy}", err=True)
            if policy == "strict":
                given = fresh is False
                known = {p.task.name: exposure_of_package(p, p.read_truth(), given=given) for p in packages}
                for conflict in conflicts(known):
                    say(f"a participant enters one a season: {' or '.join(conflict.tasks)} ({conflict})", err=True)

        serve_packages(
            packages,
            admin_token=token,
            monitor_token=None if monitor_file is None else _token_in(monitor_file),
            state=state,
            listener=listener,
            policy=policy,
            stored_mb=stored_mb,
            tapes=None if fresh is None else "fresh" if fresh else "given",
            resolve_every_s=resolve_every,
            void_after_s=None if void_after is None else void_after * 86_400.0,
            origin=origin,
            on_ready=announce,
        )


@verifier.command()
@click.argument("location", required=False)
@json_option("a list, an object a verifier, also of one")
@click.pass_context
def status(ctx: click.Context, location: str | None, as_json: bool) -> None:
    """Ask the verifier at LOCATION what it serves and how busy it is.

    LOCATION is a URL, a unix socket, or a registry file, all verifiers of which are asked; default:
    $OPENFINGYM_VERIFIER. The exit status is 4 where one does not answer as it should.
    """
    from openfingym.verifiers.address import VERIFIER_VARIABLE
    from openfingym.verifiers.finding import find_registry

    location = location or os.environ.get(VERIFIER_VARIABLE)
    if not location:
        raise UsageError("name the verifier, as http://host:port, the path of its socket, or that of a registry file")
    registry = find_registry(location)
    if registry is None:
        states = [_state_of(location)]
    elif registry.entries:
        states = [_listed_state(registry, entry) for entry in registry.entries]
    else:
        raise UsageError(
            f"{registry.path}: lists no verifier; start one with `openfingym verifier serve --register {registry.path}`"
        )
    if as_json:
        print_json([asdict(state) for state in states])
    else:
        for state in states:
            _print(state)
    ctx.exit(FAILED if any(state.problems for state in states) else 0)


def _admin_token(file: Path | None, state: Path) -> tuple[str, Path | None]:
    """The admin token, and the file that holds it; None for the file where the token is the environment's.

    Args:
        file: file that the user named; None for the token of the environment, or else of a file in the state folder.
        state: the state folder.

    Raises:
        UsageError: the token is too short, or cannot be read or written.
    """
    from openfingym.files.whole import store_errors
    from openfingym.listener.guard import require_token
    from openfingym.verifiers.address import ADMIN_TOKEN_VARIABLE
    from openfingym_verifier.participants.tokens import token_from_environment

    # This also removes it from the environment, so that no child inherits it and no other process can read it there.
    token = token_from_environment(ADMIN_TOKEN_VARIABLE)
    if file is None and token:
        require_token(token, f"${ADMIN_TOKEN_VARIABLE}")
        return token, None
    if file is None:
        file = state / "admin.token"
        with store_errors(state, "choose another folder with --state"):
            state.mkdir(mode=0o700, parents=True, exist_ok=True)
        say(f"the admin token is in {file}", err=True)
    return _token_in(file), file


def _token_in(file: Path) -> str:
    """The token in a file, which is made with a new one if missing."""
    from openfingym.verifiers.registry import make_token, read_token

    make_token(file)
    return read_token(file)


def _enlist(registry: Path, where: str, tasks: list[Task], token_file: Path | None) -> RegistryEntry:
    """Add the verifier that has started to a registry.

    Args:
        registry: path of the registry file.
        where: address on which the verifier listens.
        tasks: the tasks that it serves.
        token_file: file with its admin token; None where the token is the environment's.

    Returns:
        The entry that was added.
    """
    import re
    import socket

    from openfingym.verifiers.registry import RegistryEntry, register

    uds = where.removeprefix("unix:") if where.startswith("unix:") else None
    # An address that means every interface is none that others can connect to; the machine's name is.
    url = re.sub(r"//(0\.0\.0\.0|\[::\]):", f"//{socket.getfqdn()}:", where) if uds is None else None
    entry = RegistryEntry(
        url=url,
        socket=str(Path(uds).absolute()) if uds else None,
        tasks=tuple(task.name for task in tasks),
        admin_token_file=str(token_file.absolute()) if token_file else None,
    )
    for dead in register(registry, entry, tasks):
        say(f"{registry}: {dead.place} does not answer; this verifier takes its place", err=True)
    return entry


@dataclass(frozen=True)
class _VerifierState:
    """The state that one verifier reports of itself; the fields are also those of the JSON."""

    verifier: str
    """Location of the verifier."""
    load: Load | None = None
    """How busy it is; None where it does not answer, or the caller is not its operator."""
    tasks: tuple[HeldTask, ...] = ()
    """The tasks that it serves."""
    problems: tuple[str, ...] = ()
    """What is wrong, one clause each."""


def _state_of(location: str) -> _VerifierState:
    """The state of the verifier at a location."""
    from openfingym.verifiers import VerifierAddress
    from openfingym.verifiers.address import token_of_environment

    return _ask(location, lambda: VerifierAddress(location, token_of_environment(location)))


def _listed_state(registry: Registry, entry: RegistryEntry) -> _VerifierState:
    """The state of a verifier that a registry lists, with the tasks that are left to it and that it does not serve."""
    from openfingym.verifiers.finding import address_of

    state = _ask(registry.location(entry), lambda: address_of(registry, entry))
    if state.problems:
        return state
    held = {task.name for task in state.tasks}
    # Patterns may match nothing that is installed here; only names can be missing.
    missing = [name for name in entry.tasks if not set(name) & set("*?[/") and name not in held]
    return replace(
        state, problems=tuple(f"{registry.path} leaves {name} to it, which it does not serve" for name in missing)
    )


def _ask(location: str, find: Callable[[], VerifierAddress]) -> _VerifierState:
    """Ask a verifier for its state; what goes wrong is a problem in it.

    Args:
        location: location of the verifier.
        find: gives its address, with the token.
    """
    from openfingym.verifiers.address import QUICK_ANSWER_S
    from openfingym_verifier.principals import KEY_PREFIX

    try:
        address = find()
        with address.connect(timeout_s=QUICK_ANSWER_S) as client:
            client.require_well()
            # Participants may not know how busy it is.
            load = None if address.admin_token.startswith(KEY_PREFIX) else client.load()
            return _VerifierState(location, load, client.tasks())
    except OpenFinGymError as error:
        return _VerifierState(location, problems=(str(error),))


def _print(state: _VerifierState) -> None:
    load = state.load
    well = "well" if load is None else f"{load.open_rollouts} open rollouts, {load.queued_writes} writes waiting"
    say(f"{state.verifier}: {'not well' if state.problems and not state.tasks else well}")
    for problem in state.problems:
        say(f"  {problem}")
    for task in state.tasks:
        loss = "not computed yet" if task.baseline_total is None else f"{task.baseline_total:.4g}"
        say(f"  {task.name}  {task.digest[:16]}  {task.data_kind}  {task.baseline} loss {loss}")
