"""Stage ``data``: the data of a blueprint are found in the library or among those of earlier papers, or downloaded."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.digests import sha256_of_file
from openfingym.files.whole import store_errors
from openfingym_forge.data.judging import Findings, judge_protocol, judge_table
from openfingym_forge.data.matching import ColumnMatch, channels_of, matches, wanted_of, wants_bars
from openfingym_forge.data.provenance import ForgeProvenance, licence_says, read_provenance
from openfingym_forge.data.written import measure_of, write_table
from openfingym_forge.stage import CandidateTask, RejectionReason, StageResult

if TYPE_CHECKING:
    import pandas as pd

    from openfingym_forge.blueprint import Blueprint

NAME = "data"
SHOWN = 4
"""How many of the best matches a result names."""


class DataStage:
    """Finds or downloads the data of a blueprint, judges them, and writes down where they are from."""

    name = NAME

    def __init__(self, local_hosts: Sequence[str] = (), seconds: float = 120.0) -> None:
        """A stage whose downloads reach public hosts, and those named here.

        Args:
            local_hosts: ``host:port`` of servers that may be reached although their address is private, or
                ``host=address:port`` of hosts that are served there.
            seconds: longest time of a download, in seconds.
        """
        self.local_hosts = tuple(local_hosts)
        self.seconds = seconds

    def run(self, candidate: CandidateTask) -> StageResult:
        """Take the best data set of the library that fits, else data of an earlier paper, else a download."""
        blueprint = candidate.blueprint
        if blueprint is None:
            return refused([RejectionReason("data-unavailable", "there is no blueprint; do stage extract first")])
        folder = candidate.folder / "data"
        # Nothing of an earlier run, whose blueprint may have been another one.
        with store_errors(folder):
            shutil.rmtree(folder, ignore_errors=True)
        protocol = judge_protocol(blueprint)
        if protocol.refusals:
            return refused(protocol.refusals)
        considered = matches(blueprint, abstract=candidate.paper.abstract)
        facts: dict[str, object] = {"considered": [match.summary() for match in considered[:SHOWN] if match.score]}
        # The best may be one that is not pulled on this machine: then the next one serves.
        for best in (match for match in considered if match.fits):
            taken = _take(best, blueprint)
            if taken is not None:
                return _library(taken, best, blueprint, candidate.folder, facts)
        earlier = _earlier(candidate.folder, blueprint)
        if earlier is not None:
            return _reuse(earlier, candidate.folder, blueprint, facts)
        if wanted_of(blueprint).url:
            from openfingym_forge.data.download import download

            return download(candidate, blueprint, facts, local_hosts=self.local_hosts, seconds=self.seconds)
        return refused([_nothing(considered, blueprint)], facts)


def refused(reasons: Sequence[RejectionReason], facts: dict[str, object] | None = None) -> StageResult:
    """A refusal of this stage."""
    return StageResult(NAME, "refused", tuple(reasons), facts=facts or {})


def _nothing(considered: Sequence[ColumnMatch], blueprint: Blueprint) -> RejectionReason:
    """Why there are no data, with the data set that comes nearest and what a person may do."""
    near = considered[0] if considered else None
    source = blueprint.fields.get("data.source")
    text = f"nothing that the library has is {blueprint.value('data.source', 'what the paper uses')!r}"
    text += f"; nearest {near.data.name}: {'; '.join(near.why)}" if near is not None and near.why else ""
    text += ". The paper gives no address: set data.url, or data.source to a name of `openfingym data list`"
    return RejectionReason("data-unavailable", text, tuple(source.quotations) if source is not None else ())


def _take(best: ColumnMatch, blueprint: Blueprint) -> ForgeProvenance | None:
    """The provenance of a match with the parts of it that the blueprint uses; None where it has to be pulled first."""
    data = best.data
    dataset: dict[str, object] = {"name": data.name}
    if data.how == "pulled":
        return None if not _is_pulled(data.name) else replace(_provenance(best), dataset={"pulled": data.name})
    chosen = channels_of(best, wanted_of(blueprint).series)
    bars = wants_bars(blueprint) and any(name.endswith("_open") for name in data.series)
    if chosen and tuple(chosen) != data.series and not bars:
        dataset["channels"] = chosen
    wanted = wanted_of(blueprint)
    if data.first is not None and data.last is not None:
        # A bound outside of the data cuts nothing off.
        if wanted.first is not None and wanted.first > data.first:
            dataset["first"] = wanted.first.isoformat()
        if wanted.last is not None and wanted.last < data.last:
            dataset["last"] = wanted.last.isoformat()
    return replace(_provenance(best), dataset=dataset)


def _provenance(best: ColumnMatch) -> ForgeProvenance:
    data = best.data
    return ForgeProvenance(
        how=f"{data.how}:{data.name}",
        source=data.source,
        licence=data.licence,
        pass_on=data.how != "pulled" or licence_says(data.licence) == "allows",
        address=data.address,
        score=best.score,
        why=list(best.why),
    )


def _is_pulled(name: str) -> bool:
    from openfingym.data.sources.catalog import last_pull

    return last_pull(name) is not None


def _library(
    taken: ForgeProvenance, best: ColumnMatch, blueprint: Blueprint, root: Path, facts: dict[str, object]
) -> StageResult:
    """Judge data that the library has, and write down where they are from.

    Args:
        taken: provenance of the data, with the parts that are used.
        best: the match that was taken.
        blueprint: what the paper says of its data.
        root: folder of the candidate.
        facts: facts of the result, which are added to.
    """
    from openfingym.data import datasets
    from openfingym.errors import OpenFinGymError

    findings = Findings((), ())
    panels = {info.name: info for info in datasets()}
    folder = root / "data"
    if best.data.how == "pulled":
        try:
            frame = _pulled_frame(best, blueprint)
        except OpenFinGymError as error:
            return refused(
                [RejectionReason("data-unavailable", f"{best.data.name} was pulled and cannot be read: {error}")], facts
            )
        # The package would hold a copy of them.
        if not taken.pass_on:
            return refused([_forbidden(taken.licence, "pull it yourself, and use the simulator in the package")], facts)
        findings = judge_table(frame, blueprint)
        taken = write_table(frame, folder, taken, measure_of(blueprint, frame))
    elif best.data.name in panels:
        channels = taken.dataset.get("channels")
        frame = library_frame(best.data.name, channels if isinstance(channels, list) else None)
        frame = between(frame, taken.dataset.get("first"), taken.dataset.get("last"))
        taken = replace(taken, rows=len(frame))
        info = panels[best.data.name]
        # Its values are the library's own and known good; the blueprint may still be wrong about them.
        findings = judge_table(frame, _named_as_held(blueprint, best, info.measure))
    if findings.refusals:
        return refused(findings.refusals, facts)
    facts |= {"match": best.data.name, "how": taken.how, "score": best.score, "shared_with": _users(root, taken)}
    notes = list(findings.notes)
    if best.data.how == "simulator" and blueprint.value("data.kind", "real") == "real":
        notes.append(RejectionReason("data-unavailable", f"simulated: {best.data.name} stands in for the paper's data"))
    paper = str(blueprint.value("data.licence") or "")
    if licence_says(paper) == "forbids":
        notes.append(_forbidden(paper, f"the library's {best.data.name} has a licence of its own: {taken.licence}"))
    taken.write(folder)
    return StageResult(NAME, "passed", notes=tuple(notes), facts=facts, files=("data/provenance.json", *_files(taken)))


def _named_as_held(blueprint: Blueprint, best: ColumnMatch, measure: str) -> Blueprint:
    """A blueprint by which to judge data of the library: in the names of their channels, and without the days and
    columns that the match was judged by.
    """
    fields = dict(blueprint.fields)
    for name in ("data.series", "data.columns", "data.start", "data.end", "data.features"):
        fields.pop(name, None)
    target = fields.get("data.target")
    if target is not None and isinstance(target.value, str):
        fields["data.target"] = target.model_copy(update={"value": best.series.get(target.value, target.value)})
    # What a panel of the library measures is known, whatever the blueprint says.
    if measure == "mixed":
        fields.pop("data.measure", None)
        fields.pop("data.unit", None)
    elif "data.measure" in fields:
        fields["data.measure"] = fields["data.measure"].model_copy(update={"value": measure})
    return blueprint.model_copy(update={"fields": fields})


def library_frame(name: str, channels: Sequence[str] | None = None) -> pd.DataFrame:
    """A bundled or simulated panel as a table: float64[rows, channels], indexed by time.

    Args:
        name: name of the data set.
        channels: names of the channels; None for all.
    """
    import pandas as pd

    from openfingym.data import load_panel

    panel = load_panel(name, channels)
    return pd.DataFrame(panel.values, index=panel.times, columns=list(panel.channels))


def between(frame: pd.DataFrame, first: object, last: object) -> pd.DataFrame:
    """The rows of a table from one day to another, both included.

    Args:
        frame: the table, indexed by time.
        first: the first day in ISO 8601; None for no bound.
        last: the last day; None for no bound.
    """
    return frame.loc[first if first else None : last if last else None]


def _pulled_frame(best: ColumnMatch, blueprint: Blueprint) -> pd.DataFrame:
    """The series of a pulled data set that a blueprint uses; all where the names of none are known."""
    import pandas as pd

    from openfingym.data.pulled import pulled_panel

    panel = pulled_panel(best.data.name)
    held = dict(zip(map(str, panel.channels), panel.channels, strict=True))
    wanted = [held[name] for name in channels_of(best, wanted_of(blueprint).series) if name in held]
    frame = pd.DataFrame(panel.values, index=panel.times, columns=list(panel.channels))
    return frame[wanted] if wanted else frame


def _files(taken: ForgeProvenance) -> tuple[str, ...]:
    return tuple(f"data/{name}" for name in sorted(taken.digests))


def _forbidden(licence: str, mend: str) -> RejectionReason:
    return RejectionReason("licence-forbids", f"{licence!r} does not allow the data to be passed on; {mend}")


def _others(root: Path) -> Iterator[tuple[str, Path, ForgeProvenance]]:
    """Key, folder of data and provenance of each other paper that has data, but for those whose record is damaged."""
    from openfingym.errors import StoreError

    for other in sorted(root.parent.iterdir()) if root.parent.is_dir() else ():
        if other == root or not (other / "data" / "provenance.json").exists():
            continue
        try:
            provenance = read_provenance(other / "data")
        except StoreError:
            continue
        if provenance is not None:
            yield other.name, other / "data", provenance


def _users(root: Path, taken: ForgeProvenance) -> list[str]:
    """Keys of other papers of this forge with the same data."""
    # Of downloads, "how" is the same for all, and the address tells them apart.
    same = (taken.how, taken.address)
    return [key for key, _folder, provenance in _others(root) if (provenance.how, provenance.address) == same]


def _earlier(root: Path, blueprint: Blueprint) -> tuple[str, Path, ForgeProvenance] | None:
    """Data that another paper of this forge downloaded from the same address: its key, their folder and provenance."""
    url = wanted_of(blueprint).url
    for key, folder, provenance in _others(root):
        name = provenance.dataset.get("file")
        if url and provenance.how == "script" and provenance.address == url and isinstance(name, str):
            path = folder / name
            # As they were judged then: the other paper may be downloading them anew at this moment.
            if path.is_file() and sha256_of_file(path) == provenance.digests.get(name):
                return key, folder, provenance
    return None


def _reuse(
    earlier: tuple[str, Path, ForgeProvenance], root: Path, blueprint: Blueprint, facts: dict[str, object]
) -> StageResult:
    """Judge the data of an earlier paper by this one's blueprint, and write a copy of them."""
    from openfingym_forge.data.tables import read_table

    key, folder, provenance = earlier
    name = str(provenance.dataset["file"])
    frame = read_table((folder / name).read_bytes())
    findings = judge_table(frame, blueprint)
    if findings.refusals:
        return refused(findings.refusals, facts)
    copied = replace(provenance, reused_from=key, digests={})
    taken = write_table(frame, root / "data", copied, measure_of(blueprint, frame))
    taken.write(root / "data")
    facts |= {"how": "script", "reused": key, "shared_with": _users(root, taken)}
    return StageResult(
        NAME, "passed", notes=findings.notes, facts=facts, files=("data/provenance.json", *_files(taken))
    )
