"""The frame of a page that is one HTML file with everything in it, and loads nothing from anywhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources

KINDS = {
    "simulated": "SIMULATED data: prices come from a seeded simulator, not from a market.",
    "specified": "Synthetic data, as its source defines it; not from a market.",
    "real": "Real market data.",
}
"""What a page on trading says of data of each kind."""


def document(title: str, body: str, style: str = "", script: str = "") -> str:
    """A self-contained page in the style of ``page.css``.

    Args:
        title: plain text.
        body: HTML.
        style: CSS of this page, after the shared one.
        script: the only script that runs, whatever the body holds; none if empty.
    """
    shared = (resources.files("openfingym") / "reports" / "page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    # Nothing may be loaded, and no script but ours may run, whatever a name smuggles in.
    allowed = f"; script-src 'sha256-{digest}'" if script else ""
    policy = f"default-src 'none'; style-src 'unsafe-inline'{allowed}"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"/><meta name="color-scheme" content="light dark"/>'
        f"<title>{escape(title)}</title><style>{shared}{style}</style></head>"
        f"<body>{body}{f'<script>{script}</script>' if script else ''}</body></html>\n"
    )


def kind_notice(data_kind: str, words: Mapping[str, str] = KINDS) -> str:
    """A paragraph that says what kind of data figures are about, in these words of each kind."""
    kind = data_kind if data_kind in words else "unknown"
    said = words.get(data_kind, f"Data of unknown kind: {data_kind}")
    return f'<p class="kind {kind}">{escape(said)}</p>'


def table(title: str, columns: Iterable[str], rows: Sequence[str], note: str = "") -> str:
    """A table under its heading; the heading and the note alone where there are no rows.

    Args:
        title: plain text.
        columns: heads, plain text; an empty one heads nothing.
        rows: HTML, each a ``<tr>``.
        note: a remark below, plain text.
    """
    heads = "".join(f'<th scope="col">{escape(name)}</th>' if name else "<td></td>" for name in columns)
    body = f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>' if rows else ""
    return f"<div><h2>{escape(title)}</h2>{body}" + (f'<p class="note">{escape(note)}</p></div>' if note else "</div>")
