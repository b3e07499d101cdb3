"""Two rollouts that run at once have no exact channel between them.

Each attack is a pair of real programs that take turns, told by the test when, and sends random bits. Before they were
closed, all of these came across without an error, the waits on a shared page and the counts of who maps it thousands of
times a second. What is still open, and at how many bits a second, `benchmarks/channels.py` measures.

The channels: a futex on a page of a library or task file that both map; who else maps a page, by `smaps`, `pagemap`,
`numa_maps`; and whatever else the kernel counts or numbers for all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openfingym_runtime.backends import select
from openfingym_runtime.job import Job, Limits
from openfingym_runtime.sandbox.forkserver import VARIABLE
from tests.sweeps import ALL

from . import signals

BITS = 200 if ALL else 60
LIMITS = Limits(timeout_s=120, memory_mb=512, cpus=1, pids=64, storage_mb=16, output_bytes=1 << 18)
STARTS = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("cold", marks=pytest.mark.sandbox),
    pytest.param("warm", marks=pytest.mark.sandbox),
]
HARMLESS = ("futex", "smaps", "pagemap", "numa_maps", "eventfd_id")
"""Channels that can be tried on the machine itself: they take nothing from others, and others hardly disturb them."""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with a short path, with a task's files and a gate's folder."""
    with tempfile.TemporaryDirectory(prefix="ofg-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        (place / "task" / "data").mkdir(parents=True)
        (place / "task" / "data" / "contract.json").write_bytes(b"{}" * (1 << 17))
        (place / "gate").mkdir()
        yield place


@pytest.fixture(params=STARTS)
def start(
    request: pytest.FixtureRequest, place: Path, warm_start: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> signals.Start:
    if request.param == "warm":
        warm_start()
    else:
        monkeypatch.setenv(VARIABLE, "0")
    backend = select("docker" if request.param == "docker" else "sandbox", trusted=False)
    job = Job("signals", "", {"data": place / "task" / "data"}, place / "gate", LIMITS)
    return signals.rollouts(backend, job)


@pytest.mark.parametrize("channel", signals.CLOSED, ids=lambda channel: channel.name)
def test_nothing_comes_across(start: signals.Start, place: Path, channel: signals.Channel) -> None:
    heard = signals.transfer(start, channel, place / "gate", BITS)
    assert len(set(heard.sent)) == 2
    assert set(heard.seen) == {heard.seen[0]}, "it depends on something"
    assert heard.bits_per_second == 0


@pytest.mark.parametrize("start", STARTS[1:], indirect=True)
@pytest.mark.parametrize("channel", signals.CLOSED_IN_SANDBOX, ids=lambda channel: channel.name)
def test_nothing_comes_across_in_a_sandbox(start: signals.Start, place: Path, channel: signals.Channel) -> None:
    test_nothing_comes_across(start, place, channel)


@pytest.mark.sandbox
@pytest.mark.parametrize("name", HARMLESS)
def test_the_attack_works_where_nothing_keeps_programs_apart(place: Path, name: str) -> None:
    channel = next(channel for channel in signals.CLOSED if channel.name == name)
    heard = signals.transfer(signals.unconfined(place / "task"), channel, place / "gate", BITS)
    assert heard.errors < 0.25


def test_capacity() -> None:
    assert [signals.capacity(errors) for errors in (0.0, 0.5)] == [1.0, 0.0]
    assert signals.capacity(0.11) == pytest.approx(0.5, abs=1e-3)


def test_a_reader_learns_from_the_first_half() -> None:
    sent = (True, False) * 50
    assert signals.Heard(sent, tuple(7 - bit for bit in sent), 2.0).bits_per_second == 50
    assert signals.Heard(sent, (3,) * 100, 2.0).bits_per_second == 0
    # Right in the first half, and the other way round in the second: whoever reads so has learnt nothing.
    assert signals.Heard(sent, tuple(map(int, (*sent[:50], *(not bit for bit in sent[50:])))), 2.0).errors == 0.5
