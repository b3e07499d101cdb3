"""The data sets that the library has or can pull, with the words that papers use for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

How = Literal["bundled", "simulator", "specified", "pulled"]
"""How data are had: from the library, from a simulator in place of real data, from a process that is the data by a
paper's own definition, or from their publisher."""


@dataclass(frozen=True)
class KnownData:
    """One data set that the library bundles, makes or can pull."""

    name: str
    how: How
    asset_class: str
    frequency: str
    series: tuple[str, ...]
    """Names of the channels; empty where there are none, or they are not known before the data are pulled."""
    terms: tuple[str, ...]
    """Words by which papers mean the publisher or the process, in lower case."""
    unit: str
    """Unit of the values, in words; empty where there are several or none."""
    source: str
    """Where the data are from, in words."""
    licence: str
    first: date | None = None
    """First day; None where there is none, or it is not known."""
    last: date | None = None
    """Last day; None where there is none, or the data go on until now."""
    address: str = ""
    """Address of the publisher; empty for what the library brings."""
    standing_in: str = ""
    """Real data that these stand in for; empty for data that papers use themselves."""


_TREASURY = ("treasury", "constant maturity", "constant-maturity", "par yield", "h.15")
_ECB = ("european central bank", "ecb", "euro foreign exchange reference", "reference rates")
_CAPS = (
    "sp500_dataset",
    "large cap",
    "large-cap",
    "s&p 500",
    "skfolio",
    "us equities",
    "u.s. equities",
    "us stocks",
    "u.s. stocks",
)
_CRYPTO = ("binance", "crypto", "bitcoin")
_FUTURES = ("futures", "commodit")
TERMS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "ust-par-yields": ("rates", _TREASURY),
    "ust-par-yields-1993": ("rates", _TREASURY),
    "ecb-fx": ("fx", _ECB),
    "ecb-fx-8": ("fx", _ECB),
    "us-large-caps": ("equity", _CAPS),
    "us-stocks-ohlcv": ("equity", ("quandl", "wiki prices", "bokeh")),
    "goog-ohlcv": ("equity", ("google", "goog", "quandl", "wiki prices")),
    "sim-commodities": ("commodity", _FUTURES),
    "sim-crypto": ("crypto", _CRYPTO),
    "sim-crypto-wide": ("crypto", _CRYPTO),
    "sim-crypto-bars": ("crypto", _CRYPTO),
    "sim-crypto-seconds": ("crypto", _CRYPTO),
    "sim-us-equities": ("equity", _CAPS),
    "sim-us-60": ("equity", _CAPS),
    "sim-global-indices": ("equity", ("global indices", "stock indices", "world indices")),
    "sim-nifty50": ("equity", ("nifty",)),
    "sim-lob-bars": ("lob", ("order book",)),
    "sim-stock-minutes": ("equity", ("minute bars",)),
    "sim-eiopa-curves": ("rates", ("eiopa", "risk-free curve", "risk-free interest rate term")),
    "crypto-log-returns": ("crypto", _CRYPTO),
    "crypto-pairs": ("crypto", _CRYPTO),
    "fbm": ("synthetic", ("fractional brownian",)),
    "ou": ("synthetic", ("ornstein", "uhlenbeck")),
    "rough-volatility": ("synthetic", ("rough volatility", "rough bergomi")),
    "tail-gan": ("synthetic", ("tail-gan", "tailgan", "ar(1)", "garch")),
    "lob-bars": ("lob", ("order book",)),
    "stock-ohlcv": ("equity", ("stock paths", "ohlcv")),
    "amazon": ("graph", ("amazon",)),
    "blogcatalog": ("graph", ("blogcatalog",)),
    "cert": ("graph", ("cert",)),
    "dblp": ("graph", ("dblp",)),
    "imdb": ("graph", ("imdb",)),
    "yelpchi": ("graph", ("yelpchi", "yelp")),
    "ba2motifs": ("graph", ("ba-2motifs", "ba2motifs", "ba-2motif")),
    "treasury-par-yields": ("rates", _TREASURY),
    "fred-treasury-rates": ("rates", ("fred", *_TREASURY)),
    "ecb-reference-rates": ("fx", _ECB),
    "eiopa-euro-curves": ("rates", ("eiopa",)),
    "yahoo-large-caps": ("equity", ("yahoo",)),
    "yahoo-us-60": ("equity", ("yahoo",)),
    "yahoo-futures": ("commodity", ("yahoo", *_FUTURES)),
    "yahoo-nifty-factors": ("equity", ("yahoo", "nifty")),
    "binance-hourly": ("crypto", ("binance",)),
    "binance-hourly-pairs": ("crypto", ("binance",)),
    "binance-hourly-wide": ("crypto", ("binance",)),
}
"""Asset class of each data set, and what papers call its publisher or process, by the name of the data set."""


