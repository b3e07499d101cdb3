"""Which windows of public numbers are copies of hidden blocks: planted ones, at every place and with known errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from openfingym.leaks import matching
from openfingym.leaks.blocks import HiddenBlocks
from openfingym.leaks.matching import MARGIN, STRIDED, Match, matches, strided
from openfingym.leaks.readings import FORMS, Floats
from openfingym.leaks.streams import SHORTEST, Stream
from openfingym.leaks.telling import ERRORS, directed

PLAIN, RANKS = FORMS[0], FORMS[1]
BITS = 8.0 + 4.0 * np.arange(len(ERRORS))
"""What a copy tells with each of the errors: from 8 to 116 bits."""


def hidden(length: int = 12, count: int = 5, form: Any = PLAIN, told: Floats = BITS) -> HiddenBlocks:
    """Blocks of random values, in rows 10, 11, ... of channels 0, 1, ..."""
    blocks = np.random.default_rng(length).standard_normal((count, length))
    return HiddenBlocks(
        form, length, directed(form.hidden(blocks)), np.tile(told, (count, 1)),
        np.column_stack([10 + np.arange(count), np.arange(count)]), np.arange(count) % 2,
        (("labels", ""), ("labels", "squares")),
    )  # fmt: skip


def noise(count: int = 200, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).standard_normal(count)


def planted(block: Floats, at: int, error: float = 0.0, count: int = 200) -> Floats:
    """Noise with a shifted and scaled copy of a block in it, which is as far off as is said, to one side of it."""
    values = noise(count)
    aside = noise(len(block), 2)
    aside -= aside.mean() + (aside @ block) * block
    turned = math.sqrt(1.0 - error**2) * block + error * aside / np.sqrt(aside @ aside)
    values[at : at + len(block)] = 3.0 - 20.0 * turned
    return values


def needed(windows: int, blocks: int) -> float:
    return math.log2(windows) + math.log2(blocks) + MARGIN


def test_a_copy_is_found_at_every_place_however_the_work_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    group = hidden()
    wanted = [
        Match("hex", "labels", "squares" if block % 2 else "", 10 + block, block, 12, BITS[-1]) for block in range(5)
    ]
    for tile, piece in ((matching.TILE, matching.PIECE), (4, 12 * 7), (1, 1)):
        monkeypatch.setattr(matching, "TILE", tile)
        monkeypatch.setattr(matching, "PIECE", piece)
        for at in (0, 1, 7, 8, 100, 187, 188) if tile > 1 else (188,):
            stream = Stream("hex", planted(group.directions[at % 5], at))
            assert list(matches([stream], [group])) == [wanted[at % 5]], (tile, at)
    assert list(matches([Stream("hex", noise())], [group])) == []


@pytest.mark.parametrize("place", [2, 5, 11, 20])
def test_a_worse_copy_tells_what_the_next_larger_error_does(place: int) -> None:
    group = hidden(told=np.concatenate([np.full(2, 8.0), 40.0 + np.arange(len(ERRORS) - 2)]))
    for factor in (0.72, 0.98):
        stream = Stream("", planted(group.directions[3], 50, float(ERRORS[place]) * factor))
        assert [match.bits for match in matches([stream], [group])] == [group.told[3, place]]
    # Further off than the largest error for which enough is told.
    for error in (float(ERRORS[2]) * 1.02, 0.9):
        assert list(matches([Stream("", planted(group.directions[3], 50, error))], [group])) == []


def test_a_match_tells_more_than_the_number_of_pairs() -> None:
    for more, found in ((0.01, 1), (-0.01, 0)):
        group = hidden(told=np.full(len(ERRORS), needed(200 - 12 + 1, 5) + more))
        assert len(list(matches([Stream("", planted(group.directions[1], 9))], [group]))) == found
    # Of two streams, the windows within each count.
    group = hidden(told=np.full(len(ERRORS), needed(189 + 39, 5) + 0.001))
    streams = [Stream("", planted(group.directions[1], 9)), Stream("", noise(50))]
    assert len(list(matches(streams, [group]))) == 1
    assert len(list(matches([streams[0], Stream("", noise(51))], [group]))) == 0


def test_no_window_reaches_into_the_next_stream() -> None:
    group = hidden()
    values = planted(group.directions[0], 94)
    for cut in (95, 100, 105):
        assert list(matches([Stream("a", values[:cut]), Stream("b", values[cut:])], [group])) == []
    for cut, how in ((94, "b"), (106, "a")):
        (match,) = matches([Stream("a", values[:cut]), Stream("b", values[cut:])], [group])
        assert (match.how, match.row) == (how, 10)


@pytest.mark.parametrize("first", [0.0, 0.01])
def test_the_surest_of_several_copies_counts(first: float) -> None:
    group = hidden()
    values = planted(group.directions[2], 20, first)
    values[100:112] = planted(group.directions[4], 0, 0.01 - first)[:12]
    (match,) = matches([Stream("", values)], [group])
    assert (match.row, match.bits) == (12 if first == 0.0 else 14, BITS[-1])


def test_each_length_and_form_has_a_match_of_its_own() -> None:
    short, ranks, long, faint = hidden(), hidden(form=RANKS), hidden(24), hidden(24, told=np.full(len(ERRORS), 20.0))
    values = planted(long.directions[1], 150)
    values[10:22] = short.directions[2]
    values[60:72] = np.exp(ranks.directions[3])
    # Their ranks have error 0 each, and the one that is found first counts.
    found = [
        (match.length, match.row, match.bits) for match in matches([Stream("", values)], [long, short, faint, ranks])
    ]
    assert [one for one in found if one[0] == 12] == [(12, 12, BITS[-1]), (12, found[1][1], BITS[-1])]
    assert [one for one in found if one[0] == 24] == [(24, 11, BITS[-1])]
    # A stream shorter than a block has no window of its length.
    assert [one.length for one in matches([Stream("", values[10:32])], [long, short])] == [12]
    assert list(matches([Stream("", values[10:21])], [long, short])) == []
    assert [one.length for one in matches([Stream("", values[10:22])], [long, short])] == [12]
    assert list(matches([], [long, short])) == list(matches([Stream("", values)], [])) == []


def test_written_numbers_come_first_and_then_the_likelier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    group = hidden()
    values = planted(group.directions[0], 30)
    streams = [Stream("c", values, unlikely=2), Stream("b", values, unlikely=1), Stream("a", values, written=True)]

    def read(numbers: int, some: list[Stream]) -> list[str]:
        # For as many numbers as this there is time: 5 blocks of 12 values are compared with each.
        monkeypatch.setattr(matching, "WORK", numbers * 5 * 12 + 59)
        monkeypatch.setattr(matching, "BATCH", 1)
        return [match.how for match in matches(some, [group])]

    assert read(1000, streams) == ["a", "b", "c"]
    assert read(200 + 200 + 42, streams) == ["a", "b", "c"]
    assert read(200 + 200 + 41, streams) == ["a", "b"]
    assert read(200 + 42, streams) == ["a", "b"]
    assert read(200 + 41, streams) == ["a"]
    # Four times as much time for those that are written as such.
    assert read(11, streams) == ["a"]
    assert read(10, streams) == []


def test_streams_are_taken_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "BATCH", 60)
    streams = [
        Stream(str(number), np.arange(float(count))) for number, count in enumerate((30, 30, 1, 100, 20, 40, 40))
    ]

    def taken(most: int) -> list[list[tuple[str, int]]]:
        return [[(one.how, len(one.values)) for one in batch] for batch in matching._batches(streams, most)]

    assert taken(1000) == [[("0", 30), ("1", 30)], [("2", 1)], [("3", 100)], [("4", 20), ("5", 40)], [("6", 40)]]
    assert taken(60 + SHORTEST) == [[("0", 30), ("1", 30)], [("2", 1)]]
    assert taken(61 + SHORTEST) == [[("0", 30), ("1", 30)], [("2", 1)], [("3", SHORTEST)]]
    assert taken(SHORTEST - 1) == []
    assert list(matching._batches([], 1000)) == []
    written = [Stream("w", np.arange(50.0), written=True)]
    assert [len(one.values) for batch in matching._batches(written, 12) for one in batch] == [48]


def test_the_numbers_of_a_table_are_read_by_column_too() -> None:
    values = np.array([1.0, math.nan, 2.0, math.inf, -1e30, 5e29, -5e29, 3.0])
    sound = [1.0, 0.0, 2.0, 0.0, 0.0, 5e29, -5e29, 3.0]
    assert [(one.how, one.values.tolist()) for one in strided(Stream("hex", values))] == [("hex", sound)]
    read = [(one.how, one.values.tolist(), one.written) for one in strided(Stream("hex", values, True, True), (5, 3))]
    assert read == [("hex", sound, True)] + [
        (f"hex, one number in {stride}", sound[offset::stride], True)
        for stride in (2, 3, 4, 5)
        for offset in range(stride)
    ]
    assert next(iter(list(strided(Stream("", values, single=True)))[1:])).how == "one number in 2"
    assert len(list(strided(Stream("", np.ones(STRIDED), single=True)))) == 1 + 2 + 3 + 4
    assert len(list(strided(Stream("", np.ones(STRIDED + 1), single=True)))) == 1
