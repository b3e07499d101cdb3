"""The registry, entry points, and the records' own claims."""

import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from openfingym.errors import UsageError
from openfingym.metrics.aggregation import FAMILIES
from openfingym.metrics.cases import CASES
from openfingym.metrics.registry import ENTRY_POINTS, METRICS, find_metric, third_party_metrics
from tests.sweeps import sweep

TABLE_6 = {
    "mse",
    "rmse",
    "mae",
    "delta_sharpe",
    "delta_var",
    "delta_es",
    "mafe",
    "mape",
    "smape",
    "r2",
    "r2_oos",
    "r2_zero",
    "dm_zero",
    "long_short_t",
    "long_short_sharpe",
    "pooled_var_gap",
    "pooled_es_gap",
    "pooled_sharpe_gap",
    "kupiec_rejection",
    "picp",
    "mpiw",
    "disc_fast",
    "pred_fast",
    "sig_mmd",
    "sig_w1",
    "autocorrelation_stationary",
    "onnd",
    "marginal",
    "correlation_l1",
    "covariance_frobenius",
}


def test_every_metric_of_the_paper_is_there():
    assert set(METRICS) >= TABLE_6


@pytest.mark.parametrize("name", METRICS)
def test_records_are_true(name):
    metric = METRICS[name]
    assert metric.name == name
    assert metric.answers
    assert set(metric.answers) <= set(metric.needs)
    assert metric.problem == "trading" or set(metric.answers) != set(metric.needs)
    assert metric.function.__doc__
    assert metric.stochastic == (metric.noise > 0.0)
    assert (metric.version > 1) == bool(metric.changed)
    assert metric.ranks == metric.proper, "what may be won by a worse answer is not proper either"
    parameters = inspect.signature(metric.function).parameters
    assert {*metric.needs, *metric.options, *metric.parameters} <= set(parameters)
    assert ("seed" in parameters) == metric.stochastic
    assert metric.shared is None or metric.problem in {"point", "forecast"}
    if metric.clip:
        assert metric.clip[0] < metric.clip[1]
        assert metric.clipped(1e9) == metric.clip[1]
        assert metric.clipped(-1e9) == metric.clip[0]


def test_compute_names_what_is_missing():
    with pytest.raises(UsageError, match="mape needs y_true, y_pred; missing: y_pred"):
        METRICS["mape"].compute({"y_true": np.ones(3)})


@pytest.mark.parametrize("name", sweep([n for n, m in METRICS.items() if m.stochastic and not m.heavy], 3))
def test_seeds_matter_less_than_a_step_of_the_ladder(name):
    metric, case = METRICS[name], CASES[METRICS[name].problem](np.random.default_rng(9))
    steps = [[metric.compute({**case.truth, **a}, seed) for seed in range(4)] for a in (case.perfect, *case.ladder)]
    assert max(np.ptp(values) for values in steps) <= metric.noise
    middles = [np.mean(values) for values in steps]
    assert middles == sorted(middles)


def test_options_reach_the_function_and_go_before_the_records_values():
    period = np.repeat(np.arange(12), 20)
    y, f = np.random.default_rng(0).standard_normal((2, period.size))
    arrays = {"y_true": y, "y_pred": f, "period": period}
    monthly, daily = (
        METRICS["long_short_sharpe"].compute(arrays, 0, options) for options in ({}, {"periods_per_year": 252.0})
    )
    assert daily / monthly == pytest.approx((252 / 12) ** 0.5)


def test_an_option_without_a_default_must_be_given():
    arrays = {"y_true": np.ones((2, 1, 1)), "y_pred": np.ones((2, 1, 1)), "last_value": np.ones((2, 1))}
    with pytest.raises(UsageError, match="delta_var needs the task's option semantics"):
        METRICS["delta_var"].compute(arrays)
    assert METRICS["delta_var"].compute(arrays, 0, {"semantics": "price_level"}) == 0.0


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(UsageError, match="did you mean smape"):
        find_metric("smapes")
    assert find_metric("auroc") is METRICS["auroc"]


