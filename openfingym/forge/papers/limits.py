"""How large a paper may be, and what is raised where one cannot be read."""

from __future__ import annotations

FILE_BYTES = 32 << 20
"""Of a file, as it is."""
HTML_BYTES = 8 << 20
"""Of a page of HTML, and of text: trees of nodes take many times as much memory."""
UNPACKED_BYTES = 64 << 20
"""Of an archive of LaTeX source, unpacked."""
ARCHIVE_FILES = 2000
PAGES = 200
TEXT_CHARACTERS = 2_000_000
"""Of a paper's text."""
MEMORY_BYTES = 2 << 30
"""Of the process that reads a file."""
CPU_SECONDS = 30
"""Of the process that reads a file."""
WALL_SECONDS = 180


class UnreadableError(Exception):
    """A file that no paper can be read from; its text ends a sentence that begins with the file's name."""
