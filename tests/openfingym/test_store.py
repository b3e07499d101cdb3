"""The store of built packages: what killed processes leave in it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from openfingym import store

KEPT = """
from openfingym import store
with store.staging() as folder:
    (folder / "events.parquet").write_bytes(b"hidden")
    print("written", flush=True)
    input()
"""


def test_what_a_killed_process_left_goes_before_anything_else_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hidden data of a drawing that was killed stayed on the disk until the next one."""
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    store.remove_left()  # of a store that there is not, nothing
    with subprocess.Popen(
        [sys.executable, "-c", KEPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        store.remove_left()
        assert [*tmp_path.rglob("*.parquet")], "its owner is alive"
        process.send_signal(signal.SIGKILL)
    store.remove_left()
    assert not [*(tmp_path / ".staging").iterdir()]
