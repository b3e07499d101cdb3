"""A policy whose answers cannot be used, in every way in which models have been seen to fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from openfingym.models.testing.competent import block
from openfingym.models.testing.conversation import Call, CompletionRequest, Reply


def _garbage(request: CompletionRequest) -> Reply:
    return Reply(
        "".join(chr(0x2500 + (request.seed * 31 + i * 7919) % 128) for i in range(200)) + "\u0000\ud7ff </call> ``` {"
    )


def _call(request: CompletionRequest, name: str, arguments: Mapping[str, object] | str) -> Reply:
    """A call where tools can be called; elsewhere a text that looks like one."""
    if request.form in {"tools", "text"}:
        return Reply("", (Call(name, arguments),))
    return Reply(f"{name}({arguments})")


SORTS: Mapping[str, Callable[[CompletionRequest], Reply]] = MappingProxyType(
    {
        "empty": lambda _: Reply(""),
        "garbage-text": _garbage,
        "endless": lambda _: Reply("and so on, and ", endless=True),
        "invalid-json": lambda request: _call(request, "run_python", '{"code": "print(1)'),
        "unknown-tool": lambda request: _call(request, "buy_everything", {"now": True}),
        "wrong-arguments": lambda request: _call(request, "run_python", {"code": 12, "file": ["x"]}),
        "refusal": lambda _: Reply(refusal="I am sorry, but I cannot help with finance."),
        "syntax-error": lambda request: (
            _call(request, "run_python", {"code": "def (:\n"})
            if request.tools
            else Reply(block("import interface\ndef (:"))
        ),
        "prose": lambda _: Reply("Forecasting is hard. One might use a model. I wish you the best of luck."),
    }
)
"""What is answered for each sort of rubbish, by its name."""


class Broken:
    """Answers one sort of rubbish, or each in turn where none is named."""

    def __init__(self, sort: str | None = None) -> None:
        self._sort = sort

    def respond(self, request: CompletionRequest) -> Reply:
        """Continue the conversation."""
        names = list(SORTS)
        return SORTS[self._sort or names[(request.seed + request.turn) % len(names)]](request)
