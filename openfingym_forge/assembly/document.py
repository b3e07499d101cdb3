"""Writing ``task.toml``: tables and keys in one order, whatever order a blueprint has them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from openfingym.packages.toml_tables import toml_of

Table = Mapping[str, object]
"""Values of a table by their keys."""
OURS = "metadata.openfingym"
"""The table of ``task.toml`` that is this library's."""
METRICS = f"{OURS}.scoring.metrics"

LAYOUT: dict[str, tuple[str, ...]] = {
    "task": ("name", "version", "description", "keywords"),
    OURS: ("format", "family", "asset_class", "frequency", "panel"),
    f"{OURS}.dataset": (
        "name",
        "file",
        "measure",
        "kind",
        "source",
        "licence",
        "channels",
        "first",
        "last",
        "dates",
    ),
    f"{OURS}.dataset.pulled": ("source", "symbols", "interval"),
    f"{OURS}.split": (
        "train",
        "public",
        "private",
        "public_from",
        "private_from",
        "train_stride",
        "hidden_stride",
        "embargo",
        "log1p",
        "scaling",
        "scaled",
    ),
    f"{OURS}.contract": (
        "kind",
        "train",
        "public",
        "symbols",
        "lookback",
        "dated",
        "horizon",
        "steps",
        "horizons",
        "targets",
        "pooled",
        "futures",
        "graph_window",
        "value_semantics",
        "unit",
        "low",
        "high",
        "initial_cash",
        "bars_per_year",
        "fee_bps",
        "slippage_bps",
        "max_participation",
        "lot",
        "tick",
        "max_short",
        "borrow_bps_per_year",
    ),
    f"{OURS}.scoring": ("family", "baseline", "periods_per_year", "tail_level"),
    METRICS: ("name", "weight", "relative_weight", "on"),
    f"{OURS}.verification": ("budget", "requests_per_minute", "burst", "feedback_digits", "feedback_clip"),
    f"{OURS}.provenance": ("paper", "catalogue_id", "note"),
    "agent": ("timeout_sec",),
    "verifier": ("timeout_sec",),
    "environment": ("network_mode", "cpus", "memory_mb", "storage_mb"),
}
"""The tables in their order, and the keys of each in theirs. Keys of a kind's contract that are not named here stand
behind the others, by name."""
VERIFIER_ENV = """[verifier.env]
OPENFINGYM_VERIFIER_URL = "${OPENFINGYM_VERIFIER_URL:-}"
OPENFINGYM_ADMIN_TOKEN = "${OPENFINGYM_ADMIN_TOKEN:-}"
OPENFINGYM_ROLLOUT = "${OPENFINGYM_ROLLOUT:-}"
"""
"""How a run in Harbor reaches the verifier: the same in every task."""


@dataclass(frozen=True)
class AuthorWords:
    """What the author of a task wrote by hand, and no blueprint of a paper has."""

    instruction: str = ""
    """Text of ``instruction.md``; empty to have it composed."""
    remarks: Mapping[str, str] = field(default_factory=dict)
    """Comments behind values of ``task.toml``, by table and key, such as ``scoring.metrics.mae.weight``."""
    spellings: Mapping[str, str] = field(default_factory=dict)
    """How numbers are written if not in their shortest form, such as ``0.70``, by table and key."""


def document(tables: Mapping[str, Table], metrics: Sequence[Table], words: AuthorWords) -> str:
    """The text of a ``task.toml``.

    Args:
        tables: the tables by name; one that is empty is left out.
        metrics: a table for each metric.
        words: the author's comments and spellings.
    """
    blocks = ['schema_version = "1.4"\n']
    for name, keys in LAYOUT.items():
        if name == METRICS:
            blocks += [
                f"[[{name}]]\n" + _lines(metric, keys, f"scoring.metrics.{metric['name']}", words) for metric in metrics
            ]
            continue
        if tables.get(name):
            blocks.append(f"[{name}]\n" + _lines(tables[name], keys, name.removeprefix(f"{OURS}."), words))
        if name == "verifier":
            blocks.append(VERIFIER_ENV)
    return "\n".join(blocks)


def as_toml(value: object) -> str:
    """A value as TOML.

    Raises:
        TypeError: no task may hold such a value.
    """
    return value.isoformat() if isinstance(value, date) else toml_of(value)


def _lines(table: Table, order: Sequence[str], place: str, words: AuthorWords) -> str:
    """The lines of a table.

    Args:
        table: values of the table by their keys.
        order: the keys that come first, in order.
        place: name of the table, as the author's words have it.
        words: the author's comments and spellings.
    """
    keys = [key for key in order if key in table] + sorted(key for key in table if key not in order)
    lines = []
    for key in keys:
        written, spelt = as_toml(table[key]), words.spellings.get(f"{place}.{key}")
        # Only if it spells this very number: the value may have been changed since.
        if spelt is not None and isinstance(table[key], float) and float(spelt) == table[key]:
            written = spelt
        remark = words.remarks.get(f"{place}.{key}")
        lines.append(f"{key} = {written}" + (f"   # {remark}" if remark else "") + "\n")
    return "".join(lines)
