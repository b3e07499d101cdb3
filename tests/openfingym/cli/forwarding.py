"""Comparing what commands call with the table that says what each of their options must call."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from tests.openfingym.cli.commands_table import Command
from tests.openfingym.cli.recording import Record, recorded


@contextmanager
def command_folder(folder: Path) -> Iterator[Path]:
    """Work in a folder with the files that the command lines of tables name."""
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


class Forwarding:
    """The commands of a table, and what they really call.

    Args:
        table: what each command must call, by the command's words.
        parsed: the same commands as they are.
    """

    def __init__(self, table: Mapping[str, Command], parsed: Mapping[str, click.Command]) -> None:
        self._table, self._parsed = table, parsed
        self._without = functools.cache(self._recorded_without)

    def rows(self) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
        """Each row of the table: command, command line, option as it is given, and the calls that it must make."""
        for name, command in self._table.items():
            for words, table in {command.words: command.rows, **command.beside}.items():
                for given, calls in table.items():
                    yield name, words, given, calls

    def require_rows(self) -> None:
        """Fail if an option of a command has no row, or a row no option."""
        assert self._table.keys() == self._parsed.keys()
        for name, command in self._parsed.items():
            tables = (self._table[name].rows, *self._table[name].beside.values())
            given = {each.split()[0] for table in tables for each in table}
            for option in command.params:
                if isinstance(option, click.Option):
                    named = {*option.opts, *option.secondary_opts}
                    assert given & named, f"{name}: {option.opts[-1]} has no row in commands_table.py"
                    given -= named
            assert not given, f"{name} has no option {given}"

    def require_calls(self, home: Path, name: str, words: str, given: str, calls: tuple[str, ...]) -> None:
        """Fail if the option of a row does not make its calls."""
        before = self._without(name, words, home).facts
        line = self._given_once(name, words.split(), given.split())
        after = recorded(line, home, self._table[name].returns).facts
        for call in calls:
            # What is no longer called is written with a minus.
            new, wanted = (before - after, call[1:]) if call.startswith("-") else (after - before, call)
            assert any(wanted in fact for fact in new), f"{given} does not call {wanted}; it calls {sorted(new)}"

    def _recorded_without(self, name: str, words: str, home: Path) -> Record:
        """What a command line calls without the option of a row."""
        return recorded(words.split(), home, self._table[name].returns)

    def _given_once(self, name: str, words: list[str], given: list[str]) -> list[str]:
        """A command line with a row's option in the place of an earlier one of it: most may be given once alone."""
        for option in self._parsed[name].params:
            named = {*option.opts, *option.secondary_opts}
            if isinstance(option, click.Option) and given[0] in named and not option.multiple and not option.is_flag:
                for place in [place for place, word in enumerate(words) if word in named]:
                    words = words[:place] + words[place + 2 :]
        return [*words, *given]
