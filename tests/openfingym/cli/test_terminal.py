"""Nothing that a stranger wrote is a command to the terminal."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from openfingym.cli import cli
from tests.tenants import TENANTS

ROOT = Path(__file__).parents[3]
FOLDERS = [ROOT / package / "cli" for package in ("openfingym", *TENANTS)]
"""Folders of commands."""
RAW = {"openfingym/cli/printable.py": 1, "openfingym/cli/receipt.py": 2}
"""How often a module prints as it is: where everything else does it, and a proof that is piped into a file."""
EVIL = "\x1b]0;owned\x07\x1b[31mRED\u202e"


def test_every_command_prints_by_the_one_function_that_escapes() -> None:
    printing = re.compile(r"click\.echo\(|click\.secho\(|(?<![\w.])print\(")
    calls = {
        path.relative_to(ROOT).as_posix(): len(printing.findall(path.read_text()))
        for folder in FOLDERS
        for path in folder.glob("*.py")
    }
    assert {name: count for name, count in calls.items() if count} == RAW


def test_a_strangers_task_is_shown_without_commands_to_the_terminal(own_task: Path) -> None:
    instruction, config = own_task / "instruction.md", own_task / "task.toml"
    instruction.write_text(instruction.read_text() + EVIL)
    said = config.read_text()
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in EVIL)
    config.write_text(said.replace('panel = "', f'panel = "{escaped}'))
    shown = CliRunner().invoke(cli, ["task", "show", str(own_task)])
    assert shown.exit_code == 0, shown.output
    assert r"\x1b]0;owned\x07\x1b[31mRED\u202e" in shown.output
    assert not set(EVIL) & set(shown.output) - set("]0;owned[31mRED")
