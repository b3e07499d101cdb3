"""Every accepted format, and everything an agent may get wrong, against a running verifier."""

from __future__ import annotations

import io
import json
import pickle
import socket
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from openfingym.kinds import kind_of
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import RolloutTicket
from openfingym.verifiers.row_keys import key_names
from openfingym_verifier.problems import Problem
from openfingym_verifier.submissions import columnar, columnar_child

SLUG = "urn:openfingym:problem:"


@pytest.fixture
def values(packages: dict[str, BuiltPackage]) -> np.ndarray:
    return 0.01 * np.random.default_rng(3).standard_normal(packages["tiny"].manifest.submission_shape)


@pytest.fixture
def ticket(server: Any) -> RolloutTicket:
    return server.client.create_rollout("tiny")


def table(values: np.ndarray, names: list[str]) -> pa.Table:
    flat = values.reshape(-1, values.shape[-1])
    return pa.table({name: flat[:, i] for i, name in enumerate(names)})


def stream(data: pa.Table, file: bool = False) -> bytes:
    sink = io.BytesIO()
    with (pa.ipc.new_file if file else pa.ipc.new_stream)(sink, data.schema) as writer:
        writer.write_table(data)
    return sink.getvalue()


def parquet(data: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(data, sink, **options)
    return sink.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.savez_compressed(sink, **arrays)
    return sink.getvalue()


ENCODERS: dict[str, tuple[str, Callable[[np.ndarray, Callable[[np.ndarray], bytes]], bytes]]] = {
    "npy": ("application/x-npy", lambda v, npy: npy(v)),
    "npy-fortran": ("application/x-npy", lambda v, npy: npy(np.asfortranarray(v))),
    "npy-big-endian": ("application/x-npy", lambda v, npy: npy(v.astype(">f8"))),
    "npz-named": ("application/x-npz", lambda v, _: npz(predictions=v, other=v[:1])),
    "npz-single": ("application/zip", lambda v, _: npz(anything=v)),
    "json": ("application/json; charset=utf-8", lambda v, _: json.dumps({"predictions": v.tolist()}).encode()),
    "arrow-stream": ("application/vnd.apache.arrow.stream", lambda v, _: stream(table(v, ["c0", "c1"]))),
    "arrow-file": (
        "application/vnd.apache.arrow.file",
        lambda v, _: stream(table(v[..., ::-1], ["c1", "c0"]), file=True),
    ),
    "parquet": ("application/vnd.apache.parquet", lambda v, _: parquet(table(v, ["c0", "c1"]), compression="zstd")),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_every_format_gives_the_same_values(
    server: Any, ticket: RolloutTicket, values: np.ndarray, to_npy: Any, name: str
) -> None:
    media_type, encode = ENCODERS[name]
    answer = server.post(ticket.token, encode(values, to_npy), media_type)
    assert answer.status_code == 201, answer.text
    np.testing.assert_array_equal(server.client.submission(ticket.rollout_id, 1), values)


@pytest.mark.parametrize("dtype", ["<f4", "<f2", "<i8", "<u1", ">i4"])
def test_real_types_are_converted(
    server: Any, ticket: RolloutTicket, values: np.ndarray, to_npy: Any, dtype: str
) -> None:
    sent = np.round(values * 50).clip(0, 2).astype(dtype)
    assert server.post(ticket.token, to_npy(sent)).status_code == 201
    kept = server.client.submission(ticket.rollout_id, 1)
    assert kept.dtype == np.float64
    np.testing.assert_array_equal(kept, sent.astype(np.float64))


def put(values: np.ndarray, value: float) -> np.ndarray:
    changed = values.copy()
    changed[3, 1, 0] = value
    return changed


BAD_ARRAYS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], str, str]] = {
    "nan": (lambda v: put(v, np.nan), "not-finite", "[3, 1, 0] is nan"),
    "inf": (lambda v: put(v, -np.inf), "not-finite", "[3, 1, 0] is -inf"),
    "1e308": (lambda v: put(v, 1e308), "out-of-range", "1e+308"),
    "below": (lambda v: put(v, -2.5), "out-of-range", "[-2, 2]"),
    "short": (lambda v: v[1:], "wrong-shape", "window, step, channel"),
    "flat": (lambda v: v.ravel(), "wrong-shape", "expected [22, 2, 2]"),
    "transposed": (lambda v: v.transpose(1, 0, 2), "wrong-shape", "The axes are in another order."),
    "public fold alone": (lambda v: v[:11], "wrong-shape", "Every hidden item is wanted"),
    "an axis too many": (lambda v: v[..., None], "wrong-shape", "an axis of length 1 too many"),
    "scalar": (lambda v: np.float64(1.0), "wrong-shape", "Found shape []"),
    "many-dimensions": (lambda v: np.zeros((1,) * 32), "wrong-shape", "expected"),
    "empty": (lambda v: np.zeros((0, 2, 2)), "wrong-shape", "Found shape [0, 2, 2]"),
    "bool": (lambda v: v > 0, "wrong-dtype", "bool"),
    "complex": (lambda v: v.astype(complex), "wrong-dtype", "complex128"),
    "string": (lambda v: v.astype("U8"), "wrong-dtype", "str"),
    "date": (lambda v: v.astype("M8[s]"), "wrong-dtype", "datetime64"),
    "longdouble": (lambda v: v.astype(np.longdouble), "wrong-dtype", "expected float64"),
    "object": (lambda v: v.astype(object), "wrong-dtype", "Python objects"),
    "record": (lambda v: np.zeros(v.shape, dtype=[("a", "f8")]), "wrong-dtype", "records"),
    "void": (lambda v: np.zeros(v.shape, dtype="V0"), "wrong-dtype", "float64"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_bad_arrays_are_refused_with_what_was_expected(
    server: Any, ticket: RolloutTicket, values: np.ndarray, to_npy: Any, name: str
) -> None:
    spoil, slug, words = BAD_ARRAYS[name]
    check_refused(server, ticket, to_npy(spoil(values)), "application/x-npy", 422, slug, words)


class Bomb:
    """Unpickling it is visible."""

    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        # What a hostile pickle does.
        return (open, ("/tmp/openfingym-verifier-unpickled", "w"))  # type: ignore[return-value]


def npz_bomb(claimed: int | None) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("predictions.npy", b"\0" * 50_000_000)
    data = bytearray(sink.getvalue())
    if claimed is not None:
        # Lie about the unpacked size, in the local header and in the directory.
        for marker, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
            at = data.index(marker) + offset
            data[at : at + 4] = struct.pack("<I", claimed)
    return bytes(data)


def many_members() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for i in range(100):
            archive.writestr(f"m{i}", b"")
    return sink.getvalue()


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }\n"


def raw_npy(shape: str, data: bytes = b"") -> bytes:
    header = (HEADER % shape).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def _object_npy() -> bytes:
    sink = io.BytesIO()
    np.save(sink, np.array([Bomb()], dtype=object), allow_pickle=True)
    return sink.getvalue()


BAD_BODIES: dict[str, tuple[str, Callable[[], bytes], int, str]] = {
    "nothing": ("application/x-npy", lambda: b"", 422, "malformed-submission"),
    "pickle": ("application/x-npy", lambda: pickle.dumps(Bomb()), 422, "malformed-submission"),
    "object-npy": ("application/x-npy", _object_npy, 422, "wrong-dtype"),
    "object-npz": ("application/x-npz", lambda: npz(predictions=np.array([Bomb()], dtype=object)), 422, "wrong-dtype"),
    "code-in-header": ("application/x-npy", lambda: raw_npy("__import__('os').getpid(),"), 422, "malformed-submission"),
    "negative-shape": ("application/x-npy", lambda: raw_npy("-1, -8", b"\0" * 64), 422, "malformed-submission"),
    "huge-shape": ("application/x-npy", lambda: raw_npy("99999999999, 99999999999"), 422, "malformed-submission"),
    "truncated": ("application/x-npy", lambda: raw_npy("22, 2, 2", b"\0" * 8), 422, "malformed-submission"),
    "zip-bomb": ("application/x-npz", lambda: npz_bomb(None), 413, "payload-too-large"),
    "lying-zip-bomb": ("application/x-npz", lambda: npz_bomb(1000), 422, "malformed-submission"),
    "not-a-zip": ("application/x-npz", lambda: b"PK\x03\x04garbage", 422, "malformed-submission"),
    "many-members": ("application/x-npz", many_members, 422, "malformed-submission"),
    "two-arrays": ("application/x-npz", lambda: npz(a=np.zeros(1), b=np.zeros(1)), 422, "malformed-submission"),
    "json-syntax": ("application/json", lambda: b'{"predictions": [', 422, "malformed-submission"),
    "json-depth": ("application/json", lambda: b'{"predictions": ' + b"[" * 20000, 422, "malformed-submission"),
    "json-other-key": ("application/json", lambda: b'{"prediction": [1]}', 422, "malformed-submission"),
    "json-ragged": ("application/json", lambda: b'{"predictions": [[1, 2], [3]]}', 422, "wrong-shape"),
    "json-mixed-depth": ("application/json", lambda: b'{"predictions": [[1], 3]}', 422, "wrong-shape"),
    "json-bool": ("application/json", lambda: b'{"predictions": [1.0, true]}', 422, "wrong-dtype"),
    "json-null": ("application/json", lambda: b'{"predictions": [1.0, null]}', 422, "wrong-dtype"),
    "json-string": ("application/json", lambda: b'{"predictions": "1.0"}', 422, "wrong-dtype"),
    "json-huge-int": ("application/json", lambda: b'{"predictions": [1' + b"0" * 400 + b"]}", 422, "out-of-range"),
    "arrow-garbage": ("application/vnd.apache.arrow.stream", lambda: b"garbage", 422, "malformed-submission"),
    "parquet-garbage": ("application/vnd.apache.parquet", lambda: b"PAR1garbagePAR1", 422, "malformed-submission"),
    "text": ("text/csv", lambda: b"1,2", 415, "unsupported-media-type"),
    "no-type": ("", lambda: b"1,2", 415, "unsupported-media-type"),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_bad_bodies_are_refused(server: Any, ticket: RolloutTicket, name: str, tmp_path: Any) -> None:
    from pathlib import Path

    trace = Path("/tmp/openfingym-verifier-unpickled")
    trace.unlink(missing_ok=True)
    media_type, body, status, slug = BAD_BODIES[name]
    check_refused(server, ticket, body(), media_type, status, slug, "")
    assert not trace.exists()


def check_refused(
    server: Any, ticket: RolloutTicket, body: object, media_type: str, status: int, slug: str, words: str
) -> None:
    """A refusal is a problem document, costs no budget, and is on the record."""
    answer = server.post(ticket.token, body, media_type)
    document = answer.json()
    assert (answer.status_code, document["type"]) == (status, SLUG + slug), document
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in document["detail"]
    after = server.client.rollout_status(ticket.rollout_id)
    assert (after.submissions_accepted, after.submissions_rejected, after.remaining) == (0, 1, after.budget)
    assert after.last_refusal.startswith(slug)
    assert [row.entry["event"] for row in server.client.log(ticket.rollout_id)] == ["rollout-created", "rejected"]


def test_json_nan_is_refused_by_name(server: Any, ticket: RolloutTicket, values: np.ndarray) -> None:
    body = json.dumps({"predictions": put(values, np.nan).tolist()})
    assert server.post(ticket.token, body, "application/json").json()["type"] == SLUG + "not-finite"


BAD_TABLES: dict[str, tuple[Callable[[np.ndarray], pa.Table], str]] = {
    "short": (lambda v: table(v[1:], ["c0", "c1"]), "wrong-shape"),
    "long": (lambda v: table(np.repeat(v, 1000, axis=0), ["c0", "c1"]), "wrong-shape"),
    "other-columns": (lambda v: table(v, ["c0", "c2"]), "wrong-shape"),
    "twice": (lambda v: pa.Table.from_arrays([pa.array(v[..., 0].ravel())] * 2, names=["c0", "c0"]), "wrong-shape"),
    "strings": (lambda v: pa.table({"c0": ["1"] * v[..., 0].size, "c1": v[..., 1].ravel()}), "wrong-dtype"),
    "nulls": (
        lambda v: pa.table({"c0": pa.nulls(v[..., 0].size, pa.float64()), "c1": v[..., 1].ravel()}),
        "not-finite",
    ),
}


def keyed(values: np.ndarray, **keys: object) -> pa.Table:
    data = table(values, ["c0", "c1"])
    for name, cells in keys.items():
        data = data.append_column(name, cells if isinstance(cells, pa.Array) else pa.array(cells))
    return data


def in_order(data: pa.Table, package: BuiltPackage) -> np.ndarray:
    """What the verifier makes of a table, without a process of its own."""
    names = sorted(key_names(package))
    decoded, keys = columnar_child.decode("parquet", parquet(data), ["c0", "c1"], 44, names)
    return columnar._in_order(decoded, keys, package).reshape(22, 2, 2)


def test_rows_of_a_table_are_ordered_by_its_keys(
    server: Any, ticket: RolloutTicket, values: np.ndarray, packages: dict[str, BuiltPackage]
) -> None:
    package = packages["tiny"]
    times = kind_of(package.task).target_times(package.task.spec.contract, package.array)
    assert times is not None
    rows, steps = np.arange(44), {"Window": np.repeat(np.arange(22), 2), "step": np.tile([0.0, 1.0], 22)}
    every = {"id": rows, **steps, "time": times}
    for keys in (
        {"id": rows},
        {"__index_level_0__": rows},
        {"__index_level_0__": times},
        steps,
        {"time": times},
        {"Date": np.datetime_as_string(times)},
        {"timestamp": [f"{time}Z" for time in np.datetime_as_string(times, unit="s")]},
        every,
    ):
        shuffled = keyed(values, **keys).take(np.random.default_rng(1).permutation(44))
        np.testing.assert_array_equal(in_order(shuffled, package), values)
    # And through the whole door, the decoder's own process included.
    shuffled = keyed(values, **every).take(np.random.default_rng(2).permutation(44))
    assert server.post(ticket.token, stream(shuffled), "application/vnd.apache.arrow.stream").status_code == 201
    np.testing.assert_array_equal(server.client.submission(ticket.rollout_id, 1), values)


BAD_KEYS: dict[str, dict[str, object]] = {
    "The columns are": {"note": np.arange(44.0)},
    "expected .*, and beside them": {"id": np.arange(44), "ID": np.arange(44)},
    "has a column window and none called step": {"window": np.repeat(np.arange(22), 2)},
    "rows 0 and 1 have the same 'id'": {"id": [0, 0, *range(2, 44)]},
    "row 0: id is 1.8": {"id": np.full(44, 2**64 - 1, dtype=np.uint64)},
    "id is inf, expected a whole number": {"id": np.full(44, np.inf)},
    "'id', which says which row is which, has empty cells": {"id": pa.array([None, *range(1, 44)])},
    "'time', which says which row is which, is string": {"time": ["soon"] * 44},
    "time is 1970-01-01": {"time": np.arange(44).astype("datetime64[ns]")},
    "time is 0.0, expected": {"time": np.arange(44.0)},
    "put its rows in two orders": {"id": np.arange(44), "row": np.arange(44)[::-1], "window": np.arange(44)[::-1] // 2,
                                   "step": np.arange(44)[::-1] % 2},
}  # fmt: skip


def test_keys_that_name_no_row_are_refused(values: np.ndarray, packages: dict[str, BuiltPackage]) -> None:
    for words, keys in BAD_KEYS.items():
        with pytest.raises((Problem, columnar_child.TableRefused), match=words) as refused:
            in_order(keyed(values, **keys), packages["tiny"])
        assert getattr(refused.value, "slug", None) or refused.value.problem in {"wrong-shape", "malformed-submission"}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables_are_refused(server: Any, ticket: RolloutTicket, values: np.ndarray, name: str) -> None:
    spoil, slug = BAD_TABLES[name]
    check_refused(server, ticket, parquet(spoil(values)), "application/vnd.apache.parquet", 422, slug, "")


def test_a_columnar_bomb_is_contained(server: Any, ticket: RolloutTicket, values: np.ndarray) -> None:
    rows = values[..., 0].size
    nested = pa.array([np.zeros(16_000_000 // rows)] * rows)  # 128 MB in a few kilobytes
    bomb = stream_compressed(pa.table({"c0": nested, "c1": values[..., 1].ravel()}))
    assert len(bomb) < 60_000
    check_refused(server, ticket, bomb, "application/vnd.apache.arrow.stream", 422, "wrong-dtype", "float64")


def stream_compressed(data: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, data.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(data)
    return sink.getvalue()


def test_without_pyarrow_the_message_names_the_extra(
    packages: dict[str, BuiltPackage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Problem, match=r"openfingym\[arrow\]") as caught:
        columnar.read_table("application/vnd.apache.parquet", b"", (1, 1, 1), ["c0"], packages["tiny"])
    assert caught.value.slug == "unsupported-media-type"


def test_prices_that_have_no_returns_are_refused_before_they_cost_budget(
    server: Any, packages: dict[str, BuiltPackage], to_npy: Any
) -> None:
    ticket = server.client.create_rollout("prices")
    check_refused(
        server,
        ticket,
        to_npy(np.zeros(packages["prices"].manifest.submission_shape)),
        "application/x-npy",
        422,
        "out-of-range",
        "range",
    )


def test_a_body_that_states_too_much_is_refused_unread(server: Any, ticket: RolloutTicket) -> None:
    head, _ = raw_request(server, ticket.token, ["Content-Length: 99999999999999"], b"x" * 100)
    assert head.startswith("HTTP/1.1 413")
    head, _ = raw_request(server, ticket.token, [f"Content-Length: {'9' * 400}"], b"x")
    assert head.split()[1] in {"400", "413"}


def test_a_chunked_body_is_counted_while_it_arrives(server: Any, ticket: RolloutTicket) -> None:
    limit = server.http.get("/v1/task", headers={"Authorization": f"Bearer {ticket.token}"}).json()["limits"][
        "max_body_bytes"
    ]
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    head, sent = raw_request(server, ticket.token, ["Transfer-Encoding: chunked"], *[chunk] * 2000)
    assert head.startswith("HTTP/1.1 413")
    assert sent < 2000 * len(chunk)
    assert sent < limit + 8_000_000  # what sockets and buffers hold


def raw_request(server: Any, token: str, headers: list[str], *parts: bytes) -> tuple[str, int]:
    """Send parts until the server has had enough; returns its head, and the bytes sent."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        sock.connect(str(server.embedded.uds))
        lines = [
            "POST /v1/submissions HTTP/1.1",
            "Host: v",
            f"Authorization: Bearer {token}",
            "Content-Type: application/x-npy",
            *headers,
        ]
        sent = 0
        try:
            sock.sendall("\r\n".join([*lines, "", ""]).encode())
            for part in parts:
                sock.sendall(part)
                sent += len(part)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return sock.recv(65536).decode(), sent


def test_compressed_transfer_is_refused(server: Any, ticket: RolloutTicket, values: np.ndarray, to_npy: Any) -> None:
    assert server.post(ticket.token, to_npy(values), content_encoding="gzip").status_code == 415
