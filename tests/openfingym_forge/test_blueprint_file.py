"""Blueprints as files: what is written is read again, and an edit that is wrong is refused in words."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import UsageError
from openfingym_forge.blueprint import Blueprint, Contradiction, MetricBlueprint, Quotation, QuotedFigure, Stated
from openfingym_forge.blueprint_file import (
    BlueprintChange,
    blueprint_digest,
    blueprint_of,
    blueprint_schema,
    blueprint_toml,
    changes,
    read_blueprint,
    write_blueprint,
)

QUOTE = Quotation(quote='five days "ahead"\n\nof \\alpha', section="3 Protocol", start=12)
TEXT = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=20)
SCALAR = (
    st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | st.dates() | TEXT
)


def _stated(value: object) -> Stated:
    return Stated.model_validate({"value": value, "assumed": "no word of it"})


def _blueprint(**fields: Stated) -> Blueprint:
    metric = MetricBlueprint(
        name="RMSE",
        formula=Stated(value=r"\sqrt{x}", quotations=[QUOTE]),
        direction=_stated("lower"),
        unit=_stated(None),
        weight=_stated(1.0),
        figures=[QuotedFigure(baseline="AR(1)", value=0.1, quotation=QUOTE)],
    )
    readings = [Stated(value=5, quotations=[QUOTE]), Stated(value=10, quotations=[QUOTE])]
    return Blueprint(
        paper="p",
        title="T",
        name="n",
        fields=fields,
        metrics=[metric, metric],
        baselines=[Stated(value="AR(1)", quotations=[QUOTE])],
        contradictions=[Contradiction(field="contract.horizon", readings=readings, why="two horizons")],
    )


@settings(max_examples=60, deadline=None)
@given(SCALAR | st.lists(SCALAR, max_size=3) | st.none(), TEXT, TEXT)
def test_what_is_written_is_read_again(value: object, reason: str, quote: str) -> None:
    import tomllib

    stated = Stated.model_validate({"value": value, "assumed": reason})
    quoted = Stated(value=5, quotations=[Quotation(quote=quote, section="", start=0), QUOTE])
    before = _blueprint(**{"contract.low": stated, "contract.horizon": quoted})
    after = blueprint_of(tomllib.loads(blueprint_toml(before)), "here")
    assert after == before
    assert blueprint_toml(after) == blueprint_toml(before)
    assert blueprint_digest(after) == blueprint_digest(before)


@pytest.mark.parametrize("number", ["inf", "nan", "-inf"])
def test_a_value_is_a_finite_number(tmp_path: Path, number: str) -> None:
    path = tmp_path / "blueprint.toml"
    text = blueprint_toml(_blueprint(**{"contract.low": _stated(0.25)}))
    path.write_text(text.replace("value = 0.25", f"value = {number}"), "utf-8")
    with pytest.raises(UsageError, match=r"contract\.low.*finite"):
        read_blueprint(path)


def test_a_person_edits_a_value_and_sees_what_changed(tmp_path: Path) -> None:
    path = tmp_path / "blueprint.toml"
    before = _blueprint(**{"contract.horizon": _stated(5), "data.start": _stated(date(2001, 2, 3))})
    write_blueprint(path, before)
    path.write_text(path.read_text(encoding="utf-8").replace("value = 5\nassumed", "value = 7\nassumed", 1), "utf-8")
    after = read_blueprint(path)
    assert changes(before, after) == [BlueprintChange("contract.horizon", 5, 7)]
    assert blueprint_digest(before) != blueprint_digest(after)
    assert changes(before, before) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("value = 5\nassumed", 'value = "five"\nassumed', "\"contract.horizon\".value: found 'five', expected a whole"),
        ("value = 5\nassumed", "value = 0\nassumed", "from 1 to"),
        ("value = 5\nassumed", "valeu = 5\nassumed", "valeu"),
        ('assumed = "no word of it"\n', "", "either quotations or the reason"),
        ("format = 1", "format = 2", "format"),
        ("format = 1", "format == 1", "TOML"),
        ('name = "n"\n', "", "name: Field required"),
        ('"contract.horizon"]', '"Contract Horizon!"]', "no field has this name"),
    ],
)
def test_a_wrong_edit_is_refused_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "blueprint.toml"
    text = blueprint_toml(_blueprint(**{"contract.horizon": _stated(5)}))
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(UsageError) as refused:
        read_blueprint(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)


def test_there_is_a_schema() -> None:
    assert set(blueprint_schema()["required"]) >= {"paper", "title", "name", "fields"}  # type: ignore[call-overload]
