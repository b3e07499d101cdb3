"""The instruction as an agent is told it: what is installed where it acts, and the rules of its task's kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from openfingym.agents import Agent
from openfingym.catalog import load_task
from openfingym.kinds import KINDS
from openfingym.machine import Libraries
from openfingym.packages.build import build
from openfingym.packages.instruction import OFFERED, told
from openfingym.packages.package import BuiltPackage
from openfingym.rollouts.hooks import RolloutHooks
from openfingym.rollouts.launcher import Launcher
from openfingym_runtime import packages
from openfingym_runtime.docker import images
from openfingym_runtime.docker.backend import DockerBackend
from openfingym_runtime.inline import InlineBackend
from openfingym_runtime.sandbox import SandboxBackend

ALL = ("NumPy", "pandas", "SciPy", "scikit-learn", "statsmodels", "LightGBM", "arch")
BARE = Libraries(ALL[:4], ALL[4:])
FULL = Libraries(ALL, ())
READS = "import pathlib, interface\nprint((pathlib.Path(interface.__file__).parent / 'instruction.md').read_text())\n"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which the extra `llm` was not installed."""
    known = {
        name: one for name, one in packages.distributions().items() if packages.LIBRARIES.get(name) in BARE.installed
    }
    monkeypatch.setattr(packages, "distributions", lambda: known)


@pytest.fixture(scope="module")
def windows(store_home: Path) -> BuiltPackage:
    """A task of generation."""
    return build(load_task("stock-generation"))


@pytest.mark.parametrize(
    ("libraries", "says"),
    [
        (FULL, "Installed: NumPy, pandas, SciPy, scikit-learn, statsmodels, LightGBM and arch. The Unix"),
        (
            BARE,
            "Installed: NumPy, pandas, SciPy and scikit-learn.\nNot installed, whatever else is said of methods: st",
        ),
        (Libraries(ALL[1:], ("NumPy",)), "Not installed, whatever else is said of methods: NumPy. The Unix"),
        (Libraries((), ALL), "Installed: no library beside the standard one.\nNot installed"),
    ],
)
def test_it_says_what_is_installed(treasury: BuiltPackage, libraries: Libraries, says: str) -> None:
    written, text = treasury.read_written_instruction(), treasury.read_instruction(libraries)
    assert written.count(OFFERED) == 1
    assert says in text
    assert "where the machine" not in text
    before, after = written.split(OFFERED)
    assert text.startswith(before)
    assert text.endswith(after)


def test_before_it_is_known_where_programs_run_it_says_what_may_be_there(treasury: BuiltPackage) -> None:
    assert treasury.read_instruction() == treasury.read_written_instruction()
    assert treasury.agent_view()["instruction.md"] == treasury.instruction


def test_rules_follow_the_instruction() -> None:
    assert told("text\n", "") == "text\n"
    assert told("text\n", "- a rule") == "text\n\n## What is refused\n\n- a rule\n"


def test_copies_are_defined_for_whoever_generates(windows: BuiltPackage) -> None:
    text = windows.read_instruction()
    assert "average of two" not in windows.read_written_instruction(), "the package's digest stays"
    for form in (
        "average of two training windows",
        "splice:",
        "mirrored",
        "run backward",
        "10%",
        "three or more pieces",
    ):
        assert form in text
    generating = {name for name in KINDS if "copies of training" in KINDS[name].rules(windows.task.spec.contract)}
    assert generating == {"generation"}


def test_backends_know_what_they_offer(bare: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SandboxBackend().libraries() == InlineBackend().libraries() == BARE
    # The image is built from a list of its own, whatever this machine has; of another image nothing is known.
    assert DockerBackend().libraries() == FULL
    assert DockerBackend("another:image").libraries() is None
    assert images.agent_image_libraries() == FULL


def test_a_library_whose_own_needs_are_not_met_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    from openfingym_runtime import elf

    monkeypatch.setattr(packages, "distributions", lambda: dict.fromkeys(packages.LIBRARIES))
    monkeypatch.setattr(elf, "find_library", lambda name, folders: None)
    assert packages.libraries() == Libraries(tuple(name for name in ALL if name != "LightGBM"), ("LightGBM",))


def test_the_client_of_models_brings_the_libraries_that_models_are_told_of() -> None:
    from openfingym.cli.doctor import EXTRAS

    assert set(EXTRAS["agents"][0]) < set(EXTRAS["llm"][0])
    assert {packages.LIBRARIES[name] for name in EXTRAS["agents"][0]} == set(BARE.missing)


@pytest.mark.parametrize("backend", ["inline", pytest.param("sandbox", marks=pytest.mark.sandbox)])
def test_a_program_finds_the_same_text(bare: None, windows: BuiltPackage, backend: str) -> None:
    printed: list[bytes] = []
    reader = Agent("reader", "program", READS, trusted=True)
    with Launcher([windows], backend=backend) as launcher:
        launcher.run(windows, reader, hooks=RolloutHooks(ended=lambda outcome: printed.append(outcome.output)))
    assert printed[0].decode().strip() == windows.read_instruction(BARE).strip()


def test_a_store_that_cannot_be_written_is_said(
    windows: BuiltPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openfingym.errors import StoreError

    home = tmp_path / "home"
    home.write_text("a file")
    monkeypatch.setenv("OPENFINGYM_HOME", str(home / "below"))
    with pytest.raises(StoreError, match="OPENFINGYM_HOME"):
        windows.agent_view()


def test_a_text_is_kept_once_and_can_be_read_by_all(store_home: Path) -> None:
    from openfingym import store

    first, again, other = store.keep_text("one"), store.keep_text("one"), store.keep_text("two")
    assert first == again != other
    assert (first.read_text(), other.read_text()) == ("one", "two")
    assert first.stat().st_mode & 0o777 == 0o644
