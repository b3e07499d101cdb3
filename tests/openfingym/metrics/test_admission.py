"""The admission suite: all of ours pass, and every kind of flaw is caught."""

import dataclasses
import math
import runpy
from pathlib import Path

import numpy as np
import pytest

from openfingym.errors import DataError, UsageError
from openfingym.metrics.admission import SEEDS, admit, examine
from openfingym.metrics.arrays import answer, number, pair
from openfingym.metrics.cases import CASES
from openfingym.metrics.laws import LAWS
from openfingym.metrics.questions import check_arrays
from openfingym.metrics.record import ANSWERS, SHAPES, Metric
from openfingym.metrics.registry import METRICS
from tests.sweeps import fixed_part, sweep

# Those that train or build kernels take minutes over three cases, so they see one, with fewer paths or epochs.
HEAVY = {
    "disc_fast": {"repeats": 1},
    "sig_mmd": {"paths": 64},
    "disc_gru": {"repeats": 1, "epochs": 8},
    "pred_lstm": {"epochs": 5},
}
NEEDS_TORCH = {"disc_gru", "pred_lstm"}


def test_what_is_seen_on_one_case_only_is_what_is_heavy():
    assert {name for name, metric in METRICS.items() if metric.heavy} == set(HEAVY)


# Each passes on every case by itself: of a metric's three one is tried, which is another one for its neighbours.
@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        pytest.param(name, tuple(fixed_part(SEEDS, 3, first=number)), id=name)
        for number, name in enumerate(name for name in METRICS if name not in HEAVY)
    ],
)
def test_ours_are_admitted(name, seeds):
    assert examine(METRICS[name], seeds=seeds) == ()


@pytest.mark.parametrize("name", sweep(HEAVY, 4))
def test_the_heavy_ones_too(name):
    if name in NEEDS_TORCH:
        pytest.importorskip("torch")
    lighter = dataclasses.replace(
        METRICS[name], parameters={**METRICS[name].parameters, **HEAVY[name]}, noise=2 * METRICS[name].noise
    )
    assert examine(lighter, seeds=(0,)) == ()


def good(y_true, y_pred):
    return float(np.abs(np.subtract(*pair(y_true, y_pred))).mean())


def planted(function, problem="point", **changes):
    return Metric("planted", function, problem, "a planted metric", "none", "this test", **changes)


def test_a_sound_metric_of_another_author_is_admitted():
    assert admit(planted(good)).name == "planted"
    assert admit(
        planted(
            lambda y_true, y_pred: 1.0 / (1.0 + good(y_true, y_pred)), range=(0.0, 1.0), direction="higher", optimum=1.0
        )
    )


def swallowing(y_true, y_pred):
    try:
        return good(y_true, y_pred)
    except UsageError:
        return 0.0


def writing(y_true, y_pred):
    pair(y_true, y_pred)
    y_pred -= y_true
    return float(np.abs(y_pred).mean())


def unseeded(y_true, y_pred, *, seed):
    return good(y_true, y_pred) * float(np.random.default_rng().uniform(0.9, 1.1))


def reseeded(y_true, y_pred, *, seed):
    return good(y_true, y_pred) * float(np.random.default_rng(seed).uniform(0.5, 2.0))


def shrinking(y_true, y_pred):
    return good(0.5 * np.asarray(pair(y_true, y_pred)[0]), y_pred)


def mean_only(y_true, y_pred):
    y, f = pair(y_true, y_pred)
    return float(np.abs(y.mean() - f.mean()))


def width(y_true, lower, upper):
    return float((answer("upper", upper) - answer("lower", lower)).mean())


def everything_positive(labels, scores):
    return float((answer("scores", scores) >= 0.5).mean())


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (planted(good, direction="higher", optimum=None), "does not score worse"),
        (planted(lambda y_true, y_pred: float(pair(y_true, y_pred)[0].std())), "does not score worse"),
        (planted(lambda y_true, y_pred: 0.0 * good(y_true, y_pred)), "does not score worse"),
        (planted(lambda y_true, y_pred: math.nan * good(y_true, y_pred)), "returns nan"),
        (planted(lambda y_true, y_pred: math.sqrt(-1.0)), "raises ValueError"),
        (planted(lambda y_true, y_pred: np.float64(good(y_true, y_pred))), "expected float: convert it with .*number"),
        (planted(lambda y_true, y_pred: np.array([good(y_true, y_pred)])), "returns ndarray"),
        (planted(writing), "raises ValueError.*read-only"),
        (planted(unseeded, stochastic=True, noise=0.5), "two results"),
        (planted(reseeded, stochastic=True, noise=1e-6), "more than the declared noise"),
        (planted(shrinking, optimum=None), "perfect answer is not the optimum"),
        (planted(mean_only), "wrong places"),
        (planted(good, range=(0.0, 0.5)), "outside its range"),
        (planted(lambda y_true, y_pred: 1.0 + good(y_true, y_pred)), "not the declared optimum"),
        (planted(width, "interval", optimum=None), "worse"),
        (planted(everything_positive, "ranking", range=(0.0, 1.0), direction="higher", optimum=None), "worse"),
        (planted(lambda y_pred: 0.0), "raises TypeError"),
        (planted(lambda y_true, y_pred: (_ for _ in ()).throw(DataError("no"))), "refuses an ordinary answer"),
        (planted(good, "horoscope"), "unknown kind of question"),
        (planted(good, direction="sideways"), "direction"),
        (planted(good, range=(1.0, 0.0)), "range"),
        (planted(good, noise=0.1), "noise"),
        (planted(good, optimum=-1.0), "outside the range"),
        (planted(None), "cannot be called"),
        (dataclasses.replace(planted(good), name="Bad Name"), "lower case"),
        (dataclasses.replace(planted(good), source=""), "must not be empty"),
        (good, "must be an openfingym"),
    ],
)
def test_a_flawed_metric_is_refused(metric, words):
    with pytest.raises(UsageError, match=words):
        admit(metric)


