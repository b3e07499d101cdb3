"""A library that does nothing and notes what it is asked to do, in the place of the one that commands call.

While :func:`recorded` runs a command, everything that the modules of the command line import from the library is a
:class:`Stand`: it can be called, awaited, entered, iterated and asked for attributes, and gives another stand each
time. What is noted are *calls* in the form ``module.function name=value``, one for each argument, with the values that
the command handed over.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import functools
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import click
import pytest
from click.testing import CliRunner

from openfingym.cli import cli, plugin_commands

OF_PLUGINS = sorted(
    {
        str(importlib.import_module(place.partition(":")[0]).__package__)
        for group in ("", ".questions", ".rounds")
        for claimed in plugin_commands.claims(f"{plugin_commands.GROUP}{group}").values()
        for _, place in claimed
    }
)
"""Packages of the commands that installed distributions bring."""
OURS = ("openfingym.cli", *OF_PLUGINS)
"""Packages of the command line."""
LIBRARY = (
    "openfingym.",
    "openfingym_verifier.",
    "openfingym_runtime.",
    *(f"{package.partition('.')[0]}." for package in OF_PLUGINS),
)
PRINTED = frozenset({"print_json", "print_table", "say", "TerminalProgress", "RunReporter", "_show"})
"""Names of the command line itself that are noted as well: what a command prints is what it hands to its user."""


@dataclass(frozen=True)
class Does:
    """What a function of the library does, where no fixed result will do: a function of its named arguments."""

    what: Callable[[Mapping[str, Any]], object]


_MOST = 2000


class _Enough(BaseException):
    """A command that repeats itself for ever, such as each minute, has been seen enough of."""


@dataclass
class Record:
    """What a command called."""

    calls: list[str] = field(default_factory=list)
    """Each argument of each call, as ``module.function name=value``; ``module.function`` for the call itself."""
    output: str = ""
    """What the command printed."""
    status: int = 0
    """Exit status of the command."""
    error: str = ""
    """The error in which the command ended; empty if it did not."""
    home: str = ""
    """The folder that stands as HOME in what is noted."""
    returns: Mapping[str, object] = field(default_factory=dict)
    """What some functions return, by their names; the others return stands."""

    def note(self, name: str, arguments: Mapping[str, object]) -> None:
        """Note a call and its arguments."""
        if len(self.calls) > _MOST:
            raise _Enough
        self.calls.append(name)
        self.calls.extend(f"{name} {key}={self.said(value)}" for key, value in arguments.items())

    @property
    def facts(self) -> frozenset[str]:
        """Everything that can be seen of the command: its calls, the lines it printed, and how it failed."""
        printed = (f"prints {line.strip()}" for line in self.output.splitlines() if line.strip())
        return frozenset([*self.calls, *printed, *([f"fails: {self.error}"] if self.error else [])])

    def said(self, value: object) -> str:
        """A value as it is noted: the same in every run."""
        text = str(value) if isinstance(value, Path) else repr(value)
        return text.replace(self.home, "HOME").replace("PosixPath", "")


class Stand(str):
    """Stands for a function, a class, or whatever one of them returns; it is a text, so that it can be printed."""

    def __new__(cls, record: Record, name: str, real: object = None) -> Any:
        made = super().__new__(cls, f"<{name}>")
        made.__dict__.update(_record=record, _name=name, _real=real)
        return made

    def __repr__(self) -> str:
        return str.__str__(self)

    def __reduce__(self) -> Any:
        return str, (repr(self),)

    def __deepcopy__(self, memo: object) -> Any:
        return self

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        args = tuple(list(each) if inspect.isgenerator(each) else each for each in args)
        bound = _bound(self._real, args, kwargs)
        self._record.note(self._name, bound)
        if self._name in self._record.returns:
            known = self._record.returns[self._name]
            return known.what(bound) if isinstance(known, Does) else known
        return Stand(self._record, self._name, self._real if inspect.isclass(self._real) else None)

    def __getattribute__(self, name: str) -> Any:
        # Texts have methods of these names, and the library attributes.
        if name in {"find", "split", "index", "count", "title"}:
            return self.__getattr__(name)
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if f"{self._name}.{name}" in self._record.returns and not callable(getattr(self._real, name, None)):
            return self._record.returns[f"{self._name}.{name}"]
        return Stand(self._record, f"{self._name}.{name}", getattr(self._real, name, None))

    def __setattr__(self, name: str, value: object) -> None:
        self._record.note(f"{self._name}.{name}", {"set": value})

    def __iter__(self) -> Iterator[Any]:
        return iter([Stand(self._record, f"{self._name}[]")] * _unpacked(sys._getframe(1)))

    def __next__(self) -> Any:
        return self

    def __round__(self, places: int = 0) -> Any:
        return 1.0

    def __await__(self) -> Iterator[Any]:
        return _nothing(self)

    async def __aenter__(self) -> Stand:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def __enter__(self) -> Stand:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    async def __aiter__(self) -> Any:
        yield Stand(self._record, f"{self._name}[]")

    def __instancecheck__(self, other: object) -> bool:
        return isinstance(other, Stand)

    def __getitem__(self, key: object) -> Any:
        return Stand(self._record, f"{self._name}[]")

    def __contains__(self, key: object) -> bool:
        return True

    def __len__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return True

    def __int__(self) -> int:
        return 1

    __index__ = __int__

    def __float__(self) -> float:
        return 1.0

    def __fspath__(self) -> str:
        return f"/nowhere/{self._name}"

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return self is other

    def _combined(self, other: object) -> Any:
        return Stand(self._record, f"{self._name}?")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _combined
    __or__ = __ror__ = __and__ = __rand__ = __floordiv__ = __rfloordiv__ = __mod__ = _combined

    def _below(self, other: object) -> bool:
        return False

    __lt__ = __gt__ = __le__ = __ge__ = _below


def _nothing(value: Any) -> Any:
    """An awaitable that is done at once."""
    return value
    yield


def _unpacked(frame: Any) -> int:
    """How many values the frame is about to unpack; 1 where it only iterates."""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti:
            return int(instruction.arg or 1) if instruction.opname == "UNPACK_SEQUENCE" else 1
    return 1


def _bound(real: object, args: Sequence[object], kwargs: Mapping[str, object]) -> Mapping[str, object]:
    """The arguments of a call by their names, as far as the real function tells them."""
    try:
        bound = inspect.signature(real).bind_partial(*args, **kwargs)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return {**{str(place): value for place, value in enumerate(args)}, **kwargs}
    named: dict[str, object] = {}
    for name, value in bound.arguments.items():
        if bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            named |= value
        else:
            named[name] = value
    return named


def _stands_for(value: object) -> bool:
    """Whether something of the library is replaced: functions and classes, but no errors, constants and types."""
    if inspect.isclass(value):
        return not issubclass(value, BaseException) and getattr(value, "__module__", "").startswith(LIBRARY)
    return inspect.isroutine(value) and (getattr(value, "__module__", "") or "").startswith(LIBRARY)


def _is_replaced(value: Any) -> bool:
    """Whether a stand replaces something: functions and classes of the library, and what prints."""
    module = getattr(value, "__module__", "") or ""
    return _stands_for(value) and (not module.startswith(OURS) or getattr(value, "__name__", "") in PRINTED)


def _replaced(record: Record, value: Any) -> Any:
    """A stand for something of the library; anything else as it is."""
    if not _is_replaced(value):
        return value
    return Stand(record, f"{value.__module__.removeprefix('openfingym.')}.{value.__qualname__}", value)


class _Lent(ModuleType):
    """A module of the library whose functions and classes are stands."""

    def __init__(self, record: Record, module: ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_record=record, _module=module)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        return _Lent(self._record, value) if isinstance(value, ModuleType) else _replaced(self._record, value)


def _tolerant(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function on dataclasses that lets stands pass."""

    def on_stands(made: Any, /, **changes: object) -> Any:
        if not isinstance(made, Stand):
            return function(made, **changes)
        made._record.note(f"{made._name}.{function.__name__}", changes)
        return made

    return on_stands


