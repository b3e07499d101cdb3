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
    from openfingym.models.driven import DrivenModel, DrivenRequest
    from openfingym.models.endpoint import ChatModel, ModelEndpoint
    from openfingym.models.given import from_function, on_loop
    from openfingym.models.messages import (
        CallForm,
        Completion,
        CompletionTokens,
        FinishReason,
        Message,
        Role,
        Tool,
        ToolCall,
        Usage,
    )
    from openfingym.models.meter import Allowance, Left, Meter, Spent
    from openfingym.models.model import LanguageModel
    from openfingym.models.prices import Price, PriceTable
    from openfingym.models.spec import ModelSpec
    from openfingym.models.text_tools import ToolModel

__all__ = [
    "Allowance",
    "CallForm",
    "ChatModel",
    "Completion",
    "CompletionTokens",
    "DrivenModel",
    "DrivenRequest",
    "FinishReason",
    "LanguageModel",
    "Left",
    "Message",
    "Meter",
    "ModelEndpoint",
    "ModelSpec",
    "Price",
    "PriceTable",
    "Role",
    "Spent",
    "Tool",
    "ToolCall",
    "ToolModel",
    "Usage",
    "from_function",
    "on_loop",
]

_HOMES = {
    "Allowance": "meter",
    "CallForm": "messages",
    "ChatModel": "endpoint",
    "Completion": "messages",
    "CompletionTokens": "messages",
    "DrivenModel": "driven",
    "DrivenRequest": "driven",
    "FinishReason": "messages",
    "LanguageModel": "model",
    "Left": "meter",
    "Message": "messages",
    "Meter": "meter",
    "ModelEndpoint": "endpoint",
    "ModelSpec": "spec",
    "Price": "prices",
    "PriceTable": "prices",
    "Role": "messages",
    "Spent": "meter",
    "Tool": "messages",
    "ToolCall": "messages",
    "ToolModel": "text_tools",
    "Usage": "messages",
    "from_function": "given",
    "on_loop": "given",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
