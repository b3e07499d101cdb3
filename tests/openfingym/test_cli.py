"""The command line: outputs, exit statuses, and that every command is documented."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from openfingym.cli import COMMANDS, cli, main

ROOT = Path(__file__).resolve().parent.parent.parent


def invoke(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the real entry point."""
    monkeypatch.setattr("sys.argv", ["openfingym", *arguments])
    with pytest.raises(SystemExit) as exit_info:
        main()
    captured = capsys.readouterr()
    return int(exit_info.value.code or 0), captured.out, captured.err


def all_commands() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []

    def walk(command: click.Command, path: tuple[str, ...]) -> None:
        if path:
            found.append(path)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                child = command.get_command(context, name)
                assert child is not None
                walk(child, (*path, name))

    walk(cli, ())
    return found


@pytest.mark.parametrize("path", all_commands(), ids=" ".join)
def test_every_command_explains_itself_and_is_documented(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*path, "--help"])
    assert result.exit_code == 0
    assert "Usage:" in result.output
    documentation = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"## openfingym {' '.join(path)}\n" in documentation, "regenerate docs/cli.md with scripts/cli_reference.py"
    assert result.output.strip().partition("\n")[2].strip() in documentation, "regenerate docs/cli.md with scripts/cli_reference.py"


def test_the_short_help_is_the_commands_own_first_line() -> None:
    for name, (_, text) in COMMANDS.items():
        result = CliRunner().invoke(cli, [name, "--help"])
        assert re.sub(r"\s+", " ", text).rstrip(".") in re.sub(r"\s+", " ", result.output), name


def test_tasks_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = invoke(monkeypatch, capsys, "tasks", "--json", "--family", "forecasting")
    rows = json.loads(out)
    assert (status, err) == (0, "")
    assert len(rows) >= 5
    for row in rows:
        assert {"name", "family", "asset_class", "frequency", "data_kind"} <= row.keys()


def test_tasks_table_says_simulated(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "tasks")
    assert status == 0
    line = next(line for line in out.splitlines() if "crypto-forecast" in line)
    assert "simulated" in line


def test_a_users_mistake_is_one_message(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = invoke(monkeypatch, capsys, "task", "show", "tresury-forecast")
    assert status == 2
    assert out == ""
    assert err.startswith("error: no task is named 'tresury-forecast'; did you mean 'treasury-forecast'?")
    assert "Traceback" not in err


def test_an_error_with_json_is_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "task", "show", "nothing-like-it", "--json")
    assert status == 2
    assert json.loads(out)["error"]["type"] == "TaskNotFoundError"


def test_an_unknown_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = invoke(monkeypatch, capsys, "rnu")
    assert status == 2
    assert "No such command" in err


def test_task_show(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "task", "show", "crypto-forecast")
    assert status == 0
    assert "SIMULATED data" in out
    assert "embargo 12 rows" in out
    status, out, _ = invoke(monkeypatch, capsys, "task", "show", "treasury-forecast", "--json")
    shown = json.loads(out)
    assert shown["submission_shape"] == [shown["n_public"] + shown["n_private"], 5, 6]
    assert len(shown["digest"]) == 64


def test_task_build(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "task", "build", "treasury-forecast", "--json")
    assert status == 0
    assert Path(json.loads(out)[0]["package"], "package.json").is_file()


def test_task_new_then_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "task", "new", "oil-forecast", "--to", str(tmp_path))
    assert status == 0
    assert "task check" in out
    status, out, _ = invoke(monkeypatch, capsys, "task", "check", str(tmp_path / "oil-forecast"))
    assert status == 0
    assert "FAIL" not in out


def test_task_check_fails_with_status_5(own_task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = own_task / "task.toml"
    path.write_text(path.read_text().replace("high = 1.0", "high = 0.001"))
    status, out, _ = invoke(monkeypatch, capsys, "task", "check", str(own_task), "--json")
    assert status == 5
    assert json.loads(out)[0]["passed"] is False


def test_data_list_and_verify(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "data", "list", "--json")
    kinds = {row["name"]: row["kind"] for row in json.loads(out)}
    assert status == 0
    assert kinds["sim-crypto"] == "simulated"
    assert kinds["ust-par-yields"] == "real"
    status, out, _ = invoke(monkeypatch, capsys, "data", "verify", "ust-par-yields")
    assert status == 0
    assert out.startswith("ok  ust-par-yields  3391 rows x 11 channels")


def test_verifier_serve_needs_a_secret(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = invoke(monkeypatch, capsys, "verifier", "serve", "--task", "treasury-forecast")
    assert status == 2
    assert "OPENFINGYM_ADMIN_TOKEN" in err
