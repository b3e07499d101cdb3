"""System messages name what is installed where programs run, and nothing else."""

from __future__ import annotations

from itertools import combinations

import pytest

from openfingym.agents import resolve
from openfingym.agents.llm.prompts import METHODS, with_methods
from openfingym.catalog import load_task
from openfingym.machine import Libraries
from openfingym.packages.build import build
from openfingym.training.briefs import brief_of

ALL = ("NumPy", "pandas", "SciPy", "scikit-learn", "statsmodels", "LightGBM", "arch")
NAMED = {
    "scikit-learn": ("ridge", "lasso", "HistGradientBoosting"),
    "LightGBM": ("LightGBM",),
    "statsmodels": ("ARIMA", "VAR", "exponential smoothing"),
    "arch": ("GARCH",),
}
"""What the paper's prompt names, by the library that a program takes it from."""


def test_a_method_is_named_if_its_library_is_there() -> None:
    for count in range(len(ALL) + 1):
        for installed in combinations(ALL, count):
            libraries = Libraries(installed, tuple(name for name in ALL if name not in installed))
            told = with_methods(f"You act.\n{METHODS}\nGo on.", libraries)
            for library, words in NAMED.items():
                assert all((word in told) == (library in installed) for word in words), (installed, told)
            assert told.startswith("You act.\n- Do not train neural networks from scratch. Take classical methods")
            assert told.endswith("only way to answer it.\nGo on.")
            assert ": ." not in told
    # The words of the paper's prompt stay where all is there, or where it is not known what is.
    assert with_methods(METHODS, Libraries(ALL, ())) == with_methods(METHODS, None) == METHODS
    own = "Use LightGBM."
    assert with_methods(own, Libraries((), ALL)) == own


@pytest.mark.parametrize("task", ["treasury-forecast", "equity-trading"])
def test_no_agent_is_told_of_what_is_not_there(task: str) -> None:
    package, libraries = build(load_task(task)), Libraries(ALL[:4], ALL[4:])
    for name in ("react", "codeblock", "oneshot"):
        brief = brief_of(package, resolve(name), libraries=libraries)
        system = str(brief.messages[0]["content"])
        assert brief.messages[0]["role"] == "system"
        assert "lasso, histogram gradient boosting" in system
        assert not any(word in system for library in ALL[4:] for word in NAMED[library]), (name, system)


@pytest.mark.parametrize("name", ["react", "codeblock", "oneshot"])
def test_who_walks_is_told_of_no_array(name: str) -> None:
    walks, array = (
        brief_of(build(load_task(task)), resolve(name)) for task in ("treasury-forecast", "ba2motifs-fraud")
    )
    told, other = (str(brief.messages[0]["content"]) for brief in (walks, array))
    offered, others = ({tool["function"]["name"] for tool in brief.tools} for brief in (walks, array))
    assert "ubmi" not in told
    assert others - offered == ({"submit"} if name == "react" else set())
    if name != "codeblock":
        assert ("interface.iter_test(practice=True)" in told, "ubmi" in other) == (True, True)