def test_a_fault_of_ordinary_answers_is_listed_once():
    with pytest.raises(UsageError) as refused:
        admit(planted(lambda y_true, y_pred: np.mean(np.abs(y_true - y_pred))))
    assert len(str(refused.value).splitlines()) == 2, refused.value


def natural(y_true, y_pred):
    return float(((y_true - y_pred) ** 2).mean())


@pytest.mark.parametrize("function", [natural, swallowing])
def test_a_metric_need_not_check_its_arrays(function):
    assert examine(planted(function))
    metric = admit(planted(function))
    truth = np.ones((4, 2))
    assert metric.compute({"y_true": truth, "y_pred": truth + 2.0}) == function(truth, truth + 2.0)
    for wrong in (truth * np.nan, truth[:2], truth.astype(str), truth[:0], truth[:, :1], None):
        with pytest.raises(UsageError, match="y_pred"):
            metric.compute({"y_true": truth, "y_pred": wrong})
        with pytest.raises((DataError, UsageError), match="y_"):
            metric.compute({"y_true": wrong, "y_pred": truth})


@pytest.mark.parametrize("problem", SHAPES)
def test_every_array_of_every_question_is_checked(problem):
    case = CASES[problem](np.random.default_rng(0))
    whole = {**case.truth, **case.perfect}
    for answered in (case.perfect, *case.ladder, *case.rivals):
        check_arrays(problem, {**case.truth, **answered})
    for name in SHAPES[problem]:
        values, error = np.asarray(whole[name]), UsageError if name in ANSWERS[problem] else DataError
        wrong = [
            values.astype(str),
            values[None] if values.ndim else np.zeros((3, 3, 3, 3)),
            values.astype(float) * np.nan,
        ]
        for broken in wrong:
            with pytest.raises((DataError, UsageError)):
                check_arrays(problem, {**whole, name: broken})
        with pytest.raises(error, match=name):
            check_arrays(problem, {**whole, name: wrong[-1]})


def test_what_speaks_against_a_metric_is_listed_one_a_line():
    with pytest.raises(UsageError) as raised:
        admit(planted(lambda y_true, y_pred: -1.0, range=(0.0, 1.0)))
    first, *findings = str(raised.value).splitlines()
    assert first == "the metric 'planted' is not admitted:"
    assert findings
    assert all(line.startswith("- ") and len(line) < 160 for line in findings)


def test_the_example_of_the_documentation_is_admitted(tmp_path):
    text = (Path(__file__).resolve().parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
    example = text.partition("[project.entry-points")[2].partition("```python\n")[2].partition("```")[0]
    (tmp_path / "my_package.py").write_text(example, encoding="utf-8")
    namespace = runpy.run_path(str(tmp_path / "my_package.py"))
    assert examine(namespace["METRIC"]) == ()
    assert admit(namespace["METRIC"]).name == "power_error"


def test_why_width_is_a_diagnostic():
    assert examine(dataclasses.replace(METRICS["mpiw"], diagnostic=False))
    assert examine(dataclasses.replace(METRICS["picp"], diagnostic=False))


@pytest.mark.parametrize("problem", SHAPES)
def test_every_kind_of_question_has_a_case(problem):
    case = CASES[problem](np.random.default_rng(0))
    again = CASES[problem](np.random.default_rng(0))
    assert set(case.truth) | set(case.perfect) == set(SHAPES[problem])
    assert set(case.perfect) == set(ANSWERS[problem])
    assert all((case.perfect[name] == again.perfect[name]).all() for name in case.perfect)
    assert len(case.ladder) >= 3


@pytest.mark.parametrize(
    "name", [name for name, metric in METRICS.items() if not metric.proper and not metric.diagnostic]
)
def test_why_these_do_not_rank(name):
    """Each is sound in hindsight, and won by an answer that knows nothing of the law it is about."""
    assert examine(METRICS[name]) == ()
    faults = examine(dataclasses.replace(METRICS[name], proper=True))
    assert len(faults) == 1
    assert "proper = False keeps it from ranking" in faults[0]


def test_a_gap_of_volatilities_is_admitted_only_if_it_does_not_rank():
    def volatility_gap(y_true, y_pred):
        y, f = pair(y_true, y_pred)
        return number("the gap", abs(float(f.std()) - float(y.std())))

    metric = planted(volatility_gap, "point", diagnostic=True, proper=False)
    assert admit(metric).name == "planted"

    def mixed(y_true, y_pred):
        return number("the mix", 0.01 * good(y_true, y_pred) + volatility_gap(y_true, y_pred))

    with pytest.raises(UsageError, match="scores as well as what is known of a law"):
        admit(planted(mixed))
    assert admit(planted(mixed, proper=False))


def test_what_is_a_law_for_each_kind_of_question():
    assert set(LAWS) == set(SHAPES)
    for problem, make in LAWS.items():
        law = make(np.random.default_rng(0))
        assert law.beaten or law.no_better
        assert {*law.truth, *law.honest} == set(SHAPES[problem])
        for rival in (*law.beaten, *law.no_better):
            assert {name: values.shape for name, values in rival.items()} == {
                name: values.shape for name, values in law.honest.items()
            }
