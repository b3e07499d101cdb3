"""The functions of the API as tools of an agent: a name and arguments in, an observation out.

Nothing that an agent sends raises an error: a bad call is answered by a text that says what was expected. Only an
infrastructure error does, such as a damaged vault.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

from openfingym_suites.mirai.api import EventApi
from openfingym_suites.mirai.arguments import Fault, IllegalCallError, decoded, shown
from openfingym_suites.mirai.calls import parsed_call
from openfingym_suites.mirai.classes import CAMEOCode, Country, Date, DateRange, Event, ISOCode, Relation
from openfingym_suites.mirai.functions import functions_of

if TYPE_CHECKING:
    from openfingym.vault import View

ILLEGAL = (
    "Illegal action: {} Please make sure your action is a valid and executable function call with correct arguments "
    "based on the API description."
)
"""The paper's words around the reason why a call is refused."""
_NOTHING = "Nothing meets all conditions; try a longer date_range, other codes, or fewer conditions."


@dataclass(frozen=True)
class ToolReply:
    """The answer to a call."""

    text: str
    """The text for an agent to read: the answer as Python writes it, or what is wrong with the call."""
    valid: bool = True
    value: object = None
    """The answer as JSON, for programs; None for a bad call."""
    fault: Fault | None = None
    """What is wrong with a bad call, in one word; None for a valid one."""
    error: str = ""
    """What is wrong with a bad call, in a sentence without the paper's words around it."""


class Tools:
    """The functions of a subset on one view.

    Args:
        view: the view as of the time of the question. The tools of a view with hindsight have no current date.
        subset: name of the subset: ``full``, ``events``, ``news`` or ``none``.

    Raises:
        UsageError: there is no such subset.
    """

    def __init__(self, view: View, subset: str = "full") -> None:
        self._functions = {function.name: function for function in functions_of(subset)}
        self._api = EventApi(view)
        # A view may end with the last microsecond of a day or with the midnight after it; both are of that day.
        last = (view.time - timedelta(microseconds=1)).date()
        self.today: date | None = None if view.hindsight else last

    def call(self, name: str, arguments: str | Mapping[str, object]) -> str:
        """The observation of a call: a text for an agent to read.

        Args:
            name: name of the function.
            arguments: the arguments by name, as JSON text or parsed.
        """
        return self.reply(name, arguments).text

    def call_line(self, line: str) -> ToolReply:
        """The reply to a call that is written as a line of Python."""
        try:
            name, arguments = parsed_call(line)
        except IllegalCallError as error:
            return _refusal(error)
        return self.reply(name, arguments)

    def exchange(self, name: str, arguments: str) -> str:
        """One exchange with the module in a container: the answer to a call, or what was wrong with it, as JSON text.

        Args:
            name: name of the function.
            arguments: the arguments by name, as JSON text.
        """
        reply = self.reply(name, arguments)
        return json.dumps({"value": reply.value} if reply.valid else {"error": reply.error}, ensure_ascii=True)

    def reply(self, name: str, arguments: str | Mapping[str, object]) -> ToolReply:
        """The reply to a call.

        Args:
            name: name of the function.
            arguments: the arguments by name, as JSON text or parsed.
        """
        try:
            # What comes from a container may be any JSON value, also one that no dictionary can be asked for.
            function = self._functions.get(name) if isinstance(name, str) else None
            if function is None:
                known = ", ".join(self._functions) or "none"
                raise IllegalCallError(f"There is no function {shown(name)}; there are: {known}.", "unknown_function")
            checked = decoded(function, arguments, self.today)
            # The name is that of a known function, never the agent's text, so that nothing else can be reached.
            method: Callable[..., object] = getattr(self._api, function.name)
            answer = method(**checked)
        except IllegalCallError as error:
            return _refusal(error)
        text = answer if isinstance(answer, str) else repr(answer)
        return ToolReply(f"{text}\n{_NOTHING}" if answer in ([], {}) else text, value=as_json(answer))


def as_json(value: object) -> object:
    """An answer of the API as JSON: codes and days as strings, counts as pairs, other classes as lists of attributes.

    The module in a container rebuilds the classes from these (:mod:`openfingym_suites.mirai.client`).
    """
    match value:
        case Date():
            return value.date
        case ISOCode() | CAMEOCode():
            return value.code
        case DateRange():
            return [as_json(value.start_date), as_json(value.end_date)]
        case Country():
            return [value.iso_code.code, value.name]
        case Relation():
            return [value.cameo_code.code, value.name, value.description]
        case Event():
            return [value.date.date, value.head_entity.code, value.relation.code, value.tail_entity.code]
        case dict():
            return [[as_json(key), count] for key, count in value.items()]
        case list() | tuple():
            return [as_json(each) for each in value]
    return value


def _refusal(error: IllegalCallError) -> ToolReply:
    return ToolReply(ILLEGAL.format(error), valid=False, fault=error.fault, error=str(error))
