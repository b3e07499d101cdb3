"""The space of arrays whose shape is another in each episode, as that of the instances of a task."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import Space
from numpy.typing import NDArray


class Varying(Space[NDArray[Any]]):
    """Arrays of one type and number of axes, of any length along each; bounds hold for every number.

    Gymnasium's vector environments put such arrays side by side into a tuple, as they do for every space that they do
    not know.
    """

    def __init__(
        self, low: float, high: float, shape: tuple[int, ...], dtype: type[np.generic], seed: int | None = None
    ) -> None:
        """Describe arrays.

        Args:
            low: smallest number that an array may have.
            high: largest number that an array may have.
            shape: shape of samples until :attr:`current` is set; arrays have as many axes.
            dtype: type of the numbers.
            seed: seed from which samples are drawn.
        """
        super().__init__(None, dtype, seed)
        self.low, self.high = low, high
        self.current = tuple(shape)
        """The shape that a sample has."""

    @property
    def is_np_flattenable(self) -> bool:
        """No: there is no length that all have."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> NDArray[Any]:
        """Uniform numbers, of the shape of the episode at hand."""
        if mask is not None or probability is not None:
            raise ValueError("arrays of numbers are drawn without a mask")
        assert self.dtype is not None, "given to the constructor"
        # Uniform numbers need finite bounds, and those of a task may be infinite.
        low, high = max(self.low, -1e6), min(self.high, 1e6)
        if np.issubdtype(self.dtype, np.integer):
            return self.np_random.integers(int(low), int(high), self.current, endpoint=True).astype(self.dtype)
        return self.np_random.uniform(low, high, self.current).astype(self.dtype)

    def contains(self, x: Any) -> bool:
        """Whether it is an array of this type and number of axes, within the bounds."""
        if not isinstance(x, np.ndarray) or x.dtype != self.dtype or x.ndim != len(self.current):
            return False
        return bool(np.all((x >= self.low) & (x <= self.high)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Varying) and (self.low, self.high, self.dtype, len(self.current)) == (
            other.low,
            other.high,
            other.dtype,
            len(other.current),
        )

    __hash__ = None  # type: ignore[assignment]  # spaces are changed by their generator

    def __repr__(self) -> str:
        return f"Varying({self.low}, {self.high}, {len(self.current)} axes, {self.dtype})"
