"""What principals are told is counted by principal, task and fold, and stops exactly at the bounds of the policy under
which a rollout began.
"""

import pytest

from openfingym_verifier.bucket import Bucket
from openfingym_verifier.ledger_rows import Disclosures, RolloutRow
from openfingym_verifier.membership_events import Released
from openfingym_verifier.policy import LOCAL_USER, OPERATOR, POLICIES
from openfingym_verifier.ration import Rations

PUBLIC, PRIVATE = POLICIES["strict"].public_disclosures, POLICIES["strict"].private_disclosures
assert PUBLIC is not None
assert PRIVATE is not None


def row(**stated: object) -> RolloutRow:
    """A rollout of a participant at a strict verifier."""
    given = {"id": "r", "task": "t", "task_digest": "d", "agent": "a", "seed": 0, "budget": 5, "created_ns": 0}
    given |= {"expires_ns": 1, "accepted": 0, "rejected": 0, "last_refusal": None, "bucket": Bucket(1.0, 0)}
    given |= {"result": None, "principal": "ann", "policy": "strict"}
    return RolloutRow(**{**given, **stated})  # type: ignore[arg-type]


def disclosed(rations: Rations, one: RolloutRow, tries: int) -> int:
    return sum(rations.take_public(one) for _ in range(tries))


def test_feedback_stops_at_the_bound_of_each_principal_and_task() -> None:
    rations = Rations()
    assert disclosed(rations, row(), PUBLIC + 5) == PUBLIC
    assert disclosed(rations, row(principal="bob"), 5) == 5
    assert disclosed(rations, row(task="u"), 5) == 5
    # Another rollout, agent or seed of the same principal has no bound of its own.
    assert disclosed(rations, row(id="s", agent="b", seed=9), 5) == 0


def test_private_scores_stop_at_their_own_bound() -> None:
    rations = Rations()
    assert disclosed(rations, row(), PUBLIC) == PUBLIC
    told = [rations.take_private(row(), scored=True) for _ in range(PRIVATE + 2)]
    assert told == ["rounded"] * PRIVATE + ["held"] * 2
    assert rations.take_private(row(principal="bob"), scored=True) == "rounded"


def test_a_rejection_tells_nothing_and_uses_nothing_up() -> None:
    rations = Rations()
    for _ in range(PRIVATE + 2):
        assert rations.take_private(row(), scored=False) == "rounded"
    assert [rations.take_private(row(), scored=True) for _ in range(PRIVATE)] == ["rounded"] * PRIVATE
    assert rations.take_private(row(), scored=True) == "held"
    assert rations.take_private(row(), scored=False) == "rounded"


@pytest.mark.parametrize(
    "free",
    [
        {"principal": LOCAL_USER},
        {"principal": OPERATOR},
        {"tape": "fresh"},
        {"split": "validation", "instance": 1},
        {"policy": "local"},
    ],
)
def test_what_reveals_nothing_of_others_labels_is_free(free: dict[str, object]) -> None:
    rations = Rations()
    assert disclosed(rations, row(**free), PUBLIC + 5) == PUBLIC + 5
    assert {rations.take_private(row(**free), scored=True) for _ in range(PRIVATE + 5)} == {"full"}
    # Nothing of it counts towards the bounds of the principal.
    if free.get("policy") is None:
        assert (
            disclosed(rations, row(**{**free, "principal": "ann", "tape": "given", "split": "test"}), PUBLIC) == PUBLIC
        )


def test_the_ledger_and_the_close_of_a_season_count_towards_the_bounds() -> None:
    rations = Rations([Disclosures("ann", "t", "private", PRIVATE - 1), Disclosures("ann", "t", "public", PUBLIC - 1)])
    assert disclosed(rations, row(), 3) == 1
    rations.release([Released("r", "ann", "t"), Released("s", "bob", "t")])
    assert rations.take_private(row(), scored=True) == "held"
    told = [rations.take_private(row(principal="bob"), scored=True) for _ in range(PRIVATE)]
    assert told == ["rounded"] * (PRIVATE - 1) + ["held"]
