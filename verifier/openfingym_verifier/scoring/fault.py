"""Deciding whose fault a failure is: ours only where a valid input fails as well.

What an agent sends must never buy it a second try. A failure that its own values bring about is
therefore a refusal of those values, and only what also fails on the task's baseline is an error of ours.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, TypeVar

from openfingym.errors import SubmissionError, VerifierError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")
UNSCORABLE = "unscorable"
"""Problem of values that no score can be computed from."""

logger = logging.getLogger(__name__)


async def find_fault(
    compute: Callable[[], Awaitable[T]],
    control: Callable[[], Awaitable[object]],
    what: str,
    *,
    afresh: Callable[[], Awaitable[T]] | None = None,
) -> T:
    """Compute something from what an agent sent; if that fails twice, do the same with what is known to be valid.

    Args:
        compute: computes the result from what the agent sent.
        control: does the same with a valid input.
        what: name of what is computed, for the message.
        afresh: computes the result again after a failure, without anything that the failure may have damaged, such as a
            killed worker; None for ``compute`` itself.

    Raises:
        SubmissionError: what was sent is refused, or fails while the valid input does not.
        VerifierError: the valid input fails too.
    """
    try:
        return await compute()
    except SubmissionError:
        raise
    except Exception:
        logger.exception("%s failed and is tried again", what)
    # A second time, since a failure may pass, such as a process that ran out of memory beside others.
    try:
        return await (afresh or compute)()
    except SubmissionError:
        raise
    except Exception as error:
        try:
            with contextlib.suppress(SubmissionError):  # a baseline may be refused, which is no failure
                await control()
        except Exception as own:
            raise VerifierError(f"{what} failed, and so it did on a valid input: {_said(own)}") from own
        logger.warning("%s failed twice, and not on a valid input: refused", what)
        raise SubmissionError(
            f"{what} fails on these values ({_said(error)}), and not on valid ones", problem=UNSCORABLE
        ) from error


def _said(error: Exception) -> str:
    """A description of a failure without its message, which may hold values of labels."""
    return type(error).__name__
