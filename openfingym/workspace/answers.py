"""Results of requests to a workspace, and errors that are the agent's fault; both are read from untrusted answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from openfingym.errors import OpenFinGymError
from openfingym.workspace.frames import Fields, WorkspaceFrameError

MAX_ENTRIES = 1000
"""Most entries in the listing of a folder."""
ENTRY_BYTES = 1600
"""Length in bytes of a listing's longest entry: a name of 255 characters, each six bytes as JSON, and the rest."""
MAX_DETAIL = 10_000
"""Length in characters of the longest reason for a refusal, which may contain a path."""

EndedBy = Literal["exit", "timeout", "memory", "output", "killed"]
EntryKind = Literal["file", "folder", "link", "other"]
_REFUSALS = frozenset({"missing", "folder", "no-file", "too-large", "too-many", "outside", "no-space", "failed"})
_ENDS: Mapping[str, EndedBy] = {"exit": "exit", "timeout": "timeout", "memory": "memory", "output": "output"}
_KINDS: Mapping[str, EntryKind] = {"file": "file", "folder": "folder", "link": "link", "other": "other"}


class WorkspaceError(OpenFinGymError):
    """A request to a workspace that cannot be met, which is the agent's fault; the message may be shown to the agent.

    Attributes:
        problem: the stable name of the problem: ``missing``, ``folder``, ``no-file``, ``too-large``, ``too-many``,
            ``outside``, ``bad-path``, ``no-space``, ``failed``, or ``ended`` if the workspace has ended.
    """

    exit_code = 3

    def __init__(self, message: str, *, problem: str) -> None:
        super().__init__(message)
        self.problem = problem


@dataclass(frozen=True)
class Execution:
    """The result of running a program."""

    output: str
    """Interleaved stdout and stderr; bytes that are not UTF-8 are replaced. Empty if the workspace ended too."""
    ended_by: EndedBy
    """Why the program stopped; ``killed`` if it ended or corrupted the workspace itself."""
    exit_code: int | None
    """Exit status or negative signal number; None if the program was stopped."""
    wall_s: float
    """Seconds for which the program ran, by the host's clock."""
    truncated: bool
    """Whether the program printed more than ``output`` has."""


@dataclass(frozen=True)
class FolderEntry:
    """One entry of a folder."""

    name: str
    kind: EntryKind
    size: int
    """Size in bytes."""


def refusal(answer: Fields) -> WorkspaceError:
    """The error that says why a request was not met.

    Raises:
        WorkspaceFrameError: the answer is not a refusal as a workspace states one.
    """
    problem = answer.text("refused", 20)
    if problem not in _REFUSALS:
        raise WorkspaceFrameError(f"the unknown problem {problem!r}")
    return WorkspaceError(answer.text("detail", MAX_DETAIL), problem=problem)


def execution(answer: Fields, most: int) -> Execution:
    """The result of running a program; its time, which the inside is not trusted with, is left 0.

    Args:
        answer: the answer of the workspace.
        most: most bytes of output that may be in it.

    Raises:
        WorkspaceFrameError: the answer is not the result of a program.
    """
    end = answer.text("ended_by", 20)
    if end not in _ENDS:
        raise WorkspaceFrameError(f"the unknown end {end!r}")
    ended_by = _ENDS[end]
    exit_code = answer.integer("exit_code", -64, 255) if ended_by == "exit" else None
    output = answer.content("output", most).decode("utf-8", "replace")
    return Execution(output, ended_by, exit_code, 0.0, truncated=ended_by == "output")


def entries(answer: Fields) -> list[FolderEntry]:
    """The listing of a folder, sorted by name.

    Raises:
        WorkspaceFrameError: the answer is not a listing.
    """
    listing = []
    for item in answer.items("entries", MAX_ENTRIES):
        if not isinstance(item, list) or len(item) != 3:
            raise WorkspaceFrameError("an entry that is no list of three")
        row = Fields({"name": item[0], "kind": item[1], "size": item[2]})
        kind = row.text("kind", 10)
        if kind not in _KINDS:
            raise WorkspaceFrameError(f"the unknown kind {kind!r}")
        listing.append(FolderEntry(row.text("name", 255), _KINDS[kind], row.integer("size", 0, 2**63)))
    return sorted(listing, key=lambda entry: entry.name)
