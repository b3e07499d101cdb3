"""The frame of a page that is one HTML file with everything in it, and loads nothing from anywhere.

Markup is in templates, ``*.html.jinja`` beside the module that fills them in; modules prepare plain values. Whatever a
value holds is escaped where it is shown: what a macro made, and :func:`_own` text, are all that is not.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

KINDS = {
    "simulated": "SIMULATED data: prices come from a seeded simulator, not from a market.",
    "specified": "Synthetic data, as its source defines it; not from a market.",
    "real": "Real market data.",
}
"""What a page on trading says of data of each kind."""


def document(
    template: str, title: str, *, styles: tuple[str, ...] = (), scripts: tuple[str, ...] = (), **values: Any
) -> str:
    """A self-contained page in the style of ``page.css``.

    Args:
        template: path of a template that extends ``page.html.jinja``, below ``openfingym/reports``.
        title: title of the page, plain text.
        styles: paths of CSS of this page, which comes after the shared one.
        scripts: paths of the only JavaScript that runs, whatever else the page holds.
        values: what the template shows: plain values, or what :func:`macro` made of them.
    """
    style, script = _own("page.css", *styles), _own(*scripts)
    # Nothing may be loaded, and neither style nor script but ours may work, whatever a name smuggles in.
    policy = f"default-src 'none'; style-src '{_digest(style)}'" + (
        f"; script-src '{_digest(script)}'" if script else ""
    )
    return (
        _templates().get_template(template).render(title=title, policy=policy, style=style, script=script, **values)
        + "\n"
    )


def macro(template: str, name: str, **values: Any) -> Markup:
    """A part of a page: what the macro ``name`` of a template makes of plain values."""
    made: Markup = getattr(_templates().get_template(template).module, name)(**values)
    return made


def kind_notice(data_kind: str, words: Mapping[str, str] = KINDS) -> tuple[str, str]:
    """(style, text) of a paragraph that says what kind of data figures are about, in these words of each kind."""
    return (data_kind, words[data_kind]) if data_kind in words else ("unknown", f"Data of unknown kind: {data_kind}")


def minus(text: str) -> str:
    """Figures with the typographer's minus in the place of each hyphen."""
    return text.replace("-", "\N{MINUS SIGN}")


@functools.cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("openfingym", "reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters["minus"] = minus
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return made


@functools.cache
def _own(*paths: str) -> Markup:
    """CSS or JavaScript of ours, the only text that is put into a page as it is."""
    from markupsafe import Markup

    folder = resources.files("openfingym") / "reports"
    # What is marked as safe are files of this library.
    return Markup("".join((folder / path).read_text(encoding="utf-8") for path in paths))  # noqa: S704


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
