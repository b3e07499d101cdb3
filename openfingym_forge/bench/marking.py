"""Marking a forge that was run over a corpus against the corpus's answer key, and showing several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from openfingym.errors import UsageError
from openfingym_forge.asking.budget import ForgeBudget
from openfingym_forge.bench.comparing import PaperMark, compare
from openfingym_forge.bench.key import KeyPaper
from openfingym_forge.blueprint_file import read_blueprint
from openfingym_forge.folder import ForgeFolder, PaperFolder
from openfingym_forge.stage import STAGES

_INSTALLED = STAGES.index("install")
"""Place of the stage from which on a paper is a task."""


@dataclass(frozen=True)
class BenchPaper:
    """What became of one paper, beside what should have."""

    mark: PaperMark
    """What is right and wrong in its blueprint."""
    stage: str
    """Name of the last stage that was done."""
    state: str
    """How that stage ended."""
    codes: tuple[str, ...]
    """Codes of the reasons of that stage."""
    expected_stage: str
    """Name of the stage at which the paper should end."""
    expected_state: str
    expected_codes: tuple[str, ...]
    seconds: float
    """Wall time of all stages together."""

    @property
    def task(self) -> bool:
        """Whether the paper became a task."""
        return STAGES.index(self.stage) >= _INSTALLED and self.state in {"passed", "waiting"}

    @property
    def honest(self) -> bool:
        """Whether the paper should become a task."""
        return self.expected_stage == "install"

    def verdict(self, upto: str) -> str:
        """How what became of the paper is judged.

        Args:
            upto: name of the last stage that was run.

        Returns:
            ``right``, ``let through``, ``refused falsely``, ``wrong reason`` or ``failed``.
        """
        # A failure says nothing about the model's reading.
        if self.state == "failed" and self.expected_state != "failed":
            return "failed"
        reached = STAGES.index(upto)
        # Where the run ends before the stage that should refuse the paper, passing is right.
        refusable = not self.honest and STAGES.index(self.expected_stage) <= reached
        if self.state == "passed":
            return "let through" if refusable else "right"
        if self.honest:
            return "refused falsely"
        if not refusable and STAGES.index(self.stage) < STAGES.index(self.expected_stage):
            return "wrong reason"
        # One reason of the key's is enough: a paper may have several faults.
        return "right" if set(self.codes) & set(self.expected_codes) else "wrong reason"


@dataclass(frozen=True)
class ForgeBench:
    """A model's figures over a corpus."""

    model: str
    """Name of the model that wrote."""
    upto: str
    """Name of the last stage that was run."""
    papers: tuple[BenchPaper, ...]
    usd: float | None
    """US dollars that were spent; None if the price of an answer is unknown."""
    tokens: int
    """Tokens of all prompts and answers."""

    def figures(self) -> dict[str, float | int | str | None]:
        """The figures of the table, by name; a share of nothing is None."""
        marks = [paper.mark for paper in self.papers]

        def total(name: str) -> int:
            return sum(_count(getattr(mark, name)) for mark in marks)

        verdicts = [paper.verdict(self.upto) for paper in self.papers]
        found = [set(mark.contradictions_found) for mark in marks]
        expected = [set(mark.contradictions_expected) for mark in marks]
        agreed = sum(len(one & other) for one, other in zip(found, expected, strict=True))
        right, assumed = total("right"), total("assumed_right")
        in_key = right + assumed + total("wrong") + total("assumed") + total("missing")
        return {
            "papers": len(self.papers),
            "precision of quoted fields": _share(right, right + total("wrong")),
            "recall of fields": _share(right + assumed, in_key),
            "fields right by assumption": assumed,
            "precision of metrics": _share(total("metrics_right"), total("metrics_found")),
            "recall of metrics": _share(total("metrics_right"), total("metrics_expected")),
            "recall of the paper's figures": _share(total("figures_right"), total("figures_expected")),
            "recall of baselines": _share(total("baselines_right"), total("baselines_expected")),
            "precision of contradictions": _share(agreed, sum(map(len, found))),
            "recall of contradictions": _share(agreed, sum(map(len, expected))),
            "tasks": sum(paper.task for paper in self.papers),
            "tasks expected": sum(paper.honest for paper in self.papers),
            "let through": verdicts.count("let through"),
            "refused falsely": verdicts.count("refused falsely"),
            "wrong reasons": verdicts.count("wrong reason"),
            "failed": verdicts.count("failed"),
            "US dollars": self.usd,
            "tokens": self.tokens,
            "seconds": round(sum(paper.seconds for paper in self.papers), 1),
        }

    def as_json(self) -> dict[str, object]:
        """The figures, and what is wrong paper by paper, as plain values."""
        papers = [
            {
                "paper": paper.mark.paper,
                "verdict": paper.verdict(self.upto),
                "stage": paper.stage,
                "state": paper.state,
                "codes": list(paper.codes),
                "wrong": {name: [str(value) for value in pair] for name, pair in paper.mark.wrong.items()},
                "assumed": {name: [str(value) for value in pair] for name, pair in paper.mark.assumed.items()},
                "missing": paper.mark.missing,
                "metrics": paper.mark.problems,
                "counts": {key: value for key, value in asdict(paper.mark).items() if isinstance(value, int)},
            }
            for paper in self.papers
        ]
        return {"model": self.model, "upto": self.upto, "figures": self.figures(), "papers": papers}

    def table(self) -> str:
        """The figures, and a line for each paper with which something is wrong, as text."""
        return side_by_side([self])


