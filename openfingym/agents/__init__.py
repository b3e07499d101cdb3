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

from openfingym.agents.builtin import BUILTIN, Builtin, fitting
from openfingym.agents.installed import Installed, installed_agents, load_installed
from openfingym.errors import UsageError
from openfingym.kinds import SequentialKind, kind_of

if TYPE_CHECKING:
    from openfingym.agents.llm.session import ModelAgent
    from openfingym.task import Task

__all__ = [
    "BUILTIN",
    "PROGRAM_LIMIT",
    "Agent",
    "Builtin",
    "Installed",
    "fitting",
    "installed_agents",
    "load_installed",
    "read_program",
    "require_model",
    "resolve",
    "suited",
    "with_sampling",
]

PROGRAM_LIMIT = 1024 * 1024


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
    """What acts, of a model agent or a command."""

    @property
    def asks_model(self) -> bool:
        """Whether it must be given a model."""
        return self.kind == "model"


def resolve(
    agent: str | Agent,
    program: str | Path | None = None,
    *,
    command: Sequence[str] | None = None,
    files: str | Path | None = None,
) -> Agent:
    """Turn an agent's name into an :class:`Agent`.

    Args:
        agent: the name of a built-in or an installed one, or an agent, which is returned as it is.
        program: path of the program, for ``script`` only.
        command: program and arguments, for ``command`` only.
        files: folder whose files go into the container, where the command is run then; for ``command`` only.

    Raises:
        UsageError: unknown name, or a program that is missing, unreadable or out of place.
    """
    if isinstance(agent, Agent):
        return agent
    agent, colon, settings = agent.partition(":")
    settled = [name for name, record in BUILTIN.items() if record.answers]
    if colon and agent not in settled:
        raise UsageError(f"agent {agent!r} takes no settings behind its name; {', '.join(settled)} do")
    others = {} if agent in BUILTIN else installed_agents()
    if agent not in BUILTIN and agent not in others:
        near = difflib.get_close_matches(agent, [*BUILTIN, *others], 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join([*BUILTIN, *others])}"
        raise UsageError(f"no agent is named {agent!r}; {hint}")
    if (agent == "script") != (program is not None):
        raise UsageError(
            "agent 'script' needs a program: give --program FILE"
            if program is None
            else f"--program goes with --agent script, not with {agent!r}"
        )
    if (agent == "command") != (command is not None):
        raise UsageError(
            "agent 'command' needs a command: give --command 'PROGRAM ARGUMENT...'"
            if command is None
            else f"--command goes with --agent command, not with {agent!r}"
        )
    if command is not None:
        return _command(command, files)
    if files is not None:
        raise UsageError(f"--files goes with --agent command, not with {agent!r}")
    if agent in others:
        return load_installed(others[agent]).agent
    if BUILTIN[agent].role == "model":
        from openfingym.agents.llm import MODEL_AGENTS

        acts: Any = MODEL_AGENTS[agent]()
        if colon:
            usual = acts.questions
            acts = replace(acts, questions=usual.changed(agent, settings))
            settings = acts.questions.stated(usual)
        return Agent(f"{agent}:{settings}" if settings else agent, "model", acts=acts)
    if program is not None:
        return Agent("script", "program", read_program(Path(program)))
    if agent == "oracle":
        return Agent("oracle", "oracle", trusted=True)
    source = (resources.files("openfingym") / "agents" / "programs" / f"{agent.replace('-', '_')}.py").read_text(
        encoding="utf-8"
    )
    return Agent(agent, "program", source, trusted=True)


WITH_TOOLS = ("react", "deep-research")
"""Agents that answer questions with tools, which can be taken from them."""


def without_tools(agent: str) -> str:
    """The name of an agent with the setting ``tools=none``.

    Raises:
        UsageError: it has no tools that could be taken from it.
    """
    name, _, settings = agent.partition(":")
    if name not in WITH_TOOLS:
        raise UsageError(f"agent {agent!r} has no tools to do without; {' and '.join(WITH_TOOLS)} have")
    kept = [part for part in settings.split(",") if part.strip() and part.partition("=")[0].strip() != "tools"]
    return f"{name}:{','.join([*kept, 'tools=none'])}"


def with_sampling(
    agent: Agent,
    *,
    temperature: float | None = None,
    reply_tokens: int | None = None,
    text_tools: bool | None = None,
    append_only: bool | None = None,
) -> Agent:
    """The agent, asking its model as stated; None leaves a setting as it is. An agent that asks no model stays as it
    is.

    Raises:
        UsageError: its loop is the user's own, and has no such settings.
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
    from openfingym.agents.llm import Answerer, CodeBlock, DeepResearch, OneShot, React

    if not isinstance(agent.acts, Answerer | CodeBlock | DeepResearch | OneShot | React):
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
    """Refuse settings of answers that a task has no use for.

    Raises:
        UsageError: names the setting, and what there is.
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


def read_program(path: Path) -> str:
    """Read an agent's program.

    Raises:
        UsageError: it is missing, too large, or not UTF-8 text.
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
