"""Rules of the stand-in that read which series a paper's data has."""

from __future__ import annotations

import re

from openfingym_forge.stand_in.sentences import Claims, Sentence
from openfingym_forge.stand_in.words import NUMBER, number_of

_ACRONYMS = frozenset(
    [
        "US",
        "USA",
        "UK",
        "EU",
        "ECB",
        "FX",
        "AND",
        "THE",
        "ARIMA",
        "LSTM",
        "GRU",
        "MSE",
        "MAE",
        "RMSE",
        "MAPE",
        "AUC",
        "AUROC",
        "AP",
        "VAR",
        "AR",
        "GARCH",
        "PPO",
        "DQN",
        "SDE",
        "OU",
        "GBM",
        "GAN",
        "VAE",
        "CC",
        "BY",
        "BSD",
        "MIT",
        "CSV",
        "URL",
        "OHLC",
        "OHLCV",
        "USD",
        "EUR",
        "ETF",
        "PCA",
        "CNN",
        "RNN",
        "MLP",
        "GDP",
        "CPI",
        "NYSE",
        "SEC",
        "DA",
        "IC",
        "TV",
        "CS",
        "LLC",
        "INC",
        "API",
        "DOI",
        "ACF",
        "MMD",
        "COV",
        "CORR",
        "SVM",
        "GNN",
        "GCN",
        "A",
        "I",
        "II",
        "III",
        "IV",
        "V",
        "VI",
        "VII",
        "VIII",
        "IX",
        "X",
        "TABLE",
        "IN",
        "OF",
        "TO",
        "ON",
    ]
)
"""Words in capitals that are no tickers."""
_PAIR = re.compile(r"\b([A-Z]{3})\s?[/\-–]\s?([A-Z]{3})\b")
_CODES = "EUR GBP JPY CHF CAD AUD NZD CNY SGD SEK NOK DKK USD HKD INR MXN KRW ZAR BRL TRY PLN".split()  # noqa: SIM905
_FIRST = ("EUR", "GBP", "AUD", "NZD", "USD")
"""Currencies that the market quotes in US dollars, and not the other way round."""
_NAMES = {
    "EUR": r"\beuros?\b", "GBP": r"pound|sterling", "JPY": r"\byen\b", "CHF": r"franc",
    "CAD": r"canadian",
    "AUD": r"australian", "NZD": r"new zealand", "CNY": r"renminbi|yuan", "SGD": r"singapore",
    "SEK": r"swedish|krona",
    "NOK": r"norwegian", "DKK": r"danish", "HKD": r"hong kong", "INR": r"rupee", "MXN": r"mexican|peso",
    "KRW": r"korean",
    "ZAR": r"south african|\brand\b", "BRL": r"brazilian",
}  # fmt: skip


def read_series(sentence: Sentence, claims: Claims) -> None:
    """Claim the series that a sentence names: pairs of currencies, maturities, tickers, or names in words."""
    text = " ".join(sentence.text.split())
    if "data.series" in claims.fields:
        return
    names: list[str] = []
    pairs = [(a, b) for a, b in _PAIR.findall(text) if a in _CODES and b in _CODES]
    joined = re.findall(r"\b(" + "|".join(_CODES) + r")(" + "|".join(_CODES) + r")\b", text)
    if pairs or joined:
        names = [f"{a}_{b}".lower() for a, b in (pairs or joined)]
    elif claims.first("asset_class") == "fx":
        names = _currencies(sentence)
    elif claims.first("asset_class") == "rates":
        names = _tenors(sentence)
    names = names or _tickers(text) or _listed(sentence, claims)
    single = re.search(r"(?:bars|prices?|closes|stock|shares?) of ([A-Z]{2,5})\b(?! (?:and|data))", text)
    if not names and single and single[1] not in _ACRONYMS and claims.first("asset_class") in {"equity", "crypto"}:
        claims.add("data.series", [single[1].lower()], sentence.text)
    if len(names) >= (1 if pairs else 2):
        claims.add("data.series", list(dict.fromkeys(names)), sentence.text)
        if claims.first("family") == "trading":
            claims.add("contract.symbols", list(dict.fromkeys(names)), sentence.text)


def _currencies(sentence: Sentence) -> list[str]:
    """Pairs against the dollar, as the market quotes them, from names or codes of currencies."""
    if not re.search(r"dollar|usd|\beur", sentence.low):
        return []
    places: list[tuple[int, str]] = []
    for code, pattern in _NAMES.items():
        match = re.search(rf"{pattern}|\b{code.lower()}\b", sentence.low)
        if match:
            places.append((match.start(), code))
    if len(places) < 2:
        return []
    return [f"{code}_usd".lower() if code in _FIRST else f"usd_{code}".lower() for _, code in sorted(places)]


def _tenors(sentence: Sentence) -> list[str]:
    """Maturities, such as ``3m`` or ``10y``; the unit of several may stand behind the last alone."""
    if not re.search(r"matur|tenor|yield|curve|treasur|bond|bill|note", sentence.low):
        return []
    made: list[str] = []
    pending: list[float] = []
    end = 0
    token = rf"({NUMBER})(?=[\s-]*(,|and\b|or\b|months?\b|years?\b|m\b|y\b|-))[\s-]*(months?\b|years?\b|m\b|y\b)?"
    for match in re.finditer(token, sentence.low):
        if pending and match.start() - end > 12:
            pending = []
        end = match.end()
        pending.append(number_of(match[1]))
        unit = match[3]
        if unit:
            made += [f"{number:g}{unit[0]}" for number in pending if 0 < number <= 60 and number == int(number)]
            pending = []
    return made if len(set(made)) >= 2 else []


_LIST = re.compile(
    r"\b[A-Z]{1,5}\b(?:\s*\([^)]{1,30}\))?(?:\s*(?:,\s*and|,|and|&|/)\s*\b[A-Z]{1,5}\b(?:\s*\([^)]{1,30}\))?)+"
)


def _listed(sentence: Sentence, claims: Claims) -> list[str]:
    """Three or more names in words, as commodities have them."""
    if claims.first("asset_class") != "commodity":
        return []
    item = r"[a-z][a-z]+(?: [a-z]+)?(?: \([a-z]+\))?"
    listed = re.search(
        rf"(?:\bwe (?:take|use|study|consider|model)|namely|:) ((?:{item}, )+{item},? and {item})", sentence.low
    )
    names = re.split(r",? and |, ", re.sub(r" \([a-z]+\)", "", listed[1])) if listed else []
    return names if len(names) >= 3 else []


def _tickers(text: str) -> list[str]:
    """Tickers of a list in capitals, or in brackets behind names of companies."""
    for match in _LIST.finditer(text):
        capitals = re.findall(r"\b[A-Z]{1,5}\b", re.sub(r"\([^)]*\)", "", match[0]))
        # Four single letters are tickers of large companies; a list that is mostly acronyms is no list of tickers.
        tickers = [name for name in capitals if name not in _ACRONYMS or (len(name) == 1 and name in "TVFC")]
        if len(tickers) >= 2 and len(tickers) >= 0.7 * len(capitals):
            return [name.lower() for name in tickers]
    inside = re.findall(r"[A-Z][\w.&' ]+\(([A-Z]{1,5})\)", text)
    return [name.lower() for name in inside if name not in _ACRONYMS]
