"""``openfingym rounds run`` with several models: each is asked, with the cut-off that was stated for it."""

from __future__ import annotations

import time

import pytest

from openfingym.agents.forecasting import find_forecasters
from openfingym.cli import main
from openfingym.cli.model_options import ModelOptions
from openfingym.cli.rounds_run import _print_event, _specs
from openfingym.errors import UsageError
from openfingym.rounds.book import Book
from openfingym.rounds.passes import Newcomer
from openfingym.rounds.running import Forecasted
from tests.openfingym.rounds.definitions import definition

A, B = "stand-in/competent", "stand-in/careless"


def options(*models):
    rest = dict.fromkeys(field for field in ModelOptions.__dataclass_fields__ if field != "model_name")
    return ModelOptions(model_name=models, **rest | {"stream": False, "tokens": False})


def test_every_agent_asks_every_model():
    with find_forecasters(["direct", "react", "seasonal"], specs=_specs(options(A, B), ())) as found:
        names = [forecaster.name for forecaster in found]
    assert names == ["seasonal", *(f"{agent} with {model}" for model in (A, B) for agent in ("direct", "react"))]


@pytest.mark.parametrize(
    ("models", "cutoffs", "expected"),
    [
        ((A,), ("2024-06",), ["2024-06"]),
        ((A, B), (f"{B}=2024-06",), [None, "2024-06"]),
        ((A, B), (f"{B}=2024-06", f"{A}=2023-10-31"), ["2023-10-31", "2024-06"]),
        ((A, B), (), [None, None]),
        ((), (), []),
    ],
)
def test_a_cutoff_is_of_the_model_that_it_names(models, cutoffs, expected):
    assert [spec.cutoff for spec in _specs(options(*models), cutoffs)] == expected


@pytest.mark.parametrize(
    ("models", "cutoffs", "said"),
    [
        (
            (A, B),
            ("2024-06",),
            "expected MODEL=MONTH of one of the models asked: stand-in/competent, stand-in/careless",
        ),
        ((A,), (f"{B}=2024-06",), "expected MODEL=MONTH of one of the models asked: stand-in/competent"),
        ((), ("2024-06",), "none is named"),
        ((A,), ("2024-06", "2024-07"), "is given twice"),
        ((A,), ("June",), "June"),
        ((A, A), (), f"--model {A} is given twice"),
    ],
)
def test_what_is_not_clear_is_refused(models, cutoffs, said):
    with pytest.raises(UsageError) as refused:
        _specs(options(*models), cutoffs)
    assert said in str(refused.value)


def test_a_program_asks_no_model():
    with (
        pytest.raises(UsageError, match="no --agent asks a model"),
        find_forecasters(["seasonal"], specs=_specs(options(A), ())),
    ):
        pass


def test_lines_of_progress_mark_what_runs_outside_isolation(capsys):
    for isolation in ("outside", "programs inside"):
        _print_event(Forecasted("2025-W44", "mine", {"sent": 3, "declined": 1}, isolation))
        _print_event(Newcomer("mine", 2, 1, isolation))
    assert capsys.readouterr().out.splitlines() == [
        "2025-W44  forecast   mine (outside): 1 declined, 3 sent",
        "2 deadlines have passed: mine (outside) joins now",
        "2025-W44  forecast   mine: 1 declined, 3 sent",
        "2 deadlines have passed: mine joins now",
    ]


def test_a_newcomer_is_announced(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "home"))
    file = tmp_path / "s.toml"
    source = 'generator = "simulated"\ncategory = "c"\nmarket = "US"\nhorizons_days = [1]\nevents = ["Does it rain"]\n'
    file.write_text(definition("announced", clock="simulated", more="weeks = 2", source=source))
    Book.begin(file, time.time_ns())
    for arguments in (["--weeks", "1", "--agent", "seasonal"], ["--agent", "consensus"]):
        monkeypatch.setattr("sys.argv", ["openfingym", "rounds", "run", "announced", *arguments])
        with pytest.raises(SystemExit):
            main()
    assert "a deadline has passed: consensus joins now" in capsys.readouterr().out
