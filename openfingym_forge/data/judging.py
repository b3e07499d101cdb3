"""Judging a protocol and a table of data: what is unsound, or is not as the blueprint says, with numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from openfingym_forge.data.lookahead import look_ahead, target_given_away
from openfingym_forge.data.matching import texts, wanted_of
from openfingym_forge.data.names import matched
from openfingym_forge.data.tables import is_dated
from openfingym_forge.data.units import units
from openfingym_forge.stage import RejectionReason

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from openfingym_forge.blueprint import Blueprint

MOST_MISSING: Final = 0.05
"""Largest share of cells without a value; one column may have twice as much."""
NEARLY: Final = 1e-5
"""Share of a series' usual size below which two values count as the same."""
RUN: Final = 10
"""Length in rows of a stretch that, if it stands twice, is a copy."""
TELLING: Final = 3
"""How many columns must tell rows apart before equal rows count as copies. A column does so if it has at least one
distinct value for that many rows."""
AT_END: Final = 0.02
"""Share of rows below which the least and the largest value of a column are single values, as after a scaling."""
_SPACING_DAYS: Final = {
    "intraday": (0.0, 0.04),
    "hourly": (0.04, 0.05),
    "daily": (0.9, 3.5),
    "weekly": (6.0, 8.0),
    "monthly": (27.0, 32.0),
}
"""Least and largest median of the days between two rows, by frequency."""
_SLACK_DAYS: Final = {"monthly": 45, "weekly": 21}
"""Days by which a table may begin late or end early, by frequency: a month or some weeks, and 10 for all others."""
_UNIVERSE: Final = re.compile(
    r"\b(constituents?|members? of (?:the|an) index|index members|all (?:listed )?(?:stocks|firms))\b"
)
_BEGIN: Final = re.compile(
    r"(?:stamped|labell?ed|dated|time-?stamp\w*)[^.;]{0,40}\b(begin\w*|start\w*|open\w*|left|first)\b"
)


@dataclass(frozen=True)
class Findings:
    """What judging found."""

    refusals: tuple[RejectionReason, ...]
    """What the data are refused for; empty where they are sound."""
    notes: tuple[RejectionReason, ...]
    """What a reviewer should see."""


def judge_protocol(blueprint: Blueprint) -> Findings:
    """Judge what a protocol does to the data, whatever they are.

    Triage asks the same of a blueprint that comes from a paper; a person may have edited it since.
    """
    refusals = []
    dated = blueprint.value("frequency", "none") != "none"
    checks = (
        (
            "shuffled-split",
            "protocol.shuffled",
            lambda value: value is True and dated,
            "rows of a time series must stay in order; split by time",
        ),
        (
            "scaling-on-test",
            "protocol.scaling",
            lambda value: value == "all",
            "fit the scaling on the training rows alone",
        ),
        (
            "overlapping-windows",
            "protocol.overlap",
            lambda value: value is True,
            "leave an embargo of one horizon between the parts",
        ),
        ("look-ahead-resampling", "protocol.resampling", _looks_ahead, "stamp a bar at its end"),
    )
    for code, name, wrong, mend in checks:
        stated = blueprint.fields.get(name)
        if stated is not None and wrong(stated.value):
            refusals.append(RejectionReason(code, f"{name} is {stated.value!r}; {mend}", tuple(stated.quotations)))
    return Findings(tuple(refusals), ())


def _looks_ahead(value: object) -> bool:
    """Whether a resampling stamps a bar at its begin: what the bar holds is then shown before it happened."""
    text = str(value or "").lower()
    return bool(_BEGIN.search(text)) and "not stamped" not in text


def judge_table(frame: pd.DataFrame, blueprint: Blueprint) -> Findings:
    """Judge a table against what a paper says of it.

    Args:
        frame: a column for each series, indexed by time, or by number if rows have no time. Cells without a value are
            NaN.
        blueprint: what the paper says of its data.

    Returns:
        All that is wrong with the table, so that a person can mend it at once, and what a reviewer should see.
    """
    dated = is_dated(frame)
    refusals = [*_columns(frame, blueprint)]
    notes: list[RejectionReason] = []
    if dated:
        refusals += [*_range(frame, blueprint), *_frequency(frame, blueprint)]
    for findings in (_missing(frame), _duplicates(frame, dated=dated), _survivorship(frame, blueprint)):
        refusals += findings.refusals
        notes += findings.notes
    refusals += units(frame, blueprint)
    refusals += [*_scaled(frame), *look_ahead(frame, blueprint)] if dated else []
    refusals += target_given_away(frame, blueprint)
    return Findings(tuple(refusals), tuple(notes))


