"""The tools of a suite: which of them an agent is offered, and the answers to its calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Generic, TypeVar

from openfingym.errors import UsageError
from openfingym.suites.calculator import calculate
from openfingym.suites.calls import BadCallError, LookupTool, decoded, shown
from openfingym.suites.suite import Observation, Scalar, SuiteTool

World = TypeVar("World")


@dataclass(frozen=True)
class ToolSet(Generic[World]):
    """Tools that look things up in a world, and a calculator.

    Attributes:
        tools: all tools, in the order in which they are described to agents.
        subsets: names of the tools of each subset, by name of the subset, which is what the option ``tools`` may be.
        answers: functions that answer a call of each tool but the calculator, by name of the tool; each takes the world
            and the checked arguments.
    """

    tools: tuple[LookupTool, ...]
    subsets: Mapping[str, tuple[str, ...]]
    answers: Mapping[str, Callable[[World, Mapping[str, object]], object]]

    def of(self, subset: str) -> tuple[LookupTool, ...]:
        """The tools of a subset.

        Raises:
            UsageError: there is no such subset.
        """
        if subset not in self.subsets:
            raise UsageError(f"there is no subset {subset!r} of the tools; there are {', '.join(self.subsets)}")
        return tuple(tool for tool in self.tools if tool.name in self.subsets[subset])

    def offered(self, subset: str = "full") -> tuple[SuiteTool, ...]:
        """The tools of a subset, as they are described to agents.

        Raises:
            UsageError: there is no such subset.
        """
        return tuple(SuiteTool(tool.name, tool.about, tool.schema) for tool in self.of(subset))

    def options(self, given: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """All options of a task, for a suite whose only option is ``tools``.

        Args:
            given: the options that the task states, by name.

        Raises:
            ValueError: an option is unknown, or names no subset.
        """
        # ValueError is what validators of pydantic expect, which make an error on task.toml of it.
        chosen: dict[str, Scalar] = {"tools": "full"}
        if unknown := given.keys() - chosen.keys():
            raise ValueError(f"options: no option {', '.join(sorted(unknown))}; there are {', '.join(chosen)}")
        chosen |= given
        if chosen["tools"] not in self.subsets:
            raise ValueError(f"options.tools is {chosen['tools']!r}; expected one of {', '.join(self.subsets)}")
        return chosen

    def reply(
        self,
        tools: Sequence[LookupTool],
        world: World,
        today: date | None,
        name: str,
        arguments: str | Mapping[str, object],
    ) -> Observation:
        """The answer to a call. Nothing that an agent sends raises an error: a bad call is told what was expected.

        Args:
            tools: the tools that the agent is offered.
            world: the world that the tools look things up in.
            today: the last day that may be asked for; None where days to come are as good as any.
            name: name of the tool that is called.
            arguments: arguments of the call by name, as JSON text or parsed.
        """
        offered = {tool.name: tool for tool in tools}
        try:
            # A model may send anything as a name, also what cannot be the key of a dictionary.
            tool = offered.get(name) if isinstance(name, str) else None
            if tool is None:
                raise BadCallError(f"There is no tool {shown(name)}; there are {', '.join(offered) or 'none'}.")
            checked = decoded(tool, arguments, today)
            # The calculator needs no world, and is the same for all suites.
            if tool.name == "calculator":
                value: object = {"value": calculate(str(checked["expression"]))}
            else:
                value = self.answers[tool.name](world, checked)
        except BadCallError as error:
            return Observation(f"Bad call: {error}", valid=False)
        return Observation(json.dumps(value, ensure_ascii=False), value=value)
