"""Tables fit the terminal they are printed on."""

from __future__ import annotations

import io
from pathlib import Path

import click
import pytest

from openfingym.cli.render import print_table, typed


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


COLUMNS = ["task", "data", "where", "seconds"]
ROW = ("treasury-forecast", "real", "a-very-long-place-to-run-at", 1.25)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, ["task", "data", "where", "seconds"]),
        (50, ["task", "data", "seconds"]),
        (32, ["task", "data"]),
    ],
)
def test_a_narrow_terminal_does_without_what_is_optional(
    width: int, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout", terminal := Terminal())
    print_table("", COLUMNS, [ROW], right=["seconds"], optional=["where", "seconds"])
    lines = [line.strip() for line in click.unstyle(terminal.getvalue()).splitlines()]
    assert lines[1].split() == shown
    assert max(map(len, lines)) <= width
    assert ("a-very-long" in terminal.getvalue()) == ("where" in shown)


def test_a_file_gets_every_column_whatever_the_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    print_table("", COLUMNS, [ROW], optional=["where", "seconds"])
    assert "a-very-long-place-to-run-at" in capsys.readouterr().out


def test_a_cell_is_shown_as_it_is_and_commands_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_table("", ["task", "folder"], [("[/red]", "runs/[bold]:smile:\x1b[2J")])
    assert "[/red]" in (said := capsys.readouterr().out)
    assert "runs/[bold]:smile:\\x1b[2J" in said


def test_a_table_has_a_rule_below_its_headings_and_folds_its_texts_between_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table("Title", ["name", "what", "n"], [("漢字", "words " * 40, 1), ("a\nb", "x" * 200, "")], right=["n"])
    lines = capsys.readouterr().out.splitlines()
    assert {len(line) for line in lines if "漢" not in line} == {200}
    assert [line.split() for line in lines[:4]] == [["Title"], [], ["name", "what", "n"], ["─" * 198]]
    assert lines[4].startswith(" 漢字   words words ")
    assert lines[4].split()[-2:] == ["words", "1"]
    assert (lines[5].split(), set(lines[5][:8])) == (["words"] * 9, {" "})
    assert [line.split()[0] for line in lines[6:8]] == ["a", "b"]
    assert lines[6].count("x") + lines[7].count("x") == 200
    assert lines[8].strip() == ""


def test_a_stream_without_lines_to_draw_gets_hyphens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw := io.BytesIO(), encoding="ascii"))
    print_table("", ["name", "n"], [("a", 1)])
    assert raw.getvalue().decode("ascii").splitlines()[2] == " -------- "


def test_a_path_is_said_as_one_would_type_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed(tmp_path / "runs" / "r1") == "runs/r1"
    assert typed(tmp_path.parent / "elsewhere") == str(tmp_path.parent / "elsewhere")


NUMBERS = ["task", "what it is about", "loss", "relative", "since"]
FIGURES = ("0.03187123", "1.01 [0.91, 1.12]", "2012-01-03")
TEXTS = ("treasury-forecast", "yields of the United States at six tenors, each day")


@pytest.mark.parametrize("width", [20, 30, 40, 60, 70, 80, 90, 100, 120, 200])
def test_a_figure_is_whole_and_on_one_line_however_narrow_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout", terminal := Terminal())
    print_table("figures", NUMBERS, [(*TEXTS, *FIGURES)] * 2, right=["loss", "relative"])
    said = click.unstyle(terminal.getvalue())
    lines = said.splitlines()
    for figure in FIGURES:
        assert sum(figure in line for line in lines) == 2
    if "task: treasury-forecast" in said:
        assert width < 80, "there is room for a table"
        assert all(
            any(line == f"{name}: {cell}" for line in lines)
            for name, cell in zip(NUMBERS, TEXTS + FIGURES, strict=True)
        )
    else:
        assert max(map(len, lines)) <= width
        letters = "".join(said.split())
        assert sorted(letters.replace("─", "")) == sorted(
            "".join(("figures", *NUMBERS, *(TEXTS + FIGURES) * 2)).replace(" ", "")
        ), "nothing is cut"
