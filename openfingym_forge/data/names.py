"""Names of series as papers write them, and the one name that each of them means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

_NUMBERS: Final[Mapping[str, str]] = {
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "twelve": "12",
    "fifteen": "15",
    "twenty": "20",
    "thirty": "30",
}
_CURRENCIES: Final = frozenset(
    [
        "usd",
        "eur",
        "jpy",
        "gbp",
        "chf",
        "cad",
        "aud",
        "nzd",
        "cny",
        "hkd",
        "sgd",
        "inr",
        "mxn",
        "krw",
        "zar",
        "try",
        "sek",
        "nok",
        "dkk",
        "brl",
        "pln",
        "thb",
        "idr",
        "czk",
        "huf",
        "ils",
    ]
)
_COMPANIES: Final[Mapping[str, str]] = {
    "apple": "aapl",
    "advanced micro devices": "amd",
    "bank of america": "bac",
    "best buy": "bby",
    "chevron": "cvx",
    "general electric": "ge",
    "home depot": "hd",
    "johnson & johnson": "jnj",
    "johnson and johnson": "jnj",
    "jpmorgan": "jpm",
    "jpmorgan chase": "jpm",
    "coca-cola": "ko",
    "eli lilly": "lly",
    "merck": "mrk",
    "microsoft": "msft",
    "pepsico": "pep",
    "pfizer": "pfe",
    "procter & gamble": "pg",
    "procter and gamble": "pg",
    "range resources": "rrc",
    "unitedhealth": "unh",
    "walmart": "wmt",
    "exxon": "xom",
    "exxonmobil": "xom",
    "exxon mobil": "xom",
    "alphabet": "googl",
    "nvidia": "nvda",
    "tesla": "tsla",
    "nike": "nke",
}
_COINS: Final[Mapping[str, str]] = {
    "bitcoin": "btc",
    "ethereum": "eth",
    "ether": "eth",
    "ripple": "xrp",
    "solana": "sol",
    "cardano": "ada",
    "dogecoin": "doge",
    "litecoin": "ltc",
    "chainlink": "link",
    "polkadot": "dot",
    "avalanche": "avax",
}
# Words of three or four letters that are no coin stand in many names, and so codes of coins are listed.
_COIN_CODES: Final = frozenset(
    {
        *_COINS.values(),
        *[
            "bnb",
            "trx",
            "bch",
            "xlm",
            "uni",
            "atom",
            "etc",
            "fil",
            "near",
            "algo",
            "xmr",
            "zec",
            "shib",
            "hbar",
            "icp",
            "aave",
        ],
    }
)
GENERIC: Final = frozenset({"open", "high", "low", "close", "volume", "adj_close", "price", "value", "label", "class"})
"""Names that say nothing about whose series they are."""
_TENOR: Final = re.compile(r"(?<![\d.])(\d{1,3})[\s_-]?(months?|mos?|m|years?|yrs?|y)(?![a-z])")
# What may stand beside a tenor in the name of a yield; with any other word it is another series, as a 10-year average.
_TENOR_WORDS: Final = re.compile(
    r"\b(us|u\.s\.|treasury|treasuries|yields?|rates?|constant|maturity|maturities|par|zero"
    r"|coupon|notes?|bonds?|bills?|tenors?|cmt|the|at|of)\b"
)
_FRED: Final = re.compile(r"d?gs(\d{1,2})(mo)?")
"""Treasury yields by their codes at the Federal Reserve Bank of St. Louis: DGS10, GS3MO."""


def canonical(name: str) -> str:
    """The one name that a series has here, however a paper writes it: ``10y`` for *DGS10* and *ten-year constant
    maturity*, ``eur_usd`` for *EUR/USD*, ``aapl`` for *Apple Inc.*; any other name in lower case with underscores.
    """
    text = " ".join(name.lower().split())
    for word, digits in _NUMBERS.items():
        text = re.sub(rf"\b{word}\b", digits, text)
    if match := _FRED.fullmatch(text):
        return match[1] + ("m" if match[2] else "y")
    if (match := _TENOR.search(text)) and not re.search(r"[a-z]", _TENOR_WORDS.sub("", _TENOR.sub("", text))):
        return f"{int(match[1])}{match[2][0]}"
    for known in (_pair(text), _coin(text), _company(text)):
        if known:
            return known
    return re.sub(r"[^a-z0-9]+", "_", text).strip("_")


def _pair(text: str) -> str:
    """The name of a pair of currencies; empty for any other text."""
    letters = re.sub(r"(=x|\bexchange rate\b|\bspot\b|[^a-z])", "", text)
    if len(letters) == 6 and {letters[:3], letters[3:]} <= _CURRENCIES:
        return f"{letters[:3]}_{letters[3:]}"
    return ""


def _coin(text: str) -> str:
    """The code of a coin, which may be named with the dollars that it is quoted in; empty for any other text."""
    if text in _COINS:
        return _COINS[text]
    head = re.sub(r"[/_-]?(usdt|usdc|usd|busd)$", "", text)
    return head if (head in _COIN_CODES and head != text) or text in _COIN_CODES else ""


def _company(text: str) -> str:
    """The ticker of a company that is known, or whose ticker stands in brackets; empty for any other text."""
    plain = re.sub(r"[,.]|\b(inc|corp|corporation|company|co|plc|ltd|the)\b", "", text)
    plain = " ".join(plain.split())
    if plain in _COMPANIES:
        return _COMPANIES[plain]
    inside = re.search(r"\(([a-z]{1,5})\)", text)
    return inside[1] if inside else ""


def matched(wanted: Iterable[str], held: Iterable[str]) -> dict[str, str]:
    """The series that are held, by the names of the wanted ones that they are.

    Args:
        wanted: names as a paper writes them.
        held: names as the data have them.

    Returns:
        The held name by the wanted name; wanted series that are not held are missing.
    """
    by_name = {canonical(name): name for name in held}
    exact = {name: name for name in held}
    matches = {}
    for name in wanted:
        key = canonical(name)
        # Of bars, a name alone means the close.
        same = exact.get(name) or by_name.get(key) or by_name.get(f"{key}_close")
        if same is not None:
            matches[name] = same
    return matches
