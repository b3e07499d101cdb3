"""CPU cost of each metric beside the plain NumPy or library call it rests on.

Run ``python benchmarks/metrics.py``. Prints medians of CPU milliseconds and the ratio to the peer, measured in turn in
one process; ``--only WORD`` for some, ``--seconds S`` for each. Peers from packages that are not installed are left out
and named. Beside pySigLib the signature kernel takes minutes for its 1,000 paths; SIG_MMD_PATHS sets fewer. At the end:
which metrics are slower than 1.2 times their peer, and which have none.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import importlib.util
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

# BLAS knows its threads by now, and this folder is no package.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from metric_peers import Row, answers, laws, own, point, risk, strategies
from size import sized

from openfingym.metrics import METRICS, option, signature, signature_kernel

TARGET = 1.2
PATHS = int(os.environ.get("SIG_MMD_PATHS", sized("1000", "32")))


def cpu_ms(ours: Callable[[], object], peer: Callable[[], object], seconds: float) -> tuple[float, float]:
    """Median CPU milliseconds of both, called in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    ours()
    peer()
    start = time.perf_counter()
    while not times[0] or time.perf_counter() - start < seconds:
        for call, into in zip((ours, peer), times, strict=True):
            before = time.process_time_ns()
            call()
            into.append((time.process_time_ns() - before) / 1e6)
    return statistics.median(times[0]), statistics.median(times[1])


def geometry(rng: np.random.Generator) -> Iterator[Row]:
    """Neighbours, signatures, and the put."""
    from scipy.spatial.distance import cdist

    near, far = rng.standard_normal((2, 1000, 11, 3))
    for name, axis in (("onnd", 1), ("innd", 0)):
        yield (
            name,
            own(name, {"real": near, "fake": far}),
            "scipy cdist, step by step",
            lambda axis=axis: sum(cdist(near[:, t], far[:, t]) for t in range(11)).min(axis=axis),
        )
    walk = np.cumsum(rng.standard_normal((1000, 64, 2)), axis=1) / 8

    def by_levels(depth: int) -> object:
        """Chen's identity with the tensor exponential written out, level by level."""
        levels = [np.zeros((1000, 3**k)) for k in range(1, depth + 1)]
        x = signature.with_time(walk)
        for i in range(63):
            v = x[:, i + 1] - x[:, i]
            powers = [v]
            for k in range(2, depth + 1):
                powers.append((powers[-1][:, :, None] * v[:, None, :]).reshape(1000, -1) / k)
            fresh = []
            for k in range(1, depth + 1):
                total = levels[k - 1] + powers[k - 1]
                for j in range(1, k):
                    total = total + (levels[j - 1][:, :, None] * powers[k - j - 1][:, None, :]).reshape(1000, -1)
                fresh.append(total)
            levels = fresh
        return levels

    yield (
        "signature, depth 4",
        lambda: signature.signature(signature.with_time(walk), 4),
        "NumPy, Chen's identity",
        lambda: by_levels(4),
    )
    yield (
        "sig_w1",
        own("sig_w1", {"real": walk, "fake": walk[::-1]}),
        "NumPy, Chen's identity",
        lambda: (by_levels(2), by_levels(2)),
    )
    returns = 0.02 * rng.standard_normal((251, 128, 5))

    def polynomial() -> object:
        spot = 100 * np.exp(np.cumsum(returns, axis=2))
        cash = np.maximum(100 - spot[:, :, -1], 0)
        for t in range(3, -1, -1):
            for b in range(251):
                inside = spot[b, :, t] < 100
                held = np.polyval(np.polyfit(spot[b, inside, t], cash[b, inside], 2), spot[b, inside, t])
                cash[b, inside] = np.where(100 - spot[b, inside, t] > held, 100 - spot[b, inside, t], cash[b, inside])
        return cash

    yield "put_prices", lambda: option.put_prices(returns), "numpy.polyfit, block by block", polynomial


def kernels(rng: np.random.Generator) -> Iterator[Row]:
    """Signature kernels of paths of 64 steps and 2 channels."""
    walk = np.cumsum(rng.standard_normal((2000, 64, 2)), axis=1) / 8
    count = sized(64, 4)
    x, y = walk[:count], walk[count : 2 * count]
    yield (
        f"sig_mmd, {count} paths",
        lambda: signature_kernel.mmd_squared(x, y, 5, backend="numpy"),
        "numpy.exp of the static kernels",
        lambda: [
            np.exp(-0.5 * ((a[:, None, :, None] - b[None, :, None]) ** 2).sum(axis=-1))
            for a, b in ((x, x), (y, y), (x, y))
        ],
    )
    if importlib.util.find_spec("numba") is None:
        print("Numba is not installed: its backend is left out")
        return
    from openfingym.metrics import signature_kernel_numba

    yield (
        f"sig_mmd, {count} paths, Numba",
        lambda: signature_kernel.mmd_squared(x, y, 5, backend="numba"),
        "our NumPy backend",
        lambda: signature_kernel.mmd_squared(x, y, 5, backend="numpy"),
    )
    ahead, after = (signature_kernel.with_origin(paths) for paths in (x, y))
    yield (
        "sig_mmd, kernel alone, Numba",
        lambda: signature_kernel_numba.levels(ahead, after, 5, 0.5),
        "our NumPy backend",
        lambda: signature_kernel.kernel_levels(ahead, after, 5, 0.5),
    )
    draw = itertools.count()
    yield (
        "sig_mmd, a fold scored before",
        lambda: signature_kernel.mmd_squared(x, y, 5, backend="numba"),
        "a fold not scored before",
        lambda: signature_kernel.mmd_squared(x + 1e-9 * next(draw), y, 5, backend="numba"),
    )
    if importlib.util.find_spec("pysiglib") is None:
        print("pySigLib is not installed (it needs PyTorch): the large signature kernel is left out")
        return
    import pysiglib

    # Both over the same radial static kernel; pySigLib solves a partial differential equation for all levels, ours
    # stops at the fifth.
    real, fake = walk[:1000][:PATHS], walk[1000:][:PATHS]
    options = {
        "static_kernel": pysiglib.RBFKernel(1.0),
        "time_aug": True,
        "dyadic_order": 0,
        "max_batch": 1000,
        "n_jobs": 1,
    }
    yield (
        f"sig_mmd, {PATHS} paths, Numba",
        lambda: signature_kernel.mmd_squared(real, fake, 5, backend="numba"),
        "pySigLib sig_mmd",
        lambda: pysiglib.sig_mmd(real, fake, **options),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names that contain this word")
    parser.add_argument("--seconds", type=float, default=sized(1.0, 0.0), help="for each row")
    asked = parser.parse_args()
    print(f"{'metric':32} {'CPU ms':>9} {'peer ms':>9} {'ratio':>7}  peer")
    seen, slow = set(), []
    for group in (point, risk, answers, laws, strategies, geometry, kernels):
        for name, ours, label, peer in islice(group(np.random.default_rng(0)), sized(None, 1)):
            seen.add(name)
            if asked.only not in name:
                continue
            mine, theirs = cpu_ms(ours, peer, asked.seconds)
            if mine > TARGET * theirs:
                slow.append(f"{name} {mine / theirs:.2f}")
            print(f"{name:32} {mine:9.3f} {theirs:9.3f} {mine / theirs:7.2f}  {label}", flush=True)
    print(f"slower than {TARGET}x: {', '.join(slow) or 'none'}")
    print(
        "no peer: "
        + ", ".join(name for name in METRICS if name not in seen and not any(row.startswith(name) for row in seen))
    )


if __name__ == "__main__":
    main()
