"""Digests against known values, and the canonical form of JSON, which records on disks depend on."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openfingym import digests

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
)


def test_known_values() -> None:
    assert digests.sha256_of(b"") == EMPTY
    assert digests.sha256_of(memoryview(b"abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digests.sha256_of_text("ü") == digests.sha256_of(b"\xc3\xbc")


def test_files_and_folders_are_what_the_system_says(tmp_path: Path) -> None:
    (tmp_path / "b" / "a").mkdir(parents=True)
    for name in ("b/a/c", "b.x", "a"):
        (tmp_path / name).write_bytes(name.encode() * 100_000)
    said = subprocess.run(
        ["sha256sum", "b/a/c", "b.x", "a"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    expected = {name: digest for digest, name in (line.split() for line in said.splitlines())}
    found = digests.sha256_of_files(tmp_path)
    assert found == expected
    assert list(found) == ["a", "b/a/c", "b.x"]
    with (tmp_path / "a").open("rb") as stream:
        assert digests.sha256_of_stream(stream) == expected["a"]
    assert digests.sha256_of_stream(io.BytesIO()) == EMPTY


def test_the_canonical_form_is_the_one_that_records_have() -> None:
    value = {"b": [1, 1.5, True, None], "a": {"ü": "\u2028", "": "/"}}
    assert digests.canonical_json(value) == '{"a":{"":"/","ü":"\u2028"},"b":[1,1.5,true,null]}'.encode()
    assert digests.sha256_of_json({}) == digests.sha256_of(b"{}")
    with pytest.raises(ValueError, match="JSON compliant"):
        digests.canonical_json(float("nan"))


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON, max_size=5))
def test_the_order_of_names_does_not_matter(value: dict[str, object]) -> None:
    assert digests.canonical_json(dict(reversed(value.items()))) == digests.canonical_json(value)
