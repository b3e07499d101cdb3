"""Reads one Arrow or Parquet table from stdin; run as a program of its own.

Decoders of columnar formats are large C++ programs fed with an agent's bytes, and their
compression can turn kilobytes into gigabytes. They therefore run in a short-lived process
that holds no labels and has little memory, CPU time and no files to write.

argv: format (stream | file | parquet), JSON list of columns, rows expected.
stdout: on success the float64 values, C order [rows, channels]; otherwise, with exit code 3,
a JSON object with ``problem`` and ``detail``.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import pyarrow as pa

MEMORY_BYTES = 2 * 1024**3
CPU_SECONDS = 10
REFUSED = 3


def restrict() -> None:
    """Bound this process; a platform without a limit keeps the others."""
    import resource

    for kind, value in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(kind, (value, value))


def refuse(problem: str, detail: str) -> NoReturn:
    """End with a reason for the agent."""
    sys.stdout.write(json.dumps({"problem": problem, "detail": detail[:500]}))
    sys.stdout.flush()
    os._exit(REFUSED)


def read_table(kind: str, body: bytes, rows: int) -> pa.Table:
    """The table, refused before it is decoded if it states a wrong number of rows."""
    import pyarrow as pa

    if kind == "parquet":
        import pyarrow.parquet as pq

        file = pq.ParquetFile(io.BytesIO(body))
        check_rows(file.metadata.num_rows, rows)
        return file.read(use_threads=False)
    source = pa.BufferReader(body)
    reader = pa.ipc.open_stream(source) if kind == "stream" else pa.ipc.open_file(source)
    batches = []
    found = 0
    for batch in reader if kind == "stream" else (reader.get_batch(i) for i in range(reader.num_record_batches)):
        found += batch.num_rows
        if found > rows:
            check_rows(found, rows)
        batches.append(batch)
    check_rows(found, rows)
    return pa.Table.from_batches(batches, reader.schema)


def check_rows(found: int, rows: int) -> None:
    """Refuse a table of another length."""
    if found != rows:
        refuse(
            "wrong-shape",
            f"The table has {found} rows or more; expected {rows}: one for each position on every axis but the last, in C order.",
        )


def main() -> None:
    """Decode, check columns and types, and write the values."""
    restrict()
    kind, channels, rows = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    import numpy as np
    import pyarrow as pa

    pa.set_cpu_count(1)
    try:
        table = read_table(kind, sys.stdin.buffer.read(), rows)
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, TypeError):
        refuse("malformed-submission", "The body is not a readable table of the stated media type, or unpacks to too much.")
    if sorted(table.column_names) != sorted(channels):
        refuse("wrong-shape", f"The columns are {table.column_names}; expected {channels}.")
    out = np.empty((rows, len(channels)), dtype="<f8")
    for index, name in enumerate(channels):
        column = table.column(name)
        if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
            refuse("wrong-dtype", f"Column {name!r} is {column.type}; expected float64.")
        out[:, index] = column.to_numpy(zero_copy_only=False)
    sys.stdout.buffer.write(out.tobytes())


if __name__ == "__main__":
    main()
