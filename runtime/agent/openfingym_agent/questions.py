"""What is asked in words, for a task that asks questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def questions_of(contract: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Questions as dictionaries: ``text``, what is ``known`` by name, and the moments that ``contract`` names.

    Args:
        contract: the contract of the task.
        arrays: ``texts``, ``inputs`` and ``times`` of the questions, and their ``targets`` where those are known, which
            become ``outcome``.

    Raises:
        ValueError: the task asks nothing in words.
    """
    if "moments" not in contract:
        raise ValueError(f"this is a {contract['kind']} task, which asks nothing in words; use the arrays")
    found = []
    for number, (text, row) in enumerate(zip(arrays["texts"], arrays["inputs"], strict=True)):
        moments = arrays["times"][number].astype("datetime64[s]")
        question: dict[str, Any] = {
            "text": str(text),
            "known": dict(zip(contract["channels"], map(float, row), strict=True)),
        }
        question |= {name: f"{moment}Z" for name, moment in zip(contract["moments"], moments, strict=True)}
        found.append(question)
    for question, outcome in zip(found, arrays.get("targets", ()), strict=False):
        question["outcome"] = float(outcome)
    return found
