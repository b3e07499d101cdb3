"""How a model is asked a question of a suite, in words that fit any suite; a suite may have words of its own."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openfingym.errors import OpenFinGymError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openfingym.suites.suite import AnswerForm, SuiteQuestion, SuiteTool

Method = Literal["direct", "zero-shot-cot", "rag", "react"]
ActionForm = Literal["tool", "function", "block", "tags"]
STEP_BY_STEP = "Please think step by step."
LONGEST_CALL = 20_000
"""Most characters of a call that are read."""
_FENCED = re.compile(r"\A```(?:python|py|tool_code)?\s*\n?(.*?)\n?```\Z", re.DOTALL)


class UnreadableCallError(OpenFinGymError):
    """A line of text is not a call of a tool; the message says what was expected."""


@dataclass(frozen=True)
class Approach:
    """The way in which a model is to come to an answer."""

    method: Method
    """``direct``: from what it knows; ``zero-shot-cot``: from what it knows, step by step; ``rag``: from what is
    retrieved for it; ``react``: with tools."""
    action: ActionForm = "tool"
    """How it calls tools: by the endpoint's native calls, by a line of text, by a block of code, or in the tags of
    thinking models."""
    tools: str = "full"
    """Name of the subset of the suite's tools that it has."""
    answer: str = ""
    """Name of the form in which it answers; empty for the usual one."""
    dictionary: bool = False
    """Whether the meaning of the codes of answers is stated with the question."""
    steps: int = 20
    """Number of actions that it has, the answer included."""
    simulated: bool = False
    """Whether the world is made up, which the prompt then says."""


@dataclass(frozen=True)
class Prompt:
    """The messages that a model is sent first."""

    system: str
    """The system message; empty where everything is in the user's message."""
    user: str


def plain_prompt(
    question: SuiteQuestion, way: Approach, tools: Sequence[SuiteTool], form: AnswerForm, module: str, found: object
) -> Prompt:
    """A prompt in plain words, which fits any suite.

    Args:
        question: the question that is asked.
        way: the way in which the model is to come to an answer.
        tools: the tools that it may call.
        form: the form of an answer.
        module: source of the module of tools that blocks of code can import; empty where the tools are plain functions.
        found: what was retrieved for the question, as text; None where nothing was looked for.
    """
    parts = ["You are an expert who answers questions. Each is asked as of a time, and nothing later is known."]
    if way.simulated:
        parts.append("The world that is asked about is simulated: what you know of the real one does not hold in it.")
    if way.method == "react":
        parts.append(_how_to_act(way, tools, module))
    if found is not None:
        parts.append(f"What was found as of that time:\n\n{found or 'Nothing.'}")
    ending = "<answer>...</answer>" if way.action == "tags" else '"Final Answer:" and the answer'
    parts.append(f"End with {ending}. The answer is {form.expected}.")
    asked = f"Asked as of {question.as_of}: {question.text}"
    return Prompt("\n\n".join(parts), f"{asked} {STEP_BY_STEP}" if way.method == "zero-shot-cot" else asked)


def _how_to_act(way: Approach, tools: Sequence[SuiteTool], module: str) -> str:
    """How the model is to write a call of a tool, and which tools there are."""
    listed = "\n".join(
        f"- {tool.name}({', '.join(_properties(tool))}): {tool.description} Arguments: {json.dumps(_properties(tool))}"
        for tool in tools
    )
    if way.action == "tags":
        how = (
            "Think in <think> tags. Call a function by one line of Python in <function_call> and </function_call>, and "
            "read what it answers in <observation>."
        )
    elif way.action == "block":
        how = (
            'Alternate "Thought:", "Action:" and "Observation:". An action is a block of Python between ```python and '
            "```, which calls the functions below and prints what you are to read; variables are not kept from one "
            "block to the next."
        )
    else:
        how = (
            'Alternate "Thought:", "Action:" and "Observation:". An action is one line with exactly one call of a '
            "function below, its arguments by name."
        )
    return (
        f"{how} You have {way.steps} actions, the answer included.\n\n{module or listed or 'There are no functions.'}"
    )


def plain_call(text: str, tools: Sequence[SuiteTool]) -> tuple[str, dict[str, object]]:
    """The tool that a line of Python calls, and its arguments by name. The line is parsed and never run.

    Args:
        text: the line, in a fence of Markdown or without, with literals as arguments.
        tools: the tools, whose parameters name the arguments that are given by position.

    Raises:
        UnreadableCallError: it is no call of a function by its name, or an argument is no literal.
    """
    fenced = _FENCED.match(text.strip())
    line = (fenced.group(1) if fenced else text).strip().strip("`")
    expected = f"Expected one call of {', '.join(tool.name for tool in tools) or 'nothing, since there are no tools'}"
    # A model may write anything: even the parser can run out of stack or memory on it.
    try:
        call = ast.parse(line[:LONGEST_CALL], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnreadableCallError(f"{expected}; found {line[:200]!r}.") from None
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise UnreadableCallError(f"{expected}; found {line[:200]!r}.")
    name = call.func.id
    # An unknown name is let through: the answer of the tools to it says which there are.
    places = [key for tool in tools if tool.name == name for key in _properties(tool)]
    if len(call.args) > len(places) or any(keyword.arg is None for keyword in call.keywords):
        raise UnreadableCallError(f"{name} is called with {', '.join(places) or 'no arguments'}, by name.")
    nodes = {**dict(zip(places, call.args, strict=False)), **{str(each.arg): each.value for each in call.keywords}}
    try:
        return name, {key: ast.literal_eval(node) for key, node in nodes.items()}
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise UnreadableCallError(f"Arguments of {name} are literals, such as 3 or 'text'.") from None


def most_frequent(answers: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The answer that most attempts gave; of several such answers, the earliest.

    Args:
        answers: the answer of each attempt, float64[numbers]; at least one.
    """
    # Compared by their bytes, so that NaN is equal to itself.
    counts = Counter(answer.tobytes() for answer in answers)
    return max(answers, key=lambda answer: counts[answer.tobytes()])


def _properties(tool: SuiteTool) -> Mapping[str, object]:
    """The parameters of a tool by name, each as JSON schema."""
    properties = tool.parameters.get("properties")
    return properties if isinstance(properties, Mapping) else {}
