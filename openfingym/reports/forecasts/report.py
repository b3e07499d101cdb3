"""The report on the forecasters of a ledger: figures, ranks and comparisons, as plain data."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from openfingym.reports.forecasts.calibration import Calibration, calibrations
from openfingym.reports.forecasts.columns import DATA_KINDS, ForecasterId, Forecasts
from openfingym.reports.forecasts.difficulty import components, normal_equations
from openfingym.reports.forecasts.estimates import NOTHING, BlockEstimate, ratio
from openfingym.reports.forecasts.figures import Figures, Slice, figures_of, slices_of
from openfingym.reports.forecasts.isolation import StatedIsolation, is_isolated
from openfingym.reports.forecasts.reading import TRACKS, Where, attempt_weights, read_forecasts
from openfingym.reports.forecasts.standings import ForecasterPair, ForecasterStanding, pairs_of, standings_of
from openfingym.reports.forecasts.sums import SMALLEST, Sums, blocks_of, sums_of
from openfingym.reports.statistics import FEWEST_UNITS
from openfingym.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from openfingym.results import Isolation

    Floats = NDArray[np.float64]

FORMAT = 1
"""Version of the JSON form of a report."""
MOST_RANKED = 40
"""Most forecasters that are ranked and compared in pairs: those who answered most, whatever their losses are."""


@dataclass(frozen=True)
class IntervalFigures:
    """Figures on a forecaster's intervals besides their score."""

    nominal: float
    """Mean probability with which they should cover the truth."""
    coverage: float
    """Share of truths on or between their ends."""
    width: float
    """Mean width, over the scale by which the loss is divided."""


@dataclass(frozen=True)
class ForecasterRow:
    """The figures of one forecaster in a track."""

    forecaster: ForecasterId
    """The forecaster."""
    entries: int
    """How many forecasters its principal has in this track; the best of many is good by chance."""
    figures: Figures
    """The figures without intervals."""
    loss: BlockEstimate
    """Mean loss, with an interval for forecasters that are ranked, as of the next three figures."""
    skill: BlockEstimate
    """1 minus the loss over the naive forecast's."""
    market_skill: BlockEstimate
    """1 minus the loss over the loss of what the market showed."""
    price_weight: BlockEstimate
    """Weight b of the forecast p in the best mixture m + b (p - m) with the price m that the market showed, by least
    squares. 0: it adds nothing to the price; an interval above 0: it knows something that the price does not."""
    calibration: Calibration | None
    """Calibration of its probabilities; None in other tracks than ``events``."""
    interval: IntervalFigures | None
    """Figures on its intervals; None in other tracks than ``intervals``."""
    isolation: Isolation | None
    """What of it ran in isolation, as whoever played the series states it; None where that is not known."""


@dataclass(frozen=True)
class Track:
    """The forecasts on one kind of data whose losses can be compared."""

    data_kind: str
    """One of :data:`~openfingym.reports.forecasts.columns.DATA_KINDS`."""
    name: str
    """One of ``events``, ``choices``, ``values``, ``quantiles`` and ``intervals``."""
    forecasts: int
    """How many forecasts there are."""
    questions: int
    """How many questions were answered."""
    blocks: tuple[str, ...]
    """Names of the rounds, and of the weeks of questions of no round, in order of time."""
    overlap: int
    """How many neighbouring blocks are drawn together, since a typical question is open for so long."""
    rows: tuple[ForecasterRow, ...]
    """The figures of each forecaster, the lowest mean loss first."""
    groups: tuple[tuple[ForecasterStanding, ...], ...]
    """The standings of each group of forecasters that common questions connect; those of different groups cannot be
    compared."""
    pairs: tuple[ForecasterPair, ...]
    """The comparisons of every two ranked forecasters of a group."""
    unranked: int
    """How many forecasters are not ranked, since they answered less than the others."""
    slices: tuple[Slice, ...]
    """The figures of ranked forecasters on parts of the questions."""


@dataclass(frozen=True)
class ForecastReport:
    """A report on the forecasts of a ledger."""

    tracks: tuple[Track, ...]
    """The tracks, those of real data first."""
    forecasts: int
    """How many forecasts there are."""
    questions: int
    """How many questions were answered."""
    forecasters: int
    """How many forecasters answered a question."""
    attempts: int
    """How many forecasts are repeated attempts at a question; all attempts of a forecaster at a question count together
    as one forecast."""
    where: dict[str, list[str]]
    """Which forecasts were chosen, as patterns by column."""
    left_out: tuple[ForecasterId, ...]
    """The forecasters of which something ran outside isolation, or may have, where only isolated ones were wanted."""
    seed: int
    """Seed of the bootstrap."""

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, which docs/forecasts.md describes."""
        method = {"fewest_blocks": FEWEST_UNITS, "smallest_probability": SMALLEST, "most_ranked": MOST_RANKED}
        return {"format": FORMAT, "openfingym": __version__, "method": method, **plain(self)}

    def to_json(self) -> str:
        """The report as JSON, in the form of :meth:`to_dict`."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def html(self) -> str:
        """The page of the report, a self-contained HTML document."""
        from openfingym.reports.forecasts.page import render

        return render(self)


