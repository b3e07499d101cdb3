"""``openfingym doctor``."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json, print_table
from openfingym.machine import ISOLATING

MIN_FREE_MB = 500
"""Free space below which the store is said to be too full, in megabytes."""
EXTRAS = {
    "agents": (("arch", "lightgbm", "statsmodels"), "built-in programs outside of a container"),
    "arrow": (("pyarrow",), "answers and own data as Arrow and Parquet"),
    "faithful": (("torch",), "metrics that train a network as their papers do"),
    "forge": (("bs4", "lxml", "pdfplumber", "py3langid", "pylatexenc"), "reading papers into tasks"),
    "llm": (("openai", "arch", "lightgbm", "statsmodels"), "agents that ask a model, and libraries for their programs"),
    "mlflow": (("mlflow",), "results of rollouts in MLflow"),
    "minari": (("minari", "h5py"), "trading runs as datasets for offline learning"),
    "ray": (("ray",), "rollouts on several machines"),
    "render": (("moviepy", "PIL"), "pictures and videos of trading environments"),
    "sb3": (("stable_baselines3",), "policies of Stable-Baselines3 on trading environments"),
    "sources": (("python_calamine",), "sources that publish spreadsheets"),
    "tensorboard": (("tensorboardX",), "results of rollouts in TensorBoard"),
    "wandb": (("wandb",), "results of rollouts in Weights & Biases"),
}
"""Modules of each extra of the distribution, and what they are for."""


@click.command()
@click.option(
    "--venue",
    type=click.Choice(["alpaca", "binance", "simulated"]),
    help="Check this venue of live markets instead: keys, market data, clock and the account, without any order.",
)
@click.option("--real-money", is_flag=True, help="With --venue: the account of real money, not the paper or demo one.")
@json_option("an object")
@click.pass_context
def doctor(ctx: click.Context, venue: str | None, real_money: bool, as_json: bool) -> None:
    """Say what works on this machine, and what to do about the rest.

    Extras of the distribution are listed, with the command that installs each; one that is missing is no failure.
    Exit status 0 if at least one backend can isolate an agent's program, else 4; with --venue, 0 if all that a session
    there needs was found.

    Keys are taken from the environment or the keyring. Market data of Binance need none. The venue `simulated` is a
    local one, started for this.
    """
    if real_money and venue in {None, "simulated"}:
        raise click.UsageError("--real-money says which account of a venue is meant: give --venue alpaca or binance")
    if venue is not None:
        _check_venue(ctx, venue, real_money, as_json)
        return
    from openfingym.errors import OpenFinGymError

    checks: dict[str, Callable[[], str]] = {
        "python": _python,
        "tasks": _tasks,
        "datasets": _datasets,
        "store": _store,
        "verifier": _verifier,
        "docker": lambda: _backend("docker"),
        "sandbox": lambda: _backend("sandbox"),
    }
    rows = []
    for name, check in checks.items():
        try:
            rows.append({"check": name, "ok": True, "detail": check()})
        except OpenFinGymError as error:
            rows.append({"check": name, "ok": False, "detail": str(error)})
    extras = _extras()
    # One backend that isolates programs is enough; all other checks have to pass.
    isolated = any(row["ok"] for row in rows if row["check"] in ISOLATING)
    needed = all(row["ok"] for row in rows if row["check"] not in ISOLATING)
    if as_json:
        print_json({"ok": isolated and needed, "checks": rows, "extras": extras})
    else:
        lines = [(r["check"], "ok" if r["ok"] else "NO", r["detail"]) for r in rows]
        lines += [(f"extra {e['extra']}", "ok" if e["installed"] else "-", e["detail"]) for e in extras]
        print_table("", ["check", "state", "detail"], lines)
        if not isolated:
            say("no backend can isolate an agent's program here; only built-in agents run (backend inline)")
    ctx.exit(0 if isolated and needed else 4)


def _check_venue(ctx: click.Context, venue: str, real_money: bool, as_json: bool) -> None:
    """Check a venue of live markets, and print the findings.

    Args:
        ctx: click's context of the command.
        venue: name of the venue.
        real_money: whether the account of real money is checked.
        as_json: whether to print JSON for programs instead of a table.
    """
    import asyncio

    from openfingym.market.checkup import checkup

    checks = asyncio.run(checkup(venue, real_money=real_money))
    ok, simulated = all(check.ok for check in checks), venue == "simulated"
    if as_json:
        rows = [check._asdict() for check in checks]
        print_json({"ok": ok, "venue": venue, "simulated": simulated, "checks": rows})
    else:
        lines = [(check.check, "ok" if check.ok else "NO", check.detail) for check in checks]
        print_table("", ["check", "state", "detail"], lines)
        if simulated:
            say("SIMULATED: a local venue, started for this; it says nothing of any real one")
    ctx.exit(0 if ok else 4)


def _python() -> str:
    import platform

    return f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()}"


def _extras() -> list[dict[str, object]]:
    from importlib.util import find_spec

    extras: list[dict[str, object]] = []
    for name, (modules, use) in EXTRAS.items():
        # Found and not imported, which takes seconds for some of them.
        missing = [module for module in modules if find_spec(module) is None]
        remedy = f"; not installed: pip install 'openfingym[{name}]'" if missing else ""
        extras.append({"extra": name, "installed": not missing, "detail": use + remedy})
    return extras


def _tasks() -> str:
    from openfingym import catalog

    return f"{len(catalog.tasks())} tasks"


def _datasets() -> str:
    from openfingym.data import datasets

    kinds = [info.kind for info in datasets()]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))


def _store() -> str:
    from openfingym import store
    from openfingym.errors import StoreError

    with store.staging() as folder:
        free = shutil.disk_usage(folder).free // 1_000_000
    if free < MIN_FREE_MB:
        raise StoreError(
            f"{store.home()}: {free} MB free, {MIN_FREE_MB} wanted; set OPENFINGYM_HOME to a folder on another disk"
        )
    return f"{store.home()}, {free} MB free"


def _verifier() -> str:
    from openfingym.catalog import load_task, task_folders
    from openfingym.packages.build import build
    from openfingym_verifier.embedded import EmbeddedVerifier

    # Any task does: what is checked is that a process can be started with labels, and answers.
    name = next(iter(task_folders()))
    with EmbeddedVerifier.start([build(load_task(name))]):
        return f"starts, and accepts the digests of {name}"


def _backend(name: str) -> str:
    from openfingym_runtime.backends import select

    backend = select(name, trusted=False)
    libraries = backend.libraries()
    missing = libraries.missing if libraries is not None else ()
    lacks = f"; programs cannot import {', '.join(missing)}: pip install 'openfingym[llm]'" if missing else ""
    if name != "sandbox":
        return f"ready{lacks}"
    from openfingym_runtime.sandbox import cgroup

    return (
        "ready; memory is bounded by "
        f"{'a control group' if cgroup.available() else 'counting, as no control group can be had'}{lacks}"
    )
