"""Every command calls the library with what each of its options says, and no option is without a row in the table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openfingym import cli
from tests.openfingym.cli.commands_table import COMMANDS
from tests.openfingym.cli.forwarding import Forwarding, command_folder
from tests.openfingym.cli.recording import commands

FORWARDING = Forwarding(
    COMMANDS, {name: command for name, command in commands() if name.partition(" ")[0] in cli.COMMANDS}
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with command_folder(tmp_path_factory.mktemp("home")) as folder:
        yield folder


def test_every_option_of_every_command_has_a_row() -> None:
    FORWARDING.require_rows()


@pytest.mark.parametrize(
    ("name", "words", "given", "calls"), list(FORWARDING.rows()), ids=lambda value: str(value)[:40]
)
def test_an_option_is_handed_to_the_library(
    home: Path, name: str, words: str, given: str, calls: tuple[str, ...]
) -> None:
    FORWARDING.require_calls(home, name, words, given, calls)
