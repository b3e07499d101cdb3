"""The shared libraries that programs and extension modules (ELF files) need, and where this machine keeps them."""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

_MAGIC: Final = b"\x7fELF\x02\x01"  # 64-bit, little-endian: the two machines the sandbox supports
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_STRTAB, _DT_STRSZ = 1, 5, 10
_CACHE_MAGIC: Final = b"glibc-ld.so.cache1.1"
_FLAGS_64_BIT: Final = {0x0303, 0x0A03}
"""Flags that entries for x86_64 and aarch64 have in the loader's cache; others are for foreign calling conventions."""
_FALLBACK_FOLDERS: Final = ("/lib64", "/usr/lib64", "/usr/local/lib", "/lib", "/usr/lib")
"""Folders that are searched without a cache."""


@dataclass(frozen=True)
class Linkage:
    """What an ELF file asks of the loader."""

    needed: tuple[str, ...]
    """Names of the shared libraries that the file needs directly."""
    interpreter: str | None
    """Path of the loader itself; None for a file that is not a program."""


def linkage(path: Path) -> Linkage:
    """What the file at ``path`` needs, as its dynamic section states; a file that is not ELF needs nothing."""
    with path.open("rb") as stream:
        header = stream.read(64)
        if header[:6] != _MAGIC:
            return Linkage((), None)
        # Where the table of segments begins (e_phoff), the size of an entry and their number (e_phentsize, e_phnum).
        (offset,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<HH", header, 54)
        table = _read(stream, offset, size * count)
        segments = [struct.unpack_from("<IIQQQQ", table, place * size) for place in range(count)]
        interpreter = None
        dynamic = b""
        for kind, _flags, start, _virtual, _physical, length in segments:
            if kind == _PT_INTERP:
                interpreter = _read(stream, start, length).rstrip(b"\0").decode()
            elif kind == _PT_DYNAMIC:
                dynamic = _read(stream, start, length)
        return Linkage(_needed(stream, dynamic, segments), interpreter)


def _read(stream: BinaryIO, offset: int, size: int) -> bytes:
    stream.seek(offset)
    return stream.read(size)


def _needed(stream: BinaryIO, dynamic: bytes, segments: list[tuple[int, ...]]) -> tuple[str, ...]:
    entries = [struct.unpack_from("<qQ", dynamic, place) for place in range(0, len(dynamic) - 15, 16)]
    names = [value for tag, value in entries if tag == _DT_NEEDED]
    values = dict(entries)
    if not names or _DT_STRTAB not in values:
        return ()
    # The section states where the names will be in memory; the segment that is loaded there says where in the file.
    address = values[_DT_STRTAB]
    for kind, _flags, start, virtual, _physical, length in segments:
        if kind == _PT_LOAD and virtual <= address < virtual + length:
            strings = _read(stream, start + address - virtual, values.get(_DT_STRSZ, 0))
            return tuple(strings[name : strings.index(b"\0", name)].decode() for name in names)
    return ()


@functools.cache
def _loader_cache() -> dict[str, Path]:
    """Paths of libraries by name, as ``ldconfig`` recorded them; empty if there is no such cache."""
    path = Path("/etc/ld.so.cache")
    if not path.is_file():
        return {}
    data = path.read_bytes()
    # Not always at the beginning: the cache in an older format may come first. Offsets count from here.
    start = data.find(_CACHE_MAGIC)
    if start < 0:
        return {}
    (count,) = struct.unpack_from("<I", data, start + len(_CACHE_MAGIC))
    paths: dict[str, Path] = {}
    for place in range(count):
        # The header has 48 bytes and an entry 24, of which the first twelve are flags and the offsets of name and path.
        flags, key, value = struct.unpack_from("<iII", data, start + 48 + 24 * place)
        if flags in _FLAGS_64_BIT:
            name = data[start + key : data.index(b"\0", start + key)].decode()
            paths.setdefault(name, Path(data[start + value : data.index(b"\0", start + value)].decode()))
    return paths


def find_library(name: str, folders: Iterable[Path]) -> Path | None:
    """Where the loader would find the library ``name``: in ``folders``, by its cache, or in the standard folders."""
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    cached = _loader_cache().get(name)
    if cached is not None and cached.is_file():
        return cached
    return next((Path(folder, name) for folder in _FALLBACK_FOLDERS if Path(folder, name).is_file()), None)


def required_libraries(files: Iterable[Path], folders: tuple[Path, ...], extra: Iterable[str] = ()) -> dict[str, Path]:
    """Every library that ``files`` need, directly or not, and that is not itself among them.

    Args:
        files: paths of programs and extension modules.
        folders: folders that are searched before the system's, such as the interpreter's own ``lib``.
        extra: names of libraries that are opened at run time only; those that the machine lacks are left out.

    Returns:
        Real path of each library, and of the loader itself, by the path at which the loader will open it.
    """
    waiting = list(files)
    present = {path.name for path in waiting}
    libraries: dict[str, Path] = {}

    def add(name: str) -> None:
        path = None if name in present else find_library(name, folders)
        present.add(name)
        if path is not None:
            libraries[str(path)] = path.resolve()
            waiting.append(path)

    for name in extra:
        add(name)
    while waiting:
        link = linkage(waiting.pop())
        if link.interpreter is not None:
            libraries[link.interpreter] = Path(link.interpreter).resolve()
        for name in link.needed:
            add(name)
    return libraries


def is_library(name: str) -> bool:
    """Whether a file name is that of a shared library or extension module."""
    return re.search(r"\.so(\.\d+)*$", name) is not None