def known_data() -> list[KnownData]:
    """Everything that a blueprint may be served with, what is bundled first and what must be pulled last."""
    return [*_panels(), *_processes(), *_graphs(), *_pullable()]


def _panels() -> Iterator[KnownData]:
    from openfingym.data.dataset import datasets

    for info in datasets():
        asset, terms = TERMS.get(info.name, ("", ()))
        yield KnownData(
            name=info.name,
            how="simulator" if info.kind == "simulated" else "bundled",
            asset_class=asset,
            frequency=info.frequency,
            series=info.channels,
            terms=terms,
            unit=info.unit,
            source=info.source,
            licence=info.licence,
            first=info.first,
            last=info.last,
            standing_in="the paper's real data" if info.kind == "simulated" else "",
        )


def _processes() -> Iterator[KnownData]:
    from openfingym.data.processes import process_sets

    for known in process_sets():
        asset, terms = TERMS.get(known.name, ("synthetic", ()))
        simulated = known.kind == "simulated"
        yield KnownData(
            name=known.name,
            how="simulator" if simulated else "specified",
            asset_class=asset,
            frequency="none",
            series=(),
            terms=terms,
            unit="",
            source=known.source,
            licence="Apache-2.0",
            standing_in="the paper's real data" if simulated else "",
        )


def _graphs() -> Iterator[KnownData]:
    from openfingym.data.graphs import attributed_graphs

    for spec in attributed_graphs():
        yield KnownData(
            name=spec.name,
            how="simulator",
            asset_class="graph",
            frequency="none",
            series=(),
            terms=TERMS.get(spec.name, ("graph", ()))[1],
            unit="",
            source="seeded simulator of OpenFinGym, by the sizes of the published graph",
            licence="Apache-2.0",
            standing_in="the published graph",
        )
    yield KnownData(
        name="ba2motifs",
        how="specified",
        asset_class="graph",
        frequency="none",
        series=(),
        terms=TERMS["ba2motifs"][1],
        unit="",
        source="BA-2motifs, Luo et al. (2020), PGExplainer",
        licence="Apache-2.0",
    )


def _pullable() -> Iterator[KnownData]:
    from openfingym.data.listing import FREQUENCIES
    from openfingym.data.sources import SOURCES
    from openfingym.data.sources.catalog import PULLABLE

    for name, dataset in sorted(PULLABLE.items()):
        source = SOURCES[dataset.source]
        expected = dataset.expected
        # Graphs: their stand-ins are listed above, and the real ones are pulled by their tasks.
        if expected is None:
            continue
        asset, terms = TERMS.get(name, ("", ()))
        yield KnownData(
            name=name,
            how="pulled",
            asset_class=asset,
            frequency=FREQUENCIES.get(dataset.request.interval or "", expected.frequency),
            series=dataset.request.symbols or expected.columns,
            terms=terms,
            unit=source.gives,
            source=source.publisher,
            licence=source.licence,
            first=dataset.request.start or expected.since,
            last=dataset.request.end,
            address=source.base_url,
        )