def mark_forge(forge: ForgeFolder, key: Mapping[str, KeyPaper], *, upto: str = "install") -> ForgeBench:
    """Mark a forge that was run over a corpus.

    Args:
        forge: the forge to mark.
        key: what should have been found in each paper, by the name of the paper's file.
        upto: name of the last stage that was run.

    Raises:
        UsageError: no paper of the key is in the forge, or a blueprint is malformed.
        StoreError: a record of the forge cannot be read.
    """
    papers = [_marked(folder, key[name]) for folder in forge.papers() if (name := _file_of(folder)) in key]
    if not papers:
        raise UsageError(
            f"{forge.root}: none of the key's {len(key)} papers is in it; run the forge over its corpus first"
        )
    spent = ForgeBudget(forge.root / "papers", None, None).spent()
    # A sum without some of the prices would look cheaper than it was.
    usd = None if spent.unpriced else spent.cost_usd
    return ForgeBench(forge.settings.model, upto, tuple(papers), usd, spent.tokens)


def side_by_side(benches: Sequence[ForgeBench]) -> str:
    """A table with a column for each model, and below it what is wrong, paper by paper.

    Args:
        benches: the figures of each model, at least one.
    """
    figures = [bench.figures() for bench in benches]
    names = list(figures[0])
    width = max(map(len, names))
    columns = [max(len(bench.model), 8) for bench in benches]
    lines = [" " * width + "".join(f"  {bench.model:>{size}}" for bench, size in zip(benches, columns, strict=True))]
    for name in names:
        cells = (f"  {_cell(of_model[name]):>{size}}" for of_model, size in zip(figures, columns, strict=True))
        lines.append(f"{name:<{width}}" + "".join(cells))
    for bench in benches:
        lines += [f"{bench.model}: {line}" for paper in bench.papers for line in _complaints(paper, bench.upto)]
    return "\n".join(lines)


def _marked(folder: PaperFolder, key: KeyPaper) -> BenchPaper:
    results = folder.results()
    last = results[-1].result
    blueprint = read_blueprint(folder.blueprint_path) if folder.blueprint_path.exists() else None
    return BenchPaper(
        mark=compare(blueprint, key),
        stage=last.stage,
        state=last.state,
        codes=tuple(reason.code for reason in last.reasons),
        expected_stage=key.stage,
        expected_state=key.state,
        expected_codes=key.codes,
        seconds=sum(kept.seconds for kept in results),
    )


def _file_of(folder: PaperFolder) -> str:
    """Name of the file that a paper was read from; empty where it was never harvested."""
    harvested = folder.result("harvest")
    return "" if harvested is None else str(harvested.result.facts.get("file", ""))


def _complaints(paper: BenchPaper, upto: str) -> list[str]:
    """What is wrong with one paper, a line each."""
    verdict, mark = paper.verdict(upto), paper.mark
    lines = [] if verdict == "right" else [f"{verdict} at {paper.stage} ({', '.join(paper.codes)})"]
    lines += [f"{name} is {found}, expected {expected}" for name, (found, expected) in mark.wrong.items()]
    lines += [f"{name} is assumed {found}, expected {expected}" for name, (found, expected) in mark.assumed.items()]
    # A paper that ended before ``extract`` has no fields to miss.
    lines += [f"{name} is missing" for name in mark.missing] if paper.stage not in {"harvest", "screen", "read"} else []
    return [f"{mark.paper}: {line}" for line in [*lines, *mark.problems]]


def _count(value: object) -> int:
    return value if isinstance(value, int) else len(value) if isinstance(value, list | dict | tuple) else 0


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _cell(value: float | int | str | None) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
