"""Options of commands that ask a model: which one, where, and what may be spent."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.agents import Agent
    from openfingym.models.meter import Allowance
    from openfingym.models.prices import PriceTable
    from openfingym.models.spec import ModelSpec

_POSITIVE = click.FloatRange(min=0.0, min_open=True)
_OPTIONS = (
    click.option("--model", "model_name", help="Model of agents that ask one, such as stand-in/competent, which needs no key."),
    click.option("--base-url", help="Its OpenAI-compatible endpoint; default: $OPENAI_BASE_URL. The key is in $OPENAI_API_KEY."),
    click.option("--temperature", type=click.FloatRange(min=0.0), help="Its randomness; default: the endpoint's."),
    click.option("--reply-tokens", type=click.IntRange(min=1), help="Longest answer of the model.  [default: 16384]"),
    click.option("--text-tools", is_flag=True, help="Have it write calls of tools as text: for models that make none natively."),
    click.option("--max-turns", type=click.IntRange(min=1), help="Most answers of the model; default: 40, and more where there are steps."),
    click.option("--max-tokens", type=click.IntRange(min=1), help="Most tokens, input and output together; default: no limit."),
    click.option("--max-cost", type=_POSITIVE, help="Most US dollars; default: no limit."),
    click.option("--max-seconds", type=_POSITIVE, help="Most seconds; default: an hour, and more where there are steps."),
    click.option("--prices", type=click.Path(dir_okay=False, path_type=Path), help="TOML file of prices of models."),
)


@dataclass(frozen=True)
class ModelOptions:
    """What was asked for."""

    model_name: str | None
    base_url: str | None
    temperature: float | None
    reply_tokens: int | None
    text_tools: bool
    max_turns: int | None
    max_tokens: int | None
    max_cost: float | None
    max_seconds: float | None
    prices: Path | None

    def spec(self) -> ModelSpec | None:
        """The model; None where none was named."""
        if self.model_name is None:
            return None
        from openfingym.models.spec import ModelSpec

        return ModelSpec.parse(self.model_name, base_url=self.base_url)

    def allowance(self) -> Allowance | None:
        """What may be spent; None where nothing was said."""
        limits = (self.max_turns, self.max_tokens, self.max_cost, self.max_seconds)
        if all(limit is None for limit in limits):
            return None
        from openfingym.models.meter import Allowance

        return Allowance(*limits)

    def price_table(self) -> PriceTable | None:
        """Prices from a file; None without one."""
        if self.prices is None:
            return None
        from openfingym.models.prices import PriceTable

        return PriceTable.load(self.prices)

    def sampled(self, agent: Agent) -> Agent:
        """The agent, asking its model as was wished.

        Raises:
            UsageError: it asks none.
        """
        if self.temperature is None and self.reply_tokens is None and not self.text_tools:
            return agent
        from openfingym.agents.llm import CodeBlock, OneShot, React, Sampling

        acts = agent.acts
        if not isinstance(acts, CodeBlock | OneShot | React):
            raise UsageError(f"agent {agent.name!r} asks no model, so --temperature, --reply-tokens and --text-tools mean nothing to it")
        sampling = Sampling(self.temperature, self.reply_tokens or acts.sampling.reply_tokens, self.text_tools)
        return replace(agent, acts=replace(acts, sampling=sampling))


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command these options, as one argument named ``model``."""
    names = [item.name for item in fields(ModelOptions)]

    @functools.wraps(command)
    def wrapped(*args: Any, **options: Any) -> Any:
        return command(*args, model=ModelOptions(**{name: options.pop(name) for name in names}), **options)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
