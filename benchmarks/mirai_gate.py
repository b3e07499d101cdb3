"""What a call of MIRAI's tools through gate and verifier takes beyond the lookup itself, and what many questions cost.

    python benchmarks/mirai_gate.py [--calls 400] [--questions 64]

Lookups in this process and calls through the gate take turns, so that moods of the machine hit both alike. A call
through the gate is on the disk before it is answered; how long that alone takes is measured beside it, by writing and
flushing as many bytes to the same file system. Then that many rollouts have a question open at once, each on a
connection of its own, and the verifier's memory (PSS of its processes) is compared with that of one.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
from size import sized

from openfingym.catalog import load_task
from openfingym.packages.build import build
from openfingym.packages.package import BuiltPackage
from openfingym.suites.suite import SuiteQuestion
from openfingym.verifiers.client import VerifierClient
from openfingym_runtime.gate.gate import GateKeeper
from openfingym_suites.mirai.suite import SUITE
from openfingym_verifier.embedded import EmbeddedVerifier

TASK = "mirai-relation-forecast"
STEPS, WARM_UP = 20, sized(40, 2)
ISO = ("USA", "CHN", "RUS", "DEU", "FRA", "GBR", "IND", "JPN", "IRN", "ISR", "TUR", "BRA")


def calls(draw: random.Random) -> tuple[str, dict[str, object]]:
    """A call that differs from the ones before."""
    heads, tails = (draw.sample(ISO, draw.randint(1, 4)) for _ in range(2))
    names = ("count_events", "get_events", "get_relation_distribution")
    return draw.choice(names), {"head_entities": heads, "tail_entities": tails}


def memory(pid: int) -> float:
    """PSS of a process and those below it, MB."""
    whole = psutil.Process(pid)
    every = [whole, *whole.children(recursive=True)]
    return float(sum(one.memory_full_info().pss for one in every)) / 1e6


def busy(pid: int) -> float:
    """Seconds of CPU that a process and those below it have used."""
    whole = psutil.Process(pid)
    return float(sum(sum(one.cpu_times()[:2]) for one in [whole, *whole.children(recursive=True)]))


def flushed(folder: Path) -> float:
    """Milliseconds that a row of the ledger takes to be on this disk, by itself."""
    with (folder / "probe").open("ab", buffering=0) as file:
        begun = time.perf_counter()
        file.write(bytes(4096))
        os.fdatasync(file.fileno())
        return (time.perf_counter() - begun) * 1e3


@contextlib.contextmanager
def asked(verifier: EmbeddedVerifier, keeper: GateKeeper, seed: int) -> Iterator[VerifierClient]:
    """A client on a gate of its own, of a rollout of its own."""
    with VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as operator:
        ticket = operator.create_rollout(TASK, seed=seed)
        with (
            keeper.open(rollout_id=ticket.rollout_id, token=ticket.token, max_body_bytes=1 << 20) as gate,
            VerifierClient(uds=gate.socket) as client,
        ):
            yield client


def compare(verifier: EmbeddedVerifier, client: VerifierClient, package: BuiltPackage, state: Path, count: int) -> None:
    """Calls in turn, here and through the gate."""
    texts = package.array("test_questions")[package.manifest.n_public :]
    options, draw = SUITE.options({}), random.Random(0)
    vault = SUITE.vault(str(package.array("snapshot")[0]))
    rows, at, taken, used = [], client.start_episode("none"), 0, 0.0
    while len(rows) < count + WARM_UP:
        if taken == STEPS:
            at, taken = client.start_episode("none"), 0
        lookup = SUITE.lookup(vault, SuiteQuestion.from_json(str(texts[at.number])), options)
        name, arguments = calls(draw)
        times = [time.perf_counter()]
        found = lookup(name, arguments)
        times.append(time.perf_counter())
        taken += 1
        step = client.step("none", at.episode, taken, {"tool": name, "arguments": arguments})
        times.append(time.perf_counter())
        assert str(step.observation["text"]).endswith(found.text[:20_000])
        rows.append([*(np.diff(times) * 1e3), flushed(state)])
        if len(rows) == WARM_UP:
            used = busy(verifier.pid)
    used = 1e3 * (busy(verifier.pid) - used) / count
    alone, through, disk = np.array(rows[WARM_UP:]).T
    for label, values in (
        ("lookup", alone), ("through the gate", through), ("beyond", through - alone), ("a flush", disk),
    ):  # fmt: skip
        p50, p90 = np.percentile(values, [50, 90])
        print(f"{label:18} p50 {p50:6.2f} ms   p90 {p90:6.2f} ms")
    print(f"the verifier uses {used:.2f} ms of CPU a call, lookup and starts of questions included")


def together(verifier: EmbeddedVerifier, keeper: GateKeeper, questions: int) -> tuple[float, float]:
    """Calls a second, and memory, of so many rollouts with an open question each."""
    done = threading.Barrier(questions + 1)

    def play(seed: int) -> None:
        drawn = random.Random(seed)
        with asked(verifier, keeper, seed) as client:
            at = client.start_episode("none")
            for number in range(1, 11):
                name, arguments = calls(drawn)
                client.step("none", at.episode, number, {"tool": name, "arguments": arguments})
            done.wait()
            done.wait()

    threads = [threading.Thread(target=play, args=(seed,)) for seed in range(1, questions + 1)]
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    done.wait()
    rate, many = 10 * questions / (time.perf_counter() - begun), memory(verifier.pid)
    done.wait()
    for thread in threads:
        thread.join()
    return rate, many


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=sized(400, 4))
    parser.add_argument("--questions", type=int, default=sized(64, 2))
    given = parser.parse_args()
    package = build(load_task(TASK))
    with (
        tempfile.TemporaryDirectory() as state,
        EmbeddedVerifier.start([package], state=Path(state)) as verifier,
        GateKeeper(verifier.uds) as keeper,
    ):
        with asked(verifier, keeper, 0) as client:
            compare(verifier, client, package, Path(state), given.calls)
            one = memory(verifier.pid)
        rate, many = together(verifier, keeper, given.questions)
        print(f"{given.questions} questions at once: {rate:.0f} calls a second")
        print(f"memory {many:.0f} MB, of one {one:.0f} MB: {many / one:.2f} times as much")


if __name__ == "__main__":
    main()
