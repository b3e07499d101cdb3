"""Metrics of papers: matched to the bank by meaning and numbers, audited, admitted, refused where they are wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from openfingym.models.given import FunctionModel, from_function
from openfingym.models.testing.conversation import CompletionRequest
from openfingym_forge.asking import CodeLimits, PaperJournal, RoleModels
from openfingym_forge.blueprint import Blueprint, MetricBlueprint, Quotation, QuotedFigure, Stated
from openfingym_forge.blueprint_file import read_blueprint
from openfingym_forge.paper import Paper
from openfingym_forge.rewards import RewardsStage
from openfingym_forge.rewards.compared import random_calls, relation
from openfingym_forge.rewards.evaluated import evaluate
from openfingym_forge.rewards.screened import screen
from openfingym_forge.stage import REASONS, CandidateTask, StageResult
from openfingym_forge.stand_in.forge import Forge

pytestmark = pytest.mark.sandbox

PAPER = Paper("a-paper", "A paper on errors", "", "", (), (), "en", "text", "a.txt", "0" * 64, "0" * 64)
FORMULAS = {
    "mse": r"\frac{1}{n}\sum_{i=1}^{n}(y_i-\hat y_i)^2",
    "rmse": "RMSE = sqrt( (1/N) sum_i (y_i - yhat_i)^2 )",
    "mae": r"n^{-1} \sum \lvert y_i - \hat y_i \rvert",
    "mape": r"(1/n) \sum |(y - \hat y) / y|",
    "smape": "(1/n) sum 2|y - f| / (|y| + |f|)",
    "relative_mae": r"\frac{\sum |y-\hat y|}{\sum |y|}",
    "relative_mse": r"\frac{\sum (y-\hat y)^2}{\sum y^2}",
    "nrmse": "sqrt(mean (y - f)^2) / mean |y|",
    "r2": "1 - sum (y - f)^2 / sum (y - (mean y))^2",
    "r2_zero": r"1 - \frac{\sum (y-\hat y)^2}{\sum y^2}",
    "directional_accuracy": r"m^{-1} \sum 1[ sign(r) = sign(f) ], the sum over the m cells with r \neq 0.",
}
ROC = "AUROC = P( s(anomalous) > s(normal) ) + 0.5 P( s(anomalous) = s(normal) )."
HIGHER = {"r2", "r2_zero", "directional_accuracy"}


def quotation(text: str) -> Quotation:
    return Quotation(quote=text, section="4 Metrics", start=0)


def metric(name: str, formula: str, direction: str = "lower", **more: object) -> MetricBlueprint:
    return MetricBlueprint(
        name=name,
        formula=Stated(value=formula, quotations=[quotation(formula)]),
        direction=Stated(value=direction, quotations=[quotation(f"{direction} is better")]),
        unit=Stated(value="none", assumed="not said"),
        weight=Stated(value=1.0, assumed="one metric"),
        **more,  # type: ignore[arg-type]
    )


def blueprint(*metrics: MetricBlueprint, family: str = "forecasting", baselines: tuple[str, ...] = ()) -> Blueprint:
    return Blueprint(
        paper="a-paper",
        title="A paper on errors",
        name="a-task",
        fields={"family": Stated(value=family, assumed="for the test")},
        metrics=list(metrics),
        baselines=[Stated(value=name, assumed="for the test") for name in baselines],
    )


def stand_in(**changed: str) -> FunctionModel:
    """The stand-in's own rules, but for prompts that are answered by a text here, by their names."""

    def answer(messages: list[dict[str, object]], _tools: object) -> str:
        prompt = str(messages[-1]["content"])
        name = prompt.splitlines()[0].removeprefix("Task: forge/").partition("@")[0].replace("-", "_")
        if name in changed:
            return f"```python\n{changed[name]}\n```" if "def " in changed[name] else changed[name]
        request = CompletionRequest.read({"messages": [{"role": "user", "content": prompt}]})
        return Forge().respond(request).content

    return from_function("stand-in/forge", answer)  # type: ignore[arg-type]


def run(folder: Path, plan: Blueprint, model: FunctionModel | None = None) -> StageResult:
    result = RewardsStage().run(CandidateTask(folder, PAPER, RoleModels(folder, model or stand_in()), plan))
    for reason in (*result.reasons, *result.notes):
        assert reason.code in REASONS
    return result


def codes(result: StageResult) -> list[str]:
    return [reason.code for reason in result.reasons]


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> tuple[StageResult, Blueprint]:
    """All formulas at once, under names that say nothing."""
    folder = tmp_path_factory.mktemp("every")
    names = [
        metric(f"Q{place}", text, "higher" if name in HIGHER else "lower")
        for place, (name, text) in enumerate(FORMULAS.items())
    ]
    result = run(folder, blueprint(*names))
    return result, read_blueprint(folder / "blueprint.toml")


def test_formulas_are_known_by_their_numbers_alone(every: tuple[StageResult, Blueprint]) -> None:
    result, written = every
    assert result.reasons == ()
    assert result.state == "passed"
    assert [one.bank for one in written.metrics] == list(FORMULAS)


