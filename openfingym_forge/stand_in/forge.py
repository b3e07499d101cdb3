"""The policy ``forge``, which hands each prompt of the forge to the handler of its name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping

from openfingym.models.testing.conversation import CompletionRequest, Reply
from openfingym_forge.stand_in.prompts import prompt_of, task_name

Handler = Callable[[CompletionRequest], Reply]
"""Answers one prompt of the forge."""

HOMES: Mapping[str, str] = {
    "forge/extract": "extract:extract",
    "forge/download-script": "download:script",
    "forge/script-tests": "download:tests",
    "forge/review-script": "download:review",
    "forge/metric-code": "metric_code:metric_code",
    "forge/metric-code-again": "metric_code:metric_code_again",
    "forge/metric-judge": "metric_code:metric_judge",
    "forge/metric-tests": "metric_code:metric_tests",
    "forge/metric-write": "metric_code:metric_code",
    "forge/read": "reading:read",
    "forge/screen": "reading:screen",
}
"""Name of a prompt to the module below this package that has its handler, and the handler's name:
``"forge/extract": "extract:extract"``."""


class _Handlers(Mapping[str, Handler]):
    """The handlers by name. A handler's module is loaded when it is first asked for."""

    def __getitem__(self, name: str) -> Handler:
        module, _, function = HOMES[name].partition(":")
        handler: Handler = getattr(importlib.import_module(f"openfingym_forge.stand_in.{module}"), function)
        return handler

    def __iter__(self) -> Iterator[str]:
        return iter(HOMES)

    def __len__(self) -> int:
        return len(HOMES)


HANDLERS: Mapping[str, Handler] = _Handlers()


class Forge:
    """Answers the prompts of the forge by rules over their text."""

    def respond(self, request: CompletionRequest) -> Reply:
        """Answer a prompt."""
        name = task_name(prompt_of(request))
        if name is None:
            return Reply("This is no prompt of the forge: its first line would be `Task: forge/NAME@VERSION`.")
        if name not in HANDLERS:
            return Reply(f"I have no rules for {name}.")
        return HANDLERS[name](request)
