"""The real form of a task: the real data that ``--real`` puts in place of its own, or the reason why there are none.

A task states its real data in ``[metadata.openfingym.dataset.pulled]``. For a task that does not, the library knows the
real form of the bundled dataset that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from openfingym.digests import sha256_of_json
from openfingym.errors import TaskError
from openfingym.task.dataset import Pulled
from openfingym.task.model import Split

if TYPE_CHECKING:
    from openfingym.task import Task


@dataclass(frozen=True)
class RealForm:
    """The real data that take the place of a task's own (``pulled``), or the reason why there are none (``why``)."""

    pulled: Pulled | None = None
    """Where the real data come from; None if there are none."""
    why: str = ""
    """Why there are no real data; empty if there are."""
    panel: str = ""
    """What the real data hold, in a few words, if the task's own text does not fit them; else empty."""
    split: Split | None = None
    """How the rows of the real data are divided, if the task's own data has other rows or none; None for the task's own
    split."""
    names: tuple[str, ...] = ()
    """Names of the columns, for a task that does not name channels; empty for the names that the source gives."""
    indicators: bool = False
    """Whether MACD and RSI of the first column are added as columns behind those that were pulled."""

    @property
    def key(self) -> str:
        """A value that changes whenever the form would lead to another package."""
        split = None if self.split is None else self.split.model_dump(mode="json")
        return sha256_of_json([self.panel, split, self.names, self.indicators])

    @property
    def command(self) -> str | None:
        """The command that pulls the real data; None if there are none."""
        from openfingym.data.pulled import needed_symbols, pull_command

        if self.pulled is None:
            return None
        symbols = needed_symbols(self.pulled.source, self.pulled.symbols)
        return pull_command(self.pulled.source, symbols, interval=self.pulled.interval)


_COINS = ("btc", "eth", "bnb", "xrp", "sol", "ada", "doge", "trx", "link", "dot")
_MORE_COINS = ("avax", "ltc", "bch", "xlm", "uni", "atom", "etc", "fil", "near", "algo")
_NO_BOOK = RealForm(why="no source that can be pulled publishes order books; klines and daily bars have none")


def _split(**values: object) -> Split:
    return Split.model_validate(values)


def _hourly(coins: tuple[str, ...], **split: object) -> RealForm:
    """Windows of coins' hourly closes; 35,064 rows of four years."""
    return RealForm(
        Pulled(source="binance-hourly-pairs", symbols=tuple(f"{coin.upper()}USDT" for coin in coins)),
        panel=f"{len(coins)} crypto pairs",
        split=_split(train=0.6, public=0.2, private=0.2, train_stride=3, **split),
        names=tuple(f"{coin}_usdt" for coin in coins),
    )


FORMS: Mapping[str, RealForm] = {
    "sim-eiopa-curves": RealForm(
        Pulled(source="eiopa-euro-curves", symbols=("Euro",)),
        panel="EIOPA's monthly risk-free curve of the euro, 1 to 150 years",
        # Some 130 months, for which the split of 480 simulated ones leaves too few hidden windows for an interval.
        split=_split(train=0.3, public=0.17, private=0.53, train_stride=1, embargo=1),
    ),
    "sim-us-60": RealForm(
        Pulled(source="yahoo-us-60"),
        panel="60 US stocks, each a window of its own",
        names=tuple(f"n{number:02d}" for number in range(1, 61)),
    ),
    "sim-nifty50": RealForm(
        Pulled(source="yahoo-nifty-factors"),
        panel="NIFTY 50 with S&P 500, rupee, crude oil, gold, India VIX, MACD and RSI",
        names=("nifty50", "sp500", "usd_inr", "crude", "gold", "india_vix", "macd", "rsi"),
        indicators=True,
    ),
    "crypto-pairs": _hourly((*_COINS, *_MORE_COINS), embargo=60, scaling="start"),
    "crypto-log-returns": _hourly(_COINS, embargo=24),
    "sim-lob-bars": _NO_BOOK,
    "lob-bars": _NO_BOOK,
    "sim-us-characteristics": RealForm(
        why="characteristics of firms are licensed (CRSP, Compustat) and no source publishes them; free factor returns "
        "and prices are no substitute, since features made of returns tell the hidden returns of earlier months"
    ),
}
"""The real form of each simulated dataset that has one, or for which there is a reason to state; by its name."""


