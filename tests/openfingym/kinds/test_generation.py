"""Generation from a panel and from a process set, with and without a context."""

from __future__ import annotations

import io

import numpy as np
import pytest

from openfingym.catalog import load_task
from openfingym.errors import SubmissionError, TaskError
from openfingym.kinds import generation, kind_of, walks
from openfingym.kinds.material import Blocks
from openfingym.packages.build import _save_blocks
from openfingym.task import Task
from tests.openfingym.kinds.materials import array, changed_by_scrambling, made, ranks, read_of, walk

CONTEXT = {
    "lookback": "10",
    "futures": "3",
    "dated": "true",
    "columns": {"alpha": walk(1, 3000), "beta": walk(2, 3000)},
}
SCALED = {"scaling": '"standard"', "low": "-20.0", "high": "20.0"}


def test_unconditional_windows(make) -> None:
    task = make("generation")
    material = made(task)
    assert material.public["train_inputs"].shape == (material.n_train, 0, 2)
    assert material.public["train_targets"].shape == (material.n_train, 5, 2)
    assert material.public["test_inputs"].shape == (material.n_private, 0, 2)
    assert material.shape == (material.n_private, 5, 2)
    assert material.hidden["real"].shape == (material.n_public + material.n_private, 5, 2)
    public, private = generation.KIND.folds(
        task.spec, read_of(material), material.hidden, (material.n_public, material.n_private), 0
    )
    assert public.rows == private.rows == slice(None), "the whole submission is compared with either real set"
    assert np.array_equal(public.truth.arrays["real"], material.hidden["real"][: material.n_public])
    assert np.array_equal(private.truth.arrays["real"], material.hidden["real"][material.n_public :])


def test_conditional_futures(make) -> None:
    task = make("generation", **CONTEXT)
    material = made(task)
    contexts = material.n_public + material.n_private
    assert material.public["train_inputs"].shape == (material.n_train, 10, 2)
    assert material.hidden["test_inputs"].shape == (contexts, 10, 2)
    assert material.shape == (contexts, 3, 5, 2)
    assert material.submission_axes == ("context", "future", "row", "channel")
    public, private = generation.KIND.folds(
        task.spec, read_of(material), material.hidden, (material.n_public, material.n_private), 0
    )
    assert (public.rows, private.rows) == (slice(material.n_public), slice(material.n_public, contexts))
    whole = public.truth.arrays["real"]
    assert np.array_equal(whole[:, :10], material.hidden["test_inputs"][: material.n_public])
    assert np.array_equal(whole[:, 10:], public.truth.arrays["future.real"])
    values = np.arange(float(np.prod(material.shape))).reshape(material.shape)
    answer = generation.KIND.answer(task.spec.contract, private, values[private.rows])
    assert answer["fake"].shape == (3 * material.n_private, 15, 2)
    assert np.array_equal(answer["fake"][1, :10], private.known["contexts"][0]), (
        "a path is its own context and one of its futures"
    )
    assert np.array_equal(answer["fake"][1, 10:], values[material.n_public, 1])
    assert answer["futures"].shape == (material.n_private, 3, 5, 2)


@pytest.mark.parametrize("options", [{}, CONTEXT, SCALED], ids=["unconditional", "conditional", "scaled"])
def test_no_public_byte_depends_on_a_hidden_value_and_the_truth_is_best(make, options) -> None:
    task = make("generation", **options)
    assert changed_by_scrambling(task) == set()
    material = made(task)
    contract = task.spec.contract
    found = ranks(task, material, noise=np.random.default_rng(0).uniform(contract.low, contract.high, material.shape))
    assert found["oracle"] < found["baseline"] == 1.0 < found["noise"]


def test_the_baseline_has_the_moments_of_each_row_and_channel_and_is_the_same_each_time(make) -> None:
    task = make("generation")
    material = made(task)
    shape = (20_000, 5, 2)
    drawn = generation.KIND.naive(task.spec.contract, read_of(material), shape)
    assert np.array_equal(drawn, generation.KIND.naive(task.spec.contract, read_of(material), shape))
    train = material.public["train_targets"]
    assert np.allclose(drawn.mean(axis=0), train.mean(axis=0), atol=5 * 0.01 / 20_000**0.5)
    assert np.allclose(drawn.std(axis=0), train.std(axis=0), rtol=0.03)


