"""Hostile text in every field that a page shows: it makes no element and no attribute, in a parser's view and in a
browser's."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from openfingym.reports.html import render as render_report
from openfingym.reports.report import make_report
from openfingym.reports.runs import DamagedRun, FoundRuns
from openfingym.reports.trading.tearsheet import Heading
from openfingym.reports.trading.tearsheet import render as render_sheet
from tests.openfingym.reports.made import failed, scored
from tests.openfingym.reports.test_html import sized
from tests.openfingym.reports.trading.test_tearsheet import P, trace

TOKENS = (
    "<",
    ">",
    '"',
    "'",
    "&",
    "/",
    "=",
    " ",
    "\n",
    "\0",
    "`",
    "\u2028",
    "&lt;",
    "&#60;",
    "<!--",
    "-->",
    "]]>",
    "<script>",
    "</script>",
    "</style>",
    "</title>",
    "</svg>",
    "<b>",
    "<img src=x onerror=evil()>",
    '" onload="evil()',
    "' style='color:red",
    "{{ 7 * 7 }}",
    "{% raw %}",
)
TEXTS = st.lists(st.sampled_from(TOKENS) | st.text(max_size=3), max_size=12).map("".join)
WORST = "".join(TOKENS)
SET = {"rollout_id", "state", "path", "direction", "boundary", "tape", "policy", "disclosure"}
"""Fields of a result that say how a run is counted, or that no page shows."""


class Structure(HTMLParser):
    """What a page is made of: elements, names of attributes, and values of those that mean something."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[object] = []
        self.scripts: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        telling = {
            name: value for name, value in attrs if name in {"class", "href", "src", "style", "id", "type", "content"}
        }
        self.parts.append((tag, [name for name, _ in attrs], telling))

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(tag)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_data(self, data: str) -> None:
        inside_data = (
            self.parts and isinstance(self.parts[-1], tuple) and self.parts[-1][2].get("type") == "application/json"
        )
        (self.scripts if inside_data else self.text).append(data)


def structure(page: str) -> Structure:
    found = Structure()
    found.feed(page)
    found.close()
    for script in found.scripts:
        json.loads(script)
    return found


def report_page(text: str) -> str:
    """A report whose every name and reason holds ``text``, each beginning with the name of its field."""
    names = [field.name for field in fields(failed("rejected")) if field.name not in SET]
    texts = {name: f"{name} {text}" for name in names if isinstance(getattr(failed("rejected"), name), str)}
    texts |= {"model": f"model {text}", "task": f"task 9{text}"}
    mine = [scored(0.5 + 0.01 * n, **texts | {"task": f"task {n}{text}", "reason": None}) for n in range(6)]
    theirs = [replace(run, agent=f"z{run.agent}", relative_total=2.0) for run in mine]
    bad = [
        failed("rejected", **texts, boundary=f"boundary {text}"),
        failed("error", **texts, boundary=f"boundary {text}"),
    ]
    found = FoundRuns((*mine, *theirs, *bad), (DamagedRun(Path("r"), f"damaged {text}"),))
    return render_report(make_report(found), found.results)


def sheet_page(text: str) -> str:
    """A tear sheet whose every name holds ``text``, each beginning with the name of its field."""
    texts = {field.name: f"{field.name} {text}" for field in fields(Heading) if field.type == "str"}
    symbols = (f"symbol a{text}", f"symbol b{text}")
    traces = [trace(0, 12, symbols=symbols), trace(1, 12, symbols=symbols, fold="public")]
    numbers = {
        "periods_per_year": P,
        "relative_total": 0.9,
        "metrics": {"pnl": 1.0, text: 2.0},
        "baseline_metrics": {text: 1.0},
    }
    return render_sheet(
        Heading(**texts, **numbers, facts={f"fact {text}": f"value {text}"}),
        traces,
        [trace(0, 12, symbols=symbols, fills=0.1)],
    )


PLAIN = {page: structure(page("harmless")).parts for page in (report_page, sheet_page)}


@settings(max_examples=25)
@given(TEXTS)
def test_no_text_makes_an_element_or_an_attribute(text):
    for page, parts in PLAIN.items():
        assert structure(page(text)).parts == parts


def test_the_text_of_every_field_is_shown_as_it_is():
    said = {page: "".join(structure(page(WORST)).text) for page in PLAIN}
    for name in ("agent", "model", "data_kind", "task 0", "damaged", "boundary"):
        assert f"{name}{'' if name[-1].isdigit() else ' '}{WORST}".replace("\0", "\ufffd") in said[report_page].replace(
            "\0", "\ufffd"
        ), name
    for name in ("task ", "agent ", "data_kind ", "baseline ", "state ", "symbol a", "fact ", "value "):
        assert f"{name}{WORST}" in said[sheet_page], name


def test_in_a_browser_too(tmp_path):
    for page, parts in PLAIN.items():
        folder = tmp_path / page.__name__
        folder.mkdir()
        own = [part for part in parts if isinstance(part, tuple)]
        found = [part for part in structure(sized(page(WORST), folder, 900)).parts if isinstance(part, tuple)]
        assert len(found) == len(own)
        assert [tag for tag, _, _ in found] == [tag for tag, _, _ in own]
        # The cursor of the tear sheet has places, and the root says how many charts it found.
        assert {name for _, names, _ in found for name in names} <= {"x1", "x2", "data-charts"}.union(
            *(names for _, names, _ in own)
        )
