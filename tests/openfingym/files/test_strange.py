"""Reading JSON that strangers made."""

from __future__ import annotations

import pytest

from openfingym.files.strange import MOST_DIGITS, UnfitJSONError, parse_json


@pytest.mark.parametrize("before", [0, 1, 37, 98, 99, 100, 101, 1000])
def test_a_number_of_too_many_digits_is_refused_wherever_it_stands(before: int) -> None:
    longest, padding = "7" * MOST_DIGITS, " " * before
    assert parse_json(f"{padding}[{longest}]") == [int(longest)]
    with pytest.raises(UnfitJSONError, match="1,001 digits"):
        parse_json(f"{padding}[{longest}7]")


def test_digits_in_a_text_are_no_number() -> None:
    text = "7" * (2 * MOST_DIGITS)
    assert parse_json(f'["{text}", 1]') == [text, 1]
