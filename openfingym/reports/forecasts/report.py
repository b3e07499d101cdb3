"""What a ledger says of forecasters: figures, ranks and comparisons, as plain data."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from openfingym.reports.forecasts.calibration import Calibration, calibrations
from openfingym.reports.forecasts.columns import ForecasterId, Forecasts
from openfingym.reports.forecasts.difficulty import components, normal_equations
from openfingym.reports.forecasts.estimates import NOTHING, BlockEstimate, ratio
from openfingym.reports.forecasts.figures import Figures, Slice, figures_of, slices_of
from openfingym.reports.forecasts.reading import TRACKS, Where, attempt_weights, read_forecasts
from openfingym.reports.forecasts.standings import ForecasterPair, ForecasterStanding, pairs_of, standings_of
from openfingym.reports.forecasts.sums import SMALLEST, Sums, blocks_of, sums_of
from openfingym.reports.statistics import FEWEST_UNITS
from openfingym.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FORMAT = 1
MOST_RANKED = 40
"""Forecasters that are ranked and compared in pairs: those who answered most, which says nothing of how well."""


@dataclass(frozen=True)
class IntervalFigures:
    """How good a forecaster's intervals are besides their score."""

    nominal: float
    """Mean probability that they were to cover."""
    coverage: float
    """Share of truths on or between their ends."""
    width: float
    """Mean width over the scale that the loss is divided by."""


@dataclass(frozen=True)
class ForecasterRow:
    """One forecaster in a track."""

    forecaster: ForecasterId
    entries: int
    """Names in this track under its principal; the best of many is good by chance."""
    figures: Figures
    loss: BlockEstimate
    """The figures again, with intervals of those who are ranked."""
    skill: BlockEstimate
    market_skill: BlockEstimate
    price_weight: BlockEstimate
    """Weight b of the forecast p in the best mixture m + b (p - m) with the price m that the market showed, by least
    squares. 0: it adds nothing to the price; an interval above 0: it knows something that the price does not."""
    calibration: Calibration | None
    interval: IntervalFigures | None


@dataclass(frozen=True)
class Track:
    """Forecasts of one kind of data whose losses can be compared."""

    data_kind: str
    """``real`` or ``simulated``."""
    name: str
    """One of ``events``, ``choices``, ``values``, ``quantiles`` and ``intervals``."""
    forecasts: int
    questions: int
    blocks: tuple[str, ...]
    """Rounds, and weeks of questions of none, in order of time."""
    overlap: int
    """Neighbouring blocks that are drawn together, since a typical question is open so long."""
    rows: tuple[ForecasterRow, ...]
    """By mean loss."""
    groups: tuple[tuple[ForecasterStanding, ...], ...]
    """Ranks of the forecasters that common questions connect; those of different groups cannot be compared."""
    pairs: tuple[ForecasterPair, ...]
    unranked: int
    """Forecasters who answered less than those who are ranked."""
    slices: tuple[Slice, ...]


@dataclass(frozen=True)
class ForecastReport:
    """A report on the forecasts of a ledger."""

    tracks: tuple[Track, ...]
    """Of real data first."""
    forecasts: int
    questions: int
    forecasters: int
    attempts: int
    """Forecasts beyond one of a question and forecaster, which count together as one."""
    where: dict[str, list[str]]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values; docs/forecasts.md describes them."""
        method = {"fewest_blocks": FEWEST_UNITS, "smallest_probability": SMALLEST, "most_ranked": MOST_RANKED}
        return {"format": FORMAT, "openfingym": __version__, "method": method, **plain(self)}

    def to_json(self) -> str:
        """:meth:`to_dict` as JSON."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def html(self) -> str:
        """A page of it: one HTML document with everything in it."""
        from openfingym.reports.forecasts.page import render

        return render(self)


def forecast_report(ledger: Path, *, where: Where | None = None, seed: int = 0) -> ForecastReport:
    """Report on the scored forecasts of a ledger.

    Args:
        ledger: a verifier's state folder, or its ``ledger.db``; it is only read.
        where: which forecasts, by ``category``, ``market``, ``round``, ``provider``, ``form``, ``clock``, ``agent``,
            ``version`` or ``principal``: a name or several, in which ``*`` and ``?`` stand for anything.
        seed: seed of the bootstrap; the same ledger and seed give the same report.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
        UsageError: ``where`` names no column.
    """
    found = read_forecasts(Path(ledger), where)
    tracks = []
    form = np.array([list(TRACKS).index(name) for name in found.questions.form.names], dtype=np.int64)
    names = list(dict.fromkeys(TRACKS.values()))
    places = np.array([names.index(name) for name in TRACKS.values()])
    track = places[form[found.questions.form.codes]] if len(form) else np.zeros(0, dtype=np.int64)
    for simulated in (False, True):
        of_kind = found.questions.simulated[found.question] == simulated
        attended = np.zeros((len(found.forecasters), len(found.questions.round.names)), dtype=np.bool_)
        attended[found.forecaster[of_kind], found.questions.round.codes[found.question[of_kind]]] = True
        for number, name in enumerate(names):
            asked = (track == number) & (found.questions.simulated == simulated)
            if asked[found.question].any():
                kind = "simulated" if simulated else "real"
                tracks.append(_track(kind, name, found.of(asked), attended, seed))
    return ForecastReport(
        tuple(tracks),
        found.count,
        len(np.unique(found.question)),
        len(np.unique(found.forecaster)),
        round(found.count - float(found.weight.sum())),
        {name: [one] if isinstance(one, str) else list(one) for name, one in (where or {}).items()},
        seed,
    )


