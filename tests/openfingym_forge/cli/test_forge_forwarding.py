"""Every command of the forge calls it with what each of its options says, and no option is without a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openfingym_forge.cli import forge
from tests.openfingym.cli.forwarding import Forwarding, command_folder
from tests.openfingym.cli.recording import commands
from tests.openfingym_forge.cli.commands_table import COMMANDS

FORWARDING = Forwarding(COMMANDS, dict(commands(forge, ("forge",))))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with command_folder(tmp_path_factory.mktemp("home")) as folder:
        yield folder


def test_every_option_of_every_command_has_a_row() -> None:
    FORWARDING.require_rows()


@pytest.mark.parametrize(
    ("name", "words", "given", "calls"), list(FORWARDING.rows()), ids=lambda value: str(value)[:40]
)
def test_an_option_is_handed_to_the_forge(
    home: Path, name: str, words: str, given: str, calls: tuple[str, ...]
) -> None:
    FORWARDING.require_calls(home, name, words, given, calls)
