"""verl's data set for conversations, with arguments as objects and messages that are not trained.

In the configuration: ``data.custom_cls.path=verl_rows.py data.custom_cls.name=Rows``. What verl has by itself hands
the JSON texts of a Parquet file to the chat template as they are, and trains every message of the model.
"""

from __future__ import annotations

import json
from typing import Any

from verl.utils.dataset.multiturn_sft_dataset import MultiTurnSFTDataset


class Rows(MultiTurnSFTDataset):
    """Rows of ``openfingym export trajectories --format messages --out x.parquet``."""

    def _read_files_and_process(self) -> None:
        super()._read_files_and_process()
        self.messages = [[_message(message) for message in messages] for messages in self.messages]
        self.tools = [[_tool(tool) for tool in tools] or None for tools in self.tools]

    def _build_messages(self, example: dict[str, Any]) -> list[dict[str, Any]]:
        return [_message(message) for message in super()._build_messages(example)]

    def _process_single_message(self, index: int, message: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        ids, loss, attention, inputs = super()._process_single_message(index, message, *args, **kwargs)
        return ids, loss * bool(message.get("train")), attention, inputs


def _message(message: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in message.items() if value is not None}
    if "tool_calls" in kept:
        kept["tool_calls"] = [_parsed(call, "arguments") for call in kept["tool_calls"]]
    return kept


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return _parsed(tool, "parameters")


def _parsed(item: dict[str, Any], key: str) -> dict[str, Any]:
    function, value = item["function"], item["function"][key]
    return item | {"function": function | {key: json.loads(value) if isinstance(value, str) else value}}