def _first_of_each(forecasters: Sequence[ForecasterId], places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those that are ranked, of all in order: the first of every principal before the second of any, so that whoever
    forecasts under many names keeps nobody else out.
    """
    before: Counter[str] = Counter()
    turns = []
    for place in places.tolist():
        principal = forecasters[place].principal
        turns.append(before[principal])
        before[principal] += 1
    return places[np.argsort(turns, kind="stable")[:MOST_RANKED]]


def _track(kind: str, name: str, found: Forecasts, attended: NDArray[np.bool_], seed: int) -> Track:
    blocks = blocks_of(found.questions)
    sums = sums_of(found, blocks)
    answered = np.bincount(sums.forecaster, weights=sums.count, minlength=len(found.forecasters))
    people = np.flatnonzero(answered)
    ranked = np.sort(_first_of_each(found.forecasters, people[np.argsort(-answered[people], kind="stable")]))
    groups, pairs = [], []
    overall = normal_equations(found, ranked, blocks, attended)
    parts = components(overall.common.sum(axis=0))
    for part in parts:
        members = ranked[part]
        equations = overall if len(parts) == 1 else normal_equations(found, members, blocks, attended)
        who = [found.forecasters[place] for place in members]
        compared = pairs_of(who, equations, blocks.overlap, seed)
        groups.append(tuple(standings_of(who, equations, compared, blocks.overlap, seed)))
        pairs += compared
    calibrated = calibrations(found) if name == "events" else {}
    covered = _intervals(found) if name == "intervals" else {}
    entries = Counter(found.forecasters[place].principal for place in people)
    whole = figures_of(sums, sums.forecaster, len(found.forecasters))
    rows = []
    for place in people.tolist():
        who_is = found.forecasters[place]
        estimates = _estimates(sums, place, len(blocks.names), blocks.overlap, seed) if place in ranked else None
        figures = whole[place]
        assert figures is not None
        rows.append(
            ForecasterRow(
                who_is,
                entries[who_is.principal],
                figures,
                *(estimates or (_point(figures.loss), _point(figures.skill), _point(figures.market_skill), NOTHING)),
                calibrated.get(place),
                covered.get(place),
            )
        )
    present = np.unique(blocks.codes[np.unique(found.question)])
    return Track(
        kind,
        name,
        found.count,
        len(np.unique(found.question)),
        tuple(blocks.names[place] for place in present),
        blocks.overlap,
        tuple(sorted(rows, key=lambda row: row.figures.loss)),
        tuple(groups),
        tuple(pairs),
        len(people) - len(ranked),
        tuple(slices_of(sums, found, ranked)),
    )


def _point(value: float | None) -> BlockEstimate:
    """A figure without an interval."""
    return NOTHING if value is None else BlockEstimate(value, None, None, 0)


def _estimates(
    sums: Sums, place: int, blocks: int, overlap: int, seed: int
) -> tuple[BlockEstimate, BlockEstimate, BlockEstimate, BlockEstimate]:
    """Mean loss, skill, skill against the market and weight beside its price of one forecaster, with intervals."""
    mine = sums.forecaster == place
    block = sums.codes("block")[mine]

    def series(values: Floats) -> Floats:
        return cast("Floats", np.bincount(block, weights=values[mine], minlength=blocks))

    return (
        ratio(series(sums.loss), series(sums.count), overlap, seed),
        ratio(series(sums.with_naive), series(sums.naive_loss), overlap, seed, lost=True),
        ratio(series(sums.with_market), series(sums.market_loss), overlap, seed, lost=True),
        ratio(series(sums.price_product), series(sums.price_square), overlap, seed),
    )


def _intervals(found: Forecasts) -> dict[int, IntervalFigures]:
    """Coverage and width of each forecaster's intervals, by its place."""
    who, question = (found.intervals[:, place].astype(np.int32) for place in (0, 1))
    loss, low, high = found.intervals[:, 2:].T
    level, y = found.questions.level[question], found.questions.truth[question]
    weight = attempt_weights(who, question, len(found.questions.level))
    width = high - low
    miss = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    # The loss is the width and what is added for a miss, both over the scale.
    whole = width + 2.0 / (1.0 - level) * miss
    relative = np.divide(loss * width, whole, out=np.zeros_like(width), where=whole > 0.0)
    count, nominal, covered, wide = (
        np.bincount(who, weights=weight * values, minlength=len(found.forecasters))
        for values in (np.ones_like(y), level, miss == 0.0, relative)
    )
    return {
        place: IntervalFigures(*(float(values[place] / count[place]) for values in (nominal, covered, wide)))
        for place in np.flatnonzero(count).tolist()
    }


def plain(value: Any) -> Any:
    """Data classes and named tuples as objects, tuples as lists."""
    if isinstance(value, ForecasterId):
        return value._asdict()
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    return [plain(one) for one in value] if isinstance(value, tuple) else value
