"""What TRL trains on of exported conversations."""

from __future__ import annotations

from ..conftest import required

trl = required("trl")


def test_the_version() -> None:
    assert trl.__version__ == "1.16.0"
