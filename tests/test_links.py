"""Links between the documents: each leads to a file, and to a heading of it, that is there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.tenants import TENANTS

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])
TRUST = ROOT / "docs" / "trust.md"
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
NAMED = re.compile(rb"\b(docs/[a-z/_-]+\.md)(?:#([a-z0-9-]+))?")
"""A document that a docstring, a comment or a message names."""
CODE = (
    "benchmarks",
    "examples",
    "openfingym",
    "openfingym_v1",
    "runtime",
    "scripts",
    "tasks",
    "tests",
    "verifier",
    *TENANTS,
)


@cache
def anchors(document: Path) -> frozenset[str]:
    """The anchors that GitHub gives to the headings of a document: lower case, no punctuation, spaces as hyphens."""
    headings = HEADING.findall(FENCED.sub("", document.read_text(encoding="utf-8")))
    texts = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return frozenset(re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in texts)


@pytest.mark.parametrize("document", DOCUMENTS, ids=[str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_each_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    for link in LINK.findall(FENCED.sub("", document.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", link):  # another site
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{document.name}: {link}: there is no such file"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{document.name}: {link}: there is no such heading"


def test_documents_that_the_code_names_are_there() -> None:
    for source in (path for folder in CODE for path in (ROOT / folder).rglob("*.py")):
        content = source.read_bytes()
        for path, anchor in NAMED.findall(content) if b"docs/" in content else []:
            document = ROOT / path.decode()
            assert document.is_file(), f"{source}: there is no {path.decode()}"
            assert not anchor or anchor.decode() in anchors(document), f"{source}: {path.decode()} has no such heading"


def test_the_promises_name_tests_that_are_there() -> None:
    """Each row of a promise has its attack, its test and its bound, and the tests are found where it says."""
    text = TRUST.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    assert HEADING.findall(FENCED.sub("", text))[1] == "What is not protected"
    rows = [line for line in text.splitlines() if line.startswith("| **")]
    assert rows
    for row in rows:
        _, promise, attack, test, bound, _ = (cell.strip() for cell in re.split(r"(?<!\\)\|", row))
        assert all((promise, attack, bound)), row
        named = re.findall(r"`([\w/]*\.py)?(?:::(\w+))?`", test)
        assert any(path for path, _ in named), promise
        within = ""
        for path, name in named:
            within = (ROOT / "tests" / path).read_text(encoding="utf-8") if path else within
            assert not name or f"def {name}(" in within, f"{promise}: there is no test {name}"
