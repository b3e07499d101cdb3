"""Language models behind one small protocol, and any OpenAI-compatible endpoint as one.

    spec = ModelSpec.parse("stand-in/competent")
    async with spec.open() as model:
        completion = await model.complete([Message("user", "…")])

An endpoint that fails for a while is asked again; one that stays away raises ModelUnavailableError,
and a request that no patience helps raises ModelRefusedError. The client comes with the extra ``llm``.
"""

from __future__ import annotations

from openfingym.models.endpoint import ChatModel, Endpoint
from openfingym.models.messages import CallForm, Completion, FinishReason, Message, Role, Tokens, Tool, ToolCall, Usage
from openfingym.models.meter import Allowance, Left, Meter, Spent
from openfingym.models.model import Model
from openfingym.models.prices import Price, PriceTable
from openfingym.models.spec import ModelSpec
from openfingym.models.text_tools import ToolModel

__all__ = [
    "Allowance",
    "CallForm",
    "ChatModel",
    "Completion",
    "Endpoint",
    "FinishReason",
    "Left",
    "Message",
    "Meter",
    "Model",
    "ModelSpec",
    "Price",
    "PriceTable",
    "Role",
    "Spent",
    "Tokens",
    "Tool",
    "ToolCall",
    "ToolModel",
    "Usage",
]
