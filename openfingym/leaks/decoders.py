"""Tables of the encodings that are undone; a new encoding is one row of one of them.

``ESCAPES`` turn a text into the text that it stands for, and ``REWRITINGS`` into one with numbers in their usual form.
``ALPHABETS`` and ``STRETCH_DECODERS`` turn stretches that no language explains into bytes, and ``DECODERS`` any text.
``WORDS`` are the machine words that bytes are read as, and ``KEYS`` the single-byte ciphers that are tried.
"""

from __future__ import annotations

import html
import quopri
import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import unquote_to_bytes

import numpy as np
from numpy.typing import NDArray

from openfingym.leaks.entropy import invisible
from openfingym.leaks.number_words import spelled_out

_UPPER, _LOWER, _DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
_PRINTABLE = "".join(map(chr, range(33, 127)))

ALPHABETS: Mapping[str, tuple[str, int, int]] = {
    "hex": (_DIGITS + "abcdef", 2, 1),
    "HEX": (_DIGITS + "ABCDEF", 2, 1),
    "base32": (_UPPER + "234567", 8, 5),
    "base32, lower case": (_LOWER + "234567", 8, 5),
    "base32hex": (_DIGITS + _UPPER[:22], 8, 5),
    "base64": (_UPPER + _LOWER + _DIGITS + "+/", 4, 3),
    "base64, url-safe": (_UPPER + _LOWER + _DIGITS + "-_", 4, 3),
    "uuencode": (" " + _PRINTABLE[:63], 4, 3),
    "xxencode": ("+-" + _DIGITS + _UPPER + _LOWER, 4, 3),
    "base85": (_DIGITS + _UPPER + _LOWER + "!#$%&()*+-;<=>?@^_`{|}~", 5, 4),
    "ascii85": (_PRINTABLE[:85], 5, 4),
    "z85": (_DIGITS + _LOWER + _UPPER + ".-:+=^!/*?&<>()[]{}@%$#", 5, 4),
}
"""Encodings that write groups of bytes as groups of digits: the digits in order of their value, digits in a group, and
bytes in a group."""

_RADICES = {
    "base 36": _DIGITS + _LOWER,
    "base58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "base 62": _DIGITS + _UPPER + _LOWER,
}
_LONGEST_NUMBER = 4096
"""Most digits of a long number: reading one takes time in proportion to their square."""
_BITS = re.compile(r"[01][01\s,;|]{62,}[01]")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2,}[\s:,-]{0,2}){8,}")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|([0-7]{3}))")
_FEWEST = 16
"""Fewest digits or characters that are decoded."""
FITTING = 0.88
"""Share of the characters of a text that must be digits of an alphabet for the text to be read in it."""
BETTER = 0.02
"""By how much this share must be larger for a larger alphabet than for all smaller ones."""


def grouped(text: str) -> Iterator[tuple[str, bytes]]:
    """Encoding and bytes of a text, in each alphabet that fits it markedly better than any smaller one does."""
    characters = [character for character in text if not character.isspace()]
    # Smaller alphabets first: every text in hex also fits base64, and the smallest alphabet that fits is the right one.
    kept, size = 0.0, 0
    for name, (digits, group, made) in sorted(ALPHABETS.items(), key=lambda row: len(row[1][0])):
        share = sum(map(set(digits).__contains__, characters)) / max(len(characters), 1)
        if share >= FITTING and (share > kept + BETTER or (len(digits) == size and share >= kept)):
            kept, size = max(kept, share), len(digits)
            yield from ((name, raw) for raw in alphabet_bytes(text, digits, group, made))


