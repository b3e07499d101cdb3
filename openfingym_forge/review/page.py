"""The pages of ``openfingym forge review``: an index, and one self-contained page for each candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import OpenFinGymError, StoreError
from openfingym.files.whole import store_errors, write_text
from openfingym.reports.page import document
from openfingym.version import __version__
from openfingym_forge.blueprint_file import read_blueprint
from openfingym_forge.data.provenance import read_provenance
from openfingym_forge.review.decisions import decisions, installed, is_curated
from openfingym_forge.review.drawings import data_drawings, totals_drawing
from openfingym_forge.stage import STAGES

if TYPE_CHECKING:
    from openfingym_forge.blueprint import Blueprint, Quotation
    from openfingym_forge.data.provenance import ForgeProvenance
    from openfingym_forge.folder import ForgeFolder, KeptResult, PaperFolder
    from openfingym_forge.paper import Paper

AROUND = 140
"""Characters of the paper that are shown on either side of a quotation."""
LONGEST = 20_000
"""Characters of a file that are shown."""
HERE = "openfingym_forge.review"
"""The package whose folder has the templates of these pages."""
STYLES = ("task.css", "forge/forge.css")
"""Style sheets that stand in each page."""


@dataclass(frozen=True)
class Quoted:
    """A quotation with the words around it in the paper."""

    before: str
    """Words in front of it; empty where the paper has not the quotation at that place."""
    quote: str
    after: str
    """Words behind it; empty where the paper has not the quotation at that place."""
    section: str
    """Title of the section that it stands in."""
    found: bool
    """Whether the paper has the quotation at that place."""


def candidate_page(forge: ForgeFolder, paper: PaperFolder, *, index: str = "") -> str:
    """The page of one candidate.

    Args:
        forge: the forge that the candidate is in.
        paper: folder of the candidate.
        index: relative address of the index page; empty for no link to one.

    Raises:
        StoreError: a record is damaged.
    """
    read = _paper(paper)
    blueprint = _blueprint(paper)
    kept = {each.result.stage: each for each in paper.results()}
    provenance = read_provenance(paper.path / "data")
    proved = kept["prove"].result.facts if "prove" in kept else {}
    trials = proved.get("trials")
    stage, state = paper.state()
    folder = installed(forge, paper)
    return document(
        "forge/candidate.html.jinja",
        f"Review: {read.title if read else paper.key}",
        HERE,
        styles=STYLES,
        index=index,
        key=paper.key,
        heading=read.title if read else paper.key,
        state=state,
        stage=stage,
        curated=is_curated(forge, paper),
        facts={
            "Paper": paper.key,
            "Origin": read.origin if read else "",
            "Licence": read.licence if read else "",
            "Task": folder.name if folder else "",
            "Generator": forge.settings.model,
            "Reviewer": forge.settings.reviewer,
            "OpenFinGym": __version__,
        },
        abstract=read.abstract if read else "",
        stages=[_stage(name, kept.get(name), read) for name in STAGES],
        fields=_fields(blueprint, read),
        assumed=sum(1 for stated in blueprint.fields.values() if stated.assumed) if blueprint else 0,
        contradictions=_contradictions(blueprint, read),
        metrics=_metrics(blueprint, read),
        provenance=_provenance(provenance),
        drawings=data_drawings(paper.path, provenance, blueprint),
        totals=totals_drawing(trials if isinstance(trials, Mapping) else {}),
        found=[(name, _flat(kept[name].result.facts)) for name in STAGES if name in kept and kept[name].result.facts],
        files=_files(paper),
        cost=_cost(paper),
        decisions=decisions(paper),
        forge=str(forge.root),
    )


def index_page(forge: ForgeFolder, addresses: Mapping[str, str]) -> str:
    """The index of candidates; one whose record is damaged is listed with what is wrong with it.

    Args:
        forge: the forge whose candidates are listed.
        addresses: relative address of the page of each candidate, by the candidate's key.
    """
    rows = []
    for paper in forge.papers():
        row: dict[str, object] = {"page": addresses.get(paper.key, ""), "heading": paper.key}
        try:
            row |= _row(forge, paper)
        except StoreError as error:
            row |= {"state": "damaged", "stage": "", "task": "", "codes": "", "why": str(error), "bad": True}
        rows.append(row)
    return document(
        "forge/index.html.jinja", "Review of a forge", HERE, styles=STYLES, rows=rows, forge=str(forge.root)
    )


def _row(forge: ForgeFolder, paper: PaperFolder) -> dict[str, object]:
    """What the index says of a candidate besides its address.

    Raises:
        StoreError: a record is damaged.
    """
    read = _paper(paper)
    stage, state = paper.state()
    last = paper.result(stage) if stage else None
    reasons = list(last.result.reasons) if last else []
    folder = installed(forge, paper)
    curated = is_curated(forge, paper)
    return {
        "heading": read.title if read else paper.key,
        "state": "curated" if curated else ("proved" if folder and state == "passed" else state),
        "stage": stage,
        "task": folder.name if folder else "",
        "codes": ", ".join(dict.fromkeys(reason.code for reason in reasons)),
        "why": reasons[0].text[:240] if reasons else "",
        "bad": state in ("refused", "failed"),
    }


def write_pages(forge: ForgeFolder, path: Path) -> list[Path]:
    """Write the index to ``path``, and the candidates' pages into a folder of the same name beside it.

    Returns:
        The files, the index first. A candidate whose record is damaged has no page.

    Raises:
        StoreError: a page cannot be written.
    """
    folder = path.with_suffix("")
    folder = folder if folder != path else path.with_name(f"{path.name}-pages")
    pages: dict[str, Path] = {}
    with store_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        for paper in forge.papers():
            page = folder / f"{paper.key}.html"
            try:
                content = candidate_page(forge, paper, index=f"../{path.name}")
            except StoreError:
                # A page of an earlier time would show what the record no longer says.
                page.unlink(missing_ok=True)
                continue
            write_text(page, content, errors="backslashreplace")
            pages[paper.key] = page
        addresses = {key: f"{folder.name}/{page.name}" for key, page in pages.items()}
        # Last, so that it leads to pages that are there. Text of a paper may hold what UTF-8 cannot encode.
        write_text(path, index_page(forge, addresses), errors="backslashreplace")
    return [path, *pages.values()]


def _paper(paper: PaperFolder) -> Paper | None:
    return paper.paper() if paper.has_paper else None


def _blueprint(paper: PaperFolder) -> Blueprint | None:
    """The candidate's blueprint; None where there is none, or a person's edit cannot be read."""
    try:
        return read_blueprint(paper.blueprint_path)
    except OpenFinGymError:
        return None


def quoted(quotation: Quotation, paper: Paper | None) -> Quoted:
    """A quotation with the words around it.

    Args:
        quotation: the quotation, which is looked for at its own place alone.
        paper: the paper; None where it cannot be read.
    """
    text = paper.text if paper is not None else ""
    end = quotation.start + len(quotation.quote)
    found = text[quotation.start : end] == quotation.quote
    if not found:
        return Quoted("", quotation.quote, "", quotation.section, found=False)
    before = text[max(0, quotation.start - AROUND) : quotation.start]
    after = text[end : end + AROUND]
    # Cut at a blank, so that both ends are whole words.
    before = ("…" + before.partition(" ")[2]) if quotation.start > AROUND else before
    after = (after.rpartition(" ")[0] + "…") if end + AROUND < len(text) else after
    return Quoted(before, quotation.quote, after, quotation.section, found=True)


def shown_value(value: object) -> str:
    """A value of a blueprint or of facts as a text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(shown_value(each) for each in value)
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {shown_value(each)}" for key, each in value.items())
    return str(value)


