"""A coding command line of the user's, such as Claude Code, Codex, aider or OpenHands, inside the container.

Its folder is shown read-only at ``/opt/cli``. It asks the rollout's model at an address of the loopback interface, by
OpenAI's chat completions or Anthropic's messages, and works on the task as any program does: it reads ``/task``, writes
``/work`` and answers through ``interface``. Its requests to the model are made anew on this side
(:mod:`openfingym.models.serving`), charged to the rollout's limits and recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from openfingym.agents.llm.asking import OUTAGE_S, Sampling
from openfingym.agents.llm.brought_folder import BroughtFolder, read_folder
from openfingym.agents.llm.ending import Ended
from openfingym.agents.llm.model_route import ModelRoute
from openfingym.agents.llm.session import Conversation
from openfingym.agents.own_program import last_line
from openfingym.errors import UsageError

if TYPE_CHECKING:
    from openfingym.results import Isolation
    from openfingym_runtime.gate.gate import ModelHandler
    from openfingym_runtime.gate.upstream import UpstreamAnswer
    from openfingym_runtime.job import Outcome

FOLDER: Final = "/opt/cli"
"""Where the command line's folder is shown."""
HOME: Final = "/work/.home"
PROMPT_FILE: Final = "/work/.prompt.md"
PORT: Final = 8080
ADDRESS: Final = f"http://127.0.0.1:{PORT}"
NO_KEY: Final = "none-is-needed"
"""What stands for a key: clients want one, and the model is reached without."""
OUTPUT_BYTES = 512 * 1024
"""Most bytes of what the command line prints that are kept."""
SEARCHED: Final = ("bin", "node_modules/.bin", "")
"""Folders below the command line's in which programs are looked for."""
_QUIET: Final = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "NO_PROXY": "*",
}
"""Variables that keep clients from asking for what is not there."""
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_SUBMITTING = """\
You work in a Linux container without internet access. /work is your working folder; /task holds the task and is \
read-only. The task is answered by running Python 3 programs that `import interface`, as described above. Nothing that \
you only say counts."""
_STEPPING = """\
An episode outlives the program that began it: another program that calls `env = interface.make(); env.resume()` goes \
on with it by `env.step(...)`. Begin an episode with `env.reset()` only when the one before is over."""


