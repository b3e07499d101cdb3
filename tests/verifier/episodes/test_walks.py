"""Walks: a window is shown after the one before it was answered, and what was answered stays."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.errors import SubmissionError
from openfingym.instances import build_instance
from openfingym.kinds import score_fold
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient
from openfingym_verifier.disclosure.feedback import feedback
from openfingym_verifier.embedded import EmbeddedVerifier
from openfingym_verifier.scoring.truth import HiddenTask, load_task
from tests.verifier.conftest import FILE, OPEN_RATE, SPLIT, make_kind, seal, write_task, write_walk

BUDGET = 2


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    """Forecasts of two rows of two series: 12 public and 12 private windows."""
    returns = "value_semantics = 'log_return'\nunit = 'u'\nlow = -2.0\nhigh = 2.0"
    return write_forecasts(tmp_path_factory.mktemp("walks"), "forecasts", returns)


def write_forecasts(folder: Path, name: str, values: str) -> BuiltPackage:
    """Forecasts of two rows of two series, whose values are as stated."""
    task = write_task(
        folder,
        name,
        metrics=("mae", "rmse"),
        family="forecasting",
        kind="forecast",
        contract=f"lookback = 3\nhorizon = 2\n{values}",
        dataset=f"{FILE}channels = ['c0', 'c1']",
        split=SPLIT.format(0.4, 0.3, 0.3, 3),
        verification=f"budget = {BUDGET}\n{OPEN_RATE}",
    )
    write_walk(task, 100, ["c0", "c1"], 0)
    return seal(folder, task)


@pytest.fixture(scope="module")
def pooled(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    """Curves of many countries, all of a month in one window."""
    return make_kind(tmp_path_factory.mktemp("curves"), "curves")


@pytest.fixture(scope="module")
def hidden(package: BuiltPackage) -> HiddenTask:
    return load_task(package)


@pytest.fixture(scope="module")
def running(package: BuiltPackage, pooled: BuiltPackage, serve: Callable[..., Any]) -> Iterator[Any]:
    with serve([package, pooled]) as server:
        yield server


@pytest.fixture(scope="module")
def client(running: Any) -> VerifierClient:
    found: VerifierClient = running.client
    return found


def noise(hidden: HiddenTask, seed: int) -> np.ndarray:
    return (0.02 * np.random.default_rng(seed).standard_normal(hidden.shape)).round(6)


def act(values: np.ndarray) -> dict[str, object]:
    return {"predictions": values.tolist()}


def refused(call: Callable[..., object], *arguments: object, **named: object) -> str:
    with pytest.raises(SubmissionError) as caught:
        call(*arguments, **named)
    return caught.value.problem


def public_and_private(hidden: HiddenTask) -> tuple[slice, slice]:
    assert hidden.walk is not None
    return hidden.walk.items_of("public"), hidden.walk.items_of("private")


def test_what_counts_is_what_was_answered(client: VerifierClient, hidden: HiddenTask) -> None:
    values, (public, private) = noise(hidden, 1), public_and_private(hidden)
    ticket = client.create_rollout("forecasts")
    practised = client.walk(ticket.token, values[public], "public")
    expected = feedback(hidden.grader.public_score(values), hidden.spec.scoring, hidden.spec.verification)
    assert practised.info["feedback"] == expected
    assert (practised.info["submission"], practised.info["practice_left"]) == (1, BUDGET - 1)
    ended = client.walk(ticket.token, values[private])
    assert ended.truncated
    assert ended.observation == {}
    assert "feedback" not in ended.info, "of the private fold nothing is told before the end"
    result = client.finalize(ticket.rollout_id)
    assert result.state == "scored"
    assert result.total == pytest.approx(hidden.grader.private_score(values).total, rel=1e-12)
    assert (result.submissions_accepted, result.budget) == (1, 1), "practice does not count"
    np.testing.assert_array_equal(client.submission(ticket.rollout_id, 2), values)


def test_a_window_shows_no_row_that_it_or_a_later_one_asks_for(client: VerifierClient, hidden: HiddenTask) -> None:
    """Each row of what was asked for before may be shown; of what is still to be answered none is."""
    _, private = public_and_private(hidden)
    targets = hidden.hidden["targets"][private]
    at = client.start_episode((ticket := client.create_rollout("forecasts")).token)
    answered = 0
    while not at.done:
        shown = np.array(at.observation["inputs"]).ravel()
        assert not np.isin(targets[answered:].ravel(), shown).any()
        if answered:
            assert np.isin(targets[answered - 1].ravel(), shown).all(), "what came of the last answer is shown"
        at, answered = client.step(ticket.token, at.episode, at.step + 1, act(np.zeros((1, 2, 2)))), answered + 1
    assert answered == len(targets)


def test_nothing_of_a_window_is_in_a_public_file(package: BuiltPackage, hidden: HiddenTask) -> None:
    from openfingym.leaks import find_leaks

    assert not {name for name in package.contract["arrays"] if name.startswith("test_")}
    shown = {name: array for name, array in hidden.hidden.items() if array.dtype.kind == "f"}
    assert list(find_leaks(package.public, shown, folds=(package.manifest.n_public, package.manifest.n_private))) == []


def test_an_answer_stays(client: VerifierClient) -> None:
    ticket = client.create_rollout("forecasts")
    first = client.start_episode(ticket.token)
    second = client.step(ticket.token, 1, 1, act(np.zeros((1, 2, 2))))
    assert client.step(ticket.token, 1, 1, act(np.zeros((1, 2, 2)))) == second, "a repetition is answered the same"
    assert refused(client.step, ticket.token, 1, 1, act(np.ones((1, 2, 2)))) == "idempotency-conflict"
    again = client.start_episode(ticket.token)
    assert (again.step, again.observation) == (1, second.observation), "a start goes on at the first without an answer"
    assert again.observation != first.observation


def test_the_private_fold_is_walked_through_once(client: VerifierClient, hidden: HiddenTask) -> None:
    values, (_, private) = noise(hidden, 2), public_and_private(hidden)
    ticket = client.create_rollout("forecasts")
    client.walk(ticket.token, values[private])
    assert refused(client.start_episode, ticket.token) == "episodes-exhausted"
    assert refused(client.start_episode, ticket.token, "public") == "budget-exhausted"
    assert client.finalize(ticket.rollout_id).state == "scored"


def test_practice_ends_where_the_budget_does_or_the_private_walk_begins(
    client: VerifierClient, hidden: HiddenTask
) -> None:
    values, (public, _) = noise(hidden, 3), public_and_private(hidden)
    ticket = client.create_rollout("forecasts")
    for left in reversed(range(BUDGET)):
        assert client.walk(ticket.token, values[public], "public").info["practice_left"] == left
    assert refused(client.start_episode, ticket.token, "public") == "budget-exhausted"
    other = client.create_rollout("forecasts")
    client.start_episode(other.token)
    assert refused(client.start_episode, other.token, "public") == "budget-exhausted"


def test_what_is_left_unanswered_is_the_agents_failure(client: VerifierClient, hidden: HiddenTask) -> None:
    values, (public, _) = noise(hidden, 4), public_and_private(hidden)
    nothing, practised, broken = (client.create_rollout("forecasts") for _ in range(3))
    result = client.finalize(nothing.rollout_id)
    assert (result.state, result.reason) == (
        "rejected",
        "no window of the private fold was asked for (0 answers refused)",
    )
    client.walk(practised.token, values[public], "public")
    assert client.finalize(practised.rollout_id).state == "rejected", "practice does not count"
    client.start_episode(broken.token)
    client.step(broken.token, 1, 1, act(np.zeros((1, 2, 2))))
    assert hidden.walk is not None
    result = client.finalize(broken.rollout_id)
    left = hidden.walk.n_private - 1
    assert (result.state, result.reason) == (
        "rejected",
        f"{left} of {hidden.walk.n_private} windows of the private fold were left unanswered",
    )


@pytest.mark.parametrize("policy", ["local", "strict"])
def test_what_is_kept_of_a_walk_holds_nothing_that_nobody_answered(
    tmp_path_factory: pytest.TempPathFactory, policy: str
) -> None:
    """The baseline answers each window with the last row that it shows, which is an outcome of the one before: a
    submission that was filled up with it would tell the private fold to whoever practised and read it back.
    """
    folder = tmp_path_factory.mktemp("levels")
    levels = write_forecasts(folder, "levels", "value_semantics = 'price_level'\nunit = 'u'\nlow = 0.0\nhigh = 1e6")
    task = load_task(levels)
    public, private = public_and_private(task)
    assert np.isin(task.grader.baseline[private][1:].ravel(), task.hidden["targets"][private].ravel()).all()
    values = np.full(task.shape, 100.0)
    with EmbeddedVerifier.start([levels], folder / "state", policy=policy) as running:
        with VerifierClient(uds=running.uds, admin_token=running.admin_token) as operator:
            key = operator.add_participant("ann") if policy == "strict" else running.admin_token
        with VerifierClient(uds=running.uds, admin_token=key) as ann:
            practised, broken, whole = (ann.create_rollout("levels") for _ in range(3))
            for ticket in (practised, broken, whole):
                ann.walk(ticket.token, values[public], "public")
                np.testing.assert_array_equal(ann.submission(ticket.rollout_id, 1)[public], values[public])
            ann.start_episode(broken.token)
            ann.step(broken.token, 2, 1, act(values[private][:1]))
            ann.walk(whole.token, values[private])
            answered = {practised.rollout_id: 0, broken.rollout_id: 1, whole.rollout_id: len(values[private])}
            for rollout_id, count in answered.items():
                ann.finalize(rollout_id)
                for past in ann.rollout_status(rollout_id).submissions:
                    kept = ann.submission(rollout_id, past.submission)
                    own = count if past.submission == 2 else 0
                    np.testing.assert_array_equal(kept[private][:own], values[private][:own])
                    assert np.isnan(kept[private][own:]).all()


def test_walks_that_were_broken_off_make_nobody_a_prober(tmp_path: Path, package: BuiltPackage) -> None:
    """Filled up with the baseline they differ in one window after the other, as the designs of a prober do. They were
    not looked at when they ended, and are not after a restart either.
    """
    count, shape = package.manifest.n_private, package.manifest.submission_shape[1:]
    answers = 0.01 * np.random.default_rng(1).standard_normal((count, *shape))

    def answer(ann: VerifierClient, cut: int) -> None:
        ticket = ann.create_rollout("forecasts")
        ann.start_episode(ticket.token)
        for step in range(cut):
            ann.step(ticket.token, 1, step + 1, act(answers[step : step + 1]))
        ann.finalize(ticket.rollout_id)

    key = None
    for cuts in (range(1, count), ()):
        with (
            EmbeddedVerifier.start([package], tmp_path / "state", policy="strict") as running,
            VerifierClient(uds=running.uds, admin_token=running.admin_token) as operator,
        ):
            key = key or operator.add_participant("ann")
            with VerifierClient(uds=running.uds, admin_token=key) as ann:
                for cut in cuts:
                    answer(ann, cut)
                whole = ann.create_rollout("forecasts")
                ann.walk(whole.token, answers[::-1])
                ann.finalize(whole.rollout_id)
            assert operator.finalize(whole.rollout_id).flags == ()


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (None, 'expected {"predictions"'),
        ({"predictions": [[0.0, 0.0]], "more": 1}, 'expected {"predictions"'),
        ({"predictions": [[[0.0, 0.0]]]}, "expected [1, 2, 2]: window, step, channel"),
        ({"predictions": [[[0.0, 0.0], [0.0]]]}, "ragged"),
        ({"predictions": [[[0.0, 0.0], [0.0, "0"]]]}, "hold str"),
        ({"predictions": [[[0.0, 0.0], [0.0, True]]]}, "hold bool"),
        ({"predictions": [[[0.0, 0.0], [0.0, None]]]}, "hold NoneType"),
        ({"predictions": [[[0.0, 0.0], [0.0, 2.5]]]}, "predictions[0, 1, 1] is 2.5; expected a number in [-2, 2]"),
        ({"predictions": [[[0.0, 0.0], [0.0, 10**400]]]}, "beyond"),
    ],
)
def test_a_refused_answer_leaves_the_window_open(client: VerifierClient, action: object, words: str) -> None:
    ticket = client.create_rollout("forecasts")
    at = client.start_episode(ticket.token)
    with pytest.raises(SubmissionError) as caught:
        client.step(ticket.token, at.episode, 1, action)
    if caught.value.problem != "malformed-request":  # an integer of 400 digits is no JSON of ours
        assert caught.value.problem == "malformed-action"
        assert words in str(caught.value)
    assert client.start_episode(ticket.token).observation == at.observation
    assert client.step(ticket.token, at.episode, 1, act(np.zeros((1, 2, 2)))).step == 1


def test_an_array_is_refused(running: Any, client: VerifierClient, hidden: HiddenTask) -> None:
    ticket = client.create_rollout("forecasts")
    assert refused(client.submit, ticket.token, np.zeros(hidden.shape)) == "wrong-interface"


def test_all_that_is_due_at_one_time_is_one_window(client: VerifierClient, pooled: BuiltPackage) -> None:
    """No curve of a month is shown after another curve of that month was asked for."""
    hidden = load_task(pooled)
    assert hidden.walk is not None
    countries = len(pooled.contract["series"])
    ticket = client.create_rollout("curves")
    at = client.start_episode(ticket.token, "public")
    assert len(at.observation["inputs"]) == countries  # type: ignore[arg-type]  # a list
    assert {tuple(times) for times in at.observation["times"]}.__len__() == 1  # type: ignore[attr-defined]
    assert refused(client.step, ticket.token, 1, 1, act(hidden.grader.baseline[: countries - 1])) == "malformed-action"
    assert client.step(ticket.token, 1, 1, act(hidden.grader.baseline[:countries])).step == 1


def test_practice_that_cannot_be_scored_says_why(client: VerifierClient, pooled: BuiltPackage) -> None:
    """Bounds that cross are found where the walk ends; it can be ended with other ones."""
    hidden = load_task(pooled)
    assert hidden.walk is not None
    public = hidden.walk.items_of("public")
    values = hidden.grader.baseline[public].copy()
    ticket = client.create_rollout("curves")
    values[-1] = values[-1, ::-1]
    with pytest.raises(SubmissionError, match="is above"):
        client.walk(ticket.token, values, "public")
    at = client.start_episode(ticket.token, "public")
    items = len(at.observation["inputs"])  # type: ignore[arg-type]  # a list
    ended = client.step(ticket.token, at.episode, at.step + 1, act(hidden.grader.baseline[public][-items:]))
    assert ended.info["submission"] == 1


def test_a_restart_goes_on_where_it_was(
    tmp_path: Path, package: BuiltPackage, hidden: HiddenTask, launch: Callable[..., Any]
) -> None:
    """Killed in the midst of a walk, and after practice: nothing that was answered or told is lost."""
    values, (public, private) = noise(hidden, 5), public_and_private(hidden)
    first = launch([package], tmp_path / "state")
    with first.client() as client:
        ticket = client.create_rollout("forecasts")
        practised = client.walk(ticket.token, values[public], "public")
    first.kill()
    second = launch([package], tmp_path / "state")
    with second.client() as client:
        [past] = client.rollout_status(ticket.rollout_id).submissions
        assert past.feedback is not None
        assert past.feedback.total == practised.info["feedback"]["total"]  # type: ignore[index]  # a document
        at = client.start_episode(ticket.token)
        for n in range(3):
            at = client.step(ticket.token, at.episode, at.step + 1, act(values[private][n : n + 1]))
    second.kill()
    third = launch([package], tmp_path / "state")
    with third.client() as client:
        again = client.start_episode(ticket.token)
        assert (again.step, again.observation) == (3, at.observation)
        while not again.done:
            number = again.step
            again = client.step(ticket.token, again.episode, number + 1, act(values[private][number : number + 1]))
        result = client.finalize(ticket.rollout_id)
    expected = score_fold(package.task.spec.contract, hidden.spec.scoring, hidden.grader.private, values)
    assert result.total == pytest.approx(expected.total, rel=1e-12)


def test_a_restart_in_the_midst_of_contexts_goes_on_at_the_first_without_futures(
    tmp_path: Path, generation: Callable[..., BuiltPackage], launch: Callable[..., Any]
) -> None:
    package = generation(tmp_path, "futures", lookback=3, futures=2)
    hidden = load_task(package)
    values, (_, private) = noise(hidden, 6), public_and_private(hidden)
    state, contexts = tmp_path / "state", hidden.hidden["test_inputs"][private]
    with (first := launch([package], state)).client() as client:
        ticket = client.create_rollout("futures")
        at = client.start_episode(ticket.token)
        for n in range(4):
            at = client.step(ticket.token, at.episode, at.step + 1, act(values[private][n : n + 1]))
    first.kill()
    with launch([package], state).client() as client:
        again = client.start_episode(ticket.token)
        assert again.step == 4
        while not again.done:
            number = again.step
            np.testing.assert_array_equal(again.observation["inputs"], contexts[[number]])
            again = client.step(ticket.token, again.episode, number + 1, act(values[private][number : number + 1]))
        result = client.finalize(ticket.rollout_id)
    assert again.step == len(contexts)
    assert result.total == hidden.grader.private_score(values).total


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> BuiltPackage:
    """A task with enough training rows for instances."""
    folder = tmp_path_factory.mktemp("long")
    task = write_task(
        folder,
        "long",
        metrics=("mae", "rmse"),
        family="forecasting",
        kind="forecast",
        contract="lookback = 3\nhorizon = 2\nvalue_semantics = 'log_return'\nunit = 'u'\nlow = -2.0\nhigh = 2.0",
        dataset=f"{FILE}channels = ['c0', 'c1']",
        split=SPLIT.format(0.8, 0.1, 0.1, 3),
        verification=f"budget = {BUDGET}\n{OPEN_RATE}",
    )
    write_walk(task, 800, ["c0", "c1"], 0)
    return seal(folder, task)


def test_steps_through_an_instance_are_on_the_disk_with_the_last_one(long: BuiltPackage, tmp_path: Path) -> None:
    built = build_instance(long, "train", 0, tmp_path)
    values = 0.5 * built.read_truth()["targets"]
    n_public, state = built.manifest.n_public, tmp_path / "state"
    state.mkdir(mode=0o700)
    with (
        EmbeddedVerifier.start([long], state) as verifier,
        VerifierClient(uds=verifier.uds, admin_token=verifier.admin_token) as client,
    ):
        whole, part = (client.create_rollout("long", split="train", instance=0) for _ in range(2))
        client.walk(whole.token, values[:n_public], "public")
        last = client.walk(whole.token, values[n_public:])
        query = "SELECT count(*) FROM steps JOIN episodes ON episodes.id = episode WHERE rollout_id = ?"
        with contextlib.closing(sqlite3.connect(f"file:{state / 'ledger.db'}?mode=ro", uri=True)) as ledger:
            assert ledger.execute(query, (whole.rollout_id,)).fetchone() == (n_public + last.step,)
        result = client.finalize(whole.rollout_id)
        assert result.total == load_task(built).grader.private_score(values).total
        # What was answered is known at the end, however soon that comes.
        at = client.start_episode(part.token)
        for number in (1, 2):
            client.step(part.token, at.episode, number, act(values[[0]]))
        left = client.finalize(part.rollout_id)
        windows = built.manifest.n_private
        assert (left.state, left.reason) == (
            "rejected",
            f"{windows - 2} of {windows} windows of the private fold were left unanswered",
        )
