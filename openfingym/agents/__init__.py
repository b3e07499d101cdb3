"""The agents, built-in and installed: programs, language models in a loop, external commands, and the oracle.

A *program* agent is a Python program run in isolation through the task's interface, as an
agent's own code would be. The *oracle* runs on the host, reads the hidden targets and submits
them: it exists to check that a task can be solved and that the best answer scores best. A *model* agent asks
a language model, in a loop on the host, and a *command* is an external agent of the user's own; see
:mod:`openfingym.agents.llm`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from openfingym.agents.builtin import BUILTIN, fitting
from openfingym.agents.installed import installed_agents, load_installed
from openfingym.errors import UsageError
from openfingym.kinds import SequentialKind, kind_of
from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.agents.llm.blocks import first_block
    from openfingym.agents.llm.session import Conversation, ModelAgent
    from openfingym.task import Task

__all__ = [
    "BUILTIN",
    "Agent",
    "Conversation",
    "ModelAgent",
    "first_block",
    "installed_agents",
    "resolve",
]

__getattr__, __dir__ = names_of(
    __name__, {"Conversation": "llm.session", "ModelAgent": "llm.session", "first_block": "llm.blocks"}
)

PROGRAM_LIMIT = 1024 * 1024
"""Most bytes of a program's source that are read."""


@dataclass(frozen=True)
class Agent:
    """An agent as one rollout sees it."""

    name: str
    """Name recorded with results."""
    kind: Literal["program", "oracle", "model", "command"]
    program: str = ""
    """Source of the program, for program agents."""
    trusted: bool = False
    """Whether the program is ours, and may run without isolation where no backend can isolate it."""
    acts: ModelAgent | None = None
    """The loop of a model agent or a command, which acts in the rollout; None for a program and for the oracle."""

    @property
    def asks_model(self) -> bool:
        """Whether the agent must be given a model."""
        return self.kind == "model"


def resolve(
    agent: str | Agent,
    program: str | Path | None = None,
    *,
    command: Sequence[str] | None = None,
    files: str | Path | None = None,
    mount: str | Path | None = None,
) -> Agent:
    """Turn an agent's name into an :class:`Agent`.

    Args:
        agent: the name of a built-in or an installed agent, with settings behind it where it takes any, such as
            ``react:votes=3``; or an agent, which is returned as it is.
        program: path of the program's source; for ``script`` only.
        command: name of the command's program, and its arguments; for ``command`` and ``cli`` only.
        files: folder whose files go into the container, where the command is run then; for ``command`` only.
        mount: folder of the command line, which is shown inside; for ``cli`` only. None for the folder of its program,
            where the command states the program's path.

    Raises:
        UsageError: no agent has that name, or the program is missing, unreadable or given to an agent that takes none.
    """
    if isinstance(agent, Agent):
        return agent
    agent, colon, settings = agent.partition(":")
    with_settings = [name for name, record in BUILTIN.items() if record.answers]
    if colon and agent not in with_settings:
        raise UsageError(f"agent {agent!r} takes no settings behind its name; {', '.join(with_settings)} do")
    # Entry points are read from the files of every installed package, so only where no built-in agent has the name.
    others = {} if agent in BUILTIN else installed_agents()
    if agent not in BUILTIN and agent not in others:
        near = difflib.get_close_matches(agent, [*BUILTIN, *others], 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join([*BUILTIN, *others])}"
        raise UsageError(f"no agent is named {agent!r}; {hint}")
    _require_matching_arguments(agent, program=program is not None, command=command is not None)
    if files is not None and agent != "command":
        raise UsageError(f"--files goes with --agent command, not with {agent!r}")
    if mount is not None and agent != "cli":
        raise UsageError(f"--mount goes with --agent cli, not with {agent!r}")
    if command is not None:
        return _command(command, files) if agent == "command" else _cli(command, mount)
    if agent in others:
        return load_installed(others[agent]).agent
    if BUILTIN[agent].role == "model":
        return _model_agent(agent, settings if colon else None)
    if program is not None:
        return Agent("script", "program", read_program(Path(program)))
    if agent == "oracle":
        return Agent("oracle", "oracle", trusted=True)
    source = (resources.files("openfingym") / "agents" / "programs" / f"{agent.replace('-', '_')}.py").read_text(
        encoding="utf-8"
    )
    return Agent(agent, "program", source, trusted=True)


def _require_matching_arguments(agent: str, *, program: bool, command: bool) -> None:
    """Refuse a program or a command that is missing, or that goes with another agent.

    Raises:
        UsageError: says which option is missing or out of place.
    """
    if (agent == "script") != program:
        raise UsageError(
            f"--program goes with --agent script, not with {agent!r}"
            if program
            else "agent 'script' needs a program: give --program FILE"
        )
    if (agent in WITH_COMMAND) != command:
        raise UsageError(
            f"--command goes with --agent command or --agent cli, not with {agent!r}"
            if command
            else f"agent {agent!r} needs a command: give --command 'PROGRAM ARGUMENT...', or for rollouts a plan with "
            'agents = [{ name = "mine", command = ["PROGRAM", "ARGUMENT"] }]'
        )


def _model_agent(name: str, settings: str | None) -> Agent:
    """A built-in agent that asks a model, with the settings behind its name; None where there is no colon."""
    from openfingym.agents.llm import MODEL_AGENTS

    acts: Any = MODEL_AGENTS[name]()
    if settings is None:
        return Agent(name, "model", acts=acts)
    usual = acts.questions
    acts = replace(acts, questions=usual.changed(name, settings))
    # Results are grouped by the agent's name, so that settings in another order, or as usual, must give the same one.
    stated = acts.questions.stated(usual)
    return Agent(f"{name}:{stated}" if stated else name, "model", acts=acts)


