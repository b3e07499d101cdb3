"""What the values of a task are, which decides how returns are made of them."""

from __future__ import annotations

from typing import Literal

ValueSemantics = Literal["log_return", "price_level", "yield_level", "realised_vol", "mixed"]
"""What a value is: a return, a level, a volatility, or something else in each channel (``mixed``)."""
