"""Results of requests to a workspace, errors that are the agent's fault, and how both are read from answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from openfingym.errors import OpenFinGymError
from openfingym.workspace.frames import Fields, WorkspaceFrameError

MAX_ENTRIES = 1000
ENTRY_BYTES = 1600
"""Longest entry of a listing: 255 characters of six bytes each, and the rest."""
MAX_DETAIL = 10_000
"""Longest reason of a refusal, in characters; it may hold a path."""

EndedBy = Literal["exit", "timeout", "memory", "output", "killed"]
EntryKind = Literal["file", "folder", "link", "other"]
_REFUSALS = frozenset({"missing", "folder", "no-file", "too-large", "too-many", "outside", "no-space", "failed"})
_ENDS: Mapping[str, EndedBy] = {"exit": "exit", "timeout": "timeout", "memory": "memory", "output": "output"}
_KINDS: Mapping[str, EntryKind] = {"file": "file", "folder": "folder", "link": "link", "other": "other"}


class WorkspaceError(OpenFinGymError):
    """A request that cannot be met in a workspace, by the agent's fault; the message may be shown to it.

    Attributes:
        problem: the stable name of the problem: ``missing``, ``folder``, ``no-file``, ``too-large``, ``too-many``,
            ``outside``, ``bad-path``, ``no-space``, ``failed``, or ``ended`` where the workspace is no more.
    """

    exit_code = 3

    def __init__(self, message: str, *, problem: str) -> None:
        super().__init__(message)
        self.problem = problem


@dataclass(frozen=True)
class Execution:
    """The result of running a program."""

    output: str
    """Interleaved stdout and stderr; bytes that are no UTF-8 are replaced. Empty where the workspace ended with it."""
    ended_by: EndedBy
    """``killed``: the program ended or spoiled the workspace itself."""
    exit_code: int | None
    """Exit status or negative signal number; None where the program was stopped."""
    wall_s: float
    """Seconds, by this side's clock."""
    truncated: bool
    """Whether there was more output than is given."""


@dataclass(frozen=True)
class FolderEntry:
    """One entry of a folder."""

    name: str
    kind: EntryKind
    size: int
    """Bytes."""


def refusal(answer: Fields) -> WorkspaceError:
    """Why a request was not met."""
    problem = answer.text("refused", 20)
    if problem not in _REFUSALS:
        raise WorkspaceFrameError(f"the unknown problem {problem!r}")
    return WorkspaceError(answer.text("detail", MAX_DETAIL), problem=problem)


def execution(answer: Fields, most: int) -> Execution:
    """The result of running a program, of which the time is not known here."""
    named = answer.text("ended_by", 20)
    if named not in _ENDS:
        raise WorkspaceFrameError(f"the unknown end {named!r}")
    ended_by = _ENDS[named]
    exit_code = answer.integer("exit_code", -64, 255) if ended_by == "exit" else None
    output = answer.content("output", most).decode("utf-8", "replace")
    return Execution(output, ended_by, exit_code, 0.0, truncated=ended_by == "output")


def entries(answer: Fields) -> list[FolderEntry]:
    """A listing."""
    found = []
    for item in answer.items("entries", MAX_ENTRIES):
        if not isinstance(item, list) or len(item) != 3:
            raise WorkspaceFrameError("an entry that is no list of three")
        row = Fields({"name": item[0], "kind": item[1], "size": item[2]})
        kind = row.text("kind", 10)
        if kind not in _KINDS:
            raise WorkspaceFrameError(f"the unknown kind {kind!r}")
        found.append(FolderEntry(row.text("name", 255), _KINDS[kind], row.integer("size", 0, 2**63)))
    return sorted(found, key=lambda entry: entry.name)
