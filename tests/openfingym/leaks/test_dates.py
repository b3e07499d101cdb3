"""Dates are numbers like others: hidden values in their low digits, their bits or the steps between them are found.

Attacks that gave away all labels: in the low digits of `train_times.npy` or in the steps between its dates, after the
array in its `.npy` file, and in a comment of its header.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from openfingym.leaks import LeakSearch
from tests.sweeps import fixed_part

Floats = NDArray[np.float64]
DAYS = np.datetime64("2015-01-02", "D") + np.arange(2000)


@pytest.fixture(scope="module")
def truth() -> Floats:
    return 0.01 * np.random.default_rng(7).standard_normal((40, 5, 3))


@pytest.fixture(scope="module")
def search(truth: Floats) -> LeakSearch:
    return LeakSearch.of({"targets": truth})


def _low(values: Floats, unit: str, digits: int) -> NDArray[np.datetime64]:
    """A date a day, with a hidden value in its digits below the unit."""
    low = np.rint((values.ravel() / 0.1 + 0.5) * 10**digits).astype(np.int64)
    days = DAYS[: len(low)].astype(f"M8[{unit}]").astype(np.int64)
    return (days + low).view(f"M8[{unit}]")


PLANTED: dict[str, Callable[[Floats], NDArray[np.generic]]] = {
    "seconds of the day": lambda t: _low(t, "s", 4),
    "milliseconds of the day": lambda t: _low(t, "ms", 7),
    "nanoseconds of the day": lambda t: _low(t, "ns", 8),
    "nanoseconds, big-endian": lambda t: _low(t, "ns", 8).astype(">M8[ns]"),
    "nanoseconds, in windows": lambda t: _low(t, "ns", 8).reshape(t.shape),
    "one date in two": lambda t: np.stack([DAYS[: t.size].astype("M8[us]"), _low(t, "us", 6)], axis=1).ravel(),
    "steps": lambda t: DAYS[0].astype("M8[s]") + np.cumsum((86_400 + np.rint(t.ravel() * 1e5)).astype("m8[s]")),
    "spans": lambda t: np.rint(t * 1e8).astype("m8[ns]"),
    "bits of doubles": lambda t: np.ascontiguousarray(t).view("M8[ns]"),
    "bits of half floats": lambda t: np.ascontiguousarray(t).astype("<f2").tobytes().ljust(96, b"\0"),
    "a field": lambda t: np.rec.fromarrays([np.arange(t.size), _low(t, "ns", 8)], names="number,time"),
    "text": lambda t: " ".join(f"{value:.6f}" for value in t.ravel()).encode().ljust(320),
    "base64": lambda t: base64.b64encode(t.tobytes()).ljust(800),
}


def _dates(made: NDArray[np.generic] | bytes) -> NDArray[np.generic]:
    return np.frombuffer(made, dtype="M8[s]") if isinstance(made, bytes) else made


@pytest.mark.parametrize("planted", PLANTED)
def test_hidden_values_in_dates_are_found(planted: str, truth: Floats, search: LeakSearch, tmp_path: Path) -> None:
    np.save(tmp_path / "train_times.npy", _dates(PLANTED[planted](truth[17:19])))
    found = next(search.leaks(tmp_path), None)
    assert found is not None
    assert "targets" in found.finding, found


HONEST: dict[str, NDArray[np.generic]] = {
    "days": DAYS,
    "trading days, in windows": np.lib.stride_tricks.sliding_window_view(DAYS[np.is_busday(DAYS)], 60),
    "hours": DAYS[0].astype("M8[ns]") + np.arange(5000) * np.timedelta64(1, "h"),
    "minutes of trading days": (
        DAYS[np.is_busday(DAYS)][:50, None].astype("M8[m]") + np.arange(570, 960) * np.timedelta64(1, "m")
    ).ravel(),
    "times of trades": DAYS[0].astype("M8[ns]") + np.cumsum(np.random.default_rng(0).integers(1, 10**9, 3000)),
    "not a time": np.full(300, "NaT", dtype="M8[D]"),
    "months": np.arange("1990-01", "2020-01", dtype="M8[M]"),
    "picoseconds": np.arange(500).astype("M8[ps]"),
    "two days": np.arange(500).astype("M8[2D]"),
    "no unit": np.arange(100).view("m8"),
}


@pytest.mark.parametrize("dates", fixed_part(HONEST, 3))
def test_dates_alone_are_no_leak(dates: str, search: LeakSearch, tmp_path: Path) -> None:
    np.save(tmp_path / "times.npy", HONEST[dates])
    assert [str(leak) for leak in search.leaks(tmp_path)] == []


def test_labels_in_the_low_digits_of_dates_are_found(tmp_path: Path) -> None:
    labels = (np.random.default_rng(0).random(600) < 0.3).astype(np.uint8)
    dates = DAYS[:600].astype("M8[ns]") + labels.astype("m8[ns]")
    np.save(tmp_path / "times.npy", dates)
    assert any("labels" in leak.finding for leak in LeakSearch.of({"labels": labels}).leaks(tmp_path))


def _headed(array: bytes, text: bytes) -> bytes:
    """The array with a comment in its header, which is read as Python."""
    size = int.from_bytes(array[8:10], "little")
    header = array[10 : 10 + size].rstrip() + b" # " + text + b"\n"
    return array[:8] + len(header).to_bytes(2, "little") + header + array[10 + size :]


AROUND: dict[str, Callable[[bytes, bytes], bytes]] = {
    "after the array": lambda array, text: array + text,
    "after a second array": lambda array, text: array + array + text,
    "in the header": _headed,
}


@pytest.mark.parametrize("place", AROUND)
def test_what_stands_around_an_array_is_searched(place: str, truth: Floats, search: LeakSearch, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.random.default_rng(0).standard_normal(100))
    text = " ".join(f"{value:.6f}" for value in truth[5].ravel()).encode()
    (tmp_path / "a.npy").write_bytes(AROUND[place](buffer.getvalue(), text))
    assert len(np.load(tmp_path / "a.npy")) == 100
    assert any("targets" in leak.finding for leak in search.leaks(tmp_path))