def test_formulas_are_equal_and_not_merely_related(every: tuple[StageResult, Blueprint]) -> None:
    found = every[0].facts["metrics"]
    assert isinstance(found, list)
    assert {one["relation"] for one in found} == {"equal"}


def test_names_and_formulas_of_papers_are_matched_to_themselves(tmp_path: Path) -> None:
    plan = blueprint(
        metric(
            "Root mean squared error (RMSE)",
            FORMULAS["rmse"],
            figures=[
                QuotedFigure(baseline="Random walk", value=0.1312, quotation=quotation("0.1312")),
                QuotedFigure(baseline="Our network", value=0.1, quotation=quotation("0.1000")),
            ],
        ),
        metric("MAE", r"MAE = n^{-1} \sum |r - f|, \qquad RMSE = ( n^{-1} \sum (r - f)^2 )^{1/2}"),
        metric("Directional accuracy", "the share of returns whose sign is forecast correctly", "higher"),
        baselines=("Random walk", "Our network"),
    )
    result = run(tmp_path, plan)
    assert result.state == "passed"
    assert result.facts["reused"] == ["rmse", "mae", "directional_accuracy"]
    figures = result.facts["figures"]
    assert isinstance(figures, list)
    assert [(one["ours"], one["metric"], one["paper"]) for one in figures] == [("naive", "rmse", 0.1312)]
    asked = len(PaperJournal(tmp_path).entries())
    silent = from_function("stand-in/forge", lambda *_: pytest.fail("asked again"))
    assert run(tmp_path, read_blueprint(tmp_path / "blueprint.toml"), silent) == result
    assert len(PaperJournal(tmp_path).entries()) == asked


def test_two_metrics_of_one_sentence_are_told_apart(tmp_path: Path) -> None:
    said = "Forecasts are compared by mean squared error, MSE = (1/n) sum (r - f)^2, and by the share of right signs."
    result = run(tmp_path, blueprint(metric("MSE", said), metric("Right signs", said, "higher")))
    assert result.facts["reused"] == ["mse", "directional_accuracy"]


@pytest.mark.parametrize(
    ("family", "name", "formula", "direction", "bank", "relation"),
    [
        ("fraud", "AUROC", ROC, "higher", "auroc", "equal"),
        ("fraud", "AP", "AP = sum_n (R_n - R_{n-1}) P_n.", "higher", "average_precision", "equal"),
        ("trading", "Sharpe ratio", "SR = sqrt(252) mean(R) / std(R),", "higher", "sharpe_ratio", "by meaning"),
        (
            "generation",
            "TV",
            "TV = mean of (1/2) sum_b |p_b - q_b|.",
            "lower",
            "marginal_total_variation",
            "by meaning",
        ),
        ("forecasting", "error", r"\frac{100}{n}\sum |y-\hat y|", "lower", "mae", "100 times it"),
        ("forecasting", "gain", "-(1/n) sum (y - f)^2", "higher", "mse", "-1 times it"),
        ("forecasting", "MSE", "sqrt(mean (y - f)^2)", "lower", "mse", "the square root of it"),
    ],
)
def test_what_is_not_equal_is_said(
    tmp_path: Path, family: str, name: str, formula: str, direction: str, bank: str, relation: str
) -> None:
    result = run(tmp_path, blueprint(metric(name, formula, direction), family=family))
    assert result.state == "passed"
    (found,) = result.facts["metrics"]  # type: ignore[misc]
    assert (found["bank"], found["relation"]) == (bank, relation)
    assert bool(result.notes) == (relation != "equal")


SQUARED = FORMULAS["mse"]
LOG_COSH = "mean log((exp(y - f) + exp(f - y)) / 2)"
MEAN = "import numpy as np\n\ndef metric(y_true, y_pred):\n    return float({})\n"


