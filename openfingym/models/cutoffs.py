"""Cut-offs of models: the last month, or day, that a model was trained on."""

from __future__ import annotations

import re
from datetime import date

from openfingym.errors import UsageError

_FORM = re.compile(r"\d{4}-\d{2}(-\d{2})?", re.ASCII)


def require_cutoff(text: str) -> str:
    """A cut-off as it was written, a month such as ``2023-10``, to its end, or a day such as ``2023-10-15``.

    Raises:
        UsageError: it is neither.
    """
    try:
        if not _FORM.fullmatch(text):
            raise ValueError
        date.fromisoformat(text if len(text) > 7 else f"{text}-01")
    except ValueError:
        raise UsageError(f"expected a cut-off such as 2023-10 or 2023-10-15; found {text[:60]!r}") from None
    return text
