import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.answers.packing import pack, unpack, unpack_rows
from openfingym.errors import UsageError

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=100)


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_a_text_comes_back_as_it_was(text: str) -> None:
    row = pack(text, 120)
    assert row.shape == (120,)
    assert (row < 2.0**32).all()
    assert unpack(row) == text


def test_what_cannot_be_packed_is_refused_and_says_why() -> None:
    assert unpack(pack("亿" * 1000)) == "亿" * 1000
    with pytest.raises(UsageError, match=r"3,001 bytes.*at most 3,000"):
        pack("a" * 3001)
    with pytest.raises(UsageError, match=r"U\+0000"):
        pack("a\0b")
    with pytest.raises(UsageError, match="surrogate"):
        pack("\ud800")


@pytest.mark.parametrize("broken", [-1.0, 0.5, 2.0**32, np.nan, np.inf, 1e300, 255.0 * 256**3])
def test_numbers_that_are_no_text_are_refused(broken: float) -> None:
    row = pack("62.57 million USD", 10)
    row[1] = broken
    with pytest.raises(UsageError, match="no packed text"):
        unpack(row)


def test_texts_of_any_length_stand_in_rows_of_one_table() -> None:
    texts = ["62.57", "", "a longer answer, in 亿元", "x" * 40]
    assert unpack_rows(np.stack([pack(text, 10) for text in texts])) == texts
    for shape in ((10,), (2, 10, 1), ()):
        with pytest.raises(UsageError, match="no packed text"):
            unpack_rows(np.zeros(shape))
