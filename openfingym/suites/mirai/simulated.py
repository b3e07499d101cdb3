"""The vault of a simulated world: made when it is first needed, and kept in the store."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from openfingym import store
from openfingym.digests import sha256_of, sha256_of_json
from openfingym.files.locks import take
from openfingym.suites.mirai.tables import write_vault
from openfingym.suites.mirai.world.simulate import SimulationSize, simulate
from openfingym.vault import Source, Vault
from openfingym.vault.engine import engine_errors

NAME = "mirai-simulated"
SOURCE = Source(
    name="openfingym.suites.mirai.world, a simulator",
    licence="Apache-2.0",
    note="Names of countries are real and nothing else is: no event happened, and no article was published.",
)


def simulated_vault(size: SimulationSize | None = None, *, seed: int = 0) -> Vault:
    """The vault of a simulated world, from the store, or made there in less than a minute.

    Args:
        size: how large the world is; 14 months, some 75,000 events and 20,000 articles if None.
        seed: the world; the same seed, size and version give the same digest.
    """
    size = size or SimulationSize()
    recipe = recipe_of(size, seed)
    kept = store.home() / "vaults" / NAME
    if found := _made(kept, recipe):
        return Vault.open(found)
    kept.mkdir(parents=True, exist_ok=True)
    # One process makes it, and the others that want it wait.
    with take(kept / f".{recipe[:16]}.lock"):
        return Vault.open(found) if (found := _made(kept, recipe)) else write_simulated(None, size, seed=seed)


def write_simulated(folder: str | Path | None, size: SimulationSize | None = None, *, seed: int = 0) -> Vault:
    """Write the vault of a simulated world to a folder, or to the store if it is None.

    Raises:
        StoreError: it cannot be written there, or the disk is full.
    """
    size = size or SimulationSize()
    world = simulate(size, seed=seed)
    with engine_errors(NAME):
        return write_vault(
            world.records,
            world.texts,
            folder,
            name=NAME,
            title=f"A simulated world of countries, {size.days} days from {size.first_day}, seed {seed}; "
            "no event is real",
            sources=[SOURCE],
            simulated=True,
            notes={"seed": str(seed), "recipe": recipe_of(size, seed)},
        )


def recipe_of(size: SimulationSize, seed: int) -> str:
    """What decides the bytes of a world: its seed, its size, and the program."""
    package = resources.files("openfingym.suites.mirai")
    parts = [*(package / "world").iterdir(), package / "tables.py", *(package / "data").iterdir()]
    program = {part.name: sha256_of(part.read_bytes()) for part in parts if part.name.endswith((".py", ".tsv"))}
    stated = [str(size.first_day), size.days, size.pairs, size.stories_a_day]
    return sha256_of_json({"program": program, "size": stated, "seed": seed})


def _made(kept: Path, recipe: str) -> Path | None:
    """The folder of a vault that was made by this recipe."""
    for manifest in sorted(kept.glob("*/manifest.json")):
        if json.loads(manifest.read_bytes()).get("notes", {}).get("recipe") == recipe:
            return manifest.parent
    return None
