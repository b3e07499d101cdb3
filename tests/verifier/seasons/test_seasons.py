"""Seasons: what is told while one is open, what at its close, and that hidden data that were told are retired."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.errors import SubmissionError, VerifierError
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifiedResult, VerifierClient
from openfingym_verifier.audit.ledger import verify_ledger
from openfingym_verifier.disclosure.disclosure import disclosed
from openfingym_verifier.embedded import EmbeddedVerifier
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.policy import ENTRIES, LADDER_ANSWERS, STRICT
from tests.verifier.conftest import FILE, OPEN_RATE, SPLIT, seal, write_task, write_walk

TASK = "tiny"
FIGURES = (
    "total",
    "relative_total",
    "relative_interval",
    "relative_standard_error",
    "baseline_total",
    "salt",
    "ladder",
)
Join = Callable[..., VerifierClient]


@pytest.fixture(scope="module")
def truth(packages: dict[str, BuiltPackage]) -> np.ndarray:
    return packages[TASK].read_truth()["targets"]


@pytest.fixture(scope="module")
def answer(truth: np.ndarray) -> np.ndarray:
    """What scores well: the truth with a little noise."""
    return truth + 0.01 * truth.std() * np.random.default_rng(0).standard_normal(truth.shape)


@pytest.fixture
def running(packages: dict[str, BuiltPackage], tmp_path: Path) -> Iterator[EmbeddedVerifier]:
    with EmbeddedVerifier.start([packages[TASK]], tmp_path / "state", policy="strict") as verifier:
        yield verifier


@pytest.fixture
def operator(running: EmbeddedVerifier) -> Iterator[VerifierClient]:
    with VerifierClient(uds=running.uds, admin_token=running.admin_token) as client:
        yield client


@pytest.fixture
def join(running: EmbeddedVerifier, operator: VerifierClient) -> Iterator[Join]:
    """Makes participants, and clients with their keys."""
    with contextlib.ExitStack() as stack:

        def make(name: str, organisation: str | None = None) -> VerifierClient:
            key = operator.add_participant(name, organisation)
            return stack.enter_context(VerifierClient(uds=running.uds, admin_token=key))

        yield make


def played(client: VerifierClient, values: np.ndarray) -> VerifiedResult:
    ticket = client.create_rollout(TASK)
    client.submit(ticket.token, values)
    return client.finalize(ticket.rollout_id)


def disclosing(operator: VerifierClient, name: str = "open") -> None:
    operator.close_season()
    operator.open_season(name, kind="disclosing")


def test_a_sealed_season_tells_nothing_before_its_close(
    operator: VerifierClient, join: Join, answer: np.ndarray
) -> None:
    client = join("ann")
    assert (client.season().kind, client.season().ladders) == ("sealed", ())
    # One answer is near the truth, one is far from it, and one is the worst that is accepted.
    found = [played(client, values) for values in (answer, -2.0 * answer, np.full_like(answer, 1.9))]
    for one in found:
        document = json.loads(client.result_document(one.rollout_id))
        assert {document["state"], client.rollout_status(one.rollout_id).state} == {"held"}
        assert [name for name in (*FIGURES, "salt") if document.get(name) is not None] == []
        assert (document["metrics"], document["standard_errors"], document["baseline_metrics"]) == ({}, {}, {})
        assert document["flags"] == []
        (ended,) = (row.entry for row in client.log(one.rollout_id) if row.entry["event"] == "finalized")
        assert set(ended) == {"event", "at_ns", "rollout", "result", "disclosure", "told", "held"}
    own = {"rollout_id", "salt", "created_at", "finalized_at", "log_head"}
    documents = [json.loads(client.result_document(one.rollout_id)) for one in found]
    assert len({json.dumps({k: v for k, v in one.items() if k not in own}) for one in documents}) == 1
    assert operator.finalize(found[0].rollout_id).state == "scored", "the operator reads all"
    assert operator.rollout_status(found[0].rollout_id).state == "scored"


def test_what_does_not_follow_from_hidden_data_is_told(join: Join) -> None:
    client = join("ann")
    told = client.finalize(client.create_rollout(TASK).rollout_id)
    assert (told.state, told.baseline_total) == ("rejected", None)
    assert "no submission was accepted" in str(told.reason)


def test_the_close_tells_what_was_entered_together_and_retires_the_fold(
    running: EmbeddedVerifier, operator: VerifierClient, join: Join, answer: np.ndarray, truth: np.ndarray
) -> None:
    ann, bob, cid = join("ann"), join("bob"), join("cid")
    rng = np.random.default_rng(3)
    entered = [played(ann, answer).rollout_id, played(ann, answer).rollout_id]
    assert [ann.enter(one).primary for one in entered] == [True, False]
    unentered = played(ann, answer).rollout_id
    blind = played(bob, 0.1 * truth.std() * rng.standard_normal(truth.shape)).rollout_id
    bob.enter(blind)
    late = cid.create_rollout(TASK)
    cid.submit(late.token, answer)
    cid.enter(late.rollout_id)
    with pytest.raises(VerifierError, match="not-found"):
        ann.board("1")
    assert operator.season().primary_entries == 3
    closed = operator.close_season()
    assert (closed.closed_at is not None, closed.retired) == (True, (TASK,))
    board = ann.board("1")
    assert board == operator.board("1")
    assert (board.kind, board.primary_entries, board.reused) == ("sealed", 3, ())
    rows = {row.rollout_id: row for row in board.rows}
    assert set(rows) == {*entered, blind, late.rollout_id}
    assert (rows[entered[0]].verdict, rows[entered[1]].verdict, rows[blind].verdict) == (
        "better",
        None,
        "not told apart",
    )
    first = rows[entered[0]]
    assert first.p_holm is not None
    assert first.p_holm < 0.05
    assert first.q is not None
    assert (rows[blind].p_holm, rows[blind].q, rows[late.rollout_id].state) == (None, None, "open")
    told = ann.finalize(entered[0])
    assert (told.state, told.disclosure, told.relative_total) == ("scored", "rounded", first.relative_total)
    assert ann.finalize(entered[1]).state == "scored"
    assert ann.finalize(unentered).state == "held", "nobody chooses after the close"
    assert cid.finalize(late.rollout_id).state == "held"
    with pytest.raises(VerifierError, match="season-closed"):
        ann.enter(unentered)
    with pytest.raises(VerifierError, match="season-closed"):
        ann.create_rollout(TASK)
    with pytest.raises(VerifierError, match="season-closed"):
        operator.close_season()
    report = verify_ledger(running.state)
    assert report.entries > 0


def test_a_retired_fold_is_not_played_again_unless_the_operator_says_so(
    launch: Any, make: Any, tmp_path: Path, answer: np.ndarray, packages: dict[str, BuiltPackage]
) -> None:
    # Built again with other rules over the same labels: another digest of the task, and the same hidden half.
    again = make(tmp_path / "again", TASK, verification="feedback_digits = 2")
    twin, other = packages["frugal"], make(tmp_path / "other", "other", seed=1)
    assert again.manifest.digest != packages[TASK].manifest.digest
    first = launch([packages[TASK]], tmp_path / "state")
    with first.client() as operator:
        key = operator.add_participant("ann")
        with VerifierClient(uds=first.uds, admin_token=key) as ann:
            ann.enter(played(ann, answer).rollout_id)
        operator.close_season()
        with pytest.raises(VerifierError, match=r"fold-retired.*told at the close of season '1'.*--reuse TASK"):
            operator.open_season("2")
        with pytest.raises(VerifierError, match="malformed-request"):
            operator.open_season("2", reuse=["frugal"])
    first.kill()
    second = launch([again, twin, other], tmp_path / "state")
    with second.client() as operator, VerifierClient(uds=second.uds, admin_token=key) as ann:
        # Another task over the same labels as well.
        assert operator.open_season("2").retired == (TASK, twin.manifest.name)
        with pytest.raises(VerifierError, match=r"fold-retired.*season '1'.*Play another task"):
            ann.create_rollout(TASK)
        assert ann.create_rollout("other").rollout_id
        assert operator.create_rollout(TASK).rollout_id, "the operator could read the labels anyway"
        operator.close_season()
        assert operator.open_season("3", reuse=[TASK]).reused == (TASK,)
        ann.enter(played(ann, answer).rollout_id)
        operator.close_season()
        assert operator.board("3").reused == (TASK,)
        with pytest.raises(VerifierError, match="name-taken"):
            operator.open_season("1")
    second.kill()
    verify_ledger(tmp_path / "state")


def test_a_task_that_is_built_again_while_the_season_is_open_is_retired_all_the_same(
    launch: Any, make: Any, tmp_path: Path, answer: np.ndarray, packages: dict[str, BuiltPackage]
) -> None:
    """What was entered is on the hidden data that the task had then, whatever it is called or built of at the close."""
    again = make(tmp_path / "again", TASK, verification="feedback_digits = 2")
    other = make(tmp_path / "other", "other", seed=1)
    first = launch([packages[TASK]], tmp_path / "state")
    with first.client() as operator:
        key = operator.add_participant("ann")
        with VerifierClient(uds=first.uds, admin_token=key) as ann:
            ann.enter(played(ann, answer).rollout_id)
    first.kill()
    second = launch([again, other], tmp_path / "state")
    with second.client() as operator, VerifierClient(uds=second.uds, admin_token=key) as ann:
        operator.close_season()
        assert operator.open_season("2").retired == (TASK,)
        with pytest.raises(VerifierError, match="fold-retired"):
            ann.create_rollout(TASK)
    second.kill()
    verify_ledger(tmp_path / "state")


def shared_series(folder: Path, name: str, lookback: int) -> BuiltPackage:
    """Forecasts of the same days of the same series, whose windows have another shape for each look-back."""
    task = write_task(
        folder,
        name,
        metrics=("mae",),
        family="forecasting",
        kind="forecast",
        contract=(
            f"lookback = {lookback}\nhorizon = 2\nvalue_semantics = 'log_return'\nunit = 'u'\nlow = -2.0\nhigh = 2.0"
        ),
        # Of real data days are compared; of what is simulated one task of a dataset conflicts with every other.
        dataset=f"{FILE}channels = ['c0', 'c1']".replace("simulated", "real"),
        split=SPLIT.format(0.4, 0.3, 0.3, 3),
        verification=f"budget = 2\n{OPEN_RATE}",
    )
    write_walk(task, 100, ["c0", "c1"], 0)
    return seal(folder, task)


def walk(client: VerifierClient, package: BuiltPackage, agent: str) -> str:
    """A rollout that answers every private window with 0; returns its id."""
    ticket = client.create_rollout(package.manifest.name, agent_digest=agent)
    client.walk(ticket.token, np.zeros((package.manifest.n_private, *package.manifest.submission_shape[1:])))
    client.finalize(ticket.rollout_id)
    return ticket.rollout_id


def test_the_same_days_in_windows_of_another_shape_are_the_same_hidden_data(launch: Any, tmp_path: Path) -> None:
    """Seven tasks on one series would otherwise have seven ladders, and be played one season after the other."""
    one, other = (shared_series(tmp_path, name, lookback) for name, lookback in (("one", 3), ("other", 4)))
    assert one.manifest.truth_digest != other.manifest.truth_digest
    verifier = launch([one, other], tmp_path / "state")
    with verifier.client() as operator:
        disclosing(operator)
        key = operator.add_participant("ann")
        with VerifierClient(uds=verifier.uds, admin_token=key) as ann:
            ann.file_agents(["ab" * 32])
            rollouts = [walk(ann, package, "ab" * 32) for package in (one, other, one, other)]
            answers = [(ann.finalize(rollout).ladder or {}).get("answers") for rollout in rollouts]
            assert answers == [1, 2, 3, None], "three answers to a party, of both together"
        ladders = operator.season().ladders
        assert {(ladder.task, ladder.answers) for ladder in ladders} == {("one", 3), ("other", 3)}
        assert operator.close_season().retired == ("one", "other")
    verifier.kill()
    with launch([one], tmp_path / "state").client() as operator, pytest.raises(VerifierError, match="fold-retired"):
        operator.open_season("3")


def test_what_was_played_is_retired_whether_it_is_the_entry_or_not(launch: Any, tmp_path: Path) -> None:
    """Its party knows it, under whatever agent that it files for the next season."""
    before = shared_series(tmp_path / "before", "one", 3)
    again = shared_series(tmp_path / "again", "one", 7)
    agent = "ab" * 32
    first = launch([before], tmp_path / "state")
    with first.client() as operator:
        key = operator.add_participant("ann")
        with VerifierClient(uds=first.uds, admin_token=key) as ann:
            entry = walk(ann, before, agent)
    first.kill()
    second = launch([again], tmp_path / "state")
    with second.client() as operator, VerifierClient(uds=second.uds, admin_token=key) as ann:
        walk(ann, again, agent)
        operator.close_season()
        assert [row.rollout_id for row in ann.board("1").rows] == [entry]
        with pytest.raises(VerifierError, match="fold-retired"):
            operator.open_season("2")
    second.kill()
    with contextlib.closing(sqlite3.connect(tmp_path / "state" / "ledger.db")) as connection:
        assert connection.execute("SELECT count(*) FROM retired").fetchone() == (2,)


def test_nobody_plays_a_private_fold_once_its_season_is_closed(launch: Any, tmp_path: Path) -> None:
    """Rollouts that were kept open over the close would show which seed to enter in the next season."""
    package = shared_series(tmp_path, "one", 3)
    verifier = launch([package], tmp_path / "state")
    with verifier.client() as operator:
        key = operator.add_participant("ann")
        with VerifierClient(uds=verifier.uds, admin_token=key) as ann:
            begun, kept = (ann.create_rollout("one") for _ in range(2))
            at = ann.start_episode(begun.token)
            operator.close_season()
            with pytest.raises(SubmissionError, match="no longer played"):
                ann.start_episode(kept.token)
            zeros = {"predictions": np.zeros((1, 2, 2)).tolist()}
            assert ann.step(begun.token, at.episode, 1, zeros).step == 1, "what was begun goes on"
            assert ann.finalize(kept.rollout_id).state == "rejected"
    verifier.kill()
    verify_ledger(tmp_path / "state")


def test_an_older_ledger_learns_which_hidden_data_its_rollouts_are_on(
    launch: Any, make: Any, tmp_path: Path, answer: np.ndarray, packages: dict[str, BuiltPackage]
) -> None:
    again = make(tmp_path / "again", TASK, verification="feedback_digits = 2")
    state = tmp_path / "state"
    first = launch([packages[TASK]], state)
    with first.client() as operator:
        key = operator.add_participant("ann")
        with VerifierClient(uds=first.uds, admin_token=key) as ann:
            ann.enter(played(ann, answer).rollout_id)
    first.kill()
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        for statement in (
            *(f"ALTER TABLE rollouts DROP COLUMN {name}" for name in ("hidden_digest", "instruments")),
            "ALTER TABLE entries DROP COLUMN changes",
            "ALTER TABLE retired DROP COLUMN task_digest",
            "DROP TABLE exposures",
            "PRAGMA user_version = 12",
        ):
            connection.execute(statement)
    second = launch([packages[TASK]], state)
    with second.client() as operator:
        operator.close_season()
    second.kill()
    third = launch([again], state)
    with third.client() as operator, pytest.raises(VerifierError, match="fold-retired"):
        operator.open_season("2")
    third.kill()
    verify_ledger(state)


def test_what_tells_nothing_retires_nothing(operator: VerifierClient, join: Join, answer: np.ndarray) -> None:
    ann = join("ann")
    ticket = ann.create_rollout(TASK)
    ann.enter(ticket.rollout_id)
    ann.finalize(ticket.rollout_id)
    assert operator.close_season().retired == ()
    operator.open_season("2")
    assert played(ann, answer).state == "held"


def test_to_enter_the_same_again_writes_nothing_and_to_change_takes_room(
    launch: Any, packages: dict[str, BuiltPackage], tmp_path: Path, answer: np.ndarray
) -> None:
    """Every change is in the log for good, so that a restart must not forget it."""
    first = launch([packages[TASK]], tmp_path / "state", "--stored-mb", "0.06")
    with first.client() as operator:
        key = operator.add_participant("ann")
    with VerifierClient(uds=first.uds, admin_token=key) as ann:
        one, two = (played(ann, answer).rollout_id for _ in range(2))
        entered = [ann.enter(one), ann.enter(two)]
        before = len(ann.log(one)) + len(ann.log(two))
        for _ in range(100):
            assert [ann.enter(one), ann.enter(two)] == entered
        assert len(ann.log(one)) + len(ann.log(two)) == before

        def change_without_end() -> None:
            for n in range(200):
                ann.enter((two, one)[n % 2], primary=True)

        with pytest.raises(VerifierError, match="storage-exhausted"):
            change_without_end()
        changes = len(ann.log(one)) + len(ann.log(two)) - before
        assert 10 < changes < 200
    first.kill()
    second = launch([packages[TASK]], tmp_path / "state", "--stored-mb", "0.06")
    again = VerifierClient(uds=second.uds, admin_token=key)
    with again, pytest.raises(VerifierError, match="storage-exhausted"):
        again.enter((two, one)[changes % 2], primary=True)
    second.kill()


def test_what_was_answered_before_its_task_was_built_again_can_be_entered(
    launch: Any, make: Any, packages: dict[str, BuiltPackage], tmp_path: Path, answer: np.ndarray
) -> None:
    again = make(tmp_path / "again", TASK, verification="feedback_digits = 2")
    first = launch([packages[TASK]], tmp_path / "state")
    with first.client() as operator:
        key = operator.add_participant("ann")
    with VerifierClient(uds=first.uds, admin_token=key) as ann:
        rollout = played(ann, answer).rollout_id
    first.kill()
    second = launch([again], tmp_path / "state")
    with VerifierClient(uds=second.uds, admin_token=key) as ann:
        assert ann.enter(rollout).primary


def test_entries_are_few_and_chosen_before_anything_is_told(
    operator: VerifierClient, join: Join, answer: np.ndarray
) -> None:
    ann, bob = join("ann"), join("bob")
    rollouts = [played(ann, answer).rollout_id for _ in range(ENTRIES + 1)]
    assert [ann.enter(one).primary for one in rollouts[:ENTRIES]] == [True] + [False] * (ENTRIES - 1)
    with pytest.raises(VerifierError, match=f"entries-exhausted.*{ENTRIES} rollouts"):
        ann.enter(rollouts[ENTRIES])
    assert ann.enter(rollouts[1], primary=True).primary
    assert operator.season().primary_entries == 1, "one takes the place of the other"
    assert ann.enter(rollouts[1]).primary, "which a repetition does not change"
    with pytest.raises(VerifierError, match="not-found"):
        bob.enter(rollouts[0])
    with pytest.raises(VerifierError, match=r"forbidden.*no board"):
        operator.enter(rollouts[0])
    operator.close_season()
    assert [row.rollout_id for row in ann.board("1").rows if row.primary] == [rollouts[1]]


def test_the_keys_of_an_organisation_are_one_party(operator: VerifierClient, join: Join, answer: np.ndarray) -> None:
    keys = [join(f"desk-{n}", "acme") for n in range(2)]
    entries = [played(keys[n % 2], answer).rollout_id for n in range(ENTRIES)]
    assert [keys[n % 2].enter(one).primary for n, one in enumerate(entries)] == [True, False, False]
    with pytest.raises(VerifierError, match="entries-exhausted"):
        keys[1].enter(played(keys[1], answer).rollout_id)
    assert {one.organisation for one in operator.participants()} == {"acme"}
    for name, organisation in (("acme", None), ("other", "desk-0"), ("self", "self"), ("x", "operator")):
        with pytest.raises(VerifierError, match="name"):
            operator.add_participant(name, organisation)
    operator.close_season()
    assert {row.principal for row in operator.board("1").rows} == {"acme"}


def test_a_disclosing_season_tells_rungs_of_one_ladder(
    running: EmbeddedVerifier, operator: VerifierClient, join: Join, truth: np.ndarray
) -> None:
    disclosing(operator)
    ann, bob = join("ann"), join("bob")
    half = played(ann, 0.5 * truth)
    assert half.state == "held"
    assert half.ladder is not None
    rung = half.ladder["rung"]
    exact = operator.finalize(half.rollout_id).relative_total
    assert exact is not None
    assert rung is not None
    assert exact <= rung < 1.0, "towards the baseline"
    assert rung == pytest.approx(1.0 - 0.05 * round((1.0 - rung) / 0.05))
    assert f"raises the ladder of all parties, whose top is a relative total of {rung:g}" in str(half.reason)
    worse, better = played(bob, -truth), played(bob, 0.9 * truth)
    assert worse.ladder == {"rung": None, "top": rung, "answers": 2, "most": LADDER_ANSWERS}
    assert better.ladder is not None
    assert better.ladder["rung"] is not None
    assert better.ladder["rung"] < rung
    again = played(ann, 0.5 * truth)
    assert again.ladder is not None
    assert again.ladder["rung"] is None, "one ladder for all: nobody is told where they stand below its top"
    for one in (half, worse, better, again):
        assert (one.total, one.relative_total, one.metrics, one.baseline_total) == (None, None, {}, None)
    (ladder,) = operator.season().ladders
    assert (ladder.task, ladder.top, ladder.answers) == (TASK, better.ladder["rung"], 4)
    with pytest.raises(VerifierError, match="too-late"):
        ann.enter(half.rollout_id)
    ticket = ann.create_rollout(TASK)
    ann.enter(ticket.rollout_id)
    ann.submit(ticket.token, truth)
    assert ann.finalize(ticket.rollout_id).ladder is not None
    other = ann.create_rollout(TASK)
    with pytest.raises(VerifierError, match=r"too-late.*stays the primary one"):
        ann.enter(other.rollout_id, primary=True)
    operator.close_season()
    assert [row.verdict for row in operator.board("open").rows] == ["better"]
    assert ann.finalize(ticket.rollout_id).ladder is not None
    verify_ledger(running.state)


def test_a_ladder_answers_so_many_results_of_all_parties_together(
    launch: Any, packages: dict[str, BuiltPackage], tmp_path: Path, answer: np.ndarray
) -> None:
    first = launch([packages[TASK]], tmp_path / "state")
    parties = LADDER_ANSWERS // (STRICT.private_disclosures or 1) + 3
    with first.client() as operator:
        disclosing(operator)
        keys = [operator.add_participant(f"p{n}") for n in range(parties)]

    def ask(key: str) -> list[VerifiedResult]:
        with VerifierClient(uds=first.uds, admin_token=key) as client:
            return [played(client, answer) for _ in range((STRICT.private_disclosures or 0) + 1)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, keys))
    told = [[one.ladder is not None for one in mine] for mine in found]
    assert max(map(sum, told)) == STRICT.private_disclosures, "nobody uses up the ladder alone"
    assert sum(map(sum, told)) == LADDER_ANSWERS
    raised = [one.ladder["rung"] for mine in found for one in mine if one.ladder and one.ladder["rung"] is not None]
    assert len(raised) == 1
    first.kill()
    second = launch([packages[TASK]], tmp_path / "state")
    with second.client() as operator:
        (ladder,) = operator.season().ladders
        assert (ladder.answers, ladder.top) == (LADDER_ANSWERS, raised[0])
        with VerifierClient(uds=second.uds, admin_token=operator.add_participant("late")) as client:
            assert played(client, answer).ladder is None
        operator.close_season()
        operator.open_season("3", kind="disclosing")
        with VerifierClient(uds=second.uds, admin_token=operator.add_participant("later")) as client:
            assert played(client, answer).ladder is None, "labels stay the same, so what was told still counts"
    second.kill()
    verify_ledger(tmp_path / "state")


def test_a_season_of_an_earlier_version_is_disclosing_and_its_log_still_holds(
    packages: dict[str, BuiltPackage], tmp_path: Path
) -> None:
    state = tmp_path / "state"
    with contextlib.closing(Ledger(state)) as ledger:
        entry = {"event": "season-opened", "at_ns": 5, "season": "1"}

        def write(transaction: Any) -> None:
            transaction.connection.execute("INSERT INTO seasons (name, opened_ns) VALUES ('1', 5)")
            transaction.log("", entry)

        ledger.writer.run(write)
    with contextlib.closing(sqlite3.connect(state / "ledger.db")) as connection:
        for statement in (
            "ALTER TABLE participants DROP COLUMN organisation",
            *(f"ALTER TABLE seasons DROP COLUMN {name}" for name in ("kind", "reused", "board")),
            "DROP TABLE entries",
            "DROP TABLE retired",
            *(f"ALTER TABLE rollouts DROP COLUMN {name}" for name in ("hidden_digest", "instruments")),
            "DROP TABLE exposures",
        ):
            connection.execute(statement)
        connection.execute("PRAGMA user_version = 11")
    with EmbeddedVerifier.start([packages[TASK]], state, policy="strict") as running:
        with VerifierClient(uds=running.uds, admin_token=running.admin_token) as operator:
            assert (operator.season().name, operator.season().kind) == ("1", "disclosing")
            operator.close_season()
        verify_ledger(state)


@pytest.mark.parametrize("changed", ["UPDATE seasons SET board = '{}'", "DELETE FROM entries", "DELETE FROM retired"])
def test_what_a_season_says_is_in_the_log(
    running: EmbeddedVerifier, operator: VerifierClient, join: Join, answer: np.ndarray, tmp_path: Path, changed: str
) -> None:
    ann = join("ann")
    ann.enter(played(ann, answer).rollout_id)
    operator.close_season()
    verify_ledger(running.state)
    with contextlib.closing(sqlite3.connect(running.state / "ledger.db")) as connection:
        connection.execute(changed)
        connection.commit()
    with pytest.raises(VerifierError):
        verify_ledger(running.state)


def test_a_result_that_is_held_differs_in_nothing_that_follows_from_labels() -> None:
    base = {"reason": None, "salt": "a", "season": "1", "baseline_total": 0.2, "baseline_metrics": {"mae": 0.2}}
    scored = {**base, "state": "scored", "flags": [], "metrics": {"mae": 0.1}}
    failed = {**base, "state": "rejected", "reason": "no score", "flags": ["foresight"], "metrics": {}}
    assert disclosed(scored, "held") == disclosed(failed, "held")
