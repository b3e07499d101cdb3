import numpy as np
import pytest

from openfingym.answers import Part, Reference
from openfingym.answers.packing import pack
from openfingym.errors import DataError, UsageError
from openfingym.metrics.registry import find_metric
from openfingym.metrics.words import decided_accuracy, grouped_accuracy

TIERS = {("global", "T1"): (3, 4), ("global", "T2"): (1, 2), ("global", "T3"): (0, 5), ("china", "T1"): (1, 1)}
"""How many rows of each group are answered right, and how many there are."""


def rows() -> tuple[np.ndarray, np.ndarray]:
    truth, answers = [], []
    for group, (right, count) in TIERS.items():
        for number in range(count):
            truth.append(pack(Reference((Part("x", "number", 7.0 + number),), group=group).to_json(), 60))
            answers.append(pack(f"{7 + number} dollars" if number < right else "12.5", 60))
    return np.stack(truth), np.stack(answers)


def test_accuracies_are_those_of_the_published_averages() -> None:
    truth, answers = rows()
    assert decided_accuracy(truth, answers) == pytest.approx(5 / 12)
    assert grouped_accuracy(truth, answers) == pytest.approx(((0.75 + 0.5 + 0.0) / 3 + 1.0) / 2)
    assert find_metric("grouped_accuracy").compute({"y_true": truth, "y_pred": answers}) == pytest.approx(17 / 24)


def test_the_average_of_a_published_row() -> None:
    # Grok 4 of Table 5: three tiers of each subset, whose plain means are 68.9 and 51.9, and 60.4 over both.
    shares = {("g", 1): 87.3, ("g", 2): 68.1, ("g", 3): 51.2, ("c", 1): 64.9, ("c", 2): 67.0, ("c", 3): 23.9}
    truth, answers = [], []
    for (subset, tier), share in shares.items():
        count = 1000 if tier == 1 else 500  # of unlike sizes, which must not count
        reference = pack(Reference((Part("x", "number", 7.0),), group=(subset, str(tier))).to_json(), 40)
        hits = round(count * share / 100)
        truth += [reference] * count
        answers += [pack("7", 40)] * hits + [pack("8", 40)] * (count - hits)
    assert grouped_accuracy(np.stack(truth), np.stack(answers)) == pytest.approx(0.604, abs=5e-4)


def test_what_no_rule_can_tell_is_not_right_and_broken_rows_are_refused() -> None:
    truth = pack(Reference(text="about 740").to_json(), 60)[None]
    assert decided_accuracy(truth, pack("740", 60)[None]) == 0.0
    with pytest.raises(DataError, match="no references"):
        decided_accuracy(pack("{}", 60)[None], truth)
    with pytest.raises(UsageError, match="no packed text"):
        decided_accuracy(truth, truth + 0.5)


@pytest.mark.parametrize("name", ["decided_accuracy", "grouped_accuracy", "forecast_brier"])
def test_rows_that_are_drawn_give_what_the_metric_of_them_gives(name: str) -> None:
    generator = np.random.default_rng(0)
    truths, given = [], []
    for number in range(60):
        event = number % 2 == 0
        part = Part("p", "yes_no", bool(generator.integers(2))) if event else Part("p", "number", number + 1.0, "USD")
        truths.append(Reference((part,), group=("a", "b" if generator.integers(2) else "c") if event else ("d",)))
        said = ("yes", "NO 0.3", "") if event else (str(number + 1), "3", "")
        given.append(said[generator.integers(3)])
    y_true, y_pred = (np.stack([pack(text, 64) for text in texts]) for texts in ([t.to_json() for t in truths], given))
    metric = find_metric(name)
    assert metric.by_row is not None
    drawn = metric.by_row(y_true, y_pred)
    for rows in (np.arange(60), *generator.integers(0, 60, (10, 60))):
        assert drawn(rows) == metric.function(y_true[rows], y_pred[rows])