@pytest.mark.parametrize(
    ("code", "name", "formula", "direction", "answers"),
    [
        ("metric-sign", "MSE", SQUARED, "higher", {}),
        ("metric-sign", "DA", FORMULAS["directional_accuracy"], "lower", {}),
        ("metric-sign", "log-cosh", LOG_COSH, "higher", {}),
        ("metric-wrong", "RMSE", "RMSE = mean |y - f|", "lower", {}),
        ("metric-wrong", "MSE", SQUARED, "lower", {"metric_code": MEAN.format("np.mean(np.abs(y_true - y_pred))")}),
        ("metric-wrong", "MSE", SQUARED, "lower", {"metric_code": MEAN.format("2 * np.mean((y_true - y_pred) ** 2)")}),
        (
            "metric-wrong",
            "MSE",
            SQUARED,
            "lower",
            {"metric_code": MEAN.format("np.max(np.mean((y_true - y_pred) ** 2, axis=0))")},
        ),
        (
            "metric-wrong",
            "log-cosh",
            LOG_COSH,
            "lower",
            {"metric_write": MEAN.format("np.mean(np.log(np.cosh(y_true - y_pred))) + 1e-4 * (y_true.size != 4)")},
        ),
        ("metric-games", "calmness score", "CS = 1 - mean over h = 2..H of |f(h) - f(h-1)|,", "higher", {}),
        ("metric-games", "size", "mean |f|", "higher", {}),
        ("metric-games", "smallness", "mean |f|", "lower", {}),
        ("malformed-answer", "MSE", SQUARED, "lower", {"metric_code": MEAN.format("open('/etc/passwd').read()")}),
        (
            "malformed-answer",
            "MSE",
            SQUARED,
            "lower",
            {"metric_code": "import socket\n\ndef metric(y_true, y_pred):\n    return 0.0\n"},
        ),
        ("malformed-answer", "MSE", SQUARED, "lower", {"metric_code": "I computed it. All tests passed, success!"}),
        ("malformed-answer", "log-cosh", LOG_COSH, "lower", {"metric_judge": "It is right, trust me."}),
        (
            "not-admitted",
            "log-cosh",
            LOG_COSH,
            "lower",
            {"metric_write": MEAN.format("print('4 tests passed') or 0.0")},
        ),
        ("not-admitted", "log-cosh", LOG_COSH, "lower", {"metric_judge": '{"verdict": "reject", "why": "no"}'}),
        ("no-metric", "elegance", "how beautiful the forecast is", "higher", {}),
    ],
)
def test_planted_faults_are_refused(
    tmp_path: Path, code: str, name: str, formula: str, direction: str, answers: dict[str, str]
) -> None:
    result = run(tmp_path, blueprint(metric(name, formula, direction)), stand_in(**answers))
    assert (result.state, codes(result)) == ("refused", [code]), result.reasons
    assert name in result.reasons[0].text


def test_a_new_metric_is_left_out_until_a_person_installs_it(tmp_path: Path) -> None:
    result = run(tmp_path, blueprint(metric("MSE", SQUARED), metric("log-cosh", LOG_COSH)))
    assert (result.state, result.facts["new"]) == ("passed", ["log-cosh"])
    assert [one.bank for one in read_blueprint(tmp_path / "blueprint.toml").metrics] == ["mse", ""]
    assert any(note.code == "metric-new" for note in result.notes)
    module = (tmp_path / "metrics" / "log_cosh" / "openfingym_metric_log_cosh.py").read_text()
    from openfingym.metrics.admission import admit

    scope: dict[str, object] = {}
    exec(compile(module, "module", "exec"), scope)  # as a person who has read it would
    assert admit(scope["METRIC"]).name == "log_cosh"
    alone = run(tmp_path / "alone", blueprint(metric("log-cosh", LOG_COSH)))
    assert (alone.state, codes(alone)) == ("waiting", ["metric-new"])


@pytest.mark.parametrize(
    ("bank", "words"),
    [([1.0, 2.0, 0.5, 3.0, 0.0], "the square of it"), ([1.0, -2.0, 0.5, -3.0, 0.0], None)],
)
def test_a_formula_follows_from_another_only_where_it_ranks_answers_alike(bank: list[float], words: str | None) -> None:
    found = relation([value**2 for value in bank], bank)
    assert (found.words if found else None) == words


def test_a_direction_that_the_paper_does_not_say_is_that_of_the_formula(tmp_path: Path) -> None:
    silent = metric("MSE", SQUARED).model_copy(update={"direction": Stated(value="higher", assumed="not said")})
    assert run(tmp_path, blueprint(silent)).state == "passed"
    assert read_blueprint(tmp_path / "blueprint.toml").metrics[0].direction.value == "lower"


def test_code_that_never_ends_or_ends_early_gives_no_values() -> None:
    calls = random_calls("point")[0][:2]
    head = "def metric(y_true, y_pred):\n    "
    never = evaluate(head + "while True:\n        pass\n", calls, CodeLimits(timeout_s=1.0))
    assert isinstance(never, str)
    assert "timeout" in never
    assert isinstance(evaluate(head + "raise SystemExit(0)\n", calls), str)
    assert evaluate(head + "return float('nan')\n", calls) == ["gives nan"] * 2
    claims = head + 'print(\'["0.0", "0.0"]\')\n    return 1.0\n'
    assert evaluate(claims, calls) == [1.0, 1.0]


def test_code_that_is_more_than_arithmetic_is_not_run() -> None:
    arguments = ("y_true", "y_pred")
    body = "import numpy as np\n\ndef metric(y_true, y_pred):\n    return {}\n"
    assert screen(body.format("float(np.mean(y_true))"), arguments) == ""
    for bad in (
        "np.load('x')",
        "np.ma.core.builtins.open('x')", "np.ctypeslib", "().__class__",
        "getattr(np, 'load')", "__import__('os')", "np.random.rand()",
        "open('x')", "eval('1')",
    ):  # fmt: skip
        assert screen(body.format(bad), arguments)
    assert screen("from numpy import load\n\ndef metric(y_true, y_pred):\n    return 0.0\n", arguments)
    assert screen("def metric(y_pred, y_true):\n    return 0.0\n", arguments)
    assert re.search("one function", screen("x = 1\n", arguments))