PLUG_IN = """
import numpy as np
from openfingym.metrics.arrays import pair
from openfingym.metrics.record import Metric

def worst(y_true, y_pred):
    y, f = pair(y_true, y_pred)
    return float(np.abs(f - y).max()){flaw}

METRIC = Metric({name!r}, worst, "point", "largest absolute error", "unit", "this test", proper=False)
"""


def install(folder, name, flaw=""):
    """A real installed distribution, as pip would leave it."""
    (folder / "plugin.py").write_text(PLUG_IN.format(name=name, flaw=flaw))
    info = folder / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nworst = plugin:METRIC\n")


def ask(folder):
    program = f"""
        import sys
        sys.path.insert(0, {str(folder)!r})
        import numpy as np
        from openfingym.errors import UsageError
        from openfingym.metrics.registry import find_metric
        try:
            metric = find_metric("worst")
        except UsageError as error:
            print("refused:", error)
        else:
            print(metric.compute({{"y_true": np.zeros(3), "y_pred": np.arange(3.0)}}))
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    ).stdout


def test_a_package_adds_a_metric_by_entry_point(tmp_path):
    install(tmp_path, "worst")
    assert ask(tmp_path) == "2.0\n"


def test_one_that_wants_to_rank_must_be_proper(tmp_path):
    install(tmp_path, "worst")
    plugin = tmp_path / "plugin.py"
    plugin.write_text(plugin.read_text().replace(", proper=False", ""))
    assert "scores as well as what is known of a law; proper = False keeps it from ranking" in ask(tmp_path)


@pytest.mark.parametrize(
    ("name", "flaw", "words"),
    [
        ("worst", " + 1.0", "(?s)not admitted.*declared optimum"),
        ("mape", "", "takes a name that is taken"),
        ("worst", " / 0", "ZeroDivisionError"),
    ],
)
def test_a_flawed_or_clashing_one_is_refused(tmp_path, name, flaw, words):
    install(tmp_path, name, flaw)
    output = ask(tmp_path)
    assert output.startswith("refused:")
    assert re.search(words, output)


def test_without_plug_ins_there_is_nothing_more():
    assert dict(third_party_metrics()) == {}


def test_the_documentation_says_what_the_records_say():
    text = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
    rows = {
        cells[1].strip(" `"): [cell.strip() for cell in cells]
        for cells in (re.split(r"(?<!\\)\|", line) for line in text.splitlines())
        if len(cells) == 11
    }
    for name, metric in METRICS.items():
        assert rows[name][2:6] == [
            metric.problem,
            metric.description.replace("|", "\\|"),
            metric.unit,
            metric.direction,
        ]
        assert rows[name][8] == metric.source
        assert rows[name][9] == (metric.differs.replace("|", "\\|") or "none")
        assert ("diagnostic" in rows[name][7]) == metric.diagnostic
        assert ("not proper" in rows[name][7]) == (not metric.proper and not metric.diagnostic)
        versioned = f"version {metric.version}; in {metric.version - 1}, {metric.changed}"
        assert (versioned if metric.version > 1 else "version") in rows[name][7] or metric.version == 1
        assert ("version" in rows[name][7]) == (metric.version > 1)
        assert (f"noise {metric.noise:g}" in rows[name][7]) == metric.stochastic
        assert ("heavy" in rows[name][7]) == metric.heavy
        assert all(f"`{option}`" in rows[name][7] for option in metric.options)
        assert name in text
    for family in FAMILIES.values():
        assert f"| {family.name} | {family.description} |" in text


def test_the_documented_example_runs():
    text = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
    program = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0]
    names: dict[str, object] = {}
    exec(program, names)
    assert names["metric"].compute({"y_true": names["y_true"], "y_pred": names["y_pred"]}) == pytest.approx(
        1.42, abs=0.01
    )