def test_training_windows_handed_back_are_refused(make) -> None:
    task = make("generation")
    material = made(task)
    public, _ = generation.KIND.folds(
        task.spec, read_of(material), material.hidden, (material.n_public, material.n_private), 0
    )
    stolen = material.public["train_targets"][:: material.n_train // material.n_private][: material.n_private]
    with pytest.raises(
        SubmissionError, match=r"memorised: the share of windows that are copies .* at most 10% is accepted"
    ) as refused:
        generation.KIND.check(task.spec.contract, public, stolen)
    assert refused.value.problem == "memorised"
    honest = generation.KIND.naive(task.spec.contract, read_of(material), material.shape)
    generation.KIND.check(task.spec.contract, public, honest)
    few = honest.copy()
    few[: len(few) // 20] = stolen[: len(few) // 20]
    generation.KIND.check(task.spec.contract, public, few)


def test_a_panel_needs_a_split_and_a_process_set_has_its_own(make) -> None:
    task = make("generation")
    text = task.config_path.read_text()
    head, _, tail = text.partition("[metadata.openfingym.split]")
    task.config_path.write_text(head + tail[tail.index("[metadata.openfingym.contract]") :])
    with pytest.raises(TaskError, match=r"split: windows of a panel need the table"):
        made(type(task).read(task.folder))


def test_contexts_of_a_panel_are_walked_through_in_the_order_of_time(make) -> None:
    """Hidden windows share no row, so that a context shows nothing of any future, and what is public is before all."""
    for task in (make("generation", **CONTEXT), load_task("us5-stock-generation")):
        kind, contract, material = kind_of(task), task.spec.contract, made(task)
        assert kind.walks(contract)
        assert {name for name in material.public if name.startswith("test_")} == set()
        assert set(material.hidden) == {"real", "test_inputs", "test_times"}
        test, train = material.hidden["test_times"], material.public["train_times"]
        assert test.shape == (material.n_public + material.n_private, contract.lookback + contract.horizon)
        assert (np.diff(test.ravel().astype(np.int64)) > 0).all(), "a window begins after the one before it ended"
        assert train.max() < test.min()
        due = kind.due(contract, read_of(material))
        assert np.array_equal(due, test[:, contract.lookback - 1])
        shown, asked = (
            {row.tobytes() for window in array(part) for row in window if row.any()}
            for part in (material.hidden["test_inputs"], material.hidden["real"])
        )
        assert len(asked) > 100
        assert not shown & asked


def test_contexts_of_a_process_set_are_shown_at_once() -> None:
    simulated, dated = (load_task(name).spec.contract for name in ("fbm-generation", "us5-stock-generation"))
    assert (walks(simulated), generation.KIND.interface_of(simulated)) == (False, "interface.py")
    assert (walks(dated), generation.KIND.interface_of(dated)) == (True, "interface_walk.py")


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            {**CONTEXT, "dated": "false"},
            r"contract\.dated: contexts that are cut from a panel follow each other in time",
        ),
        ({"dated": "true"}, "dated is said of contexts"),
    ],
)
def test_who_leaves_out_that_contexts_are_dated_is_told(make, edits, fault) -> None:
    with pytest.raises(TaskError, match=fault):
        made(make("generation", **edits))


@pytest.mark.parametrize(
    ("futures", "fault"), [("1100", "an answer for one window may take 275,000 bytes"), ("1000", None)]
)
def test_futures_that_no_request_can_hold_are_refused(make, futures, fault) -> None:
    task = make("generation", **CONTEXT | {"futures": futures})
    if fault is None:
        assert made(task).shape[1] == 1000
        return
    with pytest.raises(TaskError, match=fault):
        made(task)


