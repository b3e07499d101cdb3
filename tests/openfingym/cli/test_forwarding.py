"""Every command calls the library with what each of its options says, and no option is without a row in the table."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.openfingym.cli.commands_table import COMMANDS
from tests.openfingym.cli.recording import Record, commands, recorded

PARSED = dict(commands())


def rows() -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Each row of the table: command, command line, option as it is given, and the calls that it must make."""
    for name, command in COMMANDS.items():
        for words, table in {command.words: command.rows, **command.beside}.items():
            for given, calls in table.items():
                yield name, words, given, calls


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the files that the command lines of the table name."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "folder" / "p").mkdir(parents=True)
    (folder / "folder" / "t").mkdir()
    (folder / "folder" / "t" / "task.toml").write_text("")
    (folder / "file.jsonl").write_text("{}\n")
    (folder / "token").write_text("0123456789abcdef01234567\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("OPENFINGYM_HOME", str(folder / "store"))
        for variable in ("OPENFINGYM_VERIFIER", "OPENFINGYM_ADMIN_TOKEN", "OPENAI_BASE_URL"):
            patch.delenv(variable, raising=False)
        yield folder


@functools.cache
def without(name: str, words: str, home: Path) -> Record:
    """What a command line calls without the option of a row."""
    return recorded(words.split(), home, COMMANDS[name].returns)


def given_once(name: str, words: list[str], given: list[str]) -> list[str]:
    """A command line with the option of a row in the place of an earlier one of it: most may be given once alone."""
    for option in PARSED[name].params:
        named = {*option.opts, *option.secondary_opts}
        if isinstance(option, click.Option) and given[0] in named and not option.multiple and not option.is_flag:
            for place in [place for place, word in enumerate(words) if word in named]:
                words = words[:place] + words[place + 2 :]
    return [*words, *given]


def test_every_option_of_every_command_has_a_row() -> None:
    assert COMMANDS.keys() == PARSED.keys()
    for name, command in PARSED.items():
        given = {each.split()[0] for table in (COMMANDS[name].rows, *COMMANDS[name].beside.values()) for each in table}
        for option in command.params:
            if isinstance(option, click.Option):
                named = {*option.opts, *option.secondary_opts}
                assert given & named, f"{name}: {option.opts[-1]} has no row in commands_table.py"
                given -= named
        assert not given, f"{name} has no option {given}"


@pytest.mark.parametrize(("name", "words", "given", "calls"), list(rows()), ids=lambda value: str(value)[:40])
def test_an_option_is_handed_to_the_library(
    home: Path, name: str, words: str, given: str, calls: tuple[str, ...]
) -> None:
    before = without(name, words, home).facts
    after = recorded(given_once(name, words.split(), given.split()), home, COMMANDS[name].returns).facts
    for call in calls:
        # What is no longer called is written with a minus.
        new, wanted = (before - after, call[1:]) if call.startswith("-") else (after - before, call)
        assert any(wanted in fact for fact in new), f"{given} does not call {wanted}; it calls {sorted(new)}"
