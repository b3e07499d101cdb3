"""What the words on one side of a number say of it."""

from __future__ import annotations

from typing import Literal, NamedTuple

Doubt = Literal["", "sign", "bullet", "verb"]
"""What is not known of a number's sign: ``sign``, it may be either; ``bullet``, the hyphen before it is rather the mark
of a list; ``verb``, the word before it may say that something fell."""


class Said(NamedTuple):
    """What the words on one side of a number say of it."""

    direction: int = 0
    """-1 if they say that something fell by it, 1 if they say that it rose, 0 otherwise."""
    doubt: Doubt = ""
    """What of the number's sign they leave open."""
    beside: str = ""
    """The word or sign right behind the number if it may change its size; empty if it is known not to."""
    noun: bool = False
    """Whether the direction is that of an amount, such as a profit, which a minus turns around."""


NOTHING = Said()
"""That the words say nothing."""
UNSURE = Said(doubt="sign")
"""That the number may have either sign."""
