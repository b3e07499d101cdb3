"""The command line: outputs, exit statuses, and that every command is documented."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import httpx
import numpy as np
import pytest
from click.testing import CliRunner

from openfingym.catalog import load_task
from openfingym.cli import COMMANDS, cli, main
from openfingym.packages.build import build
from tests.sweeps import fixed_part

ROOT = Path(__file__).resolve().parents[3]


def invoke(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
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
    assert result.output.strip().partition("\n")[2].strip() in documentation, (
        "regenerate docs/cli.md with scripts/cli_reference.py"
    )


def test_the_short_help_is_the_commands_own_first_line() -> None:
    for name, (_, text) in COMMANDS.items():
        result = CliRunner().invoke(cli, [name, "--help"])
        assert re.sub(r"\s+", " ", text).rstrip(".") in re.sub(r"\s+", " ", result.output), name


def test_tasks_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = invoke(monkeypatch, capsys, "tasks", "--json", "--family", "forecasting")
    rows = json.loads(out)
    assert (status, err) == (0, "")
    assert len(rows) == 52 + 2
    for row in rows:
        assert {"name", "family", "kind", "asset_class", "frequency", "data_kind", "panel", "metrics"} <= row.keys()
    status, out, _ = invoke(monkeypatch, capsys, "tasks", "--json")
    every = json.loads(out)
    assert {
        family: sum(row["family"] == family for row in every)
        for family in ("forecasting", "generation", "trading", "fraud")
    } == {
        "forecasting": 52 + 2,
        "generation": 13,
        "trading": 5,
        "fraud": 7,
    }
    channels = {row["name"]: row["channels"] for row in every}
    assert (channels["treasury-forecast"], channels["ou-generation"], channels["timegan-stock-generation"]) == (6, 1, 6)
    assert channels["amazon-fraud"] is None


def test_tasks_table_says_simulated(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "tasks")
    assert status == 0
    assert [name.strip() for name in out.splitlines()[1].split("  ") if name.strip()] == [
        "task",
        "family",
        "data",
        "asset class",
        "frequency",
        "panel",
    ]
    line = next(line for line in out.splitlines() if "crypto-forecast " in line)
    assert "simulated" in line
    assert "12 large crypto-assets" in line


def test_a_users_mistake_is_one_message(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = invoke(monkeypatch, capsys, "task", "show", "tresury-forecast")
    assert status == 2
    assert out == ""
    assert err.startswith("error: no task is named 'tresury-forecast'; did you mean 'treasury-forecast' or ")
    assert "Traceback" not in err


def test_an_error_with_json_is_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "task", "show", "nothing-like-it", "--json")
    assert status == 2
    assert json.loads(out)["error"]["type"] == "TaskNotFoundError"


def test_the_package_is_the_command_line() -> None:
    done = subprocess.run([sys.executable, "-m", "openfingym", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("openfingym ")


def test_an_unknown_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = invoke(monkeypatch, capsys, "rnu")
    assert status == 2
    assert "No such command" in err


def test_task_show(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "task", "show", "crypto-forecast")
    assert status == 0
    assert "SIMULATED data" in out
    assert "12 rows dropped between" in out
    status, out, _ = invoke(monkeypatch, capsys, "task", "show", "treasury-forecast", "--json")
    shown = json.loads(out)
    assert shown["submission_shape"] == [shown["n_public"] + shown["n_private"], 5, 6]
    assert len(shown["digest"]) == 64


def test_task_build(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "task", "build", "treasury-forecast", "--json")
    assert status == 0
    assert Path(json.loads(out)[0]["package"], "package.json").is_file()


@pytest.mark.parametrize(
    "kind", fixed_part(["forecast", "generation", "rows", "nodes", "graphs", "curves", "rolling", "trading"], 8)
)
def test_task_new_then_check(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = invoke(monkeypatch, capsys, "task", "new", "oil-forecast", "--kind", kind, "--to", str(tmp_path))
    assert status == 0
    assert "task check" in out
    assert ("your own CSV" if kind in {"forecast", "generation"} else "the bundled") in out
    status, out, _ = invoke(monkeypatch, capsys, "task", "check", str(tmp_path / "oil-forecast"))
    assert status == 0, out
    assert "FAIL" not in out


def test_task_new_of_an_unknown_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = invoke(
        monkeypatch, capsys, "task", "new", "oil-forecast", "--kind", "guess", "--to", str(tmp_path)
    )
    assert status == 2
    assert "known: forecast, curves, rows" in err


def test_several_tasks_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Processes of their own, a broken task among sound ones: it is named, the others are done, the status is its
    own."""
    from openfingym.packages.scaffold import new_task

    folders = [str(new_task(f"task-{letter}", tmp_path)) for letter in "abc"]
    for letter in "ac":  # two fifths of its rows are as sound, and sooner searched
        data = tmp_path / f"task-{letter}" / "data.csv"
        data.write_text("".join(data.read_text().splitlines(keepends=True)[:600]))
    (tmp_path / "task-b" / "data.csv").write_text("date,alpha,beta\n2020-01-01,1,2\n")
    status, out, err = invoke(monkeypatch, capsys, "task", "build", *folders, "--jobs", "2", "--json")
    assert status == 6
    assert [row["task"] for row in json.loads(out)] == ["task-a", "task-c"]
    assert "3/3 task-" in err
    assert "error: task-b: " in err
    status, out, err = invoke(monkeypatch, capsys, "task", "check", *folders, "--jobs", "2")
    assert status == 5
    assert "2 of 3 tasks passed; not task-b" in out
    assert err == ""


