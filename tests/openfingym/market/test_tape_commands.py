"""What ``openfingym tape`` says, and the summary that it is taken from."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.market.commands import Tell
from openfingym.market.tape import (
    RecordKind,
    told,
)
from openfingym.market.tape_summary import summarize
from tests.openfingym.market.tapes import (
    BEGAN,
    later,
    trade,
    written,
)


def test_commands_say_what_a_tape_holds(short: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    shown = json.loads(run(cli, ["tape", "show", str(short), "--json"]).stdout)
    assert shown["state"] == "complete"
    assert shown["records"] == len(RecordKind) + 4
    assert shown["by_kind"]["frame"] == 3
    assert (shown["frames_text"], shown["frames_binary"]) == (1, 2)
    assert shown["frame_bytes"] == len(trade(3)) + 10
    assert shown["duration_s"] == 2
    assert shown["header"]["seeds"] == {"flow": 7}
    assert "local (simulated)" in run(cli, ["tape", "show", str(short)]).output
    verified = run(cli, ["tape", "verify", str(short)])
    assert (verified.exit_code, verified.output) == (
        0,
        f"complete: {shown['records']} records, digest {shown['digest']}\n",
    )

    cut = tmp_path / "cut.tape"
    cut.write_bytes(short.read_bytes()[:-3])
    said = run(cli, ["tape", "verify", str(cut), "--json"])
    assert said.exit_code == 6
    assert json.loads(said.stdout)["state"] == "cut"
    assert json.loads(said.stdout)["digest"] == shown["digest"]
    assert f"{cut}: cut at byte" in said.stderr
    assert run(cli, ["tape", "show", str(cut)]).exit_code == 0


def test_a_summary_adds_up_what_was_told_and_the_longest_silence(tmp_path: Path) -> None:
    gap = told(Tell("gap", "BTCUSDT", "ids"))
    path = written(
        tmp_path / "a.tape",
        [
            [
                (RecordKind.FRAME, later(1), 1, trade(1)),
                (RecordKind.TOLD, later(2), 0, gap),
                (RecordKind.TOLD, later(2), 0, gap),
                (RecordKind.TOLD, later(2), 0, b"[]"),
                (RecordKind.FRAME, later(31), 1, trade(2)),
                (RecordKind.CHECKPOINT, later(32), 0, "ab" * 32),
                (RecordKind.PASSED, later(90), 0, b""),
            ]
        ],
    )
    summary = summarize(path)
    assert summary.told == {"gap": 2}
    assert summary.longest_silence_s == 30
    assert (summary.checkpoints, summary.last_checkpoint) == (1, "ab" * 32)
    assert summary.duration_s == 90
    assert summary.began_ns == BEGAN.wall
