"""Reads one Arrow or Parquet table from stdin; run as a program of its own.

Decoders of columnar formats are large C++ programs fed with an agent's bytes, and their
compression can turn kilobytes into gigabytes. They therefore run in a short-lived process
that holds no labels and has little memory, CPU time and no files to write.

argv: format (stream | file | parquet), JSON list of columns, rows expected, JSON list of the names
of keys, columns that say which row is which.
stdout: on success a line with a JSON list of the keys that the table has, each a name and its type
(``f8``, or ``i8`` for times in nanoseconds); the float64 values, C order [rows, channels]; then the
keys, one after the other. Otherwise, with exit code 3, a JSON object with ``problem`` and ``detail``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

MEMORY_BYTES = 2 * 1024**3
"""Limit on the process's address space, which is larger than the memory that is in use."""
CPU_SECONDS = 10
REFUSED = 3
"""Exit code with which the reason of a refusal stands in the output."""


def restrict() -> None:
    """Bound the memory, time and files of this process; a limit that the platform lacks is left out."""
    import resource

    for kind, value in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        # No file may grow: a decoder that is taken over by its input has nowhere to leave anything.
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))


class TableRefused(Exception):  # noqa: N818 - a verdict on what was sent, not a failure of the program
    """The table is not what was expected.

    Attributes:
        problem: slug of the problem, a key of :data:`openfingym_verifier.problems.KINDS`.
        detail: one or two sentences for the agent.
    """

    def __init__(self, problem: str, detail: str) -> None:
        super().__init__(detail)
        self.problem, self.detail = problem, detail


def read_table(kind: str, body: bytes, rows: int) -> pa.Table:
    """The table, refused before it is decoded if it states a wrong number of rows.

    Args:
        kind: ``stream`` or ``file`` for Arrow, or ``parquet``.
        body: content of the file or stream.
        rows: number of rows that is expected.

    Raises:
        TableRefused: the table has another number of rows.
    """
    import pyarrow as pa

    if kind == "parquet":
        import pyarrow.parquet as pq

        file = pq.ParquetFile(io.BytesIO(body))
        check_rows(file.metadata.num_rows, rows)
        return file.read(use_threads=False)
    source = pa.BufferReader(body)
    reader = pa.ipc.open_stream(source) if kind == "stream" else pa.ipc.open_file(source)
    # Arrow states no number of rows ahead: batch by batch, so that a table that is too long is given up early.
    batches = []
    count = 0
    for batch in reader if kind == "stream" else (reader.get_batch(i) for i in range(reader.num_record_batches)):
        count += batch.num_rows
        if count > rows:
            check_rows(count, rows)
        batches.append(batch)
    check_rows(count, rows)
    return pa.Table.from_batches(batches, reader.schema)


def check_rows(found: int, rows: int) -> None:
    """Refuse a table that does not have the expected number of rows."""
    if found != rows:
        raise TableRefused(
            "wrong-shape",
            f"The table has {found} rows or more; expected {rows}: one for each position on every axis but the last, "
            "in C order.",
        )


def decode(
    kind: str, body: bytes, channels: list[str], rows: int, keys: list[str]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.generic]]]:
    """The values of a table, float64[rows, channels], and its keys by name, float64[rows] or int64[rows] each.

    Args:
        kind: ``stream`` or ``file`` for Arrow, or ``parquet``.
        body: content of the file or stream.
        channels: names of the columns that are expected, in the order of the result.
        rows: number of rows that is expected.
        keys: names, in lower case, of the columns that there may be beside them.

    Raises:
        TableRefused: the table is another, or none. Whatever its bytes set off comes to this.
    """
    try:
        table = read_table(kind, body, rows)
        beside = [name for name in table.column_names if name not in channels]
        known = {name.lower() for name in beside} <= set(keys) and len({name.lower() for name in beside}) == len(beside)
        if sorted(table.column_names) != sorted([*channels, *beside]) or not known:
            raise TableRefused(
                "wrong-shape",
                f"The columns are {table.column_names}; expected {channels}, and beside them only columns that say "
                f"which row is which, such as {sorted(filter(None, keys))}.",
            )
        return values_of(table, channels), {name: key_of(table, name) for name in beside}
    except TableRefused:
        raise
    except Exception:
        raise TableRefused(
            "malformed-submission", "The body is not a readable table of the stated media type, or unpacks to too much."
        ) from None


def key_of(table: pa.Table, name: str) -> NDArray[np.generic]:
    """A column that says which row is which: numbers as float64, times as int64 nanoseconds in UTC.

    Raises:
        TableRefused: it holds neither, or a cell is missing.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name).combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        raise TableRefused("malformed-submission", f"Column {name!r}, which says which row is which, has empty cells.")
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        # Whole numbers beyond 2**53 lose digits, and are no number of a row.
        return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    for zone in (None, "UTC"):
        try:
            moments = pc.cast(column, pa.timestamp("ns", tz=zone)).cast(pa.int64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
        return moments.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    raise TableRefused(
        "malformed-submission",
        f"Column {name!r}, which says which row is which, is {column.type}; expected numbers or times.",
    )


def values_of(table: pa.Table, channels: list[str]) -> NDArray[np.float64]:
    """The numeric columns side by side, float64[rows, channels]; missing values become NaN.

    Raises:
        TableRefused: a column holds something else than numbers.
    """
    import numpy as np
    import pyarrow as pa

    out = np.empty((table.num_rows, len(channels)), dtype="<f8")
    for index, name in enumerate(channels):
        column = table.column(name)
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            raise TableRefused("wrong-dtype", f"Column {name!r} is {column.type}; expected float64.")
        out[:, index] = column.to_numpy(zero_copy_only=False)
    return out


def main() -> None:
    """Decode within bounds, and write the values or the reason why there are none."""
    restrict()
    kind, channels, rows, names = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
    import pyarrow as pa

    pa.set_cpu_count(1)
    try:
        values, keys = decode(kind, sys.stdin.buffer.read(), channels, rows, names)
    except TableRefused as refusal:
        sys.stdout.write(json.dumps({"problem": refusal.problem, "detail": refusal.detail[:500]}))
        sys.stdout.flush()
        # At once: threads and destructors of a decoder that has read a bad table could still hang or crash.
        os._exit(REFUSED)
    header = json.dumps([[name, column.dtype.str[1:]] for name, column in keys.items()])
    sys.stdout.buffer.write(b"".join([header.encode(), b"\n", values.tobytes(), *(c.tobytes() for c in keys.values())]))


if __name__ == "__main__":
    main()
