"""A model that learns here, and one that cannot: ``python examples/training/learns.py``.

A transformer of 10,000 parameters is trained from scratch with GRPO, in plain PyTorch. It writes programs token by
token, in a grammar of which every sentence is a program. Each program runs in a sandbox, submits its forecasts, and is
paid the reward that the verifier gives for them; nothing is scored here. It trains on instances of the split ``train``
and is examined, before and after, on instances of ``validation``.

It does so on two tasks that are made on the spot. In one, returns revert to their mean, so that the last two of them
tell the next. In the other they are independent, with the same variance: there is nothing to learn. The forecasts of
all programs have the same variance as well, so that all have the same expected loss there, and whoever rises on this
task has seen what is hidden. The exit status is 1 unless the model rises on the first and does not on the second.

The extra ``faithful`` brings PyTorch: ``pip install openfingym[faithful]``.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from openfingym.training import Desk

SIGNAL, CONTROL = "reverting-returns", "independent-returns"
WEIGHTS = {SIGNAL: (-0.6, -0.3), CONTROL: (0.0, 0.0)}
"""What the last two returns tell of the next."""
ROWS, SERIES = 6000, tuple("abcdefghijkl")
LAGS = 3
"""Returns that a program may look back."""
MARGIN = 0.2
"""Rise of the mean reward, on its scale from -1 to 1, that counts as learning; the control may rise by half of it."""
START, END = "<start>", "<end>"
SIGNS = ("+", "-")
RETURNS = tuple(f"x[:, -{lag}]" for lag in range(1, LAGS + 1))
GRAMMAR = (
    ("import interface\n",),
    ("interface.predict_each(lambda x: ",),
    ("(0.42 * (",),  # of two returns: 0.6 standard deviations, whichever they are
    SIGNS,
    RETURNS,
    SIGNS,
    RETURNS,  # but not the same
    ("))",),
    ("[:, None])\n",),
    (END,),
)
"""What may stand at each place of a program."""
VOCABULARY = (START, *dict.fromkeys(token for choice in GRAMMAR for token in choice))
TASK = """schema_version = "1.4"
[task]
name = "examples/{name}"
version = "1.0.0"
description = "Forecast the next return of a few simulated series."
[metadata.openfingym]
format = 1
family = "forecasting"
asset_class = "synthetic"
frequency = "none"
panel = "{rows} rows of {series} simulated series"
[metadata.openfingym.dataset]
file = "data.csv"
measure = "price"
kind = "simulated"
source = "examples/training/learns.py, seed {seed}"
licence = "Apache-2.0"
dates = false
[metadata.openfingym.split]
train = 0.8
public = 0.1
private = 0.1
train_stride = 1
embargo = 1
[metadata.openfingym.contract]
kind = "forecast"
lookback = {lookback}
horizon = 1
value_semantics = "log_return"
unit = "log return"
low = -1.0
high = 1.0
[metadata.openfingym.scoring]
baseline = "naive"
[[metadata.openfingym.scoring.metrics]]
name = "mse"
weight = 1.0
[metadata.openfingym.verification]
budget = 1
[metadata.openfingym.provenance]
paper = "none: an example"
[agent]
timeout_sec = 60.0
[environment]
network_mode = "no-network"
cpus = 1
memory_mb = 1024
storage_mb = 64
"""


def make_task(name: str, folder: Path, seed: int) -> Path:
    """Write the folder of a task whose series are simulated: prices, of which it takes the returns."""
    rng = np.random.default_rng([seed, len(name)])
    first, second = WEIGHTS[name]
    shocks = rng.standard_normal((ROWS + 100, len(SERIES)))
    returns = shocks.copy()
    for t in range(2, len(returns)):
        returns[t] += first * returns[t - 1] + second * returns[t - 2]
    # The variance of such a process, from the Yule-Walker equations.
    correlation = first / (1 - second)
    deviation = math.sqrt(1 / (1 - first * correlation - second * (first * correlation + second)))
    prices = 100 * np.exp(np.cumsum(0.01 * returns[100:] / deviation, axis=0))
    at = folder / name
    at.mkdir()
    table = np.column_stack([np.arange(ROWS), prices])
    np.savetxt(at / "data.csv", table, "%.10g", ",", header=",".join(["row", *SERIES]), comments="")
    values = {"name": name, "rows": ROWS, "series": len(SERIES), "seed": seed, "lookback": 4 * LAGS}
    (at / "task.toml").write_text(TASK.format(**values))
    (at / "instruction.md").write_text("# Returns\n\nForecast the next return of each series, which are simulated.\n")
    return at


class Writer(nn.Module):
    """A transformer with one layer that reads a program's tokens so far and tells the next."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.tokens = nn.Embedding(len(VOCABULARY), width)
        self.places = nn.Embedding(len(GRAMMAR), width)
        layer = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.0, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(width, len(VOCABULARY))
        nn.init.zeros_(self.head.weight)  # every program is as likely as any other
        nn.init.zeros_(self.head.bias)

    def forward(self, tokens: Tensor) -> Tensor:
        """Log probabilities of what may follow, float[programs, places, vocabulary], of int[programs, places]."""
        places = tokens.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(places)
        seen = self.tokens(tokens) + self.places(torch.arange(places))
        logits = self.head(self.body(seen, mask=causal, is_causal=True))
        return torch.log_softmax(logits.masked_fill(~_allowed(tokens), -math.inf), dim=-1)

    @torch.no_grad()
    def write(self, count: int, generator: torch.Generator) -> Tensor:
        """Programs, int[count, places + 1], each of which begins with the start."""
        tokens = torch.full((count, 1), VOCABULARY.index(START))
        for _ in GRAMMAR:
            following = torch.multinomial(self(tokens)[:, -1].exp(), 1, generator=generator)
            tokens = torch.cat([tokens, following], dim=1)
        return tokens

    def log_probabilities(self, programs: Tensor) -> Tensor:
        """Of each program, float[programs]."""
        found = self(programs[:, :-1]).gather(2, programs[:, 1:, None])
        return found.sum(dim=(1, 2))


