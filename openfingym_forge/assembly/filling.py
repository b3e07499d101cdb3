"""Filling in a paper's blueprint, with its data, to one that has every key of ``task.toml``, typed and in bounds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from openfingym.kinds import KINDS, Kind
from openfingym.kinds.forging import Forging
from openfingym.task.model import TASK_NAME
from openfingym_forge.assembly.wording import (
    host_of,
    is_name,
    names_of,
    panel_words,
    plain,
    sentence_of,
    unit_of,
)
from openfingym_forge.blueprint import Blueprint, MetricBlueprint, Stated, Value
from openfingym_forge.data.provenance import ForgeProvenance
from openfingym_forge.stage import RejectionReason

PROVISIONAL = 1e11
"""Ends of a range of values before the training data give better ones."""
RANGES = {"log_return": (-1.0, 1.0), "yield_level": (-5.0, 30.0)}
"""Ranges of values whose size is known: a log return of one row, and a yield in percent per annum."""
PER_YEAR = {"hourly": 8760.0, "daily": 252.0, "weekly": 52.0, "monthly": 12.0}
"""Rows a year, by frequency; hours are counted on markets that never close."""
# Units by the meaning of values, where the paper's own is not one that can be shown.
_UNITS = {
    "log_return": "log return per row",
    "yield_level": "percent per annum",
    "price_level": "price",
    "realised_vol": "realised volatility per day",
    "mixed": "as in the data",
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "asset_class": ("commodity", "crypto", "equity", "fx", "rates", "lob", "synthetic", "graph"),
    "frequency": ("intraday", "hourly", "daily", "weekly", "monthly", "none"),
}
_DATASET = ("name", "file", "measure", "kind", "source", "licence", "channels", "first", "last", "dates")
"""Keys of a data set that a task may have."""
_EVERY_TASK: dict[str, Value] = {
    "task.version": "1.0.0",
    "agent.timeout_sec": 600.0,
    "verifier.timeout_sec": 120.0,
    "environment.network_mode": "no-network",
    "environment.cpus": 1,
    "environment.memory_mb": 2048,
    "environment.storage_mb": 256,
}
"""Fields that are the same in every forged task."""


class UnfitError(Exception):
    """A blueprint cannot be a task; ``reason`` says why."""

    def __init__(self, code: str, text: str, stated: Stated | None = None) -> None:
        """A reason to refuse a paper.

        Args:
            code: a key of :data:`~openfingym_forge.stage.REASONS`.
            text: what was found, what was expected and what would mend it.
            stated: the value that is wrong, whose quotations are shown; None where none is.
        """
        super().__init__(text)
        self.reason = RejectionReason(code, text, tuple(stated.quotations) if stated is not None else ())


def filled(blueprint: Blueprint, provenance: ForgeProvenance, name: str) -> Blueprint:
    """A blueprint that has every key of ``task.toml`` as a field, and no other field.

    Args:
        blueprint: blueprint of a paper, after its metrics were matched.
        provenance: where the data are from, and what ``task.toml`` has to say of them.
        name: name of the task.

    Raises:
        UnfitError: something is missing, or is not what a task may have.
    """
    name_of_kind = str(blueprint.value("kind"))
    kind = KINDS.get(name_of_kind)
    if kind is None or kind.forging is None:
        known = ", ".join(each for each in KINDS if KINDS[each].forging is not None)
        text = f"kind is {name_of_kind!r}; expected one of {known}"
        raise UnfitError("no-kind", text, blueprint.fields.get("kind"))
    defaults = tomllib.loads(kind.start.contract)
    # The order matters: what is filled in later depends on what is known by then.
    values: dict[str, Value] = {"kind": kind.name, "family": kind.contract.family}
    for key, otherwise in (("asset_class", kind.start.asset_class), ("frequency", kind.start.frequency)):
        values[key] = blueprint.value(key) if blueprint.value(key) in _CHOICES[key] else otherwise
    values |= _dataset(provenance, bars="symbols" in defaults)
    values |= _contract(blueprint, kind, kind.forging, defaults, values)
    values |= _split(blueprint, kind, kind.forging, values)
    values["scoring.baseline"] = kind.contract.baseline
    if kind.is_record:
        years = PER_YEAR.get(str(values["frequency"]), 252.0)
        values |= {"contract.bars_per_year": years, "scoring.periods_per_year": years}
    values |= {f"verification.{key}": limit for key, limit in kind.forging.limits.items()}
    # Metrics: the paper's, and where none of them ranks answers fairly, some of the kind's own beside them.
    metrics = _metrics(blueprint)
    added = _ranking(kind, metrics)
    values |= {f"scoring.metrics.{metric.bank}.relative_weight": 1.0 / len(added) for metric in added}
    values |= {
        "provenance.paper": f"{blueprint.paper}: {plain(blueprint.title)}",
        "provenance.note": _note(blueprint, added),
    }
    values |= _EVERY_TASK
    complete = Blueprint(
        paper=blueprint.paper,
        title=blueprint.title,
        name=name,
        fields={key: _stated(value) for key, value in values.items() if value is not None},
        metrics=[*metrics, *added],
    )
    # Last, since sentences are made of the values; they replace those of the paper, which no agent must read.
    dataset = str(values.get("dataset.name") or "of the paper")
    words: dict[str, Value] = {"description": sentence_of(complete), "panel": panel_words(names_of(complete), dataset)}
    fields = complete.fields | {key: _stated(value) for key, value in words.items()}
    return complete.model_copy(update={"fields": fields})


def _note(blueprint: Blueprint, added: Sequence[MetricBlueprint]) -> str:
    """What a person should know of the task: metrics that were added or left out, and fields that were assumed."""
    assumed = sorted(key for key, stated in blueprint.fields.items() if stated.assumed)
    ranked = f" Ranked by {', '.join(metric.bank for metric in added)}: none of the paper's metrics is proper."
    lacking = [plain(metric.name, 40) for metric in blueprint.metrics if not metric.bank]
    without = f" Without {', '.join(lacking)}: not in the bank of metrics."
    return plain(
        f"Forged.{ranked if added else ''}{without if lacking else ''} Assumed where the paper does not say it: "
        f"{', '.join(assumed) or 'nothing'}.",
        900,
    )


def task_name(blueprint: Blueprint, taken: frozenset[str]) -> str:
    """Name of the task: the blueprint's if it has the form of a name, else one made of the title; with ``-forged``
    behind it if another task has it.

    Args:
        blueprint: blueprint of a paper, whose name a person may have edited.
        taken: names that other tasks have.
    """
    name = blueprint.name if re.match(TASK_NAME, blueprint.name) and len(blueprint.name) <= 60 else ""
    if not name:
        letters = re.sub(r"[^a-z0-9]+", "-", blueprint.title.lower()).strip("-")[:40].strip("-")
        name = letters if re.match(TASK_NAME, letters) else "forged-task"
    return f"{name}-forged" if name in taken else name


def _stated(value: Value) -> Stated:
    return Stated(value=value, assumed="as the forge filled it in")


def _dataset(provenance: ForgeProvenance, *, bars: bool) -> dict[str, Value]:
    """The fields of the data set.

    Args:
        provenance: where the data are from.
        bars: whether whole bars are traded, so that the channels are symbols.
    """
    stated: Mapping[str, Any] = provenance.dataset
    if not (stated.get("name") or stated.get("file")):
        raise UnfitError("data-unavailable", "data/provenance.json names neither a data set nor a file")
    fields: dict[str, Value] = {f"dataset.{key}": stated[key] for key in _DATASET if stated.get(key) is not None}
    # Names of files and columns may come from a download, and agents read them.
    for key in ("name", "file"):
        if f"dataset.{key}" in fields and not is_name(fields[f"dataset.{key}"]):
            raise UnfitError("data-changed", f"dataset.{key} is {plain(str(stated[key]))!r}, which is no name")
    for key in ("first", "last"):
        if isinstance(stated.get(key), str):
            fields[f"dataset.{key}"] = date.fromisoformat(str(stated[key]))
    channels = fields.get("dataset.channels", [])
    strange = [name for name in channels if not is_name(name)] if isinstance(channels, list) else [channels]
    if strange:
        raise UnfitError("data-changed", f"a column is named {plain(str(strange[0]))!r}, which is no name of a series")
    if bars:
        fields.pop("dataset.channels", None)
        fields["contract.symbols"] = channels or None
    if "dataset.file" in fields:
        fields["dataset.source"] = _source(provenance, stated)
        fields["dataset.licence"] = plain(str(stated.get("licence") or provenance.licence or "not stated"))
    return fields


def _source(provenance: ForgeProvenance, stated: Mapping[str, Any]) -> str:
    """Where a file is from. Agents read it, so that for a download it is the host, and nothing that the paper says."""
    if provenance.how.startswith("script"):
        host = host_of(provenance.address)
        return f"downloaded from {host}" if host else "downloaded by the forge"
    return plain(str(stated.get("source") or "of the forge"))


def _contract(
    blueprint: Blueprint, kind: Kind, forging: Forging, defaults: Mapping[str, Any], known: Mapping[str, Value]
) -> dict[str, Value]:
    """The fields of the contract.

    Args:
        blueprint: blueprint of a paper.
        kind: the kind of task.
        forging: what papers' tasks of this kind have.
        defaults: the contract of the kind's scaffold.
        known: fields that are filled in already.
    """
    form = kind.contract.model_fields
    fields: dict[str, Value] = {}
    # The blueprint's value, else one that follows from the data, else the scaffold's.
    for key in form:
        name = f"contract.{key}"
        value = blueprint.value(name, known.get(name))
        if value is None and key not in ("unit", "low", "high"):
            value = defaults.get(key)
        if value is not None and key not in ("kind", "unit", "dtype") and key in (*defaults, *forging.stated):
            fields[name] = _typed(value, form[key].annotation, name, blueprint)
    if "dated" in form and fields.get("contract.lookback") and not _is_process(str(known.get("dataset.name"))):
        fields["contract.dated"] = True
    channels, target = known.get("dataset.channels"), blueprint.value("data.target")
    several = isinstance(channels, list) and len(channels) > 1 and target in channels
    if forging.one_target and several and "contract.targets" not in fields:
        fields["contract.targets"] = [str(target)]
    # What an account trades has neither a unit nor a range.
    if kind.is_record:
        return fields
    semantics = str(fields.get("contract.value_semantics", ""))
    otherwise = _UNITS.get(semantics, str(defaults.get("unit", "as in the data")))
    fields["contract.unit"] = unit_of(blueprint.value("contract.unit"), otherwise)
    if "contract.low" not in fields or "contract.high" not in fields:
        fields["contract.low"], fields["contract.high"] = _range(forging, semantics, defaults)
    return fields


def _range(forging: Forging, semantics: str, defaults: Mapping[str, Any]) -> tuple[float, float]:
    """Ends of the range of values; provisional where they are to be found from the training data."""
    if semantics in RANGES:
        return RANGES[semantics]
    if forging.open_range:
        return -PROVISIONAL, PROVISIONAL
    return defaults["low"], defaults["high"]


def _typed(value: Value, form: object, name: str, blueprint: Blueprint) -> Value:
    """A value as the type that the contract has for it: a person writes 5.0 for 5, and 1 for 1.0.

    Args:
        value: the value that a blueprint or a default has.
        form: annotation of the key in the contract.
        name: name of the field.
        blueprint: the blueprint, for the quotations of a value that is wrong.

    Raises:
        UnfitError: a list has a name that has not the form of one.
    """
    if isinstance(value, list):
        if any(isinstance(each, str) and not is_name(each) for each in value):
            raise UnfitError("data-changed", f"{name} has a name that is none", blueprint.fields.get(name))
        return value
    whole, real = "int" in str(form), "float" in str(form)
    if isinstance(value, float) and value.is_integer() and whole and not real:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and real and not whole:
        return float(value)
    return value


def _split(blueprint: Blueprint, kind: Kind, forging: Forging, known: Mapping[str, Value]) -> dict[str, Value]:
    """The fields of the split: always by time, with at least one horizon between two blocks.

    Args:
        blueprint: blueprint of a paper.
        kind: the kind of task.
        forging: what papers' tasks of this kind have.
        known: fields that are filled in already.
    """
    has_split = kind.contract.has_split
    # Of a random process, training and hidden parts are drawn apart: there is nothing to split.
    if has_split is False or (has_split is None and _is_process(str(known.get("dataset.name")))):
        return {}
    otherwise = kind.start.split or (0.6, 0.2, 0.2, 1)
    shares = [blueprint.value(f"split.{part}") for part in ("train", "public", "private")]
    train = _share(shares[0]) or _share(blueprint.value("protocol.train_share")) or otherwise[0]
    public, private = _share(shares[1]), _share(shares[2])
    if public is None or private is None:
        public = private = (1.0 - train) / 2.0
    # Shares of a paper may be rounded: they are made to add up, and the last one is what the others leave.
    total = train + public + private
    train, public = round(train / total, 6), round(public / total, 6)
    horizon, stated = known.get("contract.horizon", 1), blueprint.value("split.embargo")
    least = horizon if isinstance(horizon, int) else 1
    fields: dict[str, Value] = {
        "split.train": train,
        "split.public": public,
        "split.private": round(1.0 - train - public, 6),
        "split.embargo": max(least, int(stated) if isinstance(stated, int | float) else otherwise[3]),
    }
    if forging.overlapping:
        fields["split.train_stride"] = 1
    scaling = blueprint.value("split.scaling")
    if scaling in ("none", "standard", "mean", "start"):
        fields["split.scaling"] = scaling
    elif forging.scaling_of_prices and known.get("contract.value_semantics") == "price_level":
        fields["split.scaling"] = forging.scaling_of_prices
    return fields


def _share(value: Value) -> float | None:
    """A share of rows between 0 and 1, which may be written in percent; None where the value is no share."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    share = float(value) / 100.0 if value > 1 else float(value)
    return share if 0.0 < share < 1.0 else None