def forecast_report(
    ledger: Path,
    *,
    where: Where | None = None,
    seed: int = 0,
    folders: Iterable[Path] = (),
    isolated_only: bool = False,
) -> ForecastReport:
    """Report on the scored forecasts of a ledger.

    Args:
        ledger: the state folder of a verifier, or its ``ledger.db``; it is only read.
        where: which forecasts to report on: for ``category``, ``market``, ``round``, ``provider``, ``form``, ``clock``,
            ``agent``, ``version`` or ``principal`` a name or several, in which ``*`` stands for any text and ``?`` for
            any character; None for all forecasts.
        seed: seed of the bootstrap; the same ledger and seed give the same report.
        folders: folders of series, whose records state what of their forecasters ran in isolation.
        isolated_only: whether to leave out forecasters of which something ran outside isolation, or may have, but for
            the references, which ticks enter. What is counted is what remains.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
        UsageError: ``where`` names a column by which forecasts cannot be chosen.
    """
    forecasts = read_forecasts(Path(ledger), where)
    isolations = _isolations(forecasts, StatedIsolation.of_series(folders))
    left_out: tuple[ForecasterId, ...] = ()
    if isolated_only:
        left_out = tuple(who for who, isolation in isolations.items() if not is_isolated(who, isolation))
        kept = np.array([who not in left_out for who in forecasts.forecasters], dtype=np.bool_)
        forecasts = forecasts.of_forecasters(kept)
    questions = forecasts.questions
    tracks = []
    form = np.array([list(TRACKS).index(name) for name in questions.form.names], dtype=np.int64)
    names = list(dict.fromkeys(TRACKS.values()))
    places = np.array([names.index(name) for name in TRACKS.values()])
    track = places[form[questions.form.codes]] if len(form) else np.zeros(0, dtype=np.int64)
    for code, kind in enumerate(DATA_KINDS):
        # Who answers a question of any track in a round takes part in the round.
        of_kind = questions.data_kind[forecasts.question] == code
        attended = np.zeros((len(forecasts.forecasters), len(questions.round.names)), dtype=np.bool_)
        attended[forecasts.forecaster[of_kind], questions.round.codes[forecasts.question[of_kind]]] = True
        for number, name in enumerate(names):
            asked = (track == number) & (questions.data_kind == code)
            if asked[forecasts.question].any():
                tracks.append(_track(kind, name, forecasts.of(asked), attended, isolations, seed))
    return ForecastReport(
        tuple(tracks),
        forecasts.count,
        len(np.unique(forecasts.question)),
        len(np.unique(forecasts.forecaster)),
        round(forecasts.count - float(forecasts.weight.sum())),
        {name: [chosen] if isinstance(chosen, str) else list(chosen) for name, chosen in (where or {}).items()},
        left_out,
        seed,
    )


def _isolations(forecasts: Forecasts, stated: StatedIsolation) -> dict[ForecasterId, Isolation | None]:
    """What is stated of each forecaster that has a forecast, over all rounds in which it has one."""
    names, people = forecasts.questions.round.names, forecasts.forecasters
    attended = np.zeros((len(people), len(names)), dtype=np.bool_)
    attended[forecasts.forecaster, forecasts.questions.round.codes[forecasts.question]] = True
    answered: dict[int, list[str]] = {}
    for place, code in np.argwhere(attended).tolist():
        answered.setdefault(place, []).append(names[code])
    return {people[place]: stated.of(people[place], some) for place, some in answered.items()}


def _first_of_each(forecasters: Sequence[ForecasterId], places: NDArray[np.intp]) -> NDArray[np.intp]:
    """Choose the forecasters that are ranked, by their indices in the order in which they answered most.

    The first of every principal comes before the second of any, so that a principal that forecasts under many names
    keeps nobody else out.
    """
    before: Counter[str] = Counter()
    turns = []
    for place in places.tolist():
        principal = forecasters[place].principal
        turns.append(before[principal])
        before[principal] += 1
    return places[np.argsort(turns, kind="stable")[:MOST_RANKED]]


