"""Language models behind one small protocol, and any OpenAI-compatible endpoint as one.

    spec = ModelSpec.parse("stand-in/competent")
    async with spec.open() as model:
        completion = await model.complete([Message("user", "…")])

A function is a model as well (:func:`from_function`), and so is whoever answers from outside (:class:`DrivenModel`).

An endpoint that fails for a while is asked again; one that stays away raises ModelUnavailableError,
and a request that no patience helps raises ModelRefusedError. The client comes with the extra ``llm``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

if TYPE_CHECKING:
    from openfingym.models.cutoffs import standing
    from openfingym.models.driven import DrivenModel, Stopped
    from openfingym.models.endpoint import ChatModel
    from openfingym.models.given import from_function, on_loop
    from openfingym.models.messages import Completion, Message, Tool, ToolCall, Usage
    from openfingym.models.meter import Allowance, Meter
    from openfingym.models.model import CompletionOptions, LanguageModel
    from openfingym.models.spec import ModelSpec

__all__ = [
    "Allowance",
    "ChatModel",
    "Completion",
    "CompletionOptions",
    "DrivenModel",
    "LanguageModel",
    "Message",
    "Meter",
    "ModelSpec",
    "Stopped",
    "Tool",
    "ToolCall",
    "Usage",
    "from_function",
    "on_loop",
    "standing",
]

_HOMES = {
    "Allowance": "meter",
    "ChatModel": "endpoint",
    "Completion": "messages",
    "CompletionOptions": "model",
    "DrivenModel": "driven",
    "LanguageModel": "model",
    "Message": "messages",
    "Meter": "meter",
    "ModelSpec": "spec",
    "Stopped": "driven",
    "Tool": "messages",
    "ToolCall": "messages",
    "Usage": "messages",
    "from_function": "given",
    "on_loop": "given",
    "standing": "cutoffs",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