WITH_COMMAND = ("command", "cli")
"""Agents that are a command of the user's: on this machine or as text files inside, or a command line inside."""
WITH_TOOLS = ("react", "deep-research")
"""Agents that answer questions with tools, which can be taken from them."""


def without_tools(agent: str) -> str:
    """The name of an agent with the setting ``tools=none``.

    Raises:
        UsageError: the agent has no tools that could be taken from it.
    """
    name, _, settings = agent.partition(":")
    if name not in WITH_TOOLS:
        raise UsageError(f"agent {agent!r} has no tools to do without; {' and '.join(WITH_TOOLS)} have")
    others = [part for part in settings.split(",") if part.strip() and part.partition("=")[0].strip() != "tools"]
    return f"{name}:{','.join([*others, 'tools=none'])}"


def with_sampling(
    agent: Agent,
    *,
    temperature: float | None = None,
    reply_tokens: int | None = None,
    text_tools: bool | None = None,
    append_only: bool | None = None,
) -> Agent:
    """The agent with other sampling parameters; one that asks no model is returned as it is.

    Args:
        agent: the agent to change.
        temperature: sampling temperature of its requests; None, here and below, leaves a setting as it is.
        reply_tokens: most output tokens of one answer.
        text_tools: whether calls of tools are written as text.
        append_only: whether the conversation may only ever grow.

    Raises:
        UsageError: the agent's loop is the user's own, and has no such settings.
    """
    given = {
        "temperature": temperature,
        "reply_tokens": reply_tokens,
        "text_tools": text_tools,
        "append_only": append_only,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if not agent.asks_model or not changes:
        return agent
    from openfingym.agents.llm import Answerer, Cli, CodeBlock, DeepResearch, OneShot, React

    if isinstance(agent.acts, Cli) and append_only:
        raise UsageError(f"agent {agent.name!r} keeps its own conversations, and may rewrite them: drop append-only")
    if not isinstance(agent.acts, Answerer | Cli | CodeBlock | DeepResearch | OneShot | React):
        raise UsageError(f"agent {agent.name!r} asks its model in its own way: its sampling cannot be set")
    return replace(agent, acts=replace(agent.acts, sampling=replace(agent.acts.sampling, **changes)))


def suited(agent: Agent, task: Task) -> Agent:
    """The agent as it acts on a task: ``naive`` runs the program of the task's kind, where that brings one.

    A program of the user's own may try any task.

    Raises:
        UsageError: a built-in agent is not for this task; says what it is for, and which agents fit.
    """
    settings = getattr(agent.acts, "questions", None)
    if settings is not None:
        _require_answers(agent, task)
    # A program of the user's own may have a built-in agent's name, and is not held to what that one is for.
    record = BUILTIN.get(agent.name) if agent.trusted else None
    if record is None:
        return agent
    own = kind_of(task).naive_program if record.name == "naive" else None
    if not record.fits(task.spec):
        if record.name == "naive":
            raise UsageError(
                f"agent 'naive' knows no {task.spec.contract.kind} task: its kind brings no naive_program "
                '(docs/tasks.md, "A kind of your own")'
            )
        raise UsageError(
            f"agent {agent.name!r} does not fit {task.name!r}: it is for {record.fit}; agents that fit are "
            f"{', '.join(fitting(task)) or 'none of the built-in ones'}"
        )
    return agent if own is None else replace(agent, program=own)


def _require_answers(agent: Agent, task: Task) -> None:
    """Refuse settings for answering questions that mean nothing for a task.

    Raises:
        UsageError: the task's suite does not know a setting, or the task asks no questions; says what there is.
    """
    from openfingym.agents.llm import Answering

    settings, kind = getattr(agent.acts, "questions", None), kind_of(task)
    assert isinstance(settings, Answering)
    asking = kind.asking(task.spec.contract) if isinstance(kind, SequentialKind) else None
    if asking is not None:
        settings.require_known(asking)
    elif settings != Answering():
        raise UsageError(f"agent {agent.name!r} answers questions, and {task.name!r} asks none; react does both")


def require_model(agent: Agent, *, given: bool) -> None:
    """Refuse an agent that asks a model without one, and any other with one.

    Raises:
        UsageError: the agent asks a model and none is given, or the other way round; the message says what to do.
    """
    if agent.asks_model and not given:
        raise UsageError(f"agent {agent.name!r} needs a model: give --model NAME, such as stand-in/competent")
    if given and not agent.asks_model:
        raise UsageError(f"agent {agent.name!r} asks no model; leave the model out")


def _command(command: Sequence[str], files: str | Path | None) -> Agent:
    from openfingym.agents.llm.command import Command, read_files

    if not command or not all(command):
        raise UsageError("a command is the name of a program, and arguments; found nothing")
    inside = () if files is None else read_files(Path(files))
    return Agent("command", "command", acts=Command(tuple(command), inside=files is not None, files=inside))


def _cli(command: Sequence[str], mount: str | Path | None) -> Agent:
    from openfingym.agents.llm.cli import Cli

    if not command or not all(command):
        raise UsageError("a command is the name of a program, and arguments; found nothing")
    return Agent("cli", "model", acts=Cli.of(tuple(command), None if mount is None else Path(mount)))


def read_program(path: Path) -> str:
    """Read the source of an agent's program.

    Raises:
        UsageError: the file is missing, too large, or not UTF-8 text.
    """
    try:
        size = path.stat().st_size
        if size > PROGRAM_LIMIT:
            raise UsageError(f"{path}: {size} bytes; expected a program of at most {PROGRAM_LIMIT} bytes")
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"{path}: no such program; expected the path of a Python source file") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text; a program is a Python source file") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
