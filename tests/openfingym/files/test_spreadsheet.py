"""Text that a spreadsheet would run as a formula is shown as it is.

The attack: a name or a symbol that starts as a formula does, in `report --csv` or `tearsheet --trades`.
"""

from __future__ import annotations

import pytest

from openfingym.files.spreadsheet import not_a_formula


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\n=1", "\x00=1", " =1", "＝1", "－1", "\r", "\tx"])
def test_a_formula_in_any_dress_is_quoted(text: str) -> None:
    assert not_a_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "-", "ridge", "a=b", "1.5", "my/model:free", " x"])
def test_other_text_stays(text: str) -> None:
    assert not_a_formula(text) == text
