"""The forecasters that ``openfingym rounds run`` is asked for by name: programs, agents with a model, a command."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from openfingym.agents import Agent, require_model, resolve
from openfingym.agents.forecasting.command import NAME, CommandForecaster
from openfingym.errors import UsageError
from openfingym.rounds.forecaster import Forecaster, find_program, program_names
from openfingym.rounds.running import ENTERED

if TYPE_CHECKING:
    from openfingym.models.meter import Allowance
    from openfingym.models.prices import PriceTable
    from openfingym.models.spec import ModelSpec


@contextlib.contextmanager
def find_forecasters(
    names: Sequence[str],
    command: Sequence[str] | None = None,
    *,
    specs: Sequence[ModelSpec] = (),
    allowance: Allowance | None = None,
    prices: PriceTable | None = None,
    sampled: Callable[[Agent], Agent] = lambda agent: agent,
    patience_s: float = 600.0,
    question_s: float = 900.0,
    parallel: int = 1,
) -> Iterator[list[Forecaster]]:
    """Forecasters by their names; the models that agents among them ask are open during the block.

    Args:
        names: names of programs, and of agents that ask a model; :data:`~openfingym.rounds.running.ENTERED`, which are
            entered at every tick anyway, are left out.
        command: name and arguments of a program of the user's own, which forecasts beside the others.
        specs: the models that agents ask; each agent asks each of them, as a forecaster of its own.
        allowance: limits on what an agent may spend on one question.
        prices: the table by which costs of the models are counted; None for the table of the library.
        sampled: returns an agent with the sampling parameters that the user has chosen.
        patience_s: seconds for which an endpoint that does not answer is asked again.
        question_s: seconds that a question may take.
        parallel: how many questions each forecaster is asked at once.

    Raises:
        UsageError: no forecaster has one of the names, an agent has no model to ask, or no agent asks the model.
    """
    if command is not None and not command:
        raise UsageError("a command is the name of a program, and arguments; found nothing")
    programs = set(program_names())
    forecasters: list[Forecaster] = [find_program(name) for name in names if name in programs]
    asking = [
        _ready(sampled(_agent(name, sorted(programs))), question_s, given=bool(specs))
        for name in names
        if name not in programs | ENTERED | ({NAME} if command else set())
    ]
    if specs and not asking:
        raise UsageError("no --agent asks a model; leave the model out")
    if command is not None:
        forecasters.append(CommandForecaster(tuple(command), question_s, parallel))
    if not asking:
        yield forecasters
        return
    from openfingym.agents.forecasting.model import opened_forecasters

    with contextlib.ExitStack() as stack:
        for spec in specs:
            forecasters += stack.enter_context(
                opened_forecasters(
                    asking, spec, allowance, prices, patience_s=patience_s, question_s=question_s, parallel=parallel
                )
            )
        yield forecasters


def _agent(name: str, programs: Sequence[str]) -> Agent:
    """The agent of a name, which must be one that answers questions.

    Raises:
        UsageError: there is no such agent, or it answers no questions; says which forecasters there are.
    """
    try:
        agent = resolve(name)
    except UsageError as error:
        known = ", ".join(sorted({*programs, *ENTERED}))
        raise UsageError(f"there is no forecaster {name!r}: programs are {known}; of agents: {error}") from None
    settings = getattr(agent.acts, "questions", None)
    if settings is None:
        raise UsageError(
            f"agent {name!r} forecasts no rounds; programs that do are {', '.join(programs)}, agents that ask a model "
            "are direct, zero-shot-cot, rag, react and deep-research"
        )
    return agent


def _ready(agent: Agent, question_s: float, *, given: bool) -> Agent:
    """An agent with the time that a question may take, checked for what it needs.

    Args:
        agent: an agent that answers questions.
        question_s: seconds that a question may take.
        given: whether there is a model to ask.

    Raises:
        UsageError: a model is missing, or the agent runs blocks of code, which need a container.
    """
    from openfingym.agents.llm import Answering

    require_model(agent, given=given)
    acts = agent.acts
    settings = getattr(acts, "questions", None)
    assert isinstance(settings, Answering)
    if settings.action == "block":
        raise UsageError(
            f"agent {agent.name!r} runs blocks of code, and forecasts are made without a container; leave out "
            "action=block"
        )
    in_time = replace(settings, question_s=question_s)
    return replace(agent, acts=replace(acts, questions=in_time))  # type: ignore[type-var]