def _allowed(tokens: Tensor) -> Tensor:
    """What may follow each token, bool[programs, places, vocabulary]."""
    allowed = torch.zeros(*tokens.shape, len(VOCABULARY), dtype=torch.bool)
    for place in range(tokens.shape[1]):
        allowed[:, place, [VOCABULARY.index(token) for token in GRAMMAR[place]]] = True
    second = [place for place, choice in enumerate(GRAMMAR) if choice == RETURNS][1]
    if tokens.shape[1] > second:
        allowed[torch.arange(len(tokens)), second, tokens[:, second - 1]] = False
    return allowed


def text(program: Tensor) -> str:
    """The source of a program, int[places + 1]."""
    return "".join(VOCABULARY[token] for token in program[1:-1])


Run = tuple[str, int, str]
"""A task, an instance of it, and the source of a program."""


class Rewards:
    """Verified rewards of programs on instances of one split. A program is run once on an instance: it does not roll
    dice.
    """

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.known: dict[Run, float | None] = {}

    def of(self, runs: Sequence[Run]) -> list[float | None]:
        """The rewards; None where the machinery failed."""
        new = [run for run in dict.fromkeys(runs) if self.known.get(run) is None]
        answers = [f"```python\n{source}```" for _, _, source in new]
        played = self.desk.group_sync([(task, index) for task, index, _ in new], answers, deadline_s=120.0)
        for run, one in zip(new, played, strict=True):
            self.known[run] = one.reward
        failures = Counter(one.failure for one in played if one.reward is None)
        for failure, count in failures.items():
            print(f"no reward for {count} of {len(played)} programs: {failure}", file=sys.stderr)
        if failures.total() > len(played) / 2:
            sys.exit("most programs have no reward")
        return [self.known[run] for run in runs]


