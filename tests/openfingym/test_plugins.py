"""Entry points are looked for again when something was installed or removed, and only then."""

from __future__ import annotations

import shutil
from fractions import Fraction
from importlib import metadata
from pathlib import Path

import pytest

from openfingym.errors import UsageError
from openfingym.plugins import Plugins, entry_points

GROUP = "openfingym.tests_of_entry_points"


def install(site: Path, name: str) -> Path:
    info = site / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:THING\n")
    return info


def test_what_is_installed_meanwhile_is_found_and_what_is_removed_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert entry_points(GROUP) == ()
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    install(second, "beta")
    monkeypatch.syspath_prepend(first)
    monkeypatch.syspath_prepend(second)
    assert [one.name for one in entry_points(GROUP)] == ["beta"]
    gone = install(first, "alpha")
    assert sorted(one.name for one in entry_points(GROUP)) == ["alpha", "beta"]
    shutil.rmtree(gone)
    assert [one.name for one in entry_points(GROUP)] == ["beta"]


def test_nothing_is_looked_through_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {one.name for one in entry_points("console_scripts")} >= {"openfingym", "pytest"}
    monkeypatch.setattr(metadata, "entry_points", None)
    assert entry_points("console_scripts")


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two folders on the path into which distributions can be put."""
    places = tmp_path / "one", tmp_path / "two"
    for place in places:
        place.mkdir()
        monkeypatch.syspath_prepend(place)
    return places


PLUGINS = Plugins("thing", GROUP, {"fraction": "fractions:Fraction", "lost": "fractions:Lost", "pi": "math:pi"})


def test_a_thing_is_found_by_name_wherever_it_comes_from(sites: tuple[Path, Path]) -> None:
    install(sites[0], "gamma")
    (sites[0] / "gamma.py").write_text("class THING:\n    number = 3\n")
    assert PLUGINS.names() == ("fraction", "lost", "pi", "gamma")
    assert PLUGINS.load("fraction") is Fraction
    assert PLUGINS.make("fraction") == 0
    assert PLUGINS.make("gamma").number == 3  # type: ignore[attr-defined]


def test_what_cannot_be_had_is_named_with_its_distribution(sites: tuple[Path, Path]) -> None:
    install(sites[0], "delta")
    (sites[0] / "delta.py").write_text("def THING():\n    raise OSError('no disk')\n")
    install(sites[0], "epsilon")
    (sites[0] / "epsilon.py").write_text("1 / 0\n")
    install(sites[0], "iota")
    (sites[0] / "iota.py").write_text("raise SystemExit(0)\n")
    with pytest.raises(UsageError, match=r"the thing 'iota' of iota \(iota:THING\) cannot be loaded: 0"):
        PLUGINS.load("iota")
    with pytest.raises(UsageError, match=r"there is no thing 'zeta'; known: fraction, lost, pi, delta, epsilon"):
        PLUGINS.load("zeta")
    with pytest.raises(UsageError, match=r"the thing 'lost' of fractions:Lost cannot be loaded: .*'Lost'"):
        PLUGINS.load("lost")
    with pytest.raises(
        UsageError, match=r"the thing 'epsilon' of epsilon \(epsilon:THING\) cannot be loaded: division"
    ):
        PLUGINS.load("epsilon")
    with pytest.raises(UsageError, match=r"the thing 'delta' cannot be made: no disk"):
        PLUGINS.make("delta")
    with pytest.raises(UsageError, match=r"the thing 'pi': expected a class or a function .*, found float"):
        PLUGINS.make("pi")


def test_a_name_that_two_claim_is_refused_and_hides_no_other(sites: tuple[Path, Path]) -> None:
    for site in sites:  # the same one twice is one
        install(site, "theta")
        (site / "theta.py").write_text("THING = 1\n")
    install(sites[1], "eta")
    (sites[1] / "eta-1.dist-info" / "entry_points.txt").write_text(f"[{GROUP}]\nfraction = eta:THING\n")
    assert PLUGINS.load("theta") == 1
    assert PLUGINS.load("pi") > 3  # type: ignore[operator]
    with pytest.raises(UsageError, match=r"the thing 'fraction' of eta \(eta:THING\) has the name of another thing"):
        PLUGINS.load("fraction")


def test_where_nothing_is_installed_the_message_says_what_to_do() -> None:
    with pytest.raises(
        UsageError, match=r"no thing 'mirai'; known: none, .*tests_of_entry_points.*; install openfingym"
    ):
        Plugins("thing", GROUP, {}).load("mirai")
