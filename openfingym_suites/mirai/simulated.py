"""The vault of the simulated world: made when it is first needed, and kept in the store."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from openfingym.digests import sha256_of_json
from openfingym.vault import Source, Vault
from openfingym.vault.arrays import Array
from openfingym.vault.engine import engine_errors
from openfingym.vault.held import held
from openfingym.vault.made import made_vault
from openfingym_suites.mirai.tables import write_vault
from openfingym_suites.mirai.world.simulate import Continuation, SimulationSize, simulate

NAME = "mirai-simulated"
VERSION = 1
"""Version of the simulator: raised by whoever gives a world of the same size and seed other rows."""
SOURCE = Source(
    name="openfingym.suites.mirai.world, a simulator",
    licence="Apache-2.0",
    note="Names of countries are real and nothing else is: no event happened, and no article was published.",
)


def simulated_vault(size: SimulationSize | None = None, *, seed: int = 0) -> Vault:
    """The vault of a simulated world, from the store, or made there in less than a minute.

    Args:
        size: how large the world is; None for 14 months, some 75,000 events and 20,000 articles.
        seed: the number from which every random draw of the world follows. The same seed, size and version of the
            library give the same digest.

    Raises:
        StoreError: the store cannot be written.
    """
    size = size or SimulationSize()
    return made_vault(NAME, recipe_of(size, seed), lambda: write_simulated(None, size, seed=seed))


def continued(first_day: date, seed: int) -> dict[str, Array]:
    """The vault of a world that is the simulated one until a day, and goes on otherwise from then on.

    Args:
        first_day: the first day that is drawn anew.
        seed: the number from which everything follows from that day on.

    Returns:
        Its files, in memory alone; :func:`openfingym.vault.held.opened` opens them.

    Raises:
        StoreError: the store, where they are written to first, cannot be written.
    """
    return held(lambda folder: write_simulated(folder, anew=Continuation(first_day, seed)))


def write_simulated(
    folder: str | Path | None,
    size: SimulationSize | None = None,
    *,
    seed: int = 0,
    anew: Continuation | None = None,
) -> Vault:
    """Write the vault of a simulated world.

    Args:
        folder: the folder to write it to, which must not exist; None for the store.
        size: how large the world is; None for 14 months.
        seed: the number from which every random draw of the world follows.
        anew: how the world goes on from a day otherwise than by its seed; None if it does not.

    Raises:
        StoreError: it cannot be written there, or the disk is full.
    """
    size = size or SimulationSize()
    world = simulate(size, seed=seed, anew=anew)
    # The seed of what is drawn anew may be secret, and is not stated.
    since = "" if anew is None else f", drawn anew from {anew.first_day}"
    with engine_errors(NAME):
        return write_vault(
            world.records,
            world.texts,
            folder,
            name=NAME,
            title=f"A simulated world of countries, {size.days} days from {size.first_day}, seed {seed}{since}; "
            "no event is real",
            sources=[SOURCE],
            simulated=True,
            notes={"seed": str(seed), "version": str(VERSION)},
        )


def recipe_of(size: SimulationSize, seed: int) -> str:
    """Hex SHA-256 of everything that decides the rows of a world: its seed, its size, and the simulator's version.

    Not of the simulator's text, of which a comment changes no row.
    """
    stated = [str(size.first_day), size.days, size.pairs, size.stories_a_day]
    return sha256_of_json({"version": VERSION, "size": stated, "seed": seed})