def alphabet_bytes(text: str, digits: str, group: int, size: int) -> Iterator[bytes]:
    """Bytes that the digits of an alphabet in a text stand for, from each position in a group on.

    Args:
        text: the text; characters that are no digits are left out.
        digits: the digits of the alphabet, in order of their value.
        group: number of digits in a group.
        size: number of bytes that a group stands for.
    """
    values = np.full(128, -1, dtype=np.int64)
    values[np.frombuffer(digits.encode("ascii"), dtype=np.uint8)] = np.arange(len(digits))
    codes = np.frombuffer(text.encode("ascii", "replace"), dtype=np.uint8)
    found = values[codes]
    found = found[found >= 0]
    if len(found) < _FEWEST:
        return
    # A group is a number of this base, written with its first digit first; its bytes are the last ones of 64 bits.
    weights = len(digits) ** np.arange(group - 1, -1, -1, dtype=np.uint64)
    for skip in range(group):
        part = np.pad(found[skip:], (0, -len(found[skip:]) % group)).reshape(-1, group).astype(np.uint64)
        numbers = (part * weights).sum(axis=1, dtype=np.uint64)
        yield numbers.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - size :].tobytes()


def _uuencoded(text: str) -> Iterator[bytes]:
    digits, group, size = ALPHABETS["uuencode"]
    # The first character of a line is its length, and "`" stands for a space, which mail may lose.
    body = [line[1:] for line in text.splitlines() if len(line) > 1]
    yield from alphabet_bytes("".join(body).replace("`", " "), digits, group, size)


def _integers(text: str) -> Iterator[bytes]:
    """Long words, each read as one number of a large base."""
    for word in re.findall(r"[0-9A-Za-z]{24,}", text):
        for digits in _RADICES.values():
            if len(word) <= _LONGEST_NUMBER and set(word) <= set(digits):
                yield _bytes_of(word, digits)


def _decimal(text: str) -> Iterator[bytes]:
    for word in re.findall(r"[0-9]{40,}", text):
        if len(word) <= _LONGEST_NUMBER:
            yield _bytes_of(word, _DIGITS)


