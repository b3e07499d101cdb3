"""From a paper's blueprint and its data to one that says everything: each key of ``task.toml``, typed and in bounds."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from openfingym.forge.assembly.wording import (
    host_of,
    is_name,
    names_of,
    panel_words,
    plain,
    sentence_of,
    unit_of,
)
from openfingym.forge.blueprint import Blueprint, MetricBlueprint, Stated, Value
from openfingym.forge.data.provenance import ForgeProvenance
from openfingym.forge.stage import RejectionReason
from openfingym.kinds import KINDS, Kind
from openfingym.kinds.forging import Forging
from openfingym.task import TASK_NAME

PROVISIONAL = 1e11
"""Ends of a range before the training data have said a better one."""
RANGES = {"log_return": (-1.0, 1.0), "yield_level": (-5.0, 30.0)}
PER_YEAR = {"hourly": 8760.0, "daily": 252.0, "weekly": 52.0, "monthly": 12.0}
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


class UnfitError(Exception):
    """A blueprint cannot be a task; the reason says why."""

    def __init__(self, code: str, text: str, stated: Stated | None = None) -> None:
        """With a code of :data:`~openfingym.forge.stage.REASONS`."""
        super().__init__(text)
        self.reason = RejectionReason(code, text, tuple(stated.quotations) if stated is not None else ())


def filled(blueprint: Blueprint, provenance: ForgeProvenance, name: str) -> Blueprint:
    """The blueprint with every key of ``task.toml`` as a field, and none that is no such key.

    Args:
        blueprint: a paper's, after its metrics were matched.
        provenance: where the data are from, and what of it ``task.toml`` has to say.
        name: name of the task.

    Raises:
        UnfitError: something is missing, or is not what a task may have.
    """
    name_of_kind = str(blueprint.value("kind"))
    kind = KINDS.get(name_of_kind)
    if kind is None or kind.forging is None:
        known = ", ".join(one for one in KINDS if KINDS[one].forging is not None)
        text = f"kind is {name_of_kind!r}; expected one of {known}"
        raise UnfitError("no-kind", text, blueprint.fields.get("kind"))
    defaults = tomllib.loads(kind.start.contract)
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
    metrics = _metrics(blueprint)
    added = _ranking(kind, metrics)
    values |= {f"scoring.metrics.{metric.bank}.relative_weight": 1.0 / len(added) for metric in added}
    assumed = sorted(key for key, stated in blueprint.fields.items() if stated.assumed)
    ranked = f" Ranked by {', '.join(metric.bank for metric in added)}: none of the paper's metrics is proper."
    lacking = [plain(metric.name, 40) for metric in blueprint.metrics if not metric.bank]
    without = f" Without {', '.join(lacking)}: not in the bank of metrics."
    values |= {
        "task.version": "1.0.0",
        "provenance.paper": f"{blueprint.paper}: {plain(blueprint.title)}",
        "provenance.note": plain(
            f"Forged.{ranked if added else ''}{without if lacking else ''} Assumed where the paper does not say it: "
            f"{', '.join(assumed) or 'nothing'}.",
            900,
        ),
        "agent.timeout_sec": 600.0,
        "verifier.timeout_sec": 120.0,
        "environment.network_mode": "no-network",
        "environment.cpus": 1,
        "environment.memory_mb": 2048,
        "environment.storage_mb": 256,
    }
    done = Blueprint(
        paper=blueprint.paper,
        title=blueprint.title,
        name=name,
        fields={key: _stated(value) for key, value in values.items() if value is not None},
        metrics=[*metrics, *added],
    )
    dataset = str(values.get("dataset.name") or "of the paper")
    said: dict[str, Value] = {"description": sentence_of(done), "panel": panel_words(names_of(done), dataset)}
    return done.model_copy(update={"fields": done.fields | {key: _stated(value) for key, value in said.items()}})


def task_name(blueprint: Blueprint, taken: frozenset[str]) -> str:
    """Name of the task: the blueprint's, if it has the form of one and no other task has it."""
    name = blueprint.name if re.match(TASK_NAME, blueprint.name) and len(blueprint.name) <= 60 else ""
    if not name:
        letters = re.sub(r"[^a-z0-9]+", "-", blueprint.title.lower()).strip("-")[:40].strip("-")
        name = letters if re.match(TASK_NAME, letters) else "forged-task"
    return f"{name}-forged" if name in taken else name


def _stated(value: Value) -> Stated:
    return Stated(value=value, assumed="as the forge filled it in")


def _dataset(provenance: ForgeProvenance, *, bars: bool) -> dict[str, Value]:
    stated: Mapping[str, Any] = provenance.dataset
    if not (stated.get("name") or stated.get("file")):
        raise UnfitError("data-unavailable", "data/provenance.json names neither a data set nor a file")
    found: dict[str, Value] = {f"dataset.{key}": stated[key] for key in _DATASET if stated.get(key) is not None}
    for key in ("name", "file"):
        if f"dataset.{key}" in found and not is_name(found[f"dataset.{key}"]):
            raise UnfitError("data-changed", f"dataset.{key} is {plain(str(stated[key]))!r}, which is no name")
    for key in ("first", "last"):
        if isinstance(stated.get(key), str):
            found[f"dataset.{key}"] = date.fromisoformat(str(stated[key]))
    channels = found.get("dataset.channels", [])
    strange = [name for name in channels if not is_name(name)] if isinstance(channels, list) else [channels]
    if strange:
        raise UnfitError("data-changed", f"a column is named {plain(str(strange[0]))!r}, which is no name of a series")
    if bars:
        found.pop("dataset.channels", None)
        found["contract.symbols"] = channels or None
    if "dataset.file" in found:
        found["dataset.source"] = _source(provenance, stated)
        found["dataset.licence"] = plain(str(stated.get("licence") or provenance.licence or "not stated"))
    return found


