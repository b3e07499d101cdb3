"""RE-GCN (Li et al. 2021) for relations: a graph network over the events of each of the last days, with recurrent
states of countries and relations, and a convolution that decodes the relations of a pair.

It needs PyTorch: ``pip install 'openfingym[faithful]'``. It differs from the original in three ways: countries have no
static attributes; there is one layer, and 48 numbers a country, which are enough for a graph of this size; and the loss
is that of relations alone, since only they are asked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openfingym.errors import UsageError
from openfingym_suites.mirai.answers import CodeAnswer
from openfingym_suites.mirai.baselines.history import (
    COUNTRIES,
    COUNTRY_NUMBER,
    RELATIONS,
    VALIDATION_DAYS,
    History,
    history_of,
)
from openfingym_suites.mirai.baselines.past import best_threshold, named

if TYPE_CHECKING:
    import torch

    from openfingym.vault import View
    from openfingym_suites.mirai.baselines.past import Forecaster
    from openfingym_suites.mirai.question import RelationQuestion

WINDOW = 7
"""Days of events that a forecast looks at, as in the paper."""
WIDTH = 48
"""How many numbers represent a country, and a relation."""
TRAINING_DAYS = 240
"""Days that are trained on; the last 30 days of what is known, after them, choose the threshold."""


def fit_regcn(view: View, horizon: int = 1, *, seed: int = 0, epochs: int = 4) -> Forecaster:
    """Fit on what was known at a time.

    Args:
        view: the view to learn from; its last 30 days choose the threshold.
        horizon: days from the current date to the day that is asked about.
        seed: seed of the weights, of the drawing of questions, and of the order of days.
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
    # PyTorch draws from a generator of the process, which is put back as it was.
    with torch.random.fork_rng(), _one_thread():
        torch.manual_seed(seed)
        network = _network()
        _train(network, history, range(max(turn - TRAINING_DAYS, WINDOW + horizon), turn), horizon, epochs, rng)
    network.eval()

    def chances(known: History, day: int, pairs: NDArray[np.int64], ahead: int) -> list[dict[str, float]]:
        with torch.no_grad(), _one_thread():
            scores = torch.sigmoid(network(_window(known, day, ahead), torch.from_numpy(pairs)))
        return [dict(zip(RELATIONS, row, strict=True)) for row in scores.tolist()]

    forecasts: list[dict[str, float]] = []
    true: list[set[str]] = []
    for day in range(turn, history.last + 1):
        asked = history.questions(day, day + 1, 30, rng)
        if len(asked):
            forecasts.extend(chances(history, day, asked[:, 1:], horizon))
            true.extend({RELATIONS[place] for place in np.flatnonzero(row)} for row in history.answers(asked))
    threshold = best_threshold(forecasts, true)

    def forecast(view: View, question: RelationQuestion) -> CodeAnswer:
        known = history_of(view)
        pair = np.array([[COUNTRY_NUMBER[question.head], COUNTRY_NUMBER[question.tail]]])
        return named(chances(known, known.number(question.day), pair, question.horizon)[0], threshold)

    return forecast


def _train(network: Any, history: History, days: range, horizon: int, epochs: int, rng: np.random.Generator) -> None:
    """Train a network on each day in turn: on the relations of its pairs, from the days before.

    Args:
        network: the module of :func:`_network`.
        history: the events of the view.
        days: days to train on, in days since the first event.
        horizon: days from the current date to the day that is asked about.
        epochs: how often each day is trained on.
        rng: generator that draws questions and the order of days.
    """
    import torch

    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    loss_of = torch.nn.BCEWithLogitsLoss()
    # The questions of a day are drawn once, and are the same in each epoch.
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
    """PyTorch with one thread: for matrices this small, more threads cost more than they save."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _window(history: History, day: int, horizon: int) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Head, relation and tail of the events of each of the last days that are known, the oldest day first.

    Each event is there twice, the other way round too, so that messages pass in both directions.
    """
    import torch

    graphs = []
    for number in range(day - horizon - WINDOW + 1, day - horizon + 1):
        rows = slice(*np.searchsorted(history.day, (number, number + 1)))
        head, relation, tail = history.head[rows], history.relation[rows], history.tail[rows]
        # The inverse of a relation is a relation of its own, with a number behind all others.
        ways = (head, tail), (relation, relation + len(RELATIONS)), (tail, head)
        graphs.append(tuple(torch.from_numpy(np.concatenate(way)) for way in ways))
    return graphs


def _network() -> Any:
    """The module. It takes the graphs of a window and pairs of head and tail, int64[pairs, 2], and gives the logits of
    their relations, float32[pairs, relations].
    """
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
            # Near the base rate from the start: a pair has few of 149 relations on a day, and sigmoid(-4) is 2 percent.
            self.bias = nn.Parameter(torch.full((len(RELATIONS),), -4.0))

        def forward(self, graphs: list[tuple[torch.Tensor, ...]], pairs: torch.Tensor) -> torch.Tensor:
            states, relations = nn.functional.normalize(self.countries), self.relations
            for head, relation, tail in graphs:
                if not len(head):
                    continue
                # The state of a relation is updated by the mean of the countries that it was between on the day.
                joined = _mean(states[head], relation, len(relations))
                relations = self.relation_state(torch.cat((joined, self.relations), dim=1), relations)
                # A country gets a message from each neighbour, about the neighbour and the relation between them.
                received = _mean(self.message(states[head] + relations[relation]), tail, len(states))
                seen = nn.functional.rrelu(received + self.loop(states), training=self.training)
                states = nn.functional.normalize(self.country_state(seen, states))
            both = torch.stack((states[pairs[:, 0]], states[pairs[:, 1]]), dim=1)
            decoded = self.decode(torch.relu(self.convolution(both)).flatten(1))
            # Inverse relations are only there for the messages, and are not asked for.
            logits: torch.Tensor = decoded @ relations[: len(RELATIONS)].T + self.bias
            return logits

    return Network()


def _mean(values: torch.Tensor, groups: torch.Tensor, count: int) -> torch.Tensor:
    """Mean of the rows of each group, float32[count, width]; zeros for an empty group."""
    sums = values.new_zeros(count, values.shape[1]).index_add(0, groups, values)
    sizes = values.new_zeros(count).index_add(0, groups, values.new_ones(len(groups)))
    return sums / sizes.clamp(min=1.0)[:, None]
