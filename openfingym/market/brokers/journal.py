"""The journal of an account: every report that its mirror merged, so that a new process knows what a killed one did.

The file holds a line of JSON for each report, in the order in which they came. A report is there whole or not at all:
what a kill has left of a line is cut off. An order of ours is on the disk before its request is sent, so that no order
can be forgotten; everything else can be asked for again.
"""

from __future__ import annotations

import json
import os
import types
import typing
from collections.abc import Mapping
from decimal import Decimal
from enum import IntEnum
from pathlib import Path
from typing import Any, Self

from openfingym.errors import StoreError
from openfingym.files.locks import Lock, take
from openfingym.files.whole import store_errors
from openfingym.market.brokers import reports
from openfingym.market.brokers.reports import Report, Submitted

NAME = "orders.jsonl"
_CLASSES = {kind.__name__: kind for kind in typing.get_args(Report)}
_HINTS = {name: typing.get_type_hints(kind, vars(reports)) for name, kind in _CLASSES.items()}


class Journal:
    """The journal of one account in a folder; one process at a time may have it open."""

    def __init__(self, folder: Path) -> None:
        """Open the journal in a folder, or begin one; :attr:`reports` is what it holds.

        Raises:
            StoreError: the folder cannot be written, another process has the journal open, or it is damaged.
        """
        self.path = folder / NAME
        try:
            with store_errors(self.path, "choose another folder"):
                folder.mkdir(parents=True, exist_ok=True)
                self._lock: Lock = take(self.path, wait=False)
        except StoreError as error:
            if isinstance(error.__cause__, BlockingIOError):
                raise StoreError(
                    f"{self.path}: another process trades with this journal; end it, or choose another folder"
                ) from error
            raise
        try:
            with store_errors(self.path, "choose another folder"):
                text = self.path.read_bytes()
                whole = text.rfind(b"\n") + 1
                self.reports: list[Report] = [
                    self._read(number, line) for number, line in enumerate(text[:whole].splitlines(), start=1)
                ]
                os.ftruncate(self._lock.descriptor, whole)  # a part of a line would spoil the next one
                os.lseek(self._lock.descriptor, whole, os.SEEK_SET)
        except BaseException:
            self._lock.release()
            raise
        self._length = whole

    def keep(self, report: Report) -> None:
        """Append a report; an order of ours is on the disk when this returns.

        Raises:
            StoreError: the report cannot be written; the journal is as it was before.
        """
        value = [type(report).__name__, *(_plain(item) for item in report)]
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        descriptor = self._lock.descriptor
        with store_errors(self.path, "make the folder writable, then start again"):
            try:
                written = 0
                while written < len(line):
                    written += os.write(descriptor, line[written:])
                if isinstance(report, Submitted):  # all others can be asked for again after a power cut
                    os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, self._length)
                os.lseek(descriptor, self._length, os.SEEK_SET)
                raise
        self._length += len(line)

    def close(self) -> None:
        """Close the journal, so that another process may open it."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, number: int, line: bytes) -> Report:
        try:
            name, *values = json.loads(line)
            hints = _HINTS[name]
            if len(values) > len(hints):
                raise TypeError(f"{name} has no {len(values)} fields")
            # An earlier version wrote fewer fields of some reports: those that it did not know have defaults.
            fields = {key: _typed(hint, value) for (key, hint), value in zip(hints.items(), values, strict=False)}
            return typing.cast("Report", _CLASSES[name](**fields))
        except (ValueError, KeyError, TypeError, ArithmeticError) as error:
            raise StoreError(
                f"{self.path}, line {number}: not a report of this version; move the file away and start with no open "
                "orders, so that the account is read anew"
            ) from error


def _plain(value: object) -> Any:
    """A field of a report as JSON has it: decimals as text, so that they stay exact."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return int(value) if isinstance(value, IntEnum) else value


def _typed(hint: Any, value: Any) -> Any:
    """The field that :func:`_plain` wrote, of the type that its annotation states."""
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        [hint] = [part for part in typing.get_args(hint) if part is not type(None)]
    if hint is Decimal or (isinstance(hint, type) and issubclass(hint, IntEnum)):
        return hint(value)
    if not isinstance(value, hint):
        raise TypeError(f"{value!r} is no {hint}")
    return value
