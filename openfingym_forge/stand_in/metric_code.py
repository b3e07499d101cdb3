"""Answers to the forge's prompts about metrics: a formula as code in two ways, tests of it, and a verdict on it."""

from __future__ import annotations

import json
import re

from openfingym.models.testing.conversation import CompletionRequest, Reply
from openfingym_forge.stand_in.formulas import FormulaError, Node, formula_of, parse, stated_by_name
from openfingym_forge.stand_in.programs_of_formulas import cell_by_cell, value_on, whole_arrays
from openfingym_forge.stand_in.prompts import answer_json, fenced_text, outside, prompt_of

WORDS = (
    (
        r"(?:share|fraction|percentage|proportion) of .{0,60}(?:sign|direction)",
        "(1/n) sum 1[sign(y) = sign(f)]",
        True,
        r"sign|direction|^DA$",
    ),
    (r"root[- ]mean[- ]squared? error", "sqrt(mean (y - f)^2)", False, r"RMSE|root mean"),
    (r"mean (?:of (?:the )?)?squared? error", "mean (y - f)^2", False, r"^MSE$|^mean squared? error"),
    (r"mean absolute error|mean of (?:the )?absolute errors?", "mean |y - f|", False, r"^MAE$|mean absolute error"),
)
"""Definitions in words: a pattern of the words, the formula, whether cells count only where the truth is not 0, and a
pattern of the metric's names."""
# Formulas by which papers define the area under the ROC curve and average precision.
AUROC = r"P\s*\(\s*s.{0,40}>\s*s|probability that .{0,60}(?:higher|greater) score"
PRECISION = r"\(\s*R_?\{?n\}?\s*-\s*R_?\{?n\s*-\s*1\}?\s*\)\s*P"
RANKING = {
    "AUROC": (
        """import numpy as np


def metric(labels, scores):
    ones, zeros = scores[labels == 1], scores[labels == 0]
    if not (ones.size and zeros.size):
        raise ValueError("both classes are needed")
    above = (ones[:, None] > zeros[None, :]).mean()
    ties = (ones[:, None] == zeros[None, :]).mean()
    return float(above + 0.5 * ties)
""",
        """def metric(labels, scores):
    rows = sorted(zip([float(s) for s in scores], [int(v) for v in labels]))
    ones = sum(label for _, label in rows)
    zeros = len(rows) - ones
    if ones == 0 or zeros == 0:
        raise ValueError("both classes are needed")
    won, below, place = 0.0, 0, 0
    while place < len(rows):
        end = place
        while end < len(rows) and rows[end][0] == rows[place][0]:
            end += 1
        tied_ones = sum(label for _, label in rows[place:end])
        tied_zeros = end - place - tied_ones
        won += tied_ones * below + 0.5 * tied_ones * tied_zeros
        below += tied_zeros
        place = end
    return won / (ones * zeros)
""",
    ),
    "AP": (
        """import numpy as np


def metric(labels, scores):
    if not (labels == 1).any():
        raise ValueError("a positive is needed")
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(labels[order] == 1)
    last = np.append(np.diff(scores[order]) != 0.0, True)
    recall = hits[last] / hits[-1]
    precision = hits[last] / (np.flatnonzero(last) + 1.0)
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))
""",
        """def metric(labels, scores):
    ones = sum(int(label) for label in labels)
    if ones == 0:
        raise ValueError("a positive is needed")
    total, before = 0.0, 0.0
    for threshold in sorted({float(score) for score in scores}, reverse=True):
        chosen = [int(label) for label, score in zip(labels, scores) if float(score) >= threshold]
        recall = sum(chosen) / ones
        total += (recall - before) * sum(chosen) / len(chosen)
        before = recall
    return total
""",
    ),
}


def metric_code(request: CompletionRequest) -> Reply:
    """The metric's code, on whole arrays in NumPy."""
    return _translated(request, 0)


def metric_code_again(request: CompletionRequest) -> Reply:
    """The metric's code once more, cell by cell: two translations that share nothing check each other."""
    return _translated(request, 1)


def metric_tests(request: CompletionRequest) -> Reply:
    """Tests of a metric: a value worked out by hand, the same result twice, and arguments left alone."""
    prompt = prompt_of(request)
    try:
        tree, masked = _formula(prompt)
        truth, forecast = [1.0, -2.0, 0.5, 3.0], [0.5, -1.0, -0.25, 2.5]
        value = value_on(tree, truth, forecast, masked=masked)
    except FormulaError as error:
        return answer_json({"cannot": str(error)})
    code = f"""import numpy as np

TRUTH = np.array({truth}).reshape(1, 4, 1)
FORECAST = np.array({forecast}).reshape(1, 4, 1)


def test_by_hand():
    assert abs(metric(TRUTH, FORECAST) - {value!r}) < 1e-9


def test_finite_and_the_same_twice():
    first = metric(TRUTH, FORECAST)
    assert isinstance(first, float) and np.isfinite(first)
    assert metric(TRUTH, FORECAST) == first


def test_arguments_are_left_alone():
    truth, forecast = TRUTH.copy(), FORECAST.copy()
    metric(truth, forecast)
    assert (truth == TRUTH).all() and (forecast == FORECAST).all()
"""
    return _block(code)


def metric_judge(request: CompletionRequest) -> Reply:
    """A verdict on a metric's code: its tests have passed, and it does nothing but arithmetic."""
    outcome, code = (fenced_text(prompt_of(request), label) for label in ("OUTCOME", "CODE"))
    if not re.fullmatch(r"\d+ tests passed", outcome.strip()):
        return answer_json({"verdict": "reject", "why": f"a test failed: {outcome.strip()[:200]}"})
    if re.search(r"\b(?:open|exec|eval|import os|import sys)\b", code):
        return answer_json({"verdict": "reject", "why": "it does more than compute"})
    return answer_json({"verdict": "accept", "why": "all tests passed, and the code is that of the formula"})


def _translated(request: CompletionRequest, way: int) -> Reply:
    prompt = prompt_of(request)
    asked = outside(prompt)
    if "labels" in asked:
        formula = fenced_text(prompt, "METRIC FORMULA")
        for name, pattern in (("AUROC", AUROC), ("AP", PRECISION)):
            if re.search(pattern, formula, re.DOTALL):
                return _block(RANKING[name][way])
    if "y_true, y_pred)" not in asked:
        return Reply(json.dumps({"cannot": "the formula does not say how it is computed from these arrays"}))
    try:
        tree, masked = _formula(prompt)
    except FormulaError as error:
        return Reply(json.dumps({"cannot": str(error)}))
    return _block((whole_arrays, cell_by_cell)[way](tree, masked=masked))


def _formula(prompt: str) -> tuple[Node, bool]:
    name, text = (fenced_text(prompt, label) for label in ("METRIC NAME", "METRIC FORMULA"))
    masked = bool(re.search(r"with\s+[a-z]\w*\s*(?:\\neq?|≠|!=)\s*0|where [a-z]+ (?:is|are) not (?:0|zero)", text))
    by_words = next(
        (rule for rule in WORDS if re.search(rule[0], text, re.I | re.S) and re.search(rule[3], name, re.I)), None
    )
    if by_words is not None and not stated_by_name(name, text):
        # The text has the formula of another metric, and defines this one in words.
        return parse(by_words[1]), by_words[2]
    try:
        return parse(formula_of(name, text)), masked
    except FormulaError:
        for pattern, formula, counts, _ in WORDS:
            if re.search(pattern, text, re.IGNORECASE | re.DOTALL):
                return parse(formula), counts
        raise


def _block(code: str) -> Reply:
    return Reply(f"```python\n{code}```")