def step(writer: Writer, optimizer: torch.optim.Optimizer, programs: Tensor, rewards: Tensor) -> None:
    """One step of GRPO.

    Args:
        writer: what is trained, and wrote the programs.
        optimizer: what changes the parameters of the writer.
        programs: int[instances, group, places + 1].
        rewards: float[instances, group]; NaN where there is none, which then neither counts nor is learnt from.
    """
    mean = rewards.nanmean(dim=1, keepdim=True)
    deviation = (rewards - mean).square().nanmean(dim=1, keepdim=True).sqrt()
    advantages = ((rewards - mean) / (deviation + 0.05)).nan_to_num().flatten()
    loss = -(advantages * writer.log_probabilities(programs.flatten(0, 1))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


@dataclass
class Learner:
    """A model, and how it fares on one task."""

    task: str
    seed: int

    def __post_init__(self) -> None:
        torch.manual_seed(self.seed)
        self.writer = Writer()
        self.optimizer = torch.optim.Adam(self.writer.parameters(), lr=0.02)
        self.generator = torch.Generator().manual_seed(self.seed)
        self.curve: list[float] = []

    def examined(self, instances: int, each: int) -> list[Run]:
        """What it writes for the held-out instances, the same number for each."""
        programs = self.writer.write(instances * each, torch.Generator().manual_seed(self.seed + 1))
        return [(self.task, number // each, text(program)) for number, program in enumerate(programs)]


def train(learners: Sequence[Learner], rewards: Rewards, options: argparse.Namespace) -> None:
    """Train each on its task; all their programs of a step run at once."""
    for number in range(options.steps):
        started = time.monotonic()
        indices = range(number * options.instances, (number + 1) * options.instances)
        written = [one.writer.write(options.instances * options.group, one.generator) for one in learners]
        runs = [
            (one.task, indices[place // options.group], text(program))
            for one, programs in zip(learners, written, strict=True)
            for place, program in enumerate(programs)
        ]
        found = torch.tensor([math.nan if reward is None else reward for reward in rewards.of(runs)])
        for one, programs, paid in zip(learners, written, found.chunk(len(learners)), strict=True):
            shape = options.instances, options.group
            step(one.writer, one.optimizer, programs.unflatten(0, shape), paid.unflatten(0, shape))
            one.curve.append(paid.nanmean().item())
        told = ", ".join(f"{one.task} {one.curve[-1]:+.3f}" for one in learners)
        print(f"step {number + 1:>2}: mean reward {told} ({time.monotonic() - started:.1f} s)", flush=True)


@dataclass(frozen=True)
class Rise:
    """The mean reward on held-out instances before and after, and the 95 % interval of what it rose by."""

    before: float
    after: float
    low: float
    high: float


def rise(before: Sequence[float | None], after: Sequence[float | None], each: int) -> Rise:
    """Compare the two, pair by pair. An instance counts once, however many programs ran on it."""
    means = np.array([[math.nan if one is None else one for one in side] for side in (before, after)])
    with_all = means.reshape(2, -1, each).mean(axis=2)
    with_all = with_all[:, ~np.isnan(with_all).any(axis=0)]
    rises = with_all[1] - with_all[0]
    rng = np.random.default_rng(0)
    drawn = rises[rng.integers(0, len(rises), (10_000, len(rises)))].mean(axis=1)
    # A bootstrap is too narrow by this for few instances.
    widened = rises.mean() + (drawn - rises.mean()) * math.sqrt(len(rises) / (len(rises) - 1))
    low, high = np.quantile(widened, [0.025, 0.975])
    return Rise(float(with_all[0].mean()), float(with_all[1].mean()), float(low), float(high))


def plot(path: Path, learners: Sequence[Learner]) -> None:
    """Write the mean rewards of training, a line a task, as a picture in SVG."""
    width, height, lines = 480, 240, []
    for learner, colour in zip(learners, ("#1f77b4", "#7f7f7f"), strict=True):
        points = [
            f"{30 + (width - 40) * place / max(len(learner.curve) - 1, 1):.1f},{height / 2 * (1 - 0.9 * value):.1f}"
            for place, value in enumerate(learner.curve)
        ]
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{" ".join(points)}"/>')
        lines.append(f'<text x="40" y="{16 * len(lines) / 2 + 6:.0f}" fill="{colour}">{learner.task}</text>')
    for value in (-1, 0, 1):
        y = height / 2 * (1 - 0.9 * value)
        lines.append(f'<path d="M30 {y:.1f}H{width - 10}" stroke="#ddd"/><text x="4" y="{y + 4:.1f}">{value}</text>')
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="12">{"".join(lines)}</svg>\n'
    )


def main() -> int:
    """Train, examine, and tell."""
    parser = argparse.ArgumentParser(description="Show that a model learns here, and that it cannot learn noise.")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--instances", type=int, default=2, help="new ones for each step")
    parser.add_argument("--group", type=int, default=8, help="programs for each instance")
    parser.add_argument("--held-out", type=int, default=16, help="instances of the examination")
    parser.add_argument("--each", type=int, default=2, help="programs for each of these, before and after")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--places", type=int, default=4, help="sandboxes at once")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--plot", type=Path, help="where to write the curve of training, as SVG")
    options = parser.parse_args()
    torch.set_num_threads(1)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tasks = [make_task(name, Path(folder), options.seed) for name in (SIGNAL, CONTROL)]
        shared = {"agent": "oneshot", "places": options.places, "backend": options.backend}
        learners = [Learner(name, options.seed) for name in (SIGNAL, CONTROL)]
        with Desk(tasks, split="train", **shared) as desk, Desk(tasks, split="validation", **shared) as held_out:
            examination = Rewards(held_out)
            before = [examination.of(one.examined(options.held_out, options.each)) for one in learners]
            train(learners, Rewards(desk), options)
            after = [examination.of(one.examined(options.held_out, options.each)) for one in learners]
    rises = [rise(*sides, options.each) for sides in zip(before, after, strict=True)]
    for one, found in zip(learners, rises, strict=True):
        print(
            f"{one.task:<20} held-out reward {found.before:+.3f} before, {found.after:+.3f} after; "
            f"rise {found.after - found.before:+.3f}, 95 % interval {found.low:+.3f} to {found.high:+.3f}"
        )
    if options.plot:
        plot(options.plot, learners)
    signal, control = rises
    learned = signal.low > MARGIN
    clean = control.low <= 0 or control.after - control.before < MARGIN / 2
    print("it learned" if learned else "it did not learn", end=", ")
    print("and the control did not" if clean else "but so did the control: something leaks", end=" ")
    print(f"({time.monotonic() - started:.0f} s)")
    return int(not (learned and clean))


if __name__ == "__main__":
    sys.exit(main())
