"""What principals are told is counted by principal, task and fold, and stops exactly at the bounds of the policy under
which a rollout began.
"""

import pytest

from openfingym_verifier.bucket import Bucket
from openfingym_verifier.disclosure.ladder import Ladders
from openfingym_verifier.disclosure.rations import Rations, Released, Told
from openfingym_verifier.ledger.rows import Climbed, Disclosures, RolloutRow, SeasonRecord
from openfingym_verifier.policy import LADDER_ANSWERS, LOCAL_USER, OPERATOR, POLICIES

PUBLIC, PRIVATE = POLICIES["strict"].public_disclosures, POLICIES["strict"].private_disclosures
assert PUBLIC is not None
assert PRIVATE is not None


SEASONS = {
    "1": SeasonRecord("1", 0, None, "disclosing"),
    "sealed": SeasonRecord("sealed", 0, None),
    "over": SeasonRecord("over", 0, 1, "disclosing"),
}


def row(**stated: object) -> RolloutRow:
    """A rollout of a participant at a strict verifier."""
    given = {"id": "r", "task": "t", "task_digest": "d", "agent": "a", "seed": 0, "budget": 5, "created_ns": 0}
    given |= {"expires_ns": 1, "accepted": 0, "rejected": 0, "last_refusal": None, "bucket": Bucket(1.0, 0)}
    given |= {"result": None, "principal": "ann", "policy": "strict"}
    return RolloutRow(**{**given, **stated})  # type: ignore[arg-type]


def disclosed(rations: Rations, one: RolloutRow, tries: int) -> int:
    return sum(rations.take_public(one) for _ in range(tries))


def test_feedback_stops_at_the_bound_of_each_principal_and_task() -> None:
    rations = Rations(SEASONS)
    assert disclosed(rations, row(), PUBLIC + 5) == PUBLIC
    assert disclosed(rations, row(principal="bob"), 5) == 5
    assert disclosed(rations, row(task="u"), 5) == 5
    # Another rollout, agent or seed of the same principal has no bound of its own.
    assert disclosed(rations, row(id="s", agent="b", seed=9), 5) == 0


def test_a_sealed_season_tells_nothing_of_a_private_fold() -> None:
    rations = Rations(SEASONS)
    for tape in ("given", "fresh", "twin"):
        for relative in (0.1, 3.0, None):
            assert rations.take_private(row(season="sealed", tape=tape), relative, read=True) == Told("held")
    assert rations.ladders.answers(["t"]) == 0
    # What ended when its season was closed is not told any more.
    assert rations.take_private(row(season="over"), 0.1, read=True) == Told("held")


def test_a_rejection_without_an_answer_tells_nothing_and_uses_nothing_up() -> None:
    rations = Rations(SEASONS)
    for season in SEASONS:
        assert rations.take_private(row(season=season), None, read=False) == Told("rounded")
    assert rations.ladders.answers(["t"]) == 0


def test_the_ladder_answers_so_many_results_of_each_party_and_of_all() -> None:
    rations = Rations(SEASONS)
    told = [rations.take_private(row(), 0.5, read=True) for _ in range(PRIVATE + 2)]
    assert [one.ladder is not None for one in told] == [True] * PRIVATE + [False] * 2
    assert {one.disclosure for one in told} == {"held"}
    # A result that fails on hidden data counts as any other: it tells whether it does.
    assert rations.take_private(row(principal="bob"), None, read=True).ladder is not None
    others = [rations.take_private(row(principal=f"p{n}"), 0.5, read=True) for n in range(LADDER_ANSWERS)]
    assert sum(one.ladder is not None for one in others) == LADDER_ANSWERS - PRIVATE - 1


FREE = [{"principal": LOCAL_USER}, {"principal": OPERATOR}, {"split": "validation", "instance": 1}, {"policy": "local"}]


