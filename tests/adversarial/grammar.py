"""Documents that no honest client sends: every format's grammar, with each of its parts wrong in turn, and then bytes
wrong at random."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

TYPES = (
    "'<f8'",
    "'>f8'",
    "'<f4'",
    "'<i8'",
    "'|u1'",
    "'|b1'",
    "'<c16'",
    "'<f16'",
    "'|O'",
    "'<U3'",
    "'|S0'",
    "'|V8'",
    "'<m8[s]'",
    "'<M8'",
    "[('a', '<f8')]",
    "[('a', '<f8', (2, 3))]",
    "'(2,)<f8'",
    "'f8,f8'",
    "'<f8' '<f8'",
    "''",
    "'\\x00'",
    "1",
    "None",
    "True",
    "{}",
    "[]",
    "('<f8', {})",
    "'<f99999999999'",
    "'<V99999999999'",
    "b'<f8'",
    "...",
    "[['<f8']]",
)
FLAGS = ("False", "True", "0", "1", "None", "'x'", "[]", "nan", "1e400", "-True")
LENGTHS = (
    "0",
    "1",
    "-1",
    "True",
    "False",
    "2**70",
    str(2**31),
    str(2**63),
    str(2**64),
    "1.0",
    "1e3",
    "1j",
    "0x10",
    "1_0",
    "None",
    "'3'",
    "()",
    "9" * 3900,
    "-" + "9" * 500,
    "--1",
    "1+1",
    "(3)",
    "(3,)",
    "nan",
    "...",
)
ATOMS = (
    "0",
    "-0",
    "1",
    "-1.5",
    "1e308",
    "1e999",
    "-1e999",
    "1e-999",
    "NaN",
    "Infinity",
    "-Infinity",
    "true",
    "false",
    "null",
    '""',
    '"x"',
    '"\\ud800"',
    '"\\u0000"',
    "9" * 400,
    "9" * 19,
    "-" + "9" * 5000,
    "0." + "1" * 3000,
    "01",
    "+1",
    ".5",
    "1.",
    "1e",
    "0x1",
    "nan",
    "[]",
    "{}",
    '{"a": 1}',
    "[[]]",
    "'",
    "\ufeff1",
    "1 2",
    "//",
)
MEDIA = (
    "application/x-npy",
    "application/x-npz",
    "application/zip",
    "application/json",
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.parquet",
    "",
    "text/plain",
    "application/json; charset=utf-16",
    "APPLICATION/X-NPY;q=1",
    "x" * 3000,
    "\xff\xfe",
)


class Grammar:
    """Draws documents; the same seed draws the same."""

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        """``shape`` is that of a valid submission."""
        self._draw = random.Random(seed)
        self._shape = shape

    def submission(self) -> tuple[str, bytes]:
        """A media type and a body, which belong together for the most part."""
        draw = self._draw
        kind: tuple[str, Callable[[], bytes]] = draw.choice(
            [("application/x-npy", self.npy), ("application/x-npz", self.npz), ("application/json", self.json)]
        )
        media, body = kind[0], self.bent(kind[1]())
        return (draw.choice(MEDIA) if draw.random() < 0.05 else media), body

    def bent(self, body: bytes) -> bytes:
        """As it is for the most part; otherwise cut, filled, doubled or with some bytes changed."""
        draw = self._draw
        if not body or draw.random() < 0.6:
            return body
        match draw.randrange(5):
            case 0:
                return body[: draw.randrange(len(body))]
            case 1:
                return body + draw.randbytes(draw.randrange(1, 40))
            case 2:
                return body * 2
            case 3:
                at = draw.randrange(len(body))
                return body[:at] + draw.randbytes(draw.randrange(9)) + body[at:]
        changed = bytearray(body)
        for _ in range(draw.randrange(1, 9)):
            # What leads a format is at its beginning and, in an archive, at its end.
            near = min(len(body), 120)
            at = draw.choice([draw.randrange(len(body)), draw.randrange(near), len(body) - 1 - draw.randrange(near)])
            changed[at] = draw.randrange(256)
        return bytes(changed)

    def npy(self) -> bytes:
        """A ``.npy`` file, each part of its header drawn."""
        draw = self._draw
        fields = [
            ("'descr'", self._often("'<f8'", TYPES)),
            ("'fortran_order'", self._often("False", FLAGS)),
            ("'shape'", self._shape_text()),
        ]
        if draw.random() < 0.1:
            fields.append((draw.choice(["'x'", "1", "None", "'descr'"]), draw.choice(FLAGS)))
        if draw.random() < 0.1:
            fields.pop(draw.randrange(len(fields)))
        if draw.random() < 0.1:
            draw.shuffle(fields)
        text = "{" + ", ".join(f"{key}: {value}" for key, value in fields) + ", }"
        if draw.random() < 0.05:
            text = draw.choice(
                [
                    "(" * 300 + text,
                    "[" * 4000,
                    "-" * 4000 + "1",
                    "{" + text,
                    text + text,
                    "",
                    "\x00" * 50,
                    "{**{}}",
                    "f'{1}'",
                ]
            )
        version = (1, 0) if draw.random() < 0.9 else draw.choice([(2, 0), (3, 0), (0, 0), (255, 255)])
        encoded = (
            text.encode("latin-1", "replace")
            + b" " * draw.choice([0, 1, 15, 5000] if draw.random() < 0.2 else [1])
            + b"\n"
        )
        size = len(encoded) if draw.random() < 0.9 else draw.choice([0, 1, 65535, len(encoded) - 1, len(encoded) + 7])
        head = b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] < 2 else "<I", size & 0xFFFF) + encoded
        return head + self._cells()

    def npz(self) -> bytes:
        """A ``.npz`` archive, whose members and their headers lie now and then."""
        draw = self._draw
        stream = io.BytesIO()
        with zipfile.ZipFile(
            stream, "w", draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
        ) as archive:
            for _ in range(draw.choice([0, 1, 1, 1, 1, 2, 20])):
                name = draw.choice(
                    [
                        "predictions.npy",
                        "predictions.npy",
                        "predictions",
                        "x.npy",
                        "../x",
                        "a/",
                        "\udc80".encode("utf-8", "replace").decode(),
                        "é" * 99,
                    ]
                )
                if name in archive.NameToInfo:
                    continue
                archive.writestr(name, self.npy() if not name.endswith("/") else b"")
        body = bytearray(stream.getvalue())
        if draw.random() < 0.4:
            for signature in (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"):
                at = body.find(signature)
                if at >= 0 and draw.random() < 0.5:
                    where = at + draw.randrange(4, 30)
                    body[where : where + 4] = draw.choice(
                        [b"\xff\xff\xff\xff", b"\0\0\0\0", draw.randbytes(4), b"\x01\0\x63\0"]
                    )
        return bytes(body)

    def json(self) -> bytes:
        """A JSON document with predictions, or something like it."""
        draw = self._draw
        key = self._often(
            '"predictions"', ('"x"', "1", "predictions", '"\\ud800"', '"predictions": [1], "predictions"')
        )
        text = "{" + f"{key}: {self.value()}" + "}"
        match draw.randrange(12):
            case 0:
                text = self.value()
            case 1:
                text = '{"predictions": ' + "[" * draw.choice([10, 2000, 200_000])
            case 2:
                return text.encode(draw.choice(["utf-16", "utf-32", "utf-8-sig"]), "replace")
        return text.encode("utf-8", "surrogatepass")

    def value(self, depth: int = 0) -> str:
        """A JSON value: of the right shape with some cells wrong, or of any."""
        draw = self._draw
        if depth == 0 and draw.random() < 0.5:
            cells = np.zeros(self._shape, dtype=object)
            cells[...] = 0.0
            text = json.dumps(cells.tolist())
            for _ in range(draw.randrange(3)):
                text = text.replace("0.0", draw.choice(ATOMS), draw.randrange(1, 4))
            return text
        if depth > 4 or draw.random() < 0.4:
            return draw.choice(ATOMS)
        inner = [self.value(depth + 1) for _ in range(draw.randrange(4))]
        if draw.random() < 0.7:
            return "[" + ", ".join(inner) + "]"
        return "{" + ", ".join(f'"{draw.choice("abc")}": {one}' for one in inner) + "}"

    def message(self, actions: tuple[str, ...]) -> str:
        """A start or a step, for HTTP or a WebSocket; ``actions`` are valid ones, as JSON."""
        draw = self._draw
        action = draw.choice(actions)
        fields = {
            "type": self._often('"step"', ('"start"', *ATOMS)),
            "episode": self._often("1", ATOMS),
            "step": self._often("1", (*ATOMS, "2", "3")),
            "action": self._often(action, (self.value(1), action.replace("0.1", draw.choice(ATOMS)))),
            "fold": self._often('"public"', ('"private"', *ATOMS)),
            "key": self._often('"k"', ATOMS),
        }
        step = ("episode", "step", "action")
        wanted = draw.choice([step, ("fold",), ("type", *step), ("type", "fold", "key"), tuple(fields)])
        text = "{" + ", ".join(f'"{name}": {fields[name]}' for name in wanted if draw.random() < 0.97) + "}"
        return text if draw.random() < 0.95 else self.value()

    def headers(self, media: str) -> list[tuple[bytes, bytes]]:
        """Of a request, the token apart."""
        draw = self._draw
        found = [(b"content-type", media.encode("latin-1", "replace"))]
        if draw.random() < 0.1:
            found.append(
                (b"idempotency-key", draw.choice([b"", b"k", b"\xff", b"x" * 201, b"a b", b"\t", draw.randbytes(20)]))
            )
        if draw.random() < 0.05:
            found.append((b"content-encoding", draw.choice([b"gzip", b"identity", b"", b"\xff"])))
        if draw.random() < 0.05:
            found.append((b"content-length", draw.choice([b"0", b"-1", b"9" * 400, b"1e3", b"\xb2", b""])))
        return found

    def _often(self, usual: str, others: tuple[str, ...]) -> str:
        return usual if self._draw.random() < 0.75 else self._draw.choice(others)

    def _shape_text(self) -> str:
        draw = self._draw
        if draw.random() < 0.5:
            return str(self._shape)
        if draw.random() < 0.2:
            return draw.choice(
                [
                    "[3]",
                    "3",
                    "None",
                    "'3'",
                    "(",
                    "()",
                    "((),)",
                    "(3,,)",
                    "(" + "1, " * 65 + ")",
                    "(0, " + str(2**70) + ")",
                ]
            )
        return (
            "("
            + "".join(f"{draw.choice((*LENGTHS, *map(str, self._shape)))}, " for _ in range(draw.randrange(5)))
            + ")"
        )

    def _cells(self) -> bytes:
        draw = self._draw
        cells: Any = np.zeros(self._shape)
        if draw.random() < 0.5:
            extreme = draw.choice([np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 5e-324, 1.0, -1.0, 0.5])
            cells.flat[: draw.randrange(1, cells.size + 1)] = extreme
        raw: bytes = cells.tobytes()
        return raw if draw.random() < 0.8 else draw.choice([b"", raw[:-1], raw + b"\0", raw * 3])
