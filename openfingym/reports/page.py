"""The frame of a page that is one HTML file with everything in it, and loads nothing from anywhere.

Markup is in templates, ``*.html.jinja`` beside the module that fills them in; modules prepare plain values. Every value
is escaped where it is shown. Only two things are not: the output of a macro, whose values were escaped within it, and
the style and script of this library (:func:`_own`).
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

HERE = "openfingym.reports"
"""The package whose folder has the templates and styles of this library."""
KINDS = {
    "simulated": "SIMULATED data: prices come from a seeded simulator, not from a market.",
    "specified": "Synthetic data, as its source defines it; not from a market.",
    "real": "Real market data.",
}
"""What a page on trading says about data of each kind."""
KINDS_OF_RUNS = {
    "real": "Real data.",
    "simulated": "SIMULATED data: drawn by seeded simulators, not observed.",
    "specified": "Synthetic data, as its source defines it.",
    "real with hindsight": "HINDSIGHT, an experiment: agents were shown what was not known yet. Real data.",
    "simulated with hindsight": "HINDSIGHT, an experiment: agents were shown what was not known yet. SIMULATED data.",
}
"""What a page on runs of any family says about data of each kind."""


def document(
    template: str,
    title: str,
    package: str = HERE,
    /,
    *,
    styles: tuple[str, ...] = (),
    scripts: tuple[str, ...] = (),
    **values: Any,
) -> str:
    """Fill in a self-contained page in the style of ``page.css``.

    Args:
        template: path of a template that extends ``page.html.jinja``, in the folder of the package or in this one.
        title: title of the page, plain text.
        package: full name of a package that has templates of its own in its folder.
        styles: paths of the page's own CSS, which comes after the shared one, in these folders.
        scripts: paths of the page's JavaScript, in these folders; no other script runs on the page.
        values: the values that the template shows: plain ones, or what :func:`macro` made of them.

    Returns:
        The HTML document.
    """
    style, script = _own(package, "page.css", *styles), _own(package, *scripts)
    # A second defence beside escaping: the browser loads nothing, and applies no style and runs no script with another
    # digest than ours, even if a name in a run folder gets markup into the page.
    policy = f"default-src 'none'; style-src '{_digest(style)}'" + (
        f"; script-src '{_digest(script)}'" if script else ""
    )
    filled = _templates(package).get_template(template)
    return filled.render(title=title, policy=policy, style=style, script=script, **values) + "\n"


def macro(template: str, name: str, **values: Any) -> Markup:
    """Fill in a part of a page.

    Args:
        template: path of a template below ``openfingym/reports``.
        name: name of a macro in the template.
        values: the plain values that the macro shows.
    """
    markup: Markup = getattr(_templates(HERE).get_template(template).module, name)(**values)
    return markup


def kind_notice(data_kind: str, words: Mapping[str, str] = KINDS) -> tuple[str, str]:
    """The paragraph that says what kind of data the figures of a page are about.

    Args:
        data_kind: the kind of data.
        words: the text for each kind.

    Returns:
        The CSS class of the paragraph, and its text.
    """
    return (data_kind, words[data_kind]) if data_kind in words else ("unknown", f"Data of unknown kind: {data_kind}")


def minus(text: str) -> str:
    """A figure with a minus sign, which is as wide as a plus, in the place of each hyphen."""
    return text.replace("-", "\N{MINUS SIGN}")


@functools.cache
def _templates(package: str) -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    # A name that a template uses and nobody gave is an error, and not an empty text.
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each, "") for each in dict.fromkeys([HERE, package])]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["minus"] = minus
    # Python writes NaN into JSON, which no browser reads.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment


@functools.cache
def _own(package: str, *paths: str) -> Markup:
    """CSS or JavaScript of this library, or of the package that draws a page: the only text that is put in as it is."""
    from markupsafe import Markup

    folders = [resources.files(each) for each in (HERE, package)]
    files = [next(folder / path for folder in folders if (folder / path).is_file()) for path in paths]
    # Nothing but files of installed packages is marked as safe.
    return Markup("".join(file.read_text(encoding="utf-8") for file in files))  # noqa: S704


def _digest(text: str) -> str:
    """The digest of a style or script in the form of a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