def _fields(blueprint: Blueprint | None, paper: Paper | None) -> list[dict[str, object]]:
    if blueprint is None:
        return []
    return [
        {
            "name": name,
            "value": shown_value(stated.value),
            "quotations": [quoted(quotation, paper) for quotation in stated.quotations],
            "assumed": stated.assumed,
        }
        for name, stated in blueprint.fields.items()
    ]


def _contradictions(blueprint: Blueprint | None, paper: Paper | None) -> list[dict[str, object]]:
    if blueprint is None:
        return []
    return [
        {
            "field": contradiction.field,
            "why": contradiction.why,
            "readings": [
                (shown_value(stated.value), [quoted(quotation, paper) for quotation in stated.quotations])
                for stated in contradiction.readings
            ],
        }
        for contradiction in blueprint.contradictions
    ]


def _metrics(blueprint: Blueprint | None, paper: Paper | None) -> list[dict[str, object]]:
    if blueprint is None:
        return []
    return [
        {
            "name": metric.name,
            "bank": metric.bank,
            "formula": shown_value(metric.formula.value),
            "direction": shown_value(metric.direction.value),
            "unit": shown_value(metric.unit.value),
            "weight": shown_value(metric.weight.value),
            "quotations": [quoted(quotation, paper) for quotation in metric.formula.quotations],
            "assumed": metric.formula.assumed,
            "figures": [(figure.baseline, f"{figure.value:g}") for figure in metric.figures],
        }
        for metric in blueprint.metrics
    ]


