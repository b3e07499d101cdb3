"""Fields of an answer that go back as they came: which are kept, and how those of a stream are put together."""

from __future__ import annotations

import json
import math

import pytest

from openfingym.models.echoing import MOST_CHARACTERS, MOST_NESTED, merged, unread


def nested(levels: int) -> object:
    """Lists within lists."""
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def test_what_is_not_read_is_kept_as_json_has_it() -> None:
    fields = {
        "role": "assistant",
        "mark": "\ud800",
        "none": None,
        "list": (1, True, None),
        "odd": {1: {2}, "x": math.inf},
    }
    kept = unread(fields, {"role"})
    assert kept == {"mark": "?", "list": [1, True, None], "odd": {"1": "{2}", "x": None}}
    assert json.loads(json.dumps(kept, allow_nan=False)) == kept
    assert unread({"role": 1, "none": None}, {"role"}) == {}


def test_what_is_too_deep_or_too_long_is_not_kept() -> None:
    assert unread({"x": nested(MOST_NESTED)}, ()) == {"x": nested(MOST_NESTED)}
    assert unread({"x": nested(MOST_NESTED + 1)}, ()) == {}
    assert unread({"x": nested(5000)}, ()) == {}
    # {"x": ""} are nine characters.
    assert len(str(unread({"x": "a" * (MOST_CHARACTERS - 9)}, ())["x"])) == MOST_CHARACTERS - 9
    assert unread({"x": "a" * (MOST_CHARACTERS - 8)}, ()) == {}


@pytest.mark.parametrize(
    ("before", "piece", "whole"),
    [
        (None, "a", "a"),
        ("a", None, "a"),
        (None, None, None),
        ("ab", "cd", "abcd"),
        ("ab", "ab", "ab"),
        ({"a": "x", "b": 1}, {"a": "y", "c": 2}, {"a": "xy", "b": 1, "c": 2}),
        ([{"index": 0, "text": "x"}], [{"index": 0, "text": "y"}], [{"index": 0, "text": "xy"}]),
        (
            [{"index": 0, "text": "x"}],
            [{"index": 1, "text": "y"}],
            [{"index": 0, "text": "x"}, {"index": 1, "text": "y"}],
        ),
        (
            [{"index": 0, "type": "a", "text": "x"}],
            [{"index": 0, "type": "b", "text": "y"}],
            [{"index": 0, "type": "a", "text": "x"}, {"index": 0, "type": "b", "text": "y"}],
        ),
        ([{"text": "x"}], [{"text": "y"}], [{"text": "x"}, {"text": "y"}]),
        ([{"index": None}], [{"index": None}], [{"index": None}, {"index": None}]),
        ([], ["y"], ["y"]),
        (["x"], ["y"], ["x", "y"]),
        ("x", ["y"], ["y"]),
        (["x"], {"a": 1}, {"a": 1}),
        ({"a": 1}, "x", "x"),
        (1, 2, 2),
    ],
)
def test_pieces_of_a_streamed_field(before: object, piece: object, whole: object) -> None:
    assert merged(before, piece) == whole
