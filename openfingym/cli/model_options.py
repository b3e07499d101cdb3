"""Options of commands that ask a language model: which one, at which endpoint, how, and what may be spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.options import gathered
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.agents import Agent
    from openfingym.models.meter import Allowance
    from openfingym.models.prices import PriceTable
    from openfingym.models.spec import ModelSpec

# Some of these have no default in click, though their help states one: an option that is not given must leave the
# value to the plan's file or the task.
_POSITIVE = click.FloatRange(min=0.0, min_open=True)
_ONE = click.option(
    "--model", "model_name", help="Model of agents that ask one, such as stand-in/competent, which needs no key."
)
_MANY = click.option(
    "--model", "model_name", multiple=True, help="Model of agents that ask one, such as stand-in/competent; repeatable."
)
_OPTIONS = (
    click.option(
        "--base-url", help="Its OpenAI-compatible endpoint; default: $OPENAI_BASE_URL. The key is in $OPENAI_API_KEY."
    ),
    click.option(
        "--stream", is_flag=True, help="Have its answers sent piece by piece, for endpoints that do nothing else."
    ),
    click.option(
        "--tokens", is_flag=True, help="Keep token ids and log probabilities of its answers, where the endpoint tells."
    ),
    click.option(
        "--append-only",
        is_flag=True,
        default=None,
        help="Let its conversation only ever grow, for training: nothing shown is rewritten or left out.",
    ),
    click.option("--temperature", type=click.FloatRange(min=0.0), help="Its randomness; default: the endpoint's."),
    click.option("--reply-tokens", type=click.IntRange(min=1), help="Longest answer of the model.  [default: 16384]"),
    click.option(
        "--text-tools/--native-tools",
        default=None,
        help="Have it write calls of tools as text, or never; default: where the endpoint takes no tools.",
    ),
    click.option(
        "--max-turns",
        type=click.IntRange(min=1),
        help="Most answers of the model; default: 40, and more where there are steps.",
    ),
    click.option(
        "--max-tokens", type=click.IntRange(min=1), help="Most tokens, input and output together; default: no limit."
    ),
    click.option("--max-cost", type=_POSITIVE, help="Most US dollars; default: no limit."),
    click.option(
        "--max-seconds", type=_POSITIVE, help="Most seconds; default: an hour, and more where there are steps."
    ),
    click.option(
        "--max-useless",
        type=click.IntRange(min=1),
        help="Most useless answers in a row: empty, without a call, or repeating what failed.  [default: 3]",
    ),
    click.option("--prices", type=click.Path(dir_okay=False, path_type=Path), help="TOML file of prices of models."),
)
patience_option = click.option(
    "--patience",
    type=_POSITIVE,
    metavar="SECONDS",
    help="How long a model's endpoint, Docker or a verifier that does not answer is waited for.  [default: 600]",
)


@dataclass(frozen=True)
class ModelOptions:
    """The model options of a command line, by the names of the command's arguments; None where not given."""

    model_name: str | tuple[str, ...] | None
    """Name of the model; of a command that takes several, their names."""
    base_url: str | None
    stream: bool
    tokens: bool
    append_only: bool | None
    temperature: float | None
    reply_tokens: int | None
    text_tools: bool | None
    max_turns: int | None
    max_tokens: int | None
    max_cost: float | None
    max_seconds: float | None
    max_useless: int | None
    prices: Path | None

    def spec(self) -> ModelSpec | None:
        """The model; None where none was named.

        Raises:
            UsageError: the name is no model's, or there is no key or endpoint to ask it with.
        """
        assert self.model_name is None or isinstance(self.model_name, str)
        return None if self.model_name is None else self._parsed(self.model_name)

    def specs(self) -> list[ModelSpec]:
        """The models of a command that takes several, in order.

        Raises:
            UsageError: a name is no model's or is given twice, or there is no key or endpoint to ask it with.
        """
        assert isinstance(self.model_name, tuple)
        if twice := [name for name in self.model_name if self.model_name.count(name) > 1]:
            raise UsageError(f"--model {twice[0]} is given twice; name each model once")
        return list(map(self._parsed, self.model_name))

    def _parsed(self, name: str) -> ModelSpec:
        """The model of this name, which can be asked."""
        from openfingym.models.spec import ModelSpec

        spec = ModelSpec.parse(name, base_url=self.base_url, stream=self.stream, tokens=self.tokens)
        spec.require_access()
        return spec

    def allowance(self) -> Allowance | None:
        """The limits as an allowance; None where no limit was given."""
        if not self.limits:
            return None
        from openfingym.models.meter import Allowance

        return Allowance(**self.limits)

    @property
    def limits(self) -> dict[str, Any]:
        """The limits that were given, by the names of an allowance's fields."""
        return _stated(
            turns=self.max_turns,
            tokens=self.max_tokens,
            cost_usd=self.max_cost,
            wall_s=self.max_seconds,
            useless=self.max_useless,
        )

    @property
    def sampling(self) -> dict[str, Any]:
        """The sampling parameters that were given, by the names of a sampling's fields."""
        return _stated(
            temperature=self.temperature,
            reply_tokens=self.reply_tokens,
            text_tools=self.text_tools,
            # A flag that is not set says nothing, where False would win over a plan's file.
            append_only=self.append_only or None,
        )

    def price_table(self) -> PriceTable | None:
        """Prices from a file; None without one."""
        if self.prices is None:
            return None
        from openfingym.models.prices import PriceTable

        return PriceTable.load(self.prices)

    def sampled(self, agent: Agent) -> Agent:
        """The agent, asking its model with the sampling parameters of the command line.

        Raises:
            UsageError: the agent asks no model, so that sampling parameters mean nothing.
        """
        if self.sampling and not agent.asks_model:
            options = ", ".join(f"--{key.replace('_', '-')}" for key in self.sampling)
            raise UsageError(f"agent {agent.name!r} asks no model, so {options} mean nothing to it")
        from openfingym.agents import with_sampling

        return with_sampling(agent, **self.sampling)


def _stated(**values: object) -> dict[str, Any]:
    """The values that were given, by name."""
    return {key: value for key, value in values.items() if value is not None}


def model_options(*, many: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command these options, as one argument named ``model``.

    Args:
        many: whether ``--model`` may be repeated.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        command = gathered("model", ModelOptions)(command)
        # In reverse, since click lists the option that was added last as the first one.
        for option in reversed((_MANY if many else _ONE, *_OPTIONS)):
            command = option(command)
        return command

    return decorate
