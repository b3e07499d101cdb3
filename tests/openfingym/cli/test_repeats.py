"""Options that take one value: every command refuses a second one, and none keeps the last without a word."""

from __future__ import annotations

import json

import click
import pytest

from openfingym.cli import cli, main
from openfingym.errors import UsageError

SEVERAL = {
    "openfingym rollout": {"--tasks", "--agent", "--model", "--log"},
    "openfingym rounds run": {"--agent", "--model"},
    "openfingym report compare": {"--by", "--cutoff"},
}
"""Options that take several values, which are all used, by command; a part of them."""


def commands(command=cli, context=None):
    """Every command with its context."""
    context = context or click.Context(cli, info_name="openfingym")
    if not isinstance(command, click.Group):
        yield command, context
        return
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        yield from commands(child, click.Context(child, parent=context, info_name=name))


def values(option):
    """Every way to give an option a value."""
    if option.is_flag:
        return [[name] for name in (option.opts[-1], *option.secondary_opts)]
    return [[option.opts[-1], *["1"] * option.nargs], [option.opts[0], *["2"] * option.nargs]]


def test_every_option_of_one_value_is_refused_a_second_time():
    seen = 0
    for command, context in commands():
        for option in command.params:
            if not isinstance(option, click.Option) or option.multiple:
                continue
            first, *_, second = values(option) * 2
            parser = command.make_parser(context)
            if option.is_flag and option.is_bool_flag and not option.secondary_opts:
                assert parser.parse_args([*first, *first])[0][option.name] is True
                continue
            seen += 1
            with pytest.raises(UsageError, match=f"{max(option.opts, key=len)}.*(give it once|exclude each other)"):
                parser.parse_args([*first, *second])
            # Once it is taken, and again by a new parser: nothing is remembered of an earlier command line.
            for _ in range(2):
                assert option in command.make_parser(context).parse_args(list(first))[2]
    assert seen > 150


def test_options_of_several_values_keep_all():
    found = {
        context.command_path: {max(option.opts, key=len) for option in command.params if getattr(option, "multiple", 0)}
        for command, context in commands()
    }
    for path, names in SEVERAL.items():
        assert found[path] >= names, path
    context = click.Context(cli, info_name="openfingym")
    rollout = cli.get_command(context, "rollout")
    taken = rollout.make_parser(click.Context(rollout)).parse_args(["--agent", "a", "--agent", "b"])
    assert taken[0]["agents"] == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "fx-forecast", "--agent", "naive", "--agent", "ridge"], "--agent takes one value, and was given 2"),
        (["run", "fx-forecast", "--model=a", "--agent", "react", "--model", "b"], "`openfingym rollout` runs several"),
        (["rollout", "--seeds", "2", "--seeds", "3", "--out", "x"], "--seeds takes one value"),
        (["run", "fx-forecast", "--text-tools", "--native-tools"], "--text-tools/--native-tools takes one value"),
        (["receipt", "show", "x", "--checkpoint", "--key"], "--checkpoint and --key exclude each other"),
        (["report", ".", "--html", "a.html", "--html", "b.html"], "--html takes one value"),
    ],
)
def test_what_is_refused_is_said_before_anything_is_done(arguments, said, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["openfingym", *arguments, "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 2
    assert said in err
    assert json.loads(out)["error"]["type"] == "UsageError"
    assert not list(tmp_path.iterdir())


def test_completion_is_not_disturbed():
    command = {context.command_path: command for command, context in commands()}["openfingym run"]
    context = click.Context(command, info_name="run", resilient_parsing=True)
    assert command.make_parser(context).parse_args(["--agent", "a", "--agent", "b"])[0]["agent"] == "b"