def wanted_columns(blueprint: Blueprint) -> tuple[str, ...]:
    """Names of the columns that a blueprint says the table has: its columns, or else its series, with its target and
    its features.
    """
    named = texts(blueprint.value("data.columns")) or texts(blueprint.value("data.series"))
    more = [*texts(blueprint.value("data.target")), *texts(blueprint.value("data.features"))]
    # Names in words, as "lagged values of the yields", are not names of columns.
    plain = [name for name in (*named, *more) if len(name.split()) <= 3]
    return tuple(dict.fromkeys(name for name in plain if name.lower() not in ("date", "time", "timestamp")))


def _columns(frame: pd.DataFrame, blueprint: Blueprint) -> list[RejectionReason]:
    # Targets and features may be named in words that are no columns: their absence alone refuses nothing.
    wanted = wanted_columns(blueprint)
    named = set(texts(blueprint.value("data.columns")) or texts(blueprint.value("data.series")))
    lacking = [name for name in wanted if name in named and name not in matched(wanted, map(str, frame.columns))]
    if not lacking:
        return []
    return [
        RejectionReason(
            "data-changed",
            f"columns {', '.join(lacking)} are not there; found {', '.join(map(str, frame.columns[:20]))}",
        )
    ]


def _range(frame: pd.DataFrame, blueprint: Blueprint) -> list[RejectionReason]:
    wanted = wanted_of(blueprint)
    first, last = frame.index.min().date(), frame.index.max().date()
    slack = _SLACK_DAYS.get(wanted.frequency, 10)
    late = (first - wanted.first).days if wanted.first else 0
    early = (wanted.last - last).days if wanted.last else 0
    if late <= slack and early <= slack:
        return []
    return [
        RejectionReason(
            "data-changed",
            f"rows from {first} to {last}, where the blueprint has {wanted.first or 'any'} to {wanted.last or 'any'}: "
            f"{max(late, 0)} days late and {max(early, 0)} days short, at most {slack} allowed",
        )
    ]


def _frequency(frame: pd.DataFrame, blueprint: Blueprint) -> list[RejectionReason]:
    wanted = str(blueprint.value("frequency") or "")
    times = np.unique(frame.index.to_numpy())
    if wanted not in _SPACING_DAYS or len(times) < 3:
        return []
    days = float(np.median(np.diff(times) / np.timedelta64(1, "s")) / 86400)
    low, high = _SPACING_DAYS[wanted]
    if low <= days <= high:
        return []
    return [
        RejectionReason(
            "data-changed", f"rows are {days:.3g} days apart (median), where {wanted} data have {low} to {high}"
        )
    ]


def _missing(frame: pd.DataFrame) -> Findings:
    """Cells without a value: too many refuse the table, and a few are noted, since their rows are left out."""
    gaps = frame.isna()
    share = float(gaps.to_numpy().mean()) if frame.size else 1.0
    worst = gaps.mean().sort_values(ascending=False)
    where = ", ".join(f"{name} {part:.1%}" for name, part in worst.head(3).items() if part > 0)
    if share > MOST_MISSING or (len(worst) and float(worst.iloc[0]) > 2 * MOST_MISSING):
        return Findings(
            (
                RejectionReason(
                    "missing-values", f"{share:.1%} of the cells have no value ({where}); at most {MOST_MISSING:.0%}"
                ),
            ),
            (),
        )
    if share:
        return Findings(
            (), (RejectionReason("missing-values", f"{int(gaps.to_numpy().sum())} cells have no value ({where})"),)
        )
    return Findings((), ())


