"""``openfingym vault ...``: vaults, which hold what became known, and when."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json, print_table
from openfingym.cli.vault_certify import certify_command
from openfingym.cli.vault_pull import pull_command, simulate_command
from openfingym.errors import StoreError

if TYPE_CHECKING:
    from openfingym.vault import Vault

vault_argument = click.argument("names", metavar="[VAULT]...", nargs=-1)


@click.group()
def vault() -> None:
    """Build, describe and verify vaults: what became known, and when.

    VAULT is the name of one in the store, NAME@DIGEST for one of its snapshots, or the folder of a snapshot.
    """


@vault.command()
@vault_argument
@json_option("a list, an object a vault, also of one")
def info(names: tuple[str, ...], as_json: bool) -> None:
    """Describe vaults: what they hold, from where, and from when to when it became known.

    Without a VAULT, list those in the store. The bundled one is built when it is first wanted, which takes seconds;
    so are some simulated worlds, by name, which takes up to a minute.
    """
    from openfingym.suites.world import find_world, known_worlds
    from openfingym.vault import Vault
    from openfingym.vault.snapshots import stored

    places = [str(folder) for name, folders in stored().items() if name != "bundled" for folder in folders]
    for name in ({*names} & {*known_worlds()}) - {*stored()}:
        # Built when it is first asked for by name.
        if (world := find_world(name)).made_when_named:
            world.simulate(0, None, None)
    opened = [Vault.open(name) for name in names or ("bundled", *places)]
    if as_json:
        print_json([_described(each) for each in opened])
    elif names:
        for each in opened:
            _print_one(each)
    else:
        _print_all(opened)


@vault.command()
@vault_argument
@json_option("a list, an object a vault, also of one")
@click.pass_context
def verify(ctx: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Compare every byte of snapshots with the digests in their manifests.

    Without a VAULT, all those in the store. The exit status is 6 where a file is damaged or missing; which one is
    printed. Whoever can write a snapshot can write another one: compare its digest with one that you were given.
    """
    from openfingym.vault import Vault
    from openfingym.vault.snapshots import stored

    places = [str(folder) for folders in stored().values() for folder in folders]
    checked = [(each, each.verify()) for each in map(Vault.open, names or places)]
    if as_json:
        print_json(
            [{"name": each.name, "digest": each.digest, "folder": str(each.folder), "wrong": w} for each, w in checked]
        )
    else:
        for each, wrong in checked:
            rows = sum(entry.rows for entry in each.manifest.tables)
            say(
                "\n".join(f"damaged  {each.folder}: {fault}" for fault in wrong)
                if wrong
                else f"ok  {each.name}@{each.digest[:12]}  {len(each.manifest.tables)} tables, {rows:,} rows"
            )
    if any(wrong for _, wrong in checked):
        ctx.exit(StoreError.exit_code)


@vault.command()
@click.argument("statement", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder that the snapshot shall be; it must not exist. Default: the store.",
)
@json_option("an object")
def build(statement: Path, out: Path | None, as_json: bool) -> None:
    """Build a snapshot from CSV or Parquet, as FILE, a `vault.toml`, states.

    It is written whole or not at all. docs/vault.md says what stands in FILE.
    """
    from openfingym.vault.vault_toml import build as build_stated

    built = build_stated(statement, out)
    if as_json:
        print_json(_described(built))
    else:
        _print_one(built)


def _described(snapshot: Vault) -> dict[str, object]:
    """The description of a vault's snapshot, as JSON has it."""
    about = snapshot.manifest
    return {
        "name": about.name,
        "digest": snapshot.digest,
        "folder": str(snapshot.folder),
        "title": about.title,
        "simulated": about.simulated,
        "first_known": min((entry.first_known for entry in about.tables if entry.first_known), default=None),
        "last_known": max((entry.last_known for entry in about.tables if entry.last_known), default=None),
        "rows": sum(entry.rows for entry in about.tables),
        "sources": [{"name": each.name, "licence": each.licence, "note": each.note} for each in about.sources],
        "tables": [
            {
                "name": entry.name,
                "rows": entry.rows,
                "first_known": entry.first_known,
                "last_known": entry.last_known,
                "known_basis": entry.known_basis,
                "key": entry.key,
                "about": entry.about,
                "searched": entry.text,
                "columns": entry.columns,
            }
            for entry in about.tables
        ],
    }


def _print_all(opened: list[Vault]) -> None:
    """Print a table of vaults, one on each line."""
    rows = []
    for each in opened:
        about = _described(each)
        # The name of each licence alone, once; `vault info NAME` has the details.
        licences = {re.split(r"[,;(]", source.licence)[0].strip(): 0 for source in each.manifest.sources}
        rows.append(
            (
                f"{each.name}@{each.digest[:12]}",
                "simulated" if each.manifest.simulated else "real",
                f"{about['rows']:,}",
                _day(about["first_known"]),
                _day(about["last_known"]),
                each.manifest.title,
                "; ".join(licences) or "-",
            )
        )
    columns = ["vault", "data", "rows", "known from", "to", "holds", "licence"]
    print_table("", columns, rows, right=["rows"], optional=["licence", "holds"])


def _print_one(snapshot: Vault) -> None:
    """Print one vault with its sources and tables."""
    about = snapshot.manifest
    say(f"{about.name}@{snapshot.digest[:12]}  {'simulated' if about.simulated else 'real'}  {about.title}")
    say(f"  digest {snapshot.digest}")
    say(f"  in {snapshot.folder}")
    for source in about.sources:
        say(f"  from {source.name}; {source.licence}" + (f"\n    {source.note}" if source.note else ""))
    rows = [
        (
            entry.name,
            f"{entry.rows:,}",
            _day(entry.first_known),
            _day(entry.last_known),
            ", ".join(entry.key) or "-",
            entry.known_basis or "-",
        )
        for entry in about.tables
    ]
    columns = ["table", "rows", "known from", "to", "key", "known"]
    print_table("", columns, rows, right=["rows"], optional=["known"])


def _day(time: object) -> str:
    """The day of a time in ISO 8601; a dash where there is none."""
    return str(time)[:10] if time else "-"


vault.add_command(pull_command)
vault.add_command(certify_command)
vault.add_command(simulate_command)
