"""A request to a model as it was read, and an answer as it is sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from openfingym.models.messages import Message, Tool


@dataclass(frozen=True)
class ServedRequest:
    """What of a request a model is asked: an allow-list by its type."""

    model: str
    """Name of the model that is asked for."""
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    max_tokens: int | None = None
    """Most output tokens of the answer; None where the request does not say."""
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    """Texts at which the answer ends."""
    stream: bool = False
    """Whether the answer is wanted as a stream of events."""
    stream_usage: bool = False
    """Whether the stream is to end with the tokens that were used."""
    left_out: tuple[str, ...] = ()
    """Names of fields that were left out, sorted."""


@dataclass(frozen=True)
class ServedAnswer:
    """An answer by HTTP."""

    status: int
    """HTTP status."""
    content_type: str
    body: bytes
    retry_after_s: int | None = None
    """Seconds after which the same request may be made again; None where that is not said."""


def as_document(document: Mapping[str, object], status: int = 200, *, retry_after_s: int | None = None) -> ServedAnswer:
    """A JSON document as an answer."""
    return ServedAnswer(status, "application/json", json.dumps(document).encode(), retry_after_s)


def as_events(events: Iterable[tuple[str | None, str]]) -> ServedAnswer:
    """Server-sent events as an answer.

    Args:
        events: name, or None, and data of each event; data is of one line.
    """
    lines = "".join(f"event: {name}\ndata: {data}\n\n" if name else f"data: {data}\n\n" for name, data in events)
    return ServedAnswer(200, "text/event-stream", lines.encode())