def _track(
    kind: str,
    name: str,
    forecasts: Forecasts,
    attended: NDArray[np.bool_],
    isolations: Mapping[ForecasterId, Isolation | None],
    seed: int,
) -> Track:
    """Report on one track.

    Args:
        kind: kind of the data.
        name: name of the track.
        forecasts: the forecasts of the track.
        attended: whether each forecaster takes part in each round, by the code of the round, bool[forecasters, rounds].
        isolations: what of each forecaster ran in isolation.
        seed: seed of the bootstrap.
    """
    blocks = blocks_of(forecasts.questions)
    sums = sums_of(forecasts, blocks)
    answered = np.bincount(sums.forecaster, weights=sums.count, minlength=len(forecasts.forecasters))
    people = np.flatnonzero(answered)
    ranked = np.sort(_first_of_each(forecasts.forecasters, people[np.argsort(-answered[people], kind="stable")]))
    # Forecasters of different groups have no common questions, so that each group has equations of its own.
    groups, pairs = [], []
    overall = normal_equations(forecasts, ranked, blocks, attended)
    parts = components(overall.common.sum(axis=0))
    for part in parts:
        members = ranked[part]
        equations = overall if len(parts) == 1 else normal_equations(forecasts, members, blocks, attended)
        names = [forecasts.forecasters[place] for place in members]
        compared = pairs_of(names, equations, blocks.overlap, seed)
        groups.append(tuple(standings_of(names, equations, compared, blocks.overlap, seed)))
        pairs += compared
    calibrated = calibrations(forecasts) if name == "events" else {}
    covered = _intervals(forecasts) if name == "intervals" else {}
    entries = Counter(forecasts.forecasters[place].principal for place in people)
    whole = figures_of(sums, sums.forecaster, len(forecasts.forecasters))
    rows = []
    for place in people.tolist():
        who = forecasts.forecasters[place]
        estimates = _estimates(sums, place, len(blocks.names), blocks.overlap, seed) if place in ranked else None
        figures = whole[place]
        assert figures is not None
        rows.append(
            ForecasterRow(
                who,
                entries[who.principal],
                figures,
                *(estimates or (_point(figures.loss), _point(figures.skill), _point(figures.market_skill), NOTHING)),
                calibrated.get(place),
                covered.get(place),
                isolations[who],
            )
        )
    present = np.unique(blocks.codes[np.unique(forecasts.question)])
    return Track(
        kind,
        name,
        forecasts.count,
        len(np.unique(forecasts.question)),
        tuple(blocks.names[place] for place in present),
        blocks.overlap,
        tuple(sorted(rows, key=lambda row: row.figures.loss)),
        tuple(groups),
        tuple(pairs),
        len(people) - len(ranked),
        tuple(slices_of(sums, forecasts, ranked)),
    )


def _point(value: float | None) -> BlockEstimate:
    """A figure without an interval."""
    return NOTHING if value is None else BlockEstimate(value, None, None, 0)


def _estimates(
    sums: Sums, place: int, blocks: int, overlap: int, seed: int
) -> tuple[BlockEstimate, BlockEstimate, BlockEstimate, BlockEstimate]:
    """Mean loss, skill, skill against the market and weight beside its price of one forecaster, with intervals.

    Args:
        sums: sums over forecasts, by cell.
        place: index of the forecaster.
        blocks: how many blocks there are.
        overlap: fewest neighbouring blocks that are drawn together.
        seed: seed of the bootstrap.
    """
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


def _intervals(forecasts: Forecasts) -> dict[int, IntervalFigures]:
    """Figures on each forecaster's intervals, by its index."""
    who, question = (forecasts.intervals[:, place].astype(np.int32) for place in (0, 1))
    loss, low, high = forecasts.intervals[:, 2:].T
    level, y = forecasts.questions.level[question], forecasts.questions.truth[question]
    weight = attempt_weights(who, question, len(forecasts.questions.level))
    width = high - low
    miss = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    # The interval score is the width plus a penalty for a miss, and the loss is that over a scale which the ledger does
    # not state: it follows from both.
    whole = width + 2.0 / (1.0 - level) * miss
    relative = np.divide(loss * width, whole, out=np.zeros_like(width), where=whole > 0.0)
    count, nominal, covered, wide = (
        np.bincount(who, weights=weight * values, minlength=len(forecasts.forecasters))
        for values in (np.ones_like(y), level, miss == 0.0, relative)
    )
    return {
        place: IntervalFigures(*(float(values[place] / count[place]) for values in (nominal, covered, wide)))
        for place in np.flatnonzero(count).tolist()
    }


def plain(value: Any) -> Any:
    """A value as JSON has it: data classes and forecasters as objects, tuples as lists."""
    if isinstance(value, ForecasterId):
        return value._asdict()
    if is_dataclass(value) and not isinstance(value, type):
        return {entry.name: plain(getattr(value, entry.name)) for entry in fields(value)}
    return [plain(item) for item in value] if isinstance(value, tuple) else value