_TOLERANT: Mapping[Any, Callable[..., Any]] = {
    function: _tolerant(function) for function in (dataclasses.asdict, dataclasses.replace)
}


@functools.cache
def _imported() -> tuple[tuple[ModuleType, str, Any], ...]:
    """What the modules of the command line have imported and stands replace: module, name and value.

    All modules are imported for it: one that is imported later would define its classes by stands.
    """
    packages = [importlib.import_module(package) for package in OURS]
    modules = [
        importlib.import_module(found.name)
        for package in packages
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    return tuple(
        (module, name, value)
        for module in [*packages, *modules]
        for name, value in vars(module).items()
        if _is_tolerant(value) or _is_replaced(value)
    )


def _is_tolerant(value: object) -> bool:
    return inspect.isfunction(value) and value in _TOLERANT


@contextmanager
def _lent(record: Record) -> Iterator[None]:
    """Let the modules of the command line import stands, and give them those for what they have imported already."""
    real_import = builtins.__import__

    def lend(name: str, importing: Any = None, local: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        module = real_import(name, importing, local, fromlist, level)
        importer = (importing or {}).get("__name__", "")
        if not (fromlist and importer.startswith(OURS) and f"{name}.".startswith(LIBRARY)):
            return module
        for each in fromlist:
            if not hasattr(module, each):
                real_import(f"{name}.{each}")
        return _Lent(record, module)

    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in _imported():
            patch.setattr(module, name, _TOLERANT[value] if _is_tolerant(value) else _replaced(record, value))
        patch.setattr(builtins, "__import__", lend)
        for function, stand in _TOLERANT.items():
            patch.setattr(dataclasses, function.__name__, stand)
        patch.setattr("time.sleep", Stand(record, "time.sleep"))
        yield


def commands(group: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command of the command line, with its words."""
    if not isinstance(group, click.Group):
        yield " ".join(path), group
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield from commands(command, (*path, name))


def recorded(words: Sequence[str], home: Path, returns: Mapping[str, object] = MappingProxyType({})) -> Record:
    """What a command calls.

    Args:
        words: the words of the command line.
        home: the folder in which it runs.
        returns: what some functions return, by their names.
    """
    record = Record(home=str(home), returns=returns)
    with _lent(record):
        try:
            result = CliRunner().invoke(cli, list(words))
        except _Enough:
            return record
    record.output, record.status = result.output, result.exit_code
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        record.error = f"{type(result.exception).__name__}: {result.exception}"
    return record
