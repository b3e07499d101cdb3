"""Commands and options that messages name are there, and do what the message says."""

from __future__ import annotations

import ast
import functools
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.errors import OpenFinGymError
from openfingym.packages.build import build
from tests.tenants import TENANTS

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("openfingym", *TENANTS, "runtime/openfingym_runtime", "verifier/openfingym_verifier")
OWN_PARSERS = ("images.py", "__main__.py")
"""Modules that are programs of their own, with options of their own."""
FOREIGN = {"--enable-auto-tool-choice", "--tool-call-parser", "--jinja", "--head", "--security-opt"}
"""Options of other programs."""
ASKS = re.compile(r"\b(with|run|do) $")
"""What stands before a command that is to be typed, and not only spoken of."""


def strings(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Every text of a module with "X" for what is filled in, and whether it is a docstring."""
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values), False
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value, id(node) in alone


@functools.cache
def texts() -> list[tuple[Path, str, bool]]:
    return [
        (path.relative_to(ROOT), text, is_docstring)
        for source in SOURCES
        for path in sorted((ROOT / source).rglob("*.py"))
        if not {"templates", "programs"} & set(path.parts)
        for text, is_docstring in strings(ast.parse(path.read_text(encoding="utf-8")))
    ]


def resolve(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that some words name, and its arguments."""
    command: click.Command = cli
    while words and isinstance(command, click.Group):
        inner = command.get_command(click.Context(command), words[0])
        if inner is None and "compare" in command.commands:  # `report RUN` is `report compare RUN`
            inner, words = command.commands["compare"], ["compare", *words]
        if inner is None:
            raise click.UsageError(f"no command {words[0]!r}")
        command, words = inner, words[1:]
    return command, words


def fault(words: list[str], *, whole: bool) -> str | None:
    """What is wrong with a command as it is written; ``whole``: it could be typed so."""
    try:
        command, rest = resolve(words)
        known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
        if unknown := [word for word in rest if word.startswith("--") and word.partition("=")[0] not in known]:
            return f"no option {unknown[0]}"
        if not whole:
            return None
        if isinstance(command, click.Group):
            return "needs a command"
        found: dict[str, object] = dict(command.make_context("it", list(rest)).params)
    except click.BadParameter as error:
        return str(error) if isinstance(error, click.MissingParameter) else None  # a file that is not there
    except click.UsageError as error:
        return str(error)
    return "names neither tasks nor --all" if found.get("names") == () and not found.get("everything", True) else None


def faults() -> list[str]:
    found = []
    for path, text, is_docstring in texts():
        for match in re.finditer(r"`(openfingym [^`]+)`|\bnext: (openfingym .+)$", text):
            words = (match[1] or match[2]).split()[1:]
            if "..." in words:
                continue
            whole = not is_docstring and (len(resolve_or_none(words)) > 0 or bool(ASKS.search(text[: match.start()])))
            if why := fault(words, whole=whole):
                found.append(f"{path}: {match[0]}: {why}")
    return found


def resolve_or_none(words: list[str]) -> list[str]:
    try:
        return resolve(words)[1]
    except click.UsageError:
        return []


def test_every_command_in_a_message_is_there_and_complete() -> None:
    assert faults() == []


def options(command: click.Command) -> set[str]:
    found = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found |= options(inner)
    return found


def test_every_option_in_a_message_is_there() -> None:
    known = options(cli) | FOREIGN | {"--help"}
    wrong = [
        f"{path}: {option}"
        for path, text, is_docstring in texts()
        if not is_docstring and path.name not in OWN_PARSERS
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)
        if option not in known
    ]
    assert wrong == []


def test_no_message_sends_anybody_to_what_an_installation_lacks() -> None:
    wrong = [
        f"{path}: {found}"
        for path, text, is_docstring in texts()
        if not is_docstring
        for found in re.findall(r"\bscripts/[\w-]+|`make [\w-]+`", text)
    ]
    assert wrong == []


def test_every_extra_in_a_message_is_there() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {extra for _, text, _ in texts() for extra in re.findall(r"openfingym\[(\w+)\]", text)}
    assert named
    assert named - {"X"} <= extras.keys()


@pytest.mark.parametrize(
    "words",
    ["tsks", "task bild X", "task build", "task build --force", "run", "task build X --forse", "view X Y --al", "task"],
)
def test_such_faults_are_found(words: str) -> None:
    assert fault(words.split(), whole=True) is not None


@pytest.mark.parametrize("words", ["task build X --force", "task check --all", "report runs", "data pull X", "tasks"])
def test_sound_ones_are_taken(words: str) -> None:
    assert fault(words.split(), whole=True) is None


@pytest.fixture
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store in which a package can be damaged: tests that run at the same time share the other one."""
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "store"))


@pytest.mark.usefixtures("own_store")
@pytest.mark.parametrize(
    "name", ["package.json", "environment/data/contract.json", "environment/data/train_inputs.npy"]
)
@pytest.mark.parametrize("content", [b"", b"[" * 100_000])
def test_the_hint_of_a_damaged_package_mends_it(
    content: bytes, name: str, own_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENFINGYM_TASKS", str(own_task.parent))
    task = load_task("my-task")
    (build(task, force=True).public / name).write_bytes(content)
    with pytest.raises(OpenFinGymError) as refused:
        build(task).read_truth()
    hint = re.search(r"`openfingym ([^`]+)`", str(refused.value))
    assert hint is not None
    done = CliRunner().invoke(cli, hint[1].split())
    assert done.exit_code == 0, done.output
    assert build(task).read_truth()


@pytest.mark.usefixtures("own_store")
def test_the_hint_mends_the_package_of_a_task_that_is_known_by_its_path_alone(own_task: Path) -> None:
    public = build(load_task(own_task), force=True).public
    (public / "package.json").write_bytes(b"")
    with pytest.raises(OpenFinGymError) as refused:
        build(load_task(own_task)).read_truth()
    assert "task build" not in str(refused.value), "no name would be found"
    hint = re.search(r"`(rm [^`]+)`", str(refused.value))
    assert hint is not None
    subprocess.run(shlex.split(hint[1]), check=True)
    assert not public.exists()
    assert build(load_task(own_task)).read_truth()
