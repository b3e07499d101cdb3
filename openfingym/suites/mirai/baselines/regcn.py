"""RE-GCN (Li et al. 2021) for relations: a graph network over the events of each of the last days, with recurrent
states of countries and relations, and a convolution that decodes the relations of a pair.

It needs PyTorch: ``pip install 'openfingym[faithful]'``. Otherwise than the original: countries have no static
attributes, one layer and 48 numbers a country are enough for a graph of this size, and the losses are of relations
alone, which are what is asked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openfingym.errors import UsageError
from openfingym.suites.mirai.answers import CodeAnswer
from openfingym.suites.mirai.baselines.history import COUNTRIES, COUNTRY_NUMBER, RELATIONS, History, history_of
from openfingym.suites.mirai.baselines.past import best_threshold, named

if TYPE_CHECKING:
    import torch

    from openfingym.suites.mirai.baselines.past import Forecaster
    from openfingym.suites.mirai.question import RelationQuestion
    from openfingym.vault import View

WINDOW = 7
"""Days of events that a forecast looks at, as in the paper."""
WIDTH = 48
"""Numbers of a country and of a relation."""
VALIDATION_DAYS = 30
TRAINING_DAYS = 240
"""Days before those that are trained on."""


def fit_regcn(view: View, horizon: int = 1, *, seed: int = 0, epochs: int = 4) -> Forecaster:
    """Fit on what was known at a time.

    Args:
        view: what is learned from; its last month chooses the threshold.
        horizon: days from the current date to the day that is asked about.
        seed: seed of the weights and of the order of days.
        epochs: how often each day is trained on.

    Raises:
        UsageError: PyTorch is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise UsageError("RE-GCN needs PyTorch: pip install 'openfingym[faithful]'") from error
    history, rng = history_of(view), np.random.default_rng(seed)
    turn = history.last + 1 - VALIDATION_DAYS
    with torch.random.fork_rng(), _one_thread():
        torch.manual_seed(seed)
        network = _network()
        _train(network, history, range(max(turn - TRAINING_DAYS, WINDOW + horizon), turn), horizon, epochs, rng)
    network.eval()

    def chances(of: History, day: int, pairs: NDArray[np.int64], ahead: int) -> list[dict[str, float]]:
        with torch.no_grad(), _one_thread():
            scores = torch.sigmoid(network(_window(of, day, ahead), torch.from_numpy(pairs)))
        return [dict(zip(RELATIONS, row, strict=True)) for row in scores.tolist()]

    known: list[dict[str, float]] = []
    true: list[set[str]] = []
    for day in range(turn, history.last + 1):
        asked = history.questions(day, day + 1, 30, rng)
        if len(asked):
            known.extend(chances(history, day, asked[:, 1:], horizon))
            true.extend({RELATIONS[place] for place in np.flatnonzero(row)} for row in history.answers(asked))
    threshold = best_threshold(known, true)

    def forecast(view: View, question: RelationQuestion) -> CodeAnswer:
        of = history_of(view)
        pair = np.array([[COUNTRY_NUMBER[question.head], COUNTRY_NUMBER[question.tail]]])
        return named(chances(of, of.number(question.day), pair, question.horizon)[0], threshold)

    return forecast


def _train(network: Any, history: History, days: range, horizon: int, epochs: int, rng: np.random.Generator) -> None:
    """Each day in turn: the relations of its pairs, from the days before."""
    import torch

    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    loss_of = torch.nn.BCEWithLogitsLoss()
    answers = {}
    for day in days:
        asked = history.questions(day, day + 1, 300, rng)
        if len(asked):
            answers[day] = (torch.from_numpy(asked[:, 1:].copy()), torch.from_numpy(history.answers(asked)).float())
    for _ in range(epochs):
        for day in rng.permutation(list(answers)).tolist():
            pairs, true = answers[day]
            optimizer.zero_grad()
            loss = loss_of(network(_window(history, day, horizon), pairs), true)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """PyTorch with one thread: matrices this small only wait for the others."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _window(history: History, day: int, horizon: int) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Head, relation and tail of the events of each of the last days that are known, both ways round."""
    import torch

    graphs = []
    for number in range(day - horizon - WINDOW + 1, day - horizon + 1):
        rows = slice(*np.searchsorted(history.day, (number, number + 1)))
        head, relation, tail = history.head[rows], history.relation[rows], history.tail[rows]
        ways = (head, tail), (relation, relation + len(RELATIONS)), (tail, head)
        graphs.append(tuple(torch.from_numpy(np.concatenate(way)) for way in ways))
    return graphs


def _network() -> Any:
    """The module; it takes the graphs of a window and pairs int64[n, 2], and gives logits float32[n, relations]."""
    import torch
    from torch import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.countries = nn.Parameter(torch.randn(len(COUNTRIES), WIDTH) / WIDTH**0.5)
            self.relations = nn.Parameter(torch.randn(2 * len(RELATIONS), WIDTH) / WIDTH**0.5)
            self.message = nn.Linear(WIDTH, WIDTH, bias=False)
            self.loop = nn.Linear(WIDTH, WIDTH, bias=False)
            self.country_state = nn.GRUCell(WIDTH, WIDTH)
            self.relation_state = nn.GRUCell(2 * WIDTH, WIDTH)
            self.convolution = nn.Conv1d(2, 24, 3, padding=1)
            self.decode = nn.Linear(24 * WIDTH, WIDTH)
            self.bias = nn.Parameter(torch.full((len(RELATIONS),), -4.0))

        def forward(self, graphs: list[tuple[torch.Tensor, ...]], pairs: torch.Tensor) -> torch.Tensor:
            states, relations = nn.functional.normalize(self.countries), self.relations
            for head, relation, tail in graphs:
                if not len(head):
                    continue
                # A relation follows the countries that it was between on the day.
                joined = _mean(states[head], relation, len(relations))
                relations = self.relation_state(torch.cat((joined, self.relations), dim=1), relations)
                received = _mean(self.message(states[head] + relations[relation]), tail, len(states))
                seen = nn.functional.rrelu(received + self.loop(states), training=self.training)
                states = nn.functional.normalize(self.country_state(seen, states))
            both = torch.stack((states[pairs[:, 0]], states[pairs[:, 1]]), dim=1)
            decoded = self.decode(torch.relu(self.convolution(both)).flatten(1))
            logits: torch.Tensor = decoded @ relations[: len(RELATIONS)].T + self.bias
            return logits

    return Network()


def _mean(values: torch.Tensor, groups: torch.Tensor, count: int) -> torch.Tensor:
    """Mean of the rows of each group; zeros for an empty one."""
    sums = values.new_zeros(count, values.shape[1]).index_add(0, groups, values)
    sizes = values.new_zeros(count).index_add(0, groups, values.new_ones(len(groups)))
    return sums / sizes.clamp(min=1.0)[:, None]
