"""``openfingym verifier ...``."""

from __future__ import annotations

from pathlib import Path

import click

from openfingym.cli.render import print_json
from openfingym.cli.task import json_option
from openfingym.rollout import ADMIN_TOKEN_VARIABLE, VerifierAddress


@click.group()
def verifier() -> None:
    """Serve the verifier, or ask one how it is."""


@verifier.command()
@click.option("--task", "names", multiple=True, metavar="TASK", help="A task to serve; may be repeated. Default: every known task.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(1, 65535), default=8080, show_default=True)
@click.option("--uds", type=click.Path(path_type=Path), help="Serve on this unix socket instead of TCP.")
@click.option("--state", type=click.Path(file_okay=False, path_type=Path), help="Folder of its ledger. Default: verifier/ in the store.")
def serve(names: tuple[str, ...], host: str, port: int, uds: Path | None, state: Path | None) -> None:
    """Serve tasks until interrupted. The admin token is read from $OPENFINGYM_ADMIN_TOKEN."""
    import os

    from openfingym import catalog, store
    from openfingym.build import build
    from openfingym.errors import UsageError
    from openfingym_verifier.serving import Address
    from openfingym_verifier.serving import serve as serve_packages

    token = os.environ.pop(ADMIN_TOKEN_VARIABLE, "")
    if len(token) < 16:
        raise UsageError(f"set ${ADMIN_TOKEN_VARIABLE} to a secret of at least 16 characters, such as the output of `openssl rand -hex 16`")
    packages = [build(catalog.load_task(name)) for name in names or tuple(catalog.task_folders())]
    address = Address(uds=uds) if uds else Address(host=host, port=port)

    def announce(where: list[str], _stop: object) -> None:
        click.echo(f"serving {', '.join(package.manifest.name for package in packages)} on {', '.join(where)}", err=True)

    serve_packages(packages, admin_token=token, state=state or store.home() / "verifier", address=address, on_ready=announce)


@verifier.command()
@click.argument("location", required=False)
@json_option
def status(location: str | None, as_json: bool) -> None:
    """Ask the verifier at LOCATION (URL or unix socket; default $OPENFINGYM_VERIFIER) what it serves."""
    from contextlib import closing
    from dataclasses import asdict

    from openfingym.errors import UsageError

    address = VerifierAddress.find(location)
    if address is None:
        raise UsageError("name the verifier, as http://host:port or the path of its socket")
    with closing(address.connect()) as client:
        tasks = client.tasks()
    if as_json:
        print_json([{**asdict(task), "submission_shape": list(task.submission_shape)} for task in tasks])
        return
    for task in tasks:
        loss = "not computed yet" if task.baseline_total is None else f"{task.baseline_total:.4g}"
        click.echo(f"{task.name}  {task.digest[:16]}  {task.data_kind}  {task.baseline} loss {loss}")