def test_paths_of_a_process_set_have_no_dates(tmp_path) -> None:
    text = load_task("fbm-generation").config_path.read_text()
    (tmp_path / "task.toml").write_text(text.replace("lookback = 6\n", "lookback = 6\ndated = true\n"))
    (tmp_path / "instruction.md").write_text("# Paths\n")
    with pytest.raises(TaskError, match=r"contract\.dated: contexts of a process set are independent"):
        made(Task.read(tmp_path))


def test_futures_of_one_context_are_no_share_of_copies(make) -> None:
    """A window of a walk is accepted whatever it holds; the fold is examined once all of it is answered."""
    task = make("generation", **CONTEXT)
    material = made(task)
    public, _ = generation.KIND.folds(
        task.spec, read_of(material), material.hidden, (material.n_public, material.n_private), 0
    )
    windows = np.asarray(material.public["train_targets"])
    copies = windows[np.arange(np.prod(material.shape[:2])) % len(windows)].reshape(material.shape)
    generation.KIND.check(task.spec.contract, public, copies[:1])
    for fold in (slice(material.n_public), slice(material.n_public, None)):
        with pytest.raises(SubmissionError, match="memorised"):
            generation.KIND.check(task.spec.contract, public, copies[fold])


def test_hidden_windows_have_no_stride_of_their_own(make) -> None:
    task = make("generation")
    text = task.config_path.read_text()
    task.config_path.write_text(
        text.replace("[metadata.openfingym.split]\n", "[metadata.openfingym.split]\nhidden_stride = 5\n")
    )
    with pytest.raises(TaskError, match="hidden_stride are for forecasts"):
        made(type(task).read(task.folder))


def test_a_process_set_comes_in_blocks_that_are_equal_each_time() -> None:
    task = load_task("ou-generation")
    kind = kind_of(task)
    source = kind.load(task)
    assert isinstance(source.train, Blocks)
    # The whole set is made by the build; two thousand paths are enough here.
    small = Blocks((2_000, *source.train.shape[1:]), lambda: _first(source.train, 2_000))
    material = kind.shape(task, type(source)(**{**vars(source), "train": small}))
    targets = material.public["train_targets"]
    assert isinstance(targets, Blocks)
    assert targets.shape == (2_000, 64, 1)
    assert np.array_equal(array(targets), array(targets))
    assert array(material.public["train_inputs"]).shape == (2_000, 0, 1)
    seen = {window.tobytes() for window in array(targets)}
    assert len(seen) == 2_000
    assert seen.isdisjoint({window.tobytes() for window in material.hidden["real"]}), (
        "no window of the scoring set is in training"
    )


def _first(blocks: Blocks, rows: int):
    for block in blocks:
        yield block[:rows]
        rows -= len(block)
        if rows <= 0:
            return


def test_streamed_blocks_give_the_bytes_of_np_save(tmp_path) -> None:
    whole = np.random.default_rng(0).standard_normal((1_000, 7, 3))
    # A column slice is not contiguous, which a file must not show.
    blocks = Blocks((1_000, 5, 3), lambda: (whole[start : start + 300, 2:] for start in range(0, 1_000, 300)))
    _save_blocks(tmp_path / "streamed.npy", blocks)
    plain = io.BytesIO()
    np.save(plain, np.ascontiguousarray(whole[:, 2:]), allow_pickle=False)
    assert (tmp_path / "streamed.npy").read_bytes() == plain.getvalue()


def test_blocks_of_another_length_than_announced_are_a_failure(tmp_path) -> None:
    with pytest.raises(AssertionError, match="4 rows made, 5 announced"):
        _save_blocks(tmp_path / "short.npy", Blocks((5, 2), lambda: [np.zeros((4, 2))]))


def test_streaming_holds_one_block_at_a_time(tmp_path) -> None:
    """A set of 80 MB is written with a few of its blocks of 2 MB in memory."""
    import tracemalloc

    block = 250_000

    def blocks():
        for number in range(40):
            yield np.full((block // 10, 10), float(number))

    tracemalloc.start()
    _save_blocks(tmp_path / "large.npy", Blocks((40 * block // 10, 10), blocks))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "large.npy").stat().st_size > 80_000_000
    assert peak < 8_000_000
    assert np.load(tmp_path / "large.npy", mmap_mode="r")[-1, -1] == 39.0
