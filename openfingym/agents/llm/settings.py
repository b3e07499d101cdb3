"""How an agent answers questions, as it is written behind its name: ``react:action=block,tools=events``."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, get_args

from openfingym.errors import UsageError
from openfingym.suites.asking import ActionForm, Approach, Method

if TYPE_CHECKING:
    from openfingym.suites.suite import Asking

NOTHING = "none"
"""The subset without tools."""


@dataclass(frozen=True)
class Answering:
    """How a model answers the questions of a task; on record with every result."""

    method: Method = "react"
    action: ActionForm = "tool"
    """Of ``react``: native calls of tools; ``function``, a line of text; ``block``, a block of code; ``tags``, those of
    thinking models."""
    tools: str = "full"
    """Subset of the tools, by the suite's name; ``none`` for no tool."""
    answer: str = ""
    """Form of the answer, by the suite's name; empty for the usual one."""
    retrieve: str = ""
    """Of ``rag``: what is retrieved, by the suite's name; empty for all that it retrieves."""
    dictionary: bool = False
    """Of ``direct``: whether the codes of answers are explained."""
    votes: int = 1
    """Attempts at each question, whose answers the suite's vote makes one."""
    question_s: float = 900.0
    """Seconds that a question may take, all attempts together."""
    block_s: float = 300.0
    """Seconds that a block of code may run."""

    def changed(self, name: str, given: str) -> Answering:
        """With other settings.

        Args:
            name: the agent's, for messages.
            given: what stands behind its name, such as ``action=block,votes=5``.

        Raises:
            UsageError: there is no such setting, or it has another value.
        """
        kinds = {item.name: type(getattr(self, item.name)) for item in fields(self) if item.name != "method"}
        changes: dict[str, Any] = {}
        for part in filter(None, given.split(",")):
            key, equals, value = (text.strip() for text in part.partition("="))
            if key not in kinds or not equals:
                raise UsageError(
                    f"agent {name!r} has no setting {part.strip()!r}; settings are {', '.join(sorted(kinds))}, such as "
                    f"{name}:tools=none,votes=3"
                )
            changes[key] = _value(key, value, kinds[key])
        found = replace(self, **changes)
        if found.action not in get_args(ActionForm):
            raise UsageError(f"action is {found.action!r}; expected one of {', '.join(get_args(ActionForm))}")
        wrong = [
            key
            for key, method in (("action", "react"), ("tools", "react"), ("retrieve", "rag"), ("dictionary", "direct"))
            if method != self.method and getattr(found, key) != getattr(self, key)
        ]
        if wrong:
            raise UsageError(f"agent {name!r} has no use for {', '.join(wrong)}")
        if found.votes < 1 or found.question_s <= 0.0 or found.block_s <= 0.0:
            raise UsageError("votes is at least 1, and seconds are more than 0")
        return found

    def stated(self, usual: Answering) -> str:
        """The settings that are not as usual, as they are written behind a name."""
        shown = [
            (item.name, value)
            for item in fields(self)
            if (value := getattr(self, item.name)) != getattr(usual, item.name)
        ]
        return ",".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in shown)

    def require_known(self, asking: Asking) -> None:
        """Refuse settings that a task's suite does not know.

        Raises:
            UsageError: names the setting and what there is.
        """
        suite, options = asking.suite, asking.options
        for key, known in (
            ("tools", tuple(suite.subsets(options))),
            ("answer", ("", *suite.forms(options))),
            ("retrieve", ("", *suite.retrieves)),
        ):
            if getattr(self, key) not in known:
                raise UsageError(
                    f"{key} is {getattr(self, key)!r}; the suite {suite.name!r} has {', '.join(filter(None, known))}"
                )
        if self.dictionary and not suite.has_dictionary:
            raise UsageError(f"the suite {suite.name!r} has no dictionary")
        if self.method == "rag" and not suite.retrieves:
            raise UsageError(f"the suite {suite.name!r} retrieves nothing; ask with tools: react")
        if self.votes > asking.attempts:
            raise UsageError(f"votes is {self.votes}; a question may be attempted {asking.attempts} times")

    def approach(self, *, steps: int, simulated: bool) -> Approach:
        """As a suite's prompt takes it."""
        return Approach(self.method, self.action, self.tools, self.answer, self.dictionary, steps, simulated)


def _value(key: str, value: str, kind: type) -> object:
    try:
        if kind is bool:
            return {"true": True, "false": False}[value.lower()]
        return kind(value)
    except (KeyError, ValueError):
        expected = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
        raise UsageError(f"{key} is {value!r}; expected {expected}") from None
