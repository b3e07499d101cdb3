"""Which row of a table is which, where the table says so: keys beside the values put its rows in order.

A table without keys is taken by place. One with keys is ordered by them, if they name each row exactly once; and a
column that is called like a key and does not is refused, because a perfect answer in another order is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from openfingym.errors import SubmissionError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from openfingym.packages.package import BuiltPackage

TIMES = frozenset({"time", "date", "datetime", "timestamp"})
"""Names of a column with the times that are predicted, in lower case."""
NUMBERS = frozenset({"id", "row", "index", "unnamed: 0", ""})
"""Names of a column with the numbers of the rows from 0, in lower case."""
INDEX = "__index_level_0__"
"""Name under which pandas writes an index without a name into Parquet and Arrow: times, or numbers of the rows."""


class TableName(NamedTuple):
    """What messages call a table and its rows."""

    name: str
    """Path of the file, or another name."""
    first: int = 0
    """Number of the first row: 2 in a file of text, whose first line has the names of the columns."""


def key_names(package: BuiltPackage) -> frozenset[str]:
    """Names, in lower case, of the columns that say which row of a submission is which."""
    return frozenset((*_row_axes(package)[0], *TIMES, *NUMBERS, INDEX)) - frozenset(package.manifest.labels)


def order_of(called: TableName, table: pd.DataFrame, package: BuiltPackage) -> NDArray[np.intp] | None:
    """The row of a table for each row of the submission's array, by the keys that it has; None where it has none.

    Args:
        called: what messages call the table.
        table: the table, with as many rows as the submission; columns that are no keys are left alone.
        package: the built package of the task.

    Raises:
        SubmissionError: a key does not name each row once, or two keys disagree.
    """
    names = {str(name).lower(): str(name) for name in table.columns if name not in package.manifest.labels}
    if INDEX in names:
        index = names.pop(INDEX)
        names.setdefault("index" if table[index].dtype.kind in "iuf" else "time", index)
    keys = [
        (described, order)
        for described, order in (
            _by_axes(called, table, package, names),
            _by_time(called, table, package, names),
            _by_number(called, table, names),
        )
        if order is not None
    ]
    if not keys:
        return None
    (first, order), *others = keys
    for second, other in others:
        if not np.array_equal(order, other):
            row = int((order != other).argmax())
            raise SubmissionError(
                f"{called.name}: {first} and {second} put its rows in two orders (row {row} of the answer is row "
                f"{called.first + order[row]} of the table by one, and row {called.first + other[row]} by the other); "
                "leave one of them out",
                problem="malformed-submission",
            )
    return order


_Order = tuple[str, "NDArray[np.intp] | None"]
"""What a key is called, and the row of the table for each row of the submission; None where the table lacks the key."""


def _by_axes(called: TableName, table: pd.DataFrame, package: BuiltPackage, names: dict[str, str]) -> _Order:
    """By a column for each axis but the last, such as ``window`` and ``step``, counted from 0."""
    axes, shape = _row_axes(package)
    present = [names[axis] for axis in axes if axis in names]
    if not present:
        return "", None
    described = " and ".join(present)
    if len(present) < len(axes):
        lacking = ", ".join(axis for axis in axes if axis not in names)
        raise SubmissionError(
            f"{called.name}: has a column {described} and none called {lacking}, so that rows cannot be told apart; "
            "give all of them, or none and the rows in order",
            problem="malformed-submission",
        )
    places = np.zeros(len(table), dtype=np.int64)
    for name, size in zip(present, shape, strict=True):
        numbers = _whole(called, table, name, size)
        places = places * size + numbers
    return described, _inverse(called, places, described)


def _by_time(called: TableName, table: pd.DataFrame, package: BuiltPackage, names: dict[str, str]) -> _Order:
    """By a column with the time of each row."""
    import pandas as pd

    from openfingym.kinds import kind_of

    name = next((names[key] for key in names if key in TIMES), None)
    if name is None:
        return "", None
    expected = kind_of(package.task).target_times(package.task.spec.contract, package.shown_array)
    if expected is None:
        raise SubmissionError(
            f"{called.name}: has a column {name!r}, and the rows of {package.manifest.name} have no times; leave it "
            "out if they are in order",
            problem="malformed-submission",
        )
    # As UTC without a time zone, which is how the package has its times; a text that is no time is no match.
    cells = table[name].astype(str) if table[name].dtype.kind in "iuf" else table[name]
    times = (
        pd.to_datetime(cells, utc=True, format="ISO8601", errors="coerce")
        .dt.tz_localize(None)
        .to_numpy("datetime64[ns]")
    )
    wanted = np.asarray(expected).astype("datetime64[ns]")
    if np.array_equal(times, wanted):
        return name, np.arange(len(times))
    # Times that occur more than once, as where several series have one, do not tell rows apart.
    if len(np.unique(wanted)) == len(wanted) and np.array_equal(np.sort(times), np.sort(wanted)):
        order = np.argsort(times, kind="stable")[np.argsort(np.argsort(wanted))]
        return name, order
    row = int((times != wanted).argmax())
    raise SubmissionError(
        f"{called.name}: row {called.first + row}: {name} is {table[name].iloc[row]}, expected "
        f"{np.datetime_as_string(wanted[row], unit='auto')}; each of the times that are predicted is there once "
        f"({', then '.join(package.manifest.submission_axes[:-1]) or 'row'})",
        problem="malformed-submission",
    )


def _by_number(called: TableName, table: pd.DataFrame, names: dict[str, str]) -> _Order:
    """By a column with the number of each row, counted from 0."""
    name = next((names[key] for key in names if key in NUMBERS), None)
    if name is None:
        return "", None
    return repr(name), _inverse(called, _whole(called, table, name, len(table)), repr(name))


def _row_axes(package: BuiltPackage) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names and sizes of the axes that the rows of a table stand for."""
    axes, shape = package.manifest.submission_axes, package.manifest.submission_shape
    if len(axes) == 1:
        return (axes[0],), tuple(shape)
    return tuple(axes[:-1]), tuple(shape[:-1])


def _whole(called: TableName, table: pd.DataFrame, name: str, size: int) -> NDArray[np.int64]:
    import pandas as pd

    numbers = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=np.float64)
    wrong = ~(np.isfinite(numbers) & (numbers == np.round(numbers)) & (numbers >= 0) & (numbers < size))
    if wrong.any():
        row = int(wrong.argmax())
        raise SubmissionError(
            f"{called.name}: row {called.first + row}: {name} is {table[name].iloc[row]}, expected a whole number from "
            f"0 to {size - 1}; leave the column out if it is no key and the rows are in order",
            problem="malformed-submission",
        )
    return numbers.astype(np.int64)


def _inverse(called: TableName, places: NDArray[np.int64], described: str) -> NDArray[np.intp]:
    """The row of the table for each place.

    Raises:
        SubmissionError: two rows have one place.
    """
    counts = np.bincount(places, minlength=len(places))
    if len(counts) > len(places) or (counts != 1).any():
        place = int((counts > 1).argmax())
        twice = np.flatnonzero(places == place)[:2] + called.first
        raise SubmissionError(
            f"{called.name}: rows {twice[0]} and {twice[-1]} have the same {described}; each row is there once",
            problem="malformed-submission",
        )
    return np.argsort(places, kind="stable")
