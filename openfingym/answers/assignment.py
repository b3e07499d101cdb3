"""Assigning to each row of a reference a row of an answer of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


def without_partner(count: int, fits: Callable[[int, int], bool]) -> int | None:
    """A row of a reference that is left without a row of an answer for its own, however the others are assigned; None
    if there is none.

    A row that fits two rows of the reference must not be taken from the one that has no other. So partners are found by
    augmenting paths, which make rows that have a partner already move to another one.

    Args:
        count: how many rows the reference and the answer have.
        fits: whether a row of the reference, by its index, may have a row of the answer, by its index, for its own.
    """
    # Rows in place are partners from the beginning: most answers keep the order all the same.
    owner = {place: place for place in range(count) if fits(place, place)}
    partner = dict(owner)
    for start in range(count):
        if start in partner:
            continue
        # Search breadth first for a free row of the answer; `reached_from` has the way to it, backwards.
        reached_from: dict[int, int] = {}
        queue, end = deque([start]), None
        while queue and end is None:
            wanted = queue.popleft()
            # Free rows come first: with one of them the search is over, and the others need not be compared.
            for stated in sorted(range(count), key=owner.__contains__):
                if stated in reached_from or not fits(wanted, stated):
                    continue
                reached_from[stated] = wanted
                if stated not in owner:
                    end = stated
                    break
                queue.append(owner[stated])
        if end is None:
            return start
        # Backwards along the path, each row of the reference takes the row of the answer that it reached.
        while end is not None:
            wanted = reached_from[end]
            owner[end] = wanted
            partner[wanted], end = end, partner.get(wanted)
    return None
