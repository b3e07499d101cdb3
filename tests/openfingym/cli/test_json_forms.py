"""What ``--json`` prints has one form for each command, which its help states."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from openfingym.cli import cli
from openfingym.packages.scaffold import new_task


def commands(command: click.Command = cli, path: str = "") -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, f"{path} {name}")
    else:
        yield path.strip(), command


def said_form(command: click.Command) -> str | None:
    option = next((one for one in command.params if "--json" in one.opts), None)
    assert option is None or isinstance(option, click.Option)
    return None if option is None else (option.help or "").removeprefix("Print JSON: ").removesuffix(".")


FORMS = {path: form for path, command in commands() if (form := said_form(command)) is not None}


def printed(*arguments: object) -> object:
    return json.loads(CliRunner().invoke(cli, [*map(str, arguments), "--json"]).stdout)


@pytest.mark.parametrize("path", FORMS)
def test_every_help_states_the_form(path: str) -> None:
    assert FORMS[path].startswith(("a list", "an object"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]]]:
    """A folder of one run, and what was printed of it."""
    folder = tmp_path_factory.mktemp("runs")
    found = printed("run", "treasury-forecast", "--agent", "naive", "--backend", "inline", "--out", folder)
    assert isinstance(found, list)
    return folder, found


def test_run_prints_a_list_of_one(runs: tuple[Path, list[dict[str, object]]]) -> None:
    (result,) = runs[1]
    assert (result["task"], result["state"]) == ("treasury-forecast", "scored")
    assert "skill_shown" in result


def test_view_prints_a_list_of_one_or_of_many(runs: tuple[Path, list[dict[str, object]]], tmp_path: Path) -> None:
    one = printed("view", runs[0])
    assert isinstance(one, list)
    assert (one[0]["state"], one[0]["trajectory"]) == ("scored", None)
    for number in "ab":
        shutil.copytree(runs[0], tmp_path / number)
    two = printed("view", tmp_path)
    assert isinstance(two, list)
    assert [row.keys() | {"trajectory"} for row in two] == [one[0].keys()] * 2


@pytest.mark.parametrize("verb", ["build", "check"])
def test_tasks_are_built_and_checked_in_a_list_of_one_or_of_many(verb: str, tmp_path: Path) -> None:
    folders = [new_task(name, tmp_path) for name in ("one-task", "two-task")]
    one = printed("task", verb, folders[0])
    assert isinstance(one, list)
    assert [row["task"] for row in one] == ["one-task"]
    if verb == "build":
        two = printed("task", verb, *folders)
        assert isinstance(two, list)
        assert [row.keys() for row in two] == [one[0].keys()] * 2


@pytest.mark.parametrize("arguments", [("run", "no-such-task"), ("task", "check", "no-such-task"), ("view", "/dev")])
def test_an_error_is_an_object_of_its_own(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from openfingym.cli import main

    monkeypatch.setattr("sys.argv", ["openfingym", *arguments, "--json"])
    with pytest.raises(SystemExit):
        main()
    assert json.loads(capsys.readouterr().out)["error"].keys() == {"type", "message"}