def real_form(task: Task) -> RealForm:
    """The real data that take the place of a task's own with ``--real``, or the reason why none do; loads no data."""
    from openfingym.data.loaded_graphs import PUBLISHED
    from openfingym.kinds import asks_questions, is_deferred, is_live, kind_of

    reference, kind = task.spec.dataset, kind_of(task)
    name = reference.name or ""
    # What the task states itself goes before what the library knows of its dataset.
    if reference.pulled is not None:
        if not kind.takes_pulled:
            return RealForm(why=f"a {kind.name} task takes no pulled data, so dataset.pulled cannot be used; remove it")
        if reference.file is not None and not kind.replaces_own:
            why = f"a {kind.name} task on a file of its author's has no other form, so dataset.pulled cannot be used"
            return RealForm(why=f"{why}; remove it")
        return RealForm(reference.pulled)
    if name in FORMS:
        return _narrowed(FORMS[name], reference.channels)
    # For these kinds there are real data, which are used in another way: the reason names it.
    if is_live(task.spec.contract):
        return RealForm(
            why="its real data are those of a session on the venue itself: `openfingym run` with --venue real"
        )
    if is_deferred(task.spec.contract):
        return RealForm(
            why="its real data are questions whose outcome is not known yet: `openfingym run` with --clock real"
        )
    if asks_questions(task.spec.contract):
        return RealForm(
            why="its real data are a vault that is pulled (`openfingym vault pull`), which a task names as its dataset"
        )
    # Of the task's own data: with `real`, a kind would ask for the real form, and so end here again.
    own = kind.data_kind(replace(task, real=False))
    if own == "real":
        return RealForm(why="its own data is real")
    if own == "specified":
        return RealForm(why="its source paper defines the data as synthetic")
    if kind.takes_pulled and name in PUBLISHED:
        return RealForm(Pulled(source=PUBLISHED[name]))
    return RealForm(why=f"no source is known for {name or reference.file!r}; state one in dataset.pulled")


def required_form(task: Task) -> tuple[RealForm, Pulled]:
    """The real form of a task that is to run on real data, and where these come from.

    Raises:
        TaskError: no real data is known for the task, the source that it states is unknown, or it states the length of
            a bar for a source that has one length only.
    """
    from openfingym.data.dataset import suggestion
    from openfingym.data.sources.catalog import PULLABLE, SOURCES, WITH_INTERVALS

    form = real_form(task)
    if form.pulled is None:
        raise TaskError(
            f"no real data is known for {task.name!r}: {form.why}. Run it without --real",
            path=task.config_path,
            key="dataset.pulled",
        )
    source, interval = form.pulled.source, form.pulled.interval
    if source not in PULLABLE and source not in SOURCES:
        known = suggestion(source, [*PULLABLE, *SOURCES])
        raise TaskError(
            f"no dataset or source {source!r} to pull{known}; see `openfingym data pull --list`",
            path=task.config_path,
            key="dataset.pulled.source",
        )
    if interval is not None and source not in WITH_INTERVALS:
        why = "has bars of one length" if source not in SOURCES else "has no bars"
        raise TaskError(f"{source} {why}; remove it", path=task.config_path, key="dataset.pulled.interval")
    return form, form.pulled


def split_of(task: Task) -> Split | None:
    """How the rows of a task's data are divided; None if neither the task nor its real form states it."""
    return (required_form(task)[0].split if task.real else None) or task.spec.split


def _narrowed(form: RealForm, channels: tuple[str, ...]) -> RealForm:
    """The form with its symbols written out, only those that a task's channels need.

    With indicators all symbols are needed, because the channels of the task need not be columns that are pulled.
    """
    from openfingym.data.sources.catalog import PULLABLE

    if form.pulled is None or not form.names:
        return form
    symbols = form.pulled.symbols or PULLABLE[form.pulled.source].request.symbols
    needed = [i for i in range(len(symbols)) if form.indicators or not channels or form.names[i] in channels]
    names = form.names if form.indicators else tuple(form.names[i] for i in needed)
    pulled = Pulled(source=form.pulled.source, symbols=tuple(symbols[i] for i in needed))
    return replace(form, pulled=pulled, names=names)
