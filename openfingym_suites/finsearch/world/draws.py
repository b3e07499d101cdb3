"""Random numbers of the simulated world: a stream for each thing in it, so that a new thing changes no other."""

from __future__ import annotations

import zlib

import numpy as np


def stream(seed: int, *names: object) -> np.random.Generator:
    """The stream of random numbers for one thing.

    Args:
        seed: the number from which every random draw of the world follows.
        names: names of what the numbers are for, such as ``"price", "HLVP.US"``.
    """
    # CRC-32 and PCG64 are fixed algorithms: the same numbers on every machine and in every version of Python.
    words = [zlib.crc32(str(name).encode()) for name in names]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))
