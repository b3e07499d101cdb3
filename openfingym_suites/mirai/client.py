"""The text of the Python module by which programs in a container call the API: the standard library alone.

Its functions send their name and their arguments as JSON through a transport, and rebuild the classes from the JSON
that comes back; a pickle from the container could run code on the host. What a function may be asked is decided on the
other side, because a program may change the module at will.
"""

from __future__ import annotations

from importlib import resources

from openfingym_suites.mirai.functions import Function, documentation, functions_of

MODULE = "mirai_api"
"""Name of the module in a container."""
# The text goes into packages, whose digests are recorded: a changed byte makes another package.
_HEAD = '''"""The API of the event database. Made from its description; do not edit.

    import interface
    from mirai_api import *

    env = interface.make()
    observation, info = env.reset()
    events = get_events(head_entities=[ISOCode("AUS")], tail_entities=[ISOCode("CHN")])
    print(events[0].relation.code)

Each call is one call of a tool, as of the time of the question that is open. One that cannot be answered raises
IllegalCallError, whose text says what was expected.
"""
'''
_TAIL = '''

class IllegalCallError(ValueError):
    """A call that cannot be answered; the message says what was expected."""


_transport = None


def connect(transport):
    """Send calls through something other than the task's interface: transport(name, arguments as JSON text) gives the
    answer as JSON text, {"value": ...} or {"error": "what was expected"}.
    """
    global _transport
    _transport = transport


def _send(function, text):
    if _transport is not None:
        return _transport(function, text)
    try:
        import interface
    except ImportError:
        raise RuntimeError("the API is not connected: there is no task here; call connect(transport) first") from None
    return interface.exchange(function, text)


def _encoded(value):
    if isinstance(value, DateRange):
        return {"start_date": _encoded(value.start_date), "end_date": _encoded(value.end_date)}
    if isinstance(value, Date):
        return value.date
    if isinstance(value, (ISOCode, CAMEOCode)):
        return value.code
    if isinstance(value, Country):
        return _encoded(value.iso_code)
    if isinstance(value, Relation):
        return _encoded(value.cameo_code)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_encoded(each) for each in value]
    return value


def _call(function, rebuild, /, **arguments):
    given = {key: _encoded(value) for key, value in arguments.items() if value is not None}
    try:
        text = json.dumps(given)
    except (TypeError, ValueError) as error:
        raise IllegalCallError(f"the arguments of {function} are not of the API: {error}") from None
    answer = json.loads(_send(function, text))
    if "error" in answer:
        raise IllegalCallError(answer["error"])
    return rebuild(answer["value"])


def _same(value):
    return value


def _country(value):
    return Country(ISOCode(value[0]), value[1])


def _relation(value):
    return Relation(CAMEOCode(value[0]), value[1], value[2])


def _event(value):
    return Event(Date(value[0]), ISOCode(value[1]), CAMEOCode(value[2]), ISOCode(value[3]))


def _headline(value):
    return (Date(value[0]), value[1])


def _list_of(rebuild):
    return lambda values: [rebuild(value) for value in values]


def _counts_of(key):
    return lambda pairs: {key(code): count for code, count in pairs}
'''
# How the module rebuilds what openfingym_suites.mirai.tools.as_json made of an answer, by the type that it states.
_REBUILD = {
    "int": "_same",
    "str": "_same",
    "Relation": "_relation",
    "List[Country]": "_list_of(_country)",
    "List[Relation]": "_list_of(_relation)",
    "List[Event]": "_list_of(_event)",
    "List[Tuple[Date, str]]": "_list_of(_headline)",
    "Dict[ISOCode, int]": "_counts_of(ISOCode)",
    "Dict[CAMEOCode, int]": "_counts_of(CAMEOCode)",
}


def client_source(subset: str = "full") -> str:
    """The text of the module, with the functions of a subset.

    Args:
        subset: name of the subset of the API's functions.

    Raises:
        UsageError: there is no such subset.
    """
    imports = "\nfrom __future__ import annotations\n\nimport json\nfrom dataclasses import dataclass\n"
    imports += "from typing import Dict, List, Optional, Tuple\n"
    functions = "".join(f"\n\n{_stub(function, _body(function))}" for function in functions_of(subset))
    return f"{_HEAD}{imports}{_classes()}{_TAIL}{functions}"


def api_description(subset: str = "full") -> str:
    """The API as a prompt shows it: all classes, and the functions of a subset with docstrings and without bodies.

    Args:
        subset: name of the subset of the API's functions; ``none`` gives an empty text.

    Raises:
        UsageError: there is no such subset.
    """
    functions = functions_of(subset)
    if not functions:
        return ""
    stubs = "".join(f"\n\n{_stub(function, '...')}" for function in functions)
    imports = "from dataclasses import dataclass\nfrom typing import Dict, List, Optional, Tuple\n"
    return f"{imports}{_classes()}{stubs}".strip()


def _classes() -> str:
    """The eight classes as their source has them, without the module's docstring and imports."""
    text = (resources.files("openfingym_suites.mirai") / "classes.py").read_text(encoding="utf-8")
    return "\n\n" + text[text.index("@dataclass") :].rstrip() + "\n"


def _stub(function: Function, body: str) -> str:
    """The definition of a function as text, with a body of one line."""
    return f'{function.signature}:\n    """{documentation(function)}"""\n    {body}\n'


def _body(function: Function) -> str:
    sent = "".join(f", {each.name}={each.name}" for each in function.parameters)
    return f'return _call("{function.name}", {_REBUILD[function.returns]}{sent})'