def _is_process(name: str) -> bool:
    from openfingym.data.processes import process_sets

    return name in {known.name for known in process_sets()}


def _metrics(blueprint: Blueprint) -> list[MetricBlueprint]:
    """The metrics that the bank has, with shares that add up to 1; the same one twice is one.

    A metric that the bank lacks is left out: it is a package in the paper's folder, and counts once a person has
    installed it and had stage ``rewards`` done again.
    """
    from openfingym.metrics.registry import find_metric

    known = [metric for metric in blueprint.metrics if metric.bank]
    if not known:
        lacking = ", ".join(repr(plain(metric.name)) for metric in blueprint.metrics)
        what = f"the bank has none of {lacking}" if lacking else "there is none"
        raise UnfitError("no-metric", f"a metric must be one of the bank; {what}")
    weights: dict[str, float] = {}
    for metric in known:
        find_metric(metric.bank)
        share = metric.weight.value
        # Two metrics of a paper may be one of the bank: their weights are added up.
        own = float(share) if isinstance(share, int | float) and share > 0 else 1.0
        weights[metric.bank] = weights.get(metric.bank, 0.0) + own
    total, names = sum(weights.values()), list(weights)
    shares = {name: round(weights[name] / total, 9) for name in names}
    shares[names[-1]] = round(1.0 - sum(shares[name] for name in names[:-1]), 9)
    by_bank = {metric.bank: metric for metric in reversed(known)}
    return [by_bank[name].model_copy(update={"weight": _stated(shares[name])}) for name in names]


def _ranking(kind: Kind, metrics: Sequence[MetricBlueprint]) -> list[MetricBlueprint]:
    """Metrics of the kind's scaffold by which answers are ranked if an answer without skill may win by all of the
    paper's. They have no share in the paper's total.
    """
    from openfingym.metrics.registry import find_metric

    if any(find_metric(metric.bank).ranks for metric in metrics):
        return []
    why = "none of the paper's metrics is proper, and this one of the kind's is"
    return [
        MetricBlueprint(
            name=name,
            formula=Stated(value="that of the bank of metrics", assumed=why),
            direction=Stated(value=find_metric(name).direction, assumed=why),
            unit=Stated(value=None, assumed=why),
            weight=Stated(value=0.0, assumed=why),
            bank=name,
        )
        for name, _ in kind.start.metrics
        if find_metric(name).ranks
    ]
