"""How large a paper may be, what reading one may take, and the error for a file that no paper can be read from."""

from __future__ import annotations

FILE_BYTES = 32 << 20
"""Largest file, as it lies there or as it is sent."""
HTML_BYTES = 8 << 20
"""Largest page of HTML, plain text or LaTeX file of an archive: a tree of nodes takes many times as much memory."""
UNPACKED_BYTES = 64 << 20
"""Largest archive of LaTeX source, once it is unpacked."""
ARCHIVE_FILES = 2000
"""Most files of an archive."""
PAGES = 200
"""Most pages of a PDF."""
TEXT_CHARACTERS = 2_000_000
"""Longest text of a paper: about a thousand pages."""
MEMORY_BYTES = 2 << 30
"""Address space of the process that reads a file, which is more than the memory that it uses."""
CPU_SECONDS = 30
"""Processor time of the process that reads a file."""
WALL_SECONDS = 180
"""Wall time of the process that reads a file: longer, since a busy machine gives it a part of a processor."""


class UnreadableError(Exception):
    """A file that no paper can be read from; its text ends a sentence that begins with the file's name."""
