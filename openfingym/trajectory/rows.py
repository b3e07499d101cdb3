"""Files of training rows, as JSON lines or Parquet, written row by row so that any number takes little memory."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import UsageError
from openfingym.files.whole import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

Json = dict[str, object]
_GROUP = 4_000_000
"""Characters of rows that are collected before they are written to Parquet together."""


@contextlib.contextmanager
def row_writer(path: Path, *, sharegpt: bool = False) -> Iterator[Callable[[Json], None]]:
    """A function that writes one row to a file, which appears complete when the block ends, or not at all.

    Args:
        path: path of the file; a name that ends in ``.parquet`` means Parquet, any other JSON lines.
        sharegpt: whether the rows are those of :func:`~openfingym.trajectory.to_sharegpt` rather than those of
            :func:`~openfingym.trajectory.to_messages`; it matters for Parquet alone.

    Raises:
        UsageError: the file is to be Parquet, and pyarrow is not installed.
        OSError: the file cannot be written.
    """
    schema = messages_schema(sharegpt=sharegpt) if path.suffix == ".parquet" else None
    with whole_file(path) as stream:
        if schema is None:
            yield lambda row: _write_line(stream.write, row)
            return
        import pyarrow.parquet as pq

        # Parquet is binary, and goes past the encoding of the text file that appears when the block ends.
        with pq.ParquetWriter(stream.buffer, schema, compression="zstd") as writer:
            group: list[Json] = []
            size = 0

            def write(row: Json) -> None:
                nonlocal size
                group.append(row)
                size += len(json.dumps(row, ensure_ascii=False, allow_nan=False))
                if size > _GROUP:
                    flush()

            def flush() -> None:
                nonlocal size
                if group:
                    writer.write_batch(_batch(group, schema))
                group.clear()
                size = 0

            yield write
            flush()


def messages_schema(*, sharegpt: bool = False) -> pa.Schema:
    """The Arrow schema of rows, as a Parquet file has it and ``datasets.Features.from_arrow_schema`` takes it.

    Arguments of calls and parameters of tools are of Arrow's type ``json``: their keys differ from row to row, and a
    column for each key would be null in every other row.

    Args:
        sharegpt: whether the rows are those of :func:`~openfingym.trajectory.to_sharegpt`.

    Raises:
        UsageError: pyarrow is not installed, or too old for that type.
    """
    try:
        import pyarrow as pa

        anything = pa.json_(pa.string())
    except (ImportError, AttributeError):
        raise UsageError(
            "Parquet needs pyarrow 19 or later: pip install 'openfingym[arrow]', or name a .jsonl file with --out"
        ) from None
    text = pa.string()
    function = pa.struct([("name", text), ("arguments", anything)])
    call = pa.struct([("id", text), ("type", text), ("function", function)])
    message = pa.struct(
        [
            ("role", text),
            ("content", text),
            ("reasoning_content", text),
            ("tool_calls", pa.list_(call)),
            ("tool_call_id", text),
            ("name", text),
            ("train", pa.bool_()),
        ]
    )
    offered = pa.struct([("name", text), ("description", text), ("parameters", anything)])
    tool = pa.struct([("type", text), ("function", offered)])
    conversation = [("messages", pa.list_(message)), ("tools", pa.list_(tool))]
    if sharegpt:
        turn = pa.struct([("from", text), ("value", text)])
        conversation = [("conversations", pa.list_(turn)), ("system", text), ("tools", text)]
    texts = dict.fromkeys(("state", "task", "task_digest", "data_kind", "split", "agent", "model", "digest"), text)
    numbers = {"reward": pa.float64(), "relative_total": pa.float64()}
    counts = dict.fromkeys(("instance", "seed", "not_trained", "control_tokens"), pa.int64())
    types = texts | numbers | counts
    return pa.schema([("id", text), *conversation, *((name, types[name]) for name in COLUMNS)])


COLUMNS = (
    "reward",
    "relative_total",
    "state",
    "task",
    "task_digest",
    "data_kind",
    "split",
    "instance",
    "agent",
    "model",
    "seed",
    "not_trained",
    "control_tokens",
    "digest",
)
"""Names of the columns that follow the conversation, in order."""


def _write_line(write: Callable[[str], object], row: Json) -> None:
    write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")


def _batch(rows: list[Json], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as a batch of Arrow's columns."""
    import pyarrow as pa

    columns = []
    for field in schema:
        # Arrow does not make arrays of the type ``json`` from Python's values, so they are made as texts and then given
        # that type.
        stored = pa.array([_stored(row[field.name], field.type) for row in rows], type=_storage(field.type))
        columns.append(_typed(stored, field.type))
    return pa.record_batch(columns, schema=schema)


def _storage(kind: pa.DataType) -> pa.DataType:
    """A type with text in the place of ``json``, however deep."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return kind.storage_type
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _storage(field.type)) for field in kind])
    return pa.list_(_storage(kind.value_type)) if pa.types.is_list(kind) else kind


def _stored(value: object, kind: pa.DataType) -> object:
    """A value with JSON texts in the place of its parts of type ``json``."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    if isinstance(value, dict):
        return {field.name: _stored(value[field.name], field.type) for field in kind}
    return [_stored(item, kind.value_type) for item in value] if isinstance(value, list) else value


def _typed(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """An array of a type's storage as an array of the type itself, without copying it."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, array)
    # The mask goes along, or null would become an object or a list that is empty.
    if pa.types.is_struct(kind):
        parts = [_typed(array.field(index), field.type) for index, field in enumerate(kind)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(
            array.offsets, _typed(array.values, kind.value_type), kind, mask=array.is_null()
        )
    return array