def _stage(name: str, kept: KeptResult | None, paper: Paper | None) -> dict[str, object]:
    """A stage as the page shows it; empty texts where it is not done."""
    if kept is None:
        return {"name": name, "state": "", "seconds": "", "reasons": [], "notes": []}
    texts = {
        key: [(each.code, each.text, [quoted(quotation, paper) for quotation in each.quotations]) for each in reasons]
        for key, reasons in (("reasons", kept.result.reasons), ("notes", kept.result.notes))
    }
    return {"name": name, "state": kept.result.state, "seconds": f"{kept.seconds:.1f}", **texts}


def _provenance(provenance: ForgeProvenance | None) -> list[tuple[str, str]]:
    """What is known of where the data are from, as names and texts."""
    if provenance is None:
        return []
    known = {key: value for key, value in asdict(provenance).items() if value not in ("", [], {})}
    return [(key.replace("_", " "), shown_value(value)) for key, value in known.items()]


def _flat(facts: Mapping[str, object]) -> list[tuple[str, str]]:
    """Facts of a stage as names and texts; tables in them become a row for each value."""
    rows = []
    for key, value in facts.items():
        if isinstance(value, Mapping):
            rows += [(f"{key}: {inner}", shown_value(each)) for inner, each in value.items()]
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            rows += [(key, shown_value(each)) for each in value]
        else:
            rows.append((key, shown_value(value)))
    return [(key, text[:1200]) for key, text in rows]


def _files(paper: PaperFolder) -> list[tuple[str, str]]:
    """Names and texts of files that were made: scripts, logs, and what goes into the package."""
    texts = []
    for place in ("data/download.py", "data/proxy-log.json", "task/task.toml", "task/instruction.md"):
        path = paper.path / place
        if path.is_file():
            texts.append((place, path.read_text(encoding="utf-8", errors="replace")[:LONGEST]))
    return texts


def _cost(paper: PaperFolder) -> list[tuple[str, int, int, str]]:
    """Purpose, requests, tokens and US dollars of what models were asked."""
    from openfingym_forge.asking.journal import PaperJournal

    rows: dict[str, list[float]] = {}
    for entry in PaperJournal(paper.path).entries():
        if entry.get("kind") != "asked":
            continue
        row = rows.setdefault(f"{entry.get('role')}: {entry.get('purpose')}", [0, 0, 0.0])
        tokens, cost = entry.get("tokens"), entry.get("cost_usd")
        row[0] += 1
        row[1] += tokens if isinstance(tokens, int) else 0
        row[2] += cost if isinstance(cost, int | float) else 0.0
    return [(name, int(row[0]), int(row[1]), f"{row[2]:.4f}") for name, row in rows.items()]