def _source(provenance: ForgeProvenance, stated: Mapping[str, Any]) -> str:
    """Where a file is from; agents read it, so that of a download it is the host and nothing that a paper says."""
    if provenance.how.startswith("script"):
        host = host_of(provenance.address)
        return f"downloaded from {host}" if host else "downloaded by the forge"
    return plain(str(stated.get("source") or "of the forge"))


def _contract(
    blueprint: Blueprint, kind: Kind, forging: Forging, defaults: Mapping[str, Any], known: Mapping[str, Value]
) -> dict[str, Value]:
    form = kind.contract.model_fields
    found: dict[str, Value] = {}
    for key in form:
        name = f"contract.{key}"
        value = blueprint.value(name, known.get(name))
        if value is None and key not in ("unit", "low", "high"):
            value = defaults.get(key)
        if value is not None and key not in ("kind", "unit", "dtype") and key in (*defaults, *forging.stated):
            found[name] = _typed(value, form[key].annotation, name, blueprint)
    channels, target = known.get("dataset.channels"), blueprint.value("data.target")
    several = isinstance(channels, list) and len(channels) > 1 and target in channels
    if forging.one_target and several and "contract.targets" not in found:
        found["contract.targets"] = [str(target)]
    if kind.is_record:
        return found
    semantics = str(found.get("contract.value_semantics", ""))
    otherwise = _UNITS.get(semantics, str(defaults.get("unit", "as in the data")))
    found["contract.unit"] = unit_of(blueprint.value("contract.unit"), otherwise)
    if "contract.low" not in found or "contract.high" not in found:
        found["contract.low"], found["contract.high"] = _range(forging, semantics, defaults)
    return found


def _range(forging: Forging, semantics: str, defaults: Mapping[str, Any]) -> tuple[float, float]:
    """Ends of the range, provisional where the training data are to say them."""
    if semantics in RANGES:
        return RANGES[semantics]
    if forging.open_range:
        return -PROVISIONAL, PROVISIONAL
    return defaults["low"], defaults["high"]


def _typed(value: Value, form: object, name: str, blueprint: Blueprint) -> Value:
    """A whole number where one is wanted, and names that are names."""
    if isinstance(value, list):
        if any(isinstance(one, str) and not is_name(one) for one in value):
            raise UnfitError("data-changed", f"{name} has a name that is none", blueprint.fields.get(name))
        return value
    whole, real = "int" in str(form), "float" in str(form)
    if isinstance(value, float) and value.is_integer() and whole and not real:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and real and not whole:
        return float(value)
    return value


def _split(blueprint: Blueprint, kind: Kind, forging: Forging, known: Mapping[str, Value]) -> dict[str, Value]:
    """Always by time, with one horizon at least between two blocks."""
    has_split = kind.contract.has_split
    if has_split is False or (has_split is None and _is_process(str(known.get("dataset.name")))):
        return {}
    otherwise = kind.start.split or (0.6, 0.2, 0.2, 1)
    shares = [blueprint.value(f"split.{part}") for part in ("train", "public", "private")]
    train = _share(shares[0]) or _share(blueprint.value("protocol.train_share")) or otherwise[0]
    public, private = _share(shares[1]), _share(shares[2])
    if public is None or private is None:
        public = private = (1.0 - train) / 2.0
    total = train + public + private
    train, public = round(train / total, 6), round(public / total, 6)
    horizon, stated = known.get("contract.horizon", 1), blueprint.value("split.embargo")
    least = horizon if isinstance(horizon, int) else 1
    found: dict[str, Value] = {
        "split.train": train,
        "split.public": public,
        "split.private": round(1.0 - train - public, 6),
        "split.embargo": max(least, int(stated) if isinstance(stated, int | float) else otherwise[3]),
    }
    if forging.overlapping:
        found["split.train_stride"] = 1
    scaling = blueprint.value("split.scaling")
    if scaling in ("none", "standard", "mean", "start"):
        found["split.scaling"] = scaling
    elif forging.scaling_of_prices and known.get("contract.value_semantics") == "price_level":
        found["split.scaling"] = forging.scaling_of_prices
    return found


def _share(value: Value) -> float | None:
    """A share of rows, also where it is written in percent."""
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
        names = ", ".join(repr(plain(metric.name)) for metric in blueprint.metrics)
        what = f"the bank has none of {names}" if names else "there is none"
        raise UnfitError("no-metric", f"a metric must be one of the bank; {what}")
    weights: dict[str, float] = {}
    for metric in known:
        find_metric(metric.bank)
        share = metric.weight.value
        own = float(share) if isinstance(share, int | float) and share > 0 else 1.0
        weights[metric.bank] = weights.get(metric.bank, 0.0) + own
    total, names = sum(weights.values()), list(weights)
    shares = {name: round(weights[name] / total, 9) for name in names}
    shares[names[-1]] = round(1.0 - sum(shares[name] for name in names[:-1]), 9)
    by_bank = {metric.bank: metric for metric in reversed(known)}
    return [by_bank[name].model_copy(update={"weight": _stated(shares[name])}) for name in names]


def _ranking(kind: Kind, metrics: Sequence[MetricBlueprint]) -> list[MetricBlueprint]:
    """Metrics of the kind's scaffold by which answers are ranked, without a share in the paper's total, where an answer
    without skill may win all of the paper's.
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
