"""Asking a model in a stage of generation: prompts are files, and an answer is one JSON object of a stated form."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from importlib import resources
from typing import Protocol, TypeVar

import msgspec

from openfingym.errors import OpenFinGymError
from openfingym_suites.findeepforecast.world.known import Document

A = TypeVar("A")
TRIES = 2
"""How often a stage asks in all if an answer cannot be read."""
LONGEST_ANSWER = 40_000
"""The most characters of an answer."""
LONGEST_BODY = 1200
"""How many characters of a document's body a model is shown."""
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n```\s*\Z", re.DOTALL)


class UnreadableReplyError(OpenFinGymError):
    """A model's answer is not of the form that was asked for."""


class AsksModel(Protocol):
    """A model as the stages ask it, with a budget; it records every prompt and answer."""

    @property
    def name(self) -> str:
        """Name of the model."""

    def ask(self, stage: str, prompt: str, attempt: int = 0) -> str:
        """The model's answer to a prompt.

        Args:
            stage: name of the stage that asks, such as ``signals``.
            prompt: the whole text of the prompt.
            attempt: how often the same prompt was asked before, because an answer could not be read.

        Raises:
            BudgetSpentError: nothing more may be spent.
            ModelUnavailableError: the model cannot be asked.
        """


@functools.cache
def prompt_text(package: str, name: str) -> str:
    """A prompt of a package's folder ``prompts``.

    Args:
        package: name of the package.
        name: name of the prompt, without the ending of its file.
    """
    return resources.files(package).joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8")


def filled(template: str, **parts: str) -> str:
    """A prompt with its parts in place of ``<<NAME>>``.

    Args:
        template: the text with the places.
        **parts: what takes each place, by its name in lower case.
    """
    # In one pass, so that a document which says <<NAME>> is not filled in.
    return re.sub(r"<<([A-Z_]+)>>", lambda place: parts[place[1].lower()], template)


def shown(documents: Sequence[Document]) -> str:
    """Documents as lines of JSON, for a prompt.

    What they say is inside of strings, so that a document cannot end its quotation and speak for the prompt.
    """
    return "\n".join(
        json.dumps(
            {
                "id": document.id,
                "at": document.at.date().isoformat(),
                "source": document.source,
                "official": document.official,
                "about": document.subject,
                "title": document.title,
                "body": document.body[:LONGEST_BODY],
            },
            ensure_ascii=False,
        )
        for document in documents
    )


def typed(model: AsksModel, stage: str, prompt: str, form: type[A]) -> A:
    """Ask until an answer is of a form, at most :data:`TRIES` times.

    Args:
        model: the model to ask.
        stage: name of the stage that asks.
        prompt: the whole text of the prompt.
        form: the form that an answer must have.

    Raises:
        UnreadableReplyError: no answer was of the form.
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

    Args:
        text: the model's answer.
        form: the form that it must have.

    Raises:
        UnreadableReplyError: it is something else; the message says what.
    """
    if len(text) > LONGEST_ANSWER:
        raise UnreadableReplyError(f"an answer of {len(text):,} characters, expected at most {LONGEST_ANSWER:,}")
    fenced = _FENCE.match(text)
    # A lone surrogate, which UTF-8 cannot encode, becomes a question mark.
    try:
        return msgspec.json.decode((fenced[1] if fenced else text).strip().encode(errors="replace"), type=form)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UnreadableReplyError(f"no JSON object of the form that was asked for ({error})") from None