def test_all_tasks_means_every_known_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from openfingym import catalog
    from openfingym.packages.scaffold import new_task

    monkeypatch.setattr(catalog, "builtin_root", lambda: tmp_path)
    new_task("task-a", tmp_path)
    (tmp_path / "task-b").mkdir()
    (tmp_path / "task-b" / "task.toml").write_text("nonsense")
    status, out, err = invoke(monkeypatch, capsys, "task", "build", "--all", "--jobs", "1")
    assert status == 5
    assert out.startswith("task-a  ")
    assert "error: task-b: " in err
    assert "not valid TOML" in err
    status, _, err = invoke(monkeypatch, capsys, "task", "build", "--all", "task-a")
    assert status == 2
    assert "name the tasks to build, or give --all" in err


def test_check_with_a_smoke_run(
    own_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Another test may build a task of the same name and content anew meanwhile, in the store that all share.
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "store"))
    status, out, _ = invoke(monkeypatch, capsys, "task", "check", str(own_task), "--smoke", "inline")
    assert status == 0, out
    assert re.search(r"ok    smoke +naive scored [\d.]+ in [\d.]+ s \(inline\), nop rejected", out)


def test_score(
    own_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = build(load_task(own_task))
    shape = package.manifest.submission_shape
    constant = f"constant: all {np.prod(shape)} predictions are 0.01"
    np.save(tmp_path / "answer.npy", np.full(shape, 0.01))
    files = [
        "score",
        "--task",
        str(own_task),
        "--submission",
        str(tmp_path / "answer.npy"),
        "--truth",
        str(package.truth),
    ]
    status, out, err = invoke(monkeypatch, capsys, *files)
    assert status == 0
    assert re.search(r"relative total +[\d.]+ \[[\d.]+, [\d.]+\] +[\d.]+ \[[\d.]+, [\d.]+\] +1", out)
    assert err == f"warning: {constant}\n"
    status, out, _ = invoke(monkeypatch, capsys, *files, "--json")
    card = json.loads(out)
    assert card["private"]["relative_total"] > 1.0
    low, high = card["private"]["relative_interval"]
    assert low < card["private"]["relative_total"] < high
    assert card["private"]["standard_errors"].keys() == card["private"]["metrics"].keys()
    assert card["warnings"] == [constant]
    np.save(tmp_path / "answer.npy", np.zeros((3, 3)))
    status, _, err = invoke(monkeypatch, capsys, *files)
    assert status == 3
    assert "Found shape [3, 3]; expected [79, 5, 2]: window, step, channel." in err
    assert "Traceback" not in err


def test_task_check_fails_with_status_5(
    own_task: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_verifier_serve_takes_no_weak_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENFINGYM_ADMIN_TOKEN", "secret")
    status, _, err = invoke(monkeypatch, capsys, "verifier", "serve", "--task", "treasury-forecast")
    assert status == 2
    assert "$OPENFINGYM_ADMIN_TOKEN: 6 characters" in err


def test_verifier_serve_makes_a_secret_where_there_is_none(treasury: object, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-P",
        "-m",
        "openfingym",
        "verifier",
        "serve",
        "--task",
        "treasury-forecast",
        "--port",
        "0",
    ]
    command += ["--state", str(tmp_path / "state"), "--monitor-token-file", str(tmp_path / "monitor")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert process.stderr.readline() == f"the admin token is in {tmp_path / 'state' / 'admin.token'}\n"
            where = re.search(r"http://\S+:\d+", process.stderr.readline())
            assert where is not None
            tokens = [path.read_text().strip() for path in (tmp_path / "state" / "admin.token", tmp_path / "monitor")]
            asked = {path: [_asked(where[0] + path, token) for token in tokens] for path in ("/v1/tasks", "/metrics")}
            assert asked == {"/v1/tasks": [200, 403], "/metrics": [200, 200]}
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0


def _asked(url: str, token: str) -> int:
    return httpx.get(url, headers={"Authorization": f"Bearer {token}"}).status_code