@dataclass(frozen=True)
class Cli:
    """Runs a command line inside, and answers its requests to the model."""

    argv: tuple[str, ...]
    """Name of the program, and its arguments, in which ``{prompt}``, ``{prompt_file}``, ``{model}`` and ``{seed}`` are
    replaced."""
    folder: BroughtFolder
    variables: tuple[tuple[str, str], ...] = ()
    """Environment variables that the command states before its program's name, with their values."""
    sampling: Sampling = field(default_factory=Sampling)
    takes_steps = False
    own_container = True
    """Its container is started for it, and none is taken that waits."""

    @classmethod
    def of(cls, command: tuple[str, ...], folder: Path | None) -> Cli:
        """A command line, and the folder that it is brought along in.

        Args:
            command: name of the program, and its arguments; before them, as in a shell, ``NAME=VALUE``.
            folder: the folder; None for the one in which the program is, of which the command then states the path.

        Raises:
            UsageError: no folder is given, or it may not be shown.
        """
        words = tuple(itertools.dropwhile(_VARIABLE.fullmatch, command))
        variables = tuple(word.partition("=")[::2] for word in command[: len(command) - len(words)])
        if not words:
            raise UsageError("the command states variables, and no program after them")
        program = Path(words[0]).expanduser()
        if folder is None:
            if "/" not in words[0] or not program.is_file():
                raise UsageError(
                    "agent 'cli' needs the folder of its command line: give --mount FOLDER, or the program's path as "
                    "the first word of --command"
                )
            # A program in bin/ needs what is beside that folder.
            folder = program.parent.parent if program.parent.name == "bin" else program.parent
        brought = read_folder(folder)
        return cls(tuple(_inside(word, folder) for word in words), brought, variables)

    def describe(self) -> dict[str, object]:
        """What it is, for a run's ``config.json``: of variables only the names, since values may be secrets."""
        return {
            "command": list(self.argv),
            "variables": [name for name, _value in self.variables],
            "folder": self.folder.path,
            "folder_sha256": self.folder.digest,
        }

    @property
    def isolation(self) -> Isolation:
        """What of it runs in isolation: its loop as well as its programs, but for its model."""
        return "model inside"

    async def act(self, session: Conversation) -> None:
        """See :class:`openfingym.agents.llm.ModelAgent`."""
        name, programs = session.asker.name, session.tools.programs
        route = ModelRoute(session, name, self.sampling)
        async with _closing(route):
            try:
                outcome = await programs.run_brought(
                    self._program(session, name), Path(self.folder.path), _on_this_loop(route), route.over
                )
            except asyncio.CancelledError:
                # It chooses when to ask: a request that it makes at the end of its time must not look like an outage.
                session.asker.forgive_short_wait(min(OUTAGE_S, (session.meter.allowance.wall_s or 0.0) / 2))
                raise
        if route.failure is not None:
            raise route.failure
        if route.ended is not None:
            raise route.ended
        _require_well(outcome)

    def _program(self, session: Conversation, model: str) -> str:
        """The program that runs the command line: one of ours, with everything that it needs written into it."""
        brief = session.brief
        parts = (brief.instruction.strip(), _SUBMITTING, _STEPPING if brief.sequential else "", session.limits)
        prompt = "\n\n".join(part for part in parts if part)
        filled = {"{prompt}": prompt, "{prompt_file}": PROMPT_FILE, "{model}": model, "{seed}": str(brief.seed)}
        arguments = {
            "argv": [_filled(word, filled) for word in self.argv],
            "environment": self._environment(model, session.meter.left.wall_s or 0.0),
            "modules": self._modules,
            "prompt": prompt,
            "prompt_file": PROMPT_FILE,
            "port": PORT,
            "output_bytes": min(OUTPUT_BYTES, session.tools.programs.output_bytes // 2),
        }
        return f"from openfingym_agent.brought import run\n\nrun(**{arguments!r})\n"

    def _environment(self, model: str, left_s: float) -> dict[str, str]:
        """The variables that the command line gets beside those of any program; none comes from this machine.

        Args:
            model: name of the model.
            left_s: seconds that the rollout has left.
        """
        folders = [str(PurePosixPath(FOLDER, name)) for name in SEARCHED]
        named = ("ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "OPENFINGYM_MODEL")
        sizes = ("OPUS", "SONNET", "HAIKU")
        return {
            **_QUIET,
            **dict.fromkeys(("OPENAI_BASE_URL", "OPENAI_API_BASE"), f"{ADDRESS}/v1"),
            "ANTHROPIC_BASE_URL": ADDRESS,
            **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), NO_KEY),
            **dict.fromkeys((*named, *(f"ANTHROPIC_DEFAULT_{size}_MODEL" for size in sizes)), model),
            "HOME": HOME,
            "OPENFINGYM_DEADLINE": f"{time.time() + left_s:.3f}",
            "PATH": ":".join([*folders, "/usr/local/bin:/usr/bin:/bin"]),
            **dict(self.variables),
        }

    @property
    def _modules(self) -> list[str]:
        """Folders inside in which Python finds what was installed into the folder, by pip or in an environment."""
        found = sorted(Path(self.folder.path).glob("lib/python3*/site-packages"))
        below = [path.relative_to(self.folder.path).as_posix() for path in found]
        return [*(f"{FOLDER}/{name}" for name in below), FOLDER]


@contextlib.asynccontextmanager
async def _closing(route: ModelRoute) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await route.close()


def _on_this_loop(route: ModelRoute) -> ModelHandler:
    """The route as the gate calls it, whose event loop is in another thread."""
    loop = asyncio.get_running_loop()

    async def answer(path: str, body: bytes) -> UpstreamAnswer:
        from openfingym_runtime.gate.upstream import UpstreamAnswer

        served = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(route.answer(path, body), loop))
        retry_after = None if served.retry_after_s is None else str(served.retry_after_s).encode()
        return UpstreamAnswer(served.status, served.content_type.encode(), retry_after, served.body)

    return answer


def _inside(word: str, folder: Path) -> str:
    """A word of a command with the folder's path replaced by the one inside, where it is a path in the folder."""
    for place in (folder.absolute(), folder.resolve()):
        path = Path(word).expanduser()
        if path.is_absolute() and (path == place or place in path.parents):
            return str(PurePosixPath(FOLDER, path.relative_to(place)))
    # A path that starts in the folder, or in the current one.
    if "/" in word and not Path(word).is_absolute():
        if (folder / word).exists():
            return str(PurePosixPath(FOLDER, word))
        here = Path(word).absolute()
        if here.exists() and folder.absolute() in here.parents:
            return str(PurePosixPath(FOLDER, here.relative_to(folder.absolute())))
    return word


def _filled(word: str, values: Mapping[str, str]) -> str:
    """A word with its placeholders replaced, and not what they are replaced by: a prompt may hold any text."""
    return re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], word)


def _require_well(outcome: Outcome) -> None:
    """Return if the command line ended by itself with status 0.

    Raises:
        Ended: it did not; says how it ended, and what it printed last.
    """
    if (outcome.ended_by, outcome.exit_code) == ("exit", 0):
        return
    said = last_line(outcome.output.decode(errors="replace")) or "it printed nothing"
    if outcome.ended_by == "exit":
        raise Ended("failed", f"the command line ended with status {outcome.exit_code}: {said}")
    raise Ended("workspace", f"the command line was stopped ({outcome.ended_by}): {said}")