def _duplicates(frame: pd.DataFrame, *, dated: bool) -> Findings:
    """Rows that stand more than once: one half of such a pair in training would tell the other in the test part."""
    if dated and (twice := frame.index[frame.index.duplicated()].unique()).size:
        shown = ", ".join(str(one)[:19] for one in twice[:3])
        return Findings(
            (RejectionReason("duplicated-rows", f"{twice.size} times stand more than once, as {shown}"),), ()
        )
    if dated:
        return _copied_runs(frame)
    twice_rows = int(frame.duplicated().sum())
    # A few rows of two columns are equal by chance.
    if frame.shape[1] >= 3 and twice_rows > max(1, len(frame) // 200):
        text = f"{twice_rows} of {len(frame)} rows repeat another; both parts of a split would hold them"
        return Findings((RejectionReason("duplicated-rows", text),), ())
    return Findings((), ())


def _copied_runs(frame: pd.DataFrame) -> Findings:
    """Stretches of a time series that stand twice: no market repeats ten different rows to five digits."""
    values = frame.to_numpy(np.float64)
    seen: dict[tuple[int, ...], int] = {}
    copies: list[tuple[int, int]] = []
    # Rounded to a share of the usual size, since copies that differ in their last digits alone are copies too. The row
    # of zeros keeps a column without any value from having no median.
    usual = NEARLY * np.nanmedian(np.abs(np.vstack([values, np.zeros_like(values[:1])])), axis=0)
    steps = np.rint(values / np.where(usual > 0, usual, 1e-12))
    # Equal rows become one number, so that a stretch is a short tuple of whole numbers.
    rows = np.unique(np.nan_to_num(steps, nan=-1e300), axis=0, return_inverse=True)[1].reshape(-1).tolist()
    for place in range(len(rows) - RUN + 1):
        run = tuple(rows[place : place + RUN])
        # Stretches in which hardly anything changes repeat honestly.
        if len(set(run)) < RUN - 2:
            continue
        # At least a stretch apart, or one would be a copy of itself.
        if place - seen.setdefault(run, place) >= RUN:
            copies.append((seen[run], place))
    if not copies:
        return _copied_rows(frame, steps, rows)
    first, second = copies[0]
    text = (
        f"{len(copies) + RUN - 1} rows repeat earlier ones, as those from {frame.index[second].date()} on those from "
        f"{frame.index[first].date()} on"
    )
    return Findings((RejectionReason("duplicated-rows", text),), ())


def _copied_rows(frame: pd.DataFrame, steps: NDArray[np.float64], rows: list[int]) -> Findings:
    """Rows that stand twice one by one, or in another order.

    Args:
        frame: the table, by time.
        steps: its values, rounded as those of copies are.
        rows: the number of each row, equal for equal rows.
    """
    # Only where some columns hardly ever repeat a value: others are equal by chance.
    telling = sum(len(np.unique(column)) >= len(rows) // TELLING for column in steps.T)
    if telling < TELLING:
        return Findings((), ())
    # A row that goes on, as where a value is held until the next is published, is no copy.
    new = [place for place, row in enumerate(rows) if place == 0 or row != rows[place - 1]]
    first: dict[int, int] = {}
    copies = [(first[rows[at]], at) for at in new if at - first.setdefault(rows[at], at) >= RUN]
    if len(copies) <= max(RUN, len(rows) // 100):
        return Findings((), ())
    one, other = copies[0]
    text = f"{len(copies)} rows repeat earlier ones, as {frame.index[other].date()} repeats {frame.index[one].date()}"
    return Findings((RejectionReason("duplicated-rows", text),), ())


def _scaled(frame: pd.DataFrame) -> list[RejectionReason]:
    """Columns that were scaled over all rows before they were published, and so hold something of the test part: no
    market has exactly a mean of 0 and a deviation of 1, or ends of its range at 0 and 1.
    """
    values = frame.to_numpy(np.float64)
    if len(values) < 100 or not np.isfinite(values).any(axis=0).all():
        return []
    least, largest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    forms = {"mean 0 and deviation 1": (np.nanmean(values, axis=0), np.nanstd(values, axis=0) - 1.0)}
    # A yes or no, and a share that is often none or all, have these ends of their own.
    if ((values == least).mean(axis=0) < AT_END).all() and ((values == largest).mean(axis=0) < AT_END).all():
        forms["least value 0 and largest 1"] = (least, largest - 1.0)
    for form, errors in forms.items():
        # To three digits, as of values that were rounded before they were published.
        if float(np.abs(errors).max()) < 1e-3:
            text = f"every column has {form} over all {len(values)} rows; take the values as they were published"
            return [RejectionReason("scaling-on-test", text)]
    return []


def _survivorship(frame: pd.DataFrame, blueprint: Blueprint) -> Findings:
    """Series that were chosen by what happened later: a list of members over years, of which not one ever left."""
    # Of a few series, none may have left by chance.
    if frame.shape[1] < 5:
        return Findings((), ())
    stated = [
        blueprint.fields[name]
        for name in ("panel", "data.source", "data.series", "description")
        if name in blueprint.fields
    ]
    quotations = [quotation for each in stated for quotation in each.quotations]
    text = " ".join([*(str(each.value) for each in stated), *(quotation.quote for quotation in quotations)]).lower()
    said = _UNIVERSE.search(text)
    live = int(frame.iloc[-1].notna().sum())
    whole = int((frame.notna().all()).sum())
    # A series that ends early, or begins late, shows that members came and went.
    if said is None or live < frame.shape[1] or whole < frame.shape[1]:
        return Findings((), ())
    reason = RejectionReason(
        "survivorship",
        f"the paper says {said[0]!r}, and all {frame.shape[1]} series have a value on every one of {len(frame)} rows: "
        "whatever left the list is not there; take the members of each day",
        tuple(quotations[:1]),
    )
    return Findings((reason,), ())
