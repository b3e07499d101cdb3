"""A console for what is said beside the results."""

from __future__ import annotations

from rich.console import Console


class Aside(Console):
    """A console that falls silent once nobody reads it: the work goes on for who reads its results."""

    def on_broken_pipe(self) -> None:
        """Say nothing more, instead of ending the program."""
        self.quiet = True
