"""What a trading environment draws: the account value over an episode, and the present weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from openfingym.errors import UsageError

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

    Font = ImageFont | FreeTypeFont

RenderMode = Literal["ansi", "rgb_array"]
RENDER_MODES: tuple[str, ...] = get_args(RenderMode)
RENDER_FPS = 10
"""Frames, and so bars, a second of a video."""

_WIDTH, _HEIGHT, _MARGIN = 640, 400, 16
_PLOT = (96, 48, _WIDTH - _MARGIN, 256)
"""Left, top, right and bottom of the curve of the account value, in pixels."""
_BARS = 12
"""Most weights that are drawn; where there are more symbols, the largest positions are."""
_INK, _PALE, _LONG, _SHORT = (30, 30, 30), (190, 190, 190), (0, 114, 178), (213, 94, 0)


class Screen:
    """Keeps the account values of an episode, and draws them."""

    def __init__(self, mode: str, symbols: Sequence[str]) -> None:
        """Prepare.

        Args:
            mode: ``ansi`` for a line of text, ``rgb_array`` for a picture.
            symbols: names of the symbols, by position.

        Raises:
            UsageError: there is no such mode, or Pillow, which draws pictures, is not installed.
        """
        if mode not in RENDER_MODES:
            raise UsageError(f"render_mode is {mode!r}; known: {', '.join(map(repr, RENDER_MODES))}")
        if mode == "rgb_array":
            try:
                import PIL  # noqa: F401
            except ImportError as error:
                raise UsageError(
                    "render_mode='rgb_array' draws with Pillow, which is not installed; "
                    "pip install 'openfingym[render]'"
                ) from error
        self._mode = mode
        self._symbols = tuple(symbols)
        self._values: list[float] = []
        self._row = 0

    def begin(self, row: int, value: float) -> None:
        """Begin an episode at this row and account value, in cash."""
        self._row, self._values = row, [value]

    def add(self, row: int, value: float) -> None:
        """Add the account value in cash at the close of a row."""
        self._row = row
        self._values.append(value)

    def draw(self, weights: NDArray[np.float64]) -> str | NDArray[np.uint8]:
        """A line of text, or a picture uint8[400, 640, 3].

        Args:
            weights: float64[S], the present positions as shares of equity.

        Raises:
            UsageError: no episode was begun.
        """
        if not self._values:
            raise UsageError("nothing to render yet; call reset() first")
        return self._text(weights) if self._mode == "ansi" else self._picture(weights)

    def _title(self) -> str:
        value = self._values[-1]
        return f"row {self._row}  account value {value:,.2f} ({value / self._values[0] - 1.0:+.2%})"

    def _text(self, weights: NDArray[np.float64]) -> str:
        held = "  ".join(f"{symbol} {weight:+.1%}" for symbol, weight in zip(self._symbols, weights, strict=True))
        return f"{self._title()}  weights: {held}"

    def _picture(self, weights: NDArray[np.float64]) -> NDArray[np.uint8]:
        from PIL import Image, ImageDraw, ImageFont

        image = Image.new("RGB", (_WIDTH, _HEIGHT), "white")
        draw, font = ImageDraw.Draw(image), ImageFont.load_default(13)
        draw.text((_MARGIN, _MARGIN), self._title(), _INK, font)
        self._draw_values(draw, font)
        self._draw_weights(draw, font, weights)
        return np.asarray(image, np.uint8).copy()

    def _draw_values(self, draw: ImageDraw, font: Font) -> None:
        """The curve of the account value, with its highest, lowest and first value named."""
        left, top, right, bottom = _PLOT
        values = np.array(self._values)
        low, high = values.min(), values.max()
        # A flat curve gets a range about it, so that it is drawn in the middle and nothing is divided by 0.
        if high - low < 1e-6 * high:
            low, high = low - 0.5, high + 0.5
        heights = bottom - (values - low) / (high - low) * (bottom - top)
        across = np.linspace(left, right, max(len(values), 2))[: len(values)]
        draw.rectangle(_PLOT, outline=_PALE)
        draw.line([(left, heights[0]), (right, heights[0])], _PALE)
        for value, height in ((high, top), (low, bottom)):
            draw.text((left - 6, height), f"{value:,.0f}", _INK, font, anchor="rm")
        if len(values) > 1:
            draw.line(list(zip(across.tolist(), heights.tolist(), strict=True)), _LONG, 2)

    def _draw_weights(self, draw: ImageDraw, font: Font, weights: NDArray[np.float64]) -> None:
        """A bar for each weight, upwards from the axis for long and downwards for short; 100 % is half the height."""
        left, top, right, bottom = _PLOT[0], _PLOT[3] + 32, _PLOT[2], _HEIGHT - 36
        # The largest weights, in the order of the symbols.
        axis, shown = (top + bottom) / 2.0, np.sort(np.argsort(-np.abs(weights), kind="stable")[:_BARS])
        draw.text((left - 6, axis), "weights", _INK, font, anchor="rm")
        draw.line([(left, axis), (right, axis)], _PALE)
        step = (right - left) / len(shown)
        for place, symbol in enumerate(shown.tolist()):
            weight, middle = float(weights[symbol]), left + (place + 0.5) * step
            end = axis - min(max(weight, -1.0), 1.0) * (bottom - top) / 2.0
            box = (middle - 0.25 * step, min(axis, end), middle + 0.25 * step, max(axis, end))
            draw.rectangle(box, _LONG if weight >= 0.0 else _SHORT)
            draw.text((middle, bottom + 4), self._symbols[symbol][:8], _INK, font, anchor="ma")
            draw.text((middle, bottom + 18), f"{weight:+.0%}", _INK, font, anchor="ma")