@pytest.mark.parametrize("free", [*FREE, {"tape": "fresh"}])
def test_what_reveals_nothing_of_others_labels_is_free(free: dict[str, object]) -> None:
    rations = Rations(SEASONS)
    assert disclosed(rations, row(**free), PUBLIC + 5) == PUBLIC + 5
    assert {rations.take_private(row(**free), 0.5, read=True) for _ in range(PRIVATE + 5)} == {Told("full")}
    # Nothing of it counts towards the bounds of the principal.
    if free.get("policy") is None:
        assert (
            disclosed(rations, row(**{**free, "principal": "ann", "tape": "given", "split": "test"}), PUBLIC) == PUBLIC
        )
    assert rations.ladders.answers(["t"]) == 0


def test_what_happened_in_a_live_session_is_no_others() -> None:
    rations = Rations(SEASONS)
    for _ in range(PRIVATE + 2):
        assert rations.take_private(row(session={"tape": None}), 0.5, read=True) == Told("full")
    assert rations.ladders.answers(["t"]) == 0


@pytest.mark.parametrize("free", FREE)
def test_whoever_could_read_the_labels_is_told_in_a_sealed_season_too(free: dict[str, object]) -> None:
    assert Rations(SEASONS).take_private(row(**free, season="sealed"), 0.5, read=True) == Told("full")


def test_the_ledger_and_the_close_of_a_season_count_towards_the_bounds() -> None:
    counts = [Disclosures("ann", "t", "private", PRIVATE - 1), Disclosures("ann", "t", "public", PUBLIC - 1)]
    rations = Rations(SEASONS, counts, Ladders([Climbed("t", LADDER_ANSWERS - 3, 0.8)]))
    assert disclosed(rations, row(), 3) == 1
    rations.release([Released("r", "ann", ("t",), counts=True), Released("s", "bob", ("t",), counts=False)])
    assert rations.take_private(row(), 0.1, read=True) == Told("held")
    told = [rations.take_private(row(principal="bob"), 0.1, read=True).ladder for _ in range(PRIVATE)]
    assert [one and one.rung for one in told] == [0.1, None, None]
    assert [one is None for one in told] == [False, False, True], "the ladder has answered as many as it does"


def test_a_fold_under_two_names_has_one_bound_and_one_ladder() -> None:
    """Two tasks over the same hidden rows would otherwise tell twice as much of them, as would one with a new name."""
    rations = Rations(SEASONS)
    one, other = row(hidden_digest="h"), row(task="u", hidden_digest="h")
    assert disclosed(rations, one, PUBLIC) == PUBLIC
    assert disclosed(rations, other, 5) == 0
    parties = [f"p{n}" for n in range(LADDER_ANSWERS)]
    told = [rations.take_private(row(principal=name, hidden_digest="h"), 0.5, read=True) for name in parties[:-1]]
    assert all(each.ladder is not None for each in told)
    last = rations.take_private(row(principal="z", task="u", hidden_digest="h"), 0.5, read=True).ladder
    assert last is not None
    assert (last.rung, last.top, last.answers) == (None, 0.5, LADDER_ANSWERS)
    assert rations.take_private(row(principal="y", task="u", hidden_digest="h"), 0.1, read=True).ladder is None
    # Another task on one of its instruments, which hides the same days in windows of another shape.
    shared = row(principal="z", task="s", hidden_digest="s", instruments=("gold",))
    assert rations.take_private(shared, 0.1, read=True).ladder is not None
    joined = Rations(SEASONS, ladders=Ladders([Climbed("gold", LADDER_ANSWERS, None)]))
    assert joined.take_private(shared, 0.1, read=True).ladder is None
    assert disclosed(joined, shared, 5) == 5, "feedback is bounded for each task"
    # A package that is built again over nearly the same hidden data has its name alone: of those 30, 29 were under it.
    told = [rations.take_private(row(principal=name, hidden_digest="i"), 0.1, read=True) for name in ("v", "w")]
    assert [each.ladder is not None for each in told] == [True, False]
