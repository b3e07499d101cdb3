"""Random numbers of the simulated world: a stream of its own for every thing, so that one more changes no other."""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, *names: object) -> np.random.Generator:
    """The numbers of one thing.

    Args:
        seed: the world.
        names: what the numbers are for, such as ``"price", "HLVN.US"``.
    """
    words = [zlib.crc32(str(name).encode()) for name in names]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))
