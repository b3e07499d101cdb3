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
    """How a model answers the questions of a task; it goes on record with every result."""

    method: Method = "react"
    action: ActionForm = "tool"
    """How ``react`` acts: ``tool``, by native calls of tools; ``function``, by a line of text; ``block``, by a block of
    code; ``tags``, by the tags of thinking models."""
    tools: str = "full"
    """Subset of the suite's tools that ``react`` may call, by the suite's name for it; ``none`` for no tool."""
    answer: str = ""
    """Form in which the answer is asked for, by the suite's name for it; empty for the usual one."""
    retrieve: str = ""
    """What ``rag`` retrieves, by the suite's name for it; empty for all that the suite retrieves."""
    dictionary: bool = False
    """Whether ``direct`` is given what the codes of answers mean."""
    votes: int = 1
    """How often each question is attempted; the suite's vote makes one answer of all."""
    question_s: float = 900.0
    """Seconds that a question may take, all attempts together."""
    block_s: float = 300.0
    """Seconds that a block of code may run."""

    def changed(self, name: str, given: str) -> Answering:
        """These settings with some of them changed.

        Args:
            name: name of the agent, for messages.
            given: the text behind the agent's name, such as ``action=block,votes=5``.

        Raises:
            UsageError: there is no such setting, it cannot have that value, or the agent's method has no use for it.
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
        changed = replace(self, **changes)
        if changed.action not in get_args(ActionForm):
            raise UsageError(f"action is {changed.action!r}; expected one of {', '.join(get_args(ActionForm))}")
        # A setting that does nothing would still be part of the agent's name, and so of what results are told apart by.
        useless = [
            key
            for key, method in (("action", "react"), ("tools", "react"), ("retrieve", "rag"), ("dictionary", "direct"))
            if method != self.method and getattr(changed, key) != getattr(self, key)
        ]
        if useless:
            raise UsageError(f"agent {name!r} has no use for {', '.join(useless)}")
        if changed.votes < 1 or changed.question_s <= 0.0 or changed.block_s <= 0.0:
            raise UsageError("votes is at least 1, and seconds are more than 0")
        return changed

    def stated(self, usual: Answering) -> str:
        """The settings that differ from the usual ones, as they are written behind an agent's name."""
        shown = [
            (item.name, value)
            for item in fields(self)
            if (value := getattr(self, item.name)) != getattr(usual, item.name)
        ]
        return ",".join(f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in shown)

    def require_known(self, asking: Asking) -> None:
        """Refuse settings that a task's suite does not know.

        Raises:
            UsageError: the suite does not know a setting's value; says which values there are.
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
        """The settings as a suite's prompt takes them.

        Args:
            steps: actions that are left for the question, the answer included.
            simulated: whether the world that is asked about is made up.
        """
        return Approach(self.method, self.action, self.tools, self.answer, self.dictionary, steps, simulated)


def _value(key: str, value: str, kind: type) -> object:
    """The value of a setting, read as what its default is: a truth value, a number or a text."""
    try:
        if kind is bool:
            return {"true": True, "false": False}[value.lower()]
        return kind(value)
    except (KeyError, ValueError):
        expected = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
        raise UsageError(f"{key} is {value!r}; expected {expected}") from None
