"""Whose runs are: as known logs state it, with the log where two verifiers have participants of one name."""

from __future__ import annotations

from openfingym.reports.principals import with_principals
from openfingym.reports.runs import RunConfig
from openfingym.verifiers.backing import NO_RECEIPT, Backing
from tests.openfingym.reports.made import scored


def principals(*backings: Backing, stated: str | None = "claimed") -> list[str | None]:
    """The principals of runs with these backings, each of which states a name in its own file."""
    results = [scored(0.5, seed=seed, principal=stated) for seed in range(len(backings))]
    configs = {run.rollout_id: RunConfig(backing=one) for run, one in zip(results, backings, strict=True)}
    return [run.principal for run in with_principals(results, configs)]


def backed(principal: str | None, origin: str, *, met: bool = True) -> Backing:
    return Backing("backed", "", origin, principal, met=met, ended=True)


def test_a_name_in_a_file_is_not_believed() -> None:
    unknown = Backing("unknown key", "who knows", "x")
    assert principals(NO_RECEIPT, unknown, backed("a", "x"), backed(None, "x")) == [None, None, "a", None]
    assert principals(backed("a", "x"), stated=None) == ["a"]


def test_the_log_is_named_where_two_verifiers_have_one_name() -> None:
    assert principals(backed("a", "x"), backed("a", "x"), backed("b", "y")) == ["a", "a", "b"]
    assert principals(backed("a", "x"), backed("a", "y"), backed("b", "y")) == ["a at x", "a at y", "b"]
    assert principals(backed("operator", "x"), backed("operator", "y")) == ["operator at x", "operator at y"]


def test_the_local_user_of_this_machine_is_one_party_and_those_of_others_are_not() -> None:
    mine = [backed("local", f"openfingym.local/{number}") for number in range(3)]
    assert principals(*mine) == ["local"] * 3
    theirs = backed("local", "openfingym.local/theirs", met=False)
    assert principals(*mine, theirs) == ["local"] * 3 + ["local at openfingym.local/theirs"]
