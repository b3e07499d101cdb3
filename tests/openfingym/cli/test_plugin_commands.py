"""Commands of other distributions: found, listed and completed, and no other suffers where one cannot be loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

from openfingym.cli import COMMANDS, cli, main, plugin_commands

GOOD = '''
import click

@click.group()
def harbour():
    """Look at harbours. There are many."""

@harbour.command()
@click.option("--depth", type=int)
def dredge(depth):
    """Make one deeper."""
    click.echo(f"dredged to {depth} m")
'''


def install(site: Path, name: str, code: str, entries: str) -> Path:
    """Install a distribution of one module, with entry points of the group of commands."""
    info = site / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[other]\nelse = {name}:x\n\n[{plugin_commands.GROUP}]\n{entries}\n")
    (site / f"{name}.py").write_text(code)
    return info


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with a distribution that brings one good command, and others that bring bad ones."""
    site = tmp_path / "site"
    install(site, "harbours", GOOD, "harbour = harbours:harbour\n# none = harbours:none")
    install(site, "wrecks", "1 / 0", "wreck = wrecks:wreck")
    install(site, "gone", "raise SystemExit(0)", "leave = gone:leave")
    install(site, "odd", "depth = 3", "odd = odd : depth [extra]\nodder = odd:height\nrun = odd:depth")
    monkeypatch.syspath_prepend(site)
    return site


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["openfingym", *words])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr()
    return int(left.value.code or 0), said.out, said.err


@pytest.mark.usefixtures("site")
def test_a_command_of_another_distribution_is_one_of_all() -> None:
    assert CliRunner().invoke(cli, ["harbour", "dredge", "--depth", "7"]).output == "dredged to 7 m\n"
    (line,) = (one for one in CliRunner().invoke(cli, ["--help"]).output.splitlines() if one.startswith("  harbour"))
    assert line.split(maxsplit=1)[1] == "Look at harbours."


@pytest.mark.usefixtures("site")
def test_its_options_are_given_once_as_all_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = call(monkeypatch, capsys, "harbour", "dredge", "--depth", "7", "--depth", "8")
    assert (status, err) == (2, "error: --depth takes one value, and was given 2 times; give it once\n")


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("wreck", "the command 'wreck' of wrecks (wrecks:wreck) cannot be loaded: division by zero"),
        ("leave", "the command 'leave' of gone (gone:leave) cannot be loaded: 0"),
        ("odd", "the command 'odd' of odd (odd:depth): expected a click command, found int"),
        ("odder", "the command 'odder' of odd (odd:height) cannot be loaded: module 'odd' has no attribute 'height'"),
    ],
)
def test_one_that_cannot_be_loaded_says_so_when_it_is_used(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    for words in ([], ["--help"], ["sub", "--option", "3", "-x"]):
        assert call(monkeypatch, capsys, name, *words) == (2, "", f"error: {why}\n")
    status, out, _ = call(monkeypatch, capsys, name, "--json")
    assert (status, json.loads(out)) == (2, {"error": {"type": "UsageError", "message": why}})
    status, out, _ = call(monkeypatch, capsys, "--help")
    assert status == 0
    assert why[:50] in " ".join(out.split())


@pytest.mark.usefixtures("site")
def test_no_other_command_suffers(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(monkeypatch, capsys, "run", "--help")
    assert (status, out.splitlines()[0][:21]) == (0, "Usage: openfingym run")
    assert call(monkeypatch, capsys, "harbour", "dredge")[0] == 0
    status, _, err = call(monkeypatch, capsys, "elsewhere")
    assert (status, "No such command" in err) == (2, True)


def test_two_of_one_name_are_refused_and_one_that_is_there_twice_is_one(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "again", "harbours", "", "harbour = harbours:other")
    monkeypatch.syspath_prepend(site)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "again")])
    assert CliRunner().invoke(cli, ["harbour", "dredge"]).exit_code == 0
    install(tmp_path / "again", "ports", "", "harbour = ports:harbour")
    refused = CliRunner().invoke(cli, ["harbour", "dredge"]).exception
    assert str(refused) == (
        "the command 'harbour' of harbours (harbours:harbour) and ports:harbour have one name; uninstall one"
    )


def test_a_shell_completes_all_of_them(site: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(site), "_OPENFINGYM_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    program = "from openfingym.cli import cli; cli(prog_name='openfingym')"
    for begun, wanted in (("wr", {"wreck"}), ("od", {"odd", "odder"}), ("ha", {"harbour"})):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment | {"COMP_WORDS": f"openfingym {begun}"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert {line.rpartition(",")[2] for line in done.stdout.split()} == wanted


def test_no_command_of_the_library_is_looked_for_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[str] = []

    def claims(group: str) -> dict[str, list[plugin_commands.Claim]]:
        groups.append(group)
        return {}

    monkeypatch.setattr(plugin_commands, "claims", claims)
    for name in COMMANDS:
        assert CliRunner().invoke(cli, [name, "--help"]).exit_code == 0
    # Groups that are open to others look for what is theirs alone.
    assert plugin_commands.GROUP not in groups


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("group", ["console_scripts", "pytest11", "openfingym.commands"])
def test_entry_points_are_read_as_the_standard_library_reads_them(group: str) -> None:
    found = {name: [place for _, place in claimed] for name, claimed in plugin_commands.claims(group).items()}
    expected: dict[str, list[str]] = {}
    for entry in metadata.entry_points(group=group):
        expected.setdefault(entry.name, []).append(entry.value.partition("[")[0].replace(" ", ""))
    assert {name: sorted(places) for name, places in found.items()} == {
        name: sorted(places) for name, places in expected.items()
    }


def test_help_reads_entry_points_without_the_standard_librarys_reader() -> None:
    program = (
        "import sys; sys.argv = ['openfingym', '--help']\n"
        "from openfingym.cli import main\n"
        "try: main()\n"
        "except SystemExit: print([name for name in ('importlib.metadata', 'pathlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
