"""How stages ask a model: prompts from the package, answers as one JSON object of a stated form, or refused."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from importlib import resources
from typing import Protocol, TypeVar

import msgspec

from openfingym.errors import OpenFinGymError
from openfingym.suites.findeepforecast.world.known import Document

A = TypeVar("A")
TRIES = 2
"""How often a stage asks where the answer cannot be read."""
LONGEST_ANSWER = 40_000
LONGEST_BODY = 1200
"""Characters of a document's body that a model is shown."""
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n```\s*\Z", re.DOTALL)


class UnreadableReplyError(OpenFinGymError):
    """A model's answer is none of the form that was asked for."""


class AsksModel(Protocol):
    """A model, as stages ask it: it keeps every prompt and answer, and its budget."""

    @property
    def name(self) -> str:
        """Name of the model."""

    def ask(self, stage: str, prompt: str, attempt: int = 0) -> str:
        """The model's answer to a prompt.

        Args:
            stage: which stage asks.
            prompt: all that it is told.
            attempt: how often the same prompt was asked before, since its answer could not be read.

        Raises:
            BudgetSpentError: nothing more may be spent.
            ModelUnavailableError: the model cannot be asked.
        """


@functools.cache
def prompt_text(package: str, name: str) -> str:
    """A prompt of a package's folder ``prompts``."""
    return resources.files(package).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")


def filled(template: str, **parts: str) -> str:
    """A prompt with its parts in the place of ``<<NAME>>``; what the parts say is never a place."""
    return re.sub(r"<<([A-Z_]+)>>", lambda found: parts[found[1].lower()], template)


def shown(documents: Sequence[Document]) -> str:
    """Documents as JSON lines, for a prompt: what they say stays inside of strings."""
    return "\n".join(
        json.dumps(
            {
                "id": one.id,
                "at": one.at.date().isoformat(),
                "source": one.source,
                "official": one.official,
                "about": one.subject,
                "title": one.title,
                "body": one.body[:LONGEST_BODY],
            },
            ensure_ascii=False,
        )
        for one in documents
    )


def typed(model: AsksModel, stage: str, prompt: str, form: type[A]) -> A:
    """Ask until an answer is of a form.

    Raises:
        UnreadableReplyError: none of :data:`TRIES` answers was.
        BudgetSpentError: nothing more may be spent.
    """
    problem = ""
    for attempt in range(TRIES):
        try:
            return read_typed(model.ask(stage, prompt, attempt), form)
        except UnreadableReplyError as error:
            problem = str(error)
    raise UnreadableReplyError(f"{stage}: {problem}")


def read_typed(text: str, form: type[A]) -> A:
    """Read an answer: one JSON object of a form and nothing else, bare or in one fence.

    Raises:
        UnreadableReplyError: it is none; says why.
    """
    if len(text) > LONGEST_ANSWER:
        raise UnreadableReplyError(f"an answer of {len(text):,} characters, expected at most {LONGEST_ANSWER:,}")
    fenced = _FENCE.match(text)
    try:
        return msgspec.json.decode((fenced[1] if fenced else text).strip().encode(errors="replace"), type=form)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UnreadableReplyError(f"no JSON object of the form that was asked for ({error})") from None