def _bytes_of(word: str, digits: str) -> bytes:
    number = 0
    for character in word:
        number = number * len(digits) + digits.index(character)
    return number.to_bytes(-(-number.bit_length() // 8) or 1, "big")


def _byte_list(text: str) -> Iterator[bytes]:
    """Runs of at least 16 numbers up to 255, decimal or hexadecimal with ``0x``, as bytes."""
    for match in re.finditer(r"(?:\b(?:0x[0-9a-fA-F]{1,2}|\d{1,3})\b[\s,;]*){16,}", text):
        values = [
            int(word, 0) if word.startswith("0x") else int(word)
            for word in re.findall(r"0x[0-9a-fA-F]+|\d+", match.group())
        ]
        if max(values) < 256:
            yield bytes(values)


def _bit_list(text: str) -> Iterator[bytes]:
    for match in _BITS.finditer(text):
        bits = np.frombuffer(re.sub(r"[^01]", "", match.group()).encode(), dtype=np.uint8) - ord("0")
        yield from _packed(bits)


def _unseen(text: str) -> Iterator[bytes]:
    """Invisible characters as bits, if there are at most four kinds of them, and by their codes."""
    codes = np.array([ord(character) for character in invisible(text) if character != "\n"], dtype=np.int64)
    kinds, places = np.unique(codes, return_inverse=True)
    if len(codes) < _FEWEST:
        return
    if len(kinds) <= 4:
        bits = places if len(kinds) <= 2 else np.column_stack([places >> 1, places & 1]).reshape(-1)
        yield from _packed(bits.astype(np.uint8))
    selector = np.where(
        codes >= 0xE0100, codes - 0xE0100 + 16, np.where(codes >= 0xE0000, codes - 0xE0000, codes - 0xFE00)
    )
    yield (selector & 255).astype(np.uint8).tobytes()


def _packed(bits: NDArray[np.uint8]) -> Iterator[bytes]:
    # The first bit may be at any position in a byte.
    for order in ("big", "little"):
        for skip in range(8):
            yield np.packbits(bits[skip:], bitorder=order).tobytes()


def _hex(text: str) -> Iterator[bytes]:
    for match in _HEX.finditer(text):
        digits = re.sub(r"[^0-9a-fA-F]", "", match.group())
        for skip in (0, 1):
            part = digits[skip:]
            yield bytes.fromhex(part[: len(part) // 2 * 2])


DECODERS: Mapping[str, Callable[[str], Iterator[bytes]]] = {
    "hex": _hex,
    "a list of bytes": _byte_list,
    "bits": _bit_list,
    "decimal digits": _decimal,
    "invisible characters": _unseen,
}
"""Decoders of bytes from a whole text, by encoding; they look for runs that are unmistakable."""

STRETCH_DECODERS: Mapping[str, Callable[[str], Iterator[bytes]]] = {
    "uuencode, in lines": _uuencoded,
    "a long number": _integers,
}
"""Decoders of bytes from a stretch that no language explains, by encoding."""


def _text(raw: bytes) -> str:
    """Bytes as text; in Latin-1, which no bytes contradict, if they are not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _escapes(text: str) -> str:
    return _ESCAPE.sub(lambda m: chr(int(m[1] or m[2], 16) if m[1] or m[2] else int(m[3], 8)), text)


def _compatible(text: str) -> str:
    """Digits of other scripts, full width and superscripts as ASCII."""
    digits: dict[str, str | int | None] = {
        character: str(unicodedata.decimal(character))
        for character in set(text)
        if unicodedata.decimal(character, -1) != -1
    }
    return unicodedata.normalize("NFKC", text.translate(str.maketrans(digits)))


ESCAPES: Mapping[str, Callable[[str], str]] = {
    "escapes": _escapes,
    "percent signs": lambda text: _text(unquote_to_bytes(text)) if re.search(r"%[0-9a-fA-F]{2}", text) else text,
    "entities": lambda text: html.unescape(text) if "&" in text else text,
    "quoted-printable": lambda text: (
        _text(quopri.decodestring(text.encode("utf-8"))) if re.search(r"=[0-9A-F]{2}", text) else text
    ),
}
"""Functions that undo escapes, in which one character is written as several."""

REWRITINGS: Mapping[str, Callable[[str], str]] = {
    "number words": spelled_out,
    "other digits": _compatible,
    "decimal commas": lambda text: re.sub(r"(?<![\d.,])(\d+),(\d+)(?![\d.,])", r"\1.\2", text),
    "without spaces": lambda text: re.sub(r"(?<!\S)(?:[-\d.] ){2,}[-\d.](?!\S)", lambda m: m[0].replace(" ", ""), text),
    "fractions": lambda text: re.sub(
        r"(-?\d+)\s*/\s*(\d+)", lambda m: repr(int(m[1]) / int(m[2])) if int(m[2]) else m[0], text
    ),
    "hexadecimal floats": lambda text: re.sub(
        r"-?0x[01]\.[0-9a-f]+p[+-]\d+", lambda m: repr(float.fromhex(m[0])), text
    ),
    "hexadecimal numbers": lambda text: re.sub(r"\b0x[0-9a-fA-F]{3,16}\b", lambda m: str(int(m[0], 16)), text),
}
"""Functions that put numbers that are written in unusual ways into their usual form."""

WORDS: tuple[str, ...] = (
    "<f8",
    ">f8",
    "<f4",
    ">f4",
    "<f2",
    ">f2",
    "<i8",
    ">i8",
    "<i4",
    ">i4",
    "<i2",
    ">i2",
    "i1",
    "u1",
)
"""NumPy types of the machine words that bytes are read as; floats first, as the likeliest to hold hidden values."""

KEYS: Mapping[str, Callable[[NDArray[np.uint8], NDArray[np.uint8]], NDArray[np.uint8]]] = {
    "XORed with": np.bitwise_xor,
    "shifted by": np.subtract,
}
"""Single-byte ciphers: how every byte may have been combined with the same key."""
