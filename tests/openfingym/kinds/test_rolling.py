"""Rolling-origin forecasts: what is shown when, what counts, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.errors import DataError, SubmissionError, TaskError, UsageError
from openfingym.kinds import is_sequential, kind_of, rolling, score_fold
from openfingym.metrics import relative
from openfingym.task import Task
from openfingym.verifiers.plausibility import remarks, typical_sizes
from tests.openfingym.kinds.materials import assert_refused
from tests.openfingym.kinds.stepping import episode_of, fold_rows, made, play, random_bars, reader, rolling_task

LOOKBACK, STEPS = 6, 10


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return rolling_task(tmp_path_factory.mktemp("rolling"))


def closes_of(columns: dict[str, np.ndarray]) -> np.ndarray:
    return np.stack([columns["aa_close"], columns["bb_close"]], axis=1)


def test_shapes_axes_and_counts(task: Task) -> None:
    material = made(task)
    assert is_sequential(task.spec.contract)
    # Blocks of 100, 40 less 3 and 60 less 3 rows; an episode needs 5 + 10 + 3, each further one 10 more.
    assert (material.n_train, material.n_public, material.n_private) == (100, 2, 4)
    assert material.shape == (6, STEPS, 2)
    assert material.public["train_bars"].shape == (100, 2, 5)
    assert {name: len(axes) for name, axes in material.axes.items()} == {
        name: len(a.shape) for name, a in material.public.items()
    }
    assert material.facts["symbols"] == ["aa", "bb"]
    assert material.facts["episodes"] == {"public": 2, "private": 4}
    assert material.labels == ("aa", "bb")
    assert kind_of(task).load_test == ()


def test_what_is_shown_are_the_rows_up_to_the_origin_and_none_behind_it(task: Task) -> None:
    columns, material = random_bars(), made(task)
    everything = np.stack(
        [
            np.stack([columns[f"{s}_{f}"] for f in ("open", "high", "low", "close", "volume")], axis=1)
            for s in ("aa", "bb")
        ],
        axis=1,
    )
    public, private = fold_rows(task)
    for number in range(6):
        first = public + number * STEPS if number < 2 else private + (number - 2) * STEPS
        shown = play(episode_of(task, material, number), [None] * STEPS)
        assert [step.truncated for step in shown] == [False] * STEPS + [True]
        for k, step in enumerate(shown):
            origin = first + LOOKBACK - 1 + k
            assert np.array_equal(step.observation["bars"], everything[origin + 1 - LOOKBACK : origin + 1])
            assert step.info == {"time_index": origin - (public if number < 2 else private), "steps_left": STEPS - k}
            json.dumps([step.observation, step.info, step.reward], allow_nan=False)


def test_outcomes_and_rewards_by_hand(task: Task) -> None:
    material, closes = made(task), closes_of(random_bars())
    first = fold_rows(task)[1] + LOOKBACK - 1
    truth = np.log(closes[first + 3 : first + 3 + STEPS] / closes[first : first + STEPS])
    assert rolling.KIND.oracle(task.spec.contract, material.hidden, material.shape)[2] == pytest.approx(
        truth, rel=1e-12
    )
    episode = episode_of(task, material, 2)
    guesses = 0.01 * np.arange(2 * STEPS).reshape(STEPS, 2)
    shown = play(episode, [{"predictions": row} for row in guesses.tolist()])
    # The outcome of a forecast is known three bars later, so the first reward that says something is the third.
    told = [step.reward for step in shown[1:]]
    assert told[:2] == [0.0, 0.0]
    assert told[2:] == pytest.approx((-np.abs(guesses - truth).mean(axis=1)).tolist()[: STEPS - 2], rel=1e-12)
    assert np.array_equal(episode.outcome(), guesses)


def test_a_reward_depends_on_no_bar_that_has_not_been_shown(task: Task) -> None:
    material = made(task)
    altered = {name: array.copy() for name, array in material.hidden.items()}
    actions = [{"predictions": [0.01, -0.02]}] * STEPS
    for k in range(1, STEPS):
        seen = LOOKBACK + k
        altered["private_bars"] = material.hidden["private_bars"].copy()
        altered["private_bars"][seen:] *= 3.0
        kind = rolling.KIND.episode(task.spec, reader(material), altered, 2)
        assert play(kind, actions[:k]) == play(episode_of(task, material, 2), actions[:k])


def test_there_are_no_episodes_but_those_counted(task: Task) -> None:
    material = made(task)
    for number in (-1, 6):
        with pytest.raises(UsageError, match=rf"there is no episode {number}; there are 2 public and 4 private ones"):
            episode_of(task, material, number)


def test_unanswered_steps_predict_no_change_and_answers_stay(task: Task) -> None:
    episode = episode_of(task, made(task), 2)
    assert not episode.outcome().any()
    play(episode, [None, {"predictions": [0.5, -0.5]}, None])
    expected = np.zeros((STEPS, 2))
    expected[1] = [0.5, -0.5]
    assert np.array_equal(episode.outcome(), expected)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ([0.1, 0.2], 'expected {"predictions": .2 numbers.} or null, found list'),
        ("buy", "found str"),
        ({}, "found the keys"),
        ({"predictions": [0.1, 0.2], "more": 1}, "found the keys .'more', 'predictions'."),
        ({"predictions": [0.1]}, "a list of 2 numbers, one for each of aa, bb; found 1"),
        ({"predictions": {"aa": 0.1}}, "found dict"),
        ({"predictions": [0.1, None]}, "the prediction of bb is None"),
        ({"predictions": [True, 0.1]}, "the prediction of aa is True"),
        ({"predictions": ["0.1", 0.1]}, "the prediction of aa is '0.1'"),
        ({"predictions": [0.1, 2.5]}, r"the prediction of bb is 2.5; expected a number in \[-2, 2\]"),
        ({"predictions": [float("nan"), 0.1]}, "the prediction of aa is nan"),
        ({"predictions": [10**400, 0.1]}, "the prediction of aa is 1000"),
    ],
)
def test_a_malformed_action_changes_nothing(task: Task, action: object, message: str) -> None:
    material = made(task)
    episode, twin = episode_of(task, material, 2), episode_of(task, material, 2)
    play(episode, [{"predictions": [0.1, 0.2]}])
    play(twin, [{"predictions": [0.1, 0.2]}])
    with pytest.raises(SubmissionError, match=message) as refused:
        episode.step(action)
    assert refused.value.problem == "malformed-action"
    assert episode.step(None) == twin.step(None)
    assert np.array_equal(episode.outcome(), twin.outcome())


@settings(max_examples=40)
@given(
    st.lists(st.one_of(st.none(), st.lists(st.floats(-2.0, 2.0), min_size=2, max_size=2)), max_size=STEPS),
    st.integers(0, 5),
)
def test_an_episode_is_a_function_of_its_actions(task_and_material, given_actions, number) -> None:
    task, material = task_and_material
    actions = [None if values is None else {"predictions": values} for values in given_actions]
    one, two = episode_of(task, material, number), episode_of(task, material, number)
    first = play(one, actions)
    looked = one.outcome()
    assert first == play(two, actions)
    assert np.array_equal(looked, two.outcome())
    one.outcome()[:] = 9.0
    assert np.array_equal(one.outcome(), looked), "what is looked at cannot be changed"


@pytest.fixture(scope="module")
def task_and_material(task: Task):
    return task, made(task)


def test_the_oracle_plays_what_it_predicts_and_scores_best(task: Task) -> None:
    material, spec = made(task), task.spec
    best = rolling.KIND.oracle(spec.contract, material.hidden, material.shape)
    for number in range(6):
        episode = episode_of(task, material, number)
        shown = play(episode, rolling.KIND.oracle_actions(spec, reader(material), material.hidden, number))
        assert shown[-1].truncated
        assert np.array_equal(episode.outcome(), best[number])
    public, private = rolling.KIND.folds(spec, reader(material), material.hidden, (2, 4), 0)
    naive = rolling.KIND.naive(spec.contract, reader(material), material.shape)
    base = score_fold(spec.contract, spec.scoring, private, naive)
    assert score_fold(spec.contract, spec.scoring, private, best).total == 0.0
    assert base.total == pytest.approx(np.abs(best[2:]).mean(), rel=1e-12)
    assert relative(spec.scoring, base.metrics, base.metrics) == 1.0
    assert public.rows == slice(2)


def test_noise_in_the_hidden_rows_changes_no_public_array(task: Task) -> None:
    source = rolling.KIND.load(task)
    before = rolling.KIND.shape(task, source)
    after = rolling.KIND.shape(task, rolling.KIND.scramble(task, source, np.random.default_rng(1)))
    for name, values in before.public.items():
        assert np.array_equal(values, after.public[name]), name
    for fold in ("public", "private"):
        assert not np.isclose(before.hidden[f"{fold}_bars"][:, :, 3], after.hidden[f"{fold}_bars"][:, :, 3]).any()


def test_a_split_would_pass_for_a_return(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    source = rolling.KIND.load(task)
    split = np.ones_like(source.bars.split)
    split[150, 0] = 2.0
    with pytest.raises(TaskError, match="dataset: a split would pass for a return"):
        rolling.KIND.shape(task, replace(source, bars=replace(source.bars, split=split)))


def test_too_few_rows_say_how_many_are_enough(tmp_path: Path) -> None:
    short = {name: values[:80] for name, values in random_bars().items()}
    with pytest.raises(
        TaskError,
        match=r"split\.public: the public block has 13 of 80 rows, but one episode needs 18.*an embargo of 3, 105 rows",
    ):
        made(rolling_task(tmp_path, short))
    enough = {name: values[:105] for name, values in random_bars().items()}
    assert made(rolling_task(tmp_path, enough)).n_public == 1


def test_bars_that_contradict_themselves_are_refused_with_row_and_column(tmp_path: Path) -> None:
    columns = random_bars()
    columns["bb_high"][17] = columns["bb_low"][17] * 0.9
    with pytest.raises(DataError, match=r"row 17 \(2020-01-18.*\), column 'bb_high': .* is below the low"):
        made(rolling_task(tmp_path, columns))


def test_percent_for_decimals_is_remarked_on(task: Task) -> None:
    material = made(task)
    sizes = typical_sizes(task.spec.contract, reader(material))
    best = rolling.KIND.oracle(task.spec.contract, material.hidden, material.shape)
    assert remarks(task.spec.contract, material.labels, sizes, best) == ()
    (found,) = remarks(task.spec.contract, material.labels, sizes, 100.0 * best)
    assert found.startswith("units: ")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (('symbols = ["aa", "bb"]', 'symbols = ["aa", "aa"]'), "symbols must be different names"),
        (('symbols = ["aa", "bb"]', "symbols = []"), "symbols must be different names"),
        (("embargo = 3", "embargo = 2"), r"split.embargo \(2 rows\) must be at least contract.horizon \(3\)"),
        (("embargo = 3", 'embargo = 3\nscaling = "standard"'), "bars are shown as they are"),
        (("embargo = 3", "embargo = 3\ntrain_stride = 2"), "bars are shown as they are"),
        (
            ('licence = "CC0-1.0"', 'licence = "CC0-1.0"\nchannels = ["aa_open"]'),
            "contract.symbols says which bars are used",
        ),
        (('baseline = "naive"', 'baseline = "gaussian"'), "that of a rolling task is 'naive'"),
        (("steps = 10", "stepz = 10"), "stepz: unknown key; did you mean 'steps'"),
    ],
)
def test_a_mistake_in_a_rolling_task_is_answered_with_its_key(
    task: Task, tmp_path: Path, edit: tuple[str, str], message: str
) -> None:
    assert_refused(task, tmp_path, edit, message)
