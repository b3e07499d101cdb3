"""Names and symbols of companies that do not exist, put together from syllables; none comes twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from openfingym_suites.finsearch.world.draws import stream

_WESTERN = (
    ("Bal", "Bren", "Cal", "Cor", "Dal", "Dorn", "Elv", "Fen", "Gal", "Hal", "Ist", "Jor", "Kel", "Lor", "Mar", "Nor",
     "Ost", "Pel", "Quar", "Rav", "Sar", "Tar", "Ulm", "Vel", "Wex", "Yar", "Zor", "Thel", "Drav", "Gren"),
    ("a", "e", "i", "o", "u", "an", "en", "or", "il", "ar"),
    ("brix", "cott", "dane", "fell", "grove", "holm", "keth", "lund", "mere", "nath", "quist", "rick", "sk", "thorn",
     "vane", "wick", "vost", "mund", "lask", "trel"),
)  # fmt: skip
_CHINESE = (
    ("Bo", "Cang", "Chen", "Dai", "Fei", "Guang", "Han", "Heng", "Jia", "Jing", "Kai", "Lan", "Lin", "Ming", "Mu",
     "Ning", "Pei", "Qin", "Rui", "Shuo", "Song", "Tai", "Wan", "Xin", "Xuan", "Yan", "Yi", "Yun", "Ze", "Zhen"),
    ("",),
    ("an", "bei", "chuan", "deng", "fang", "gao", "hai", "huan", "jun", "ke", "lai", "lu", "mo", "pu", "qi", "ran",
     "sui", "tan", "wei", "yao", "yue", "zhou", "heng", "lang", "ping"),
)  # fmt: skip
_JAPANESE = (
    ("Aka", "Ama", "Fuku", "Haru", "Hoshi", "Iwa", "Kawa", "Kiri", "Kuro", "Matsu", "Mine", "Mizu", "Naka", "Oku",
     "Sawa", "Shira", "Sugi", "Taka", "Tani", "Toki", "Tomi", "Ume", "Waka", "Yoshi"),
    ("",),
    ("be", "dori", "gami", "hara", "hata", "jima", "kubo", "mori", "mura", "nami", "numa", "saki", "sato", "shiro",
     "tsuka", "waki", "yasu", "zono"),
)  # fmt: skip
_SYLLABLES = {"US": _WESTERN, "UK": _WESTERN, "DE": _WESTERN, "FR": _WESTERN, "SG": _WESTERN, "CN": _CHINESE,
              "HK": _CHINESE, "JP": _JAPANESE}  # fmt: skip
_FORMS = {"US": "Inc", "CN": "Co", "HK": "Holdings", "JP": "Corp", "UK": "plc", "DE": "SE", "FR": "SA", "SG": "Ltd"}


def stems(seed: int) -> Iterator[tuple[str, Iterator[str]]]:
    """For each economy, an endless supply of first words of names. No word comes twice in a world.

    Args:
        seed: the number from which every random draw of the world follows.

    Yields:
        The code of an economy, and the iterator of its words.
    """
    # One set for all economies, from which words are drawn as they are asked for.
    taken: set[str] = set()
    for code, parts in _SYLLABLES.items():
        yield code, _drawn(parts, stream(seed, "names", code), taken)


def _drawn(parts: tuple[tuple[str, ...], ...], rng: np.random.Generator, taken: set[str]) -> Iterator[str]:
    while True:
        word = "".join(part[int(rng.integers(len(part)))] for part in parts)
        if word.casefold() not in taken:
            taken.add(word.casefold())
            yield word


def full_name(code: str, stem: str, ending: str) -> str:
    """A company's name, such as ``Halamere Devices Inc``.

    Args:
        code: code of the economy, which decides the legal form.
        stem: first word of the name.
        ending: word for the business of the company.
    """
    return f"{stem} {ending} {_FORMS[code]}"


class Symbols:
    """Makes symbols from names. No two are the same, and the ending keeps them apart from those of real exchanges."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, code: str, stem: str, number: int) -> str:
        """The symbol of a company.

        Args:
            code: code of the company's economy.
            stem: first word of its name.
            number: its place among the companies of its economy, from 0.
        """
        # Symbols are numbers there. 7 has no divisor in common with the primes 997 and 9973, so none comes twice.
        if code in {"CN", "HK", "JP"}:
            digits = {
                "CN": 660_000 + number * 7 % 9973,
                "HK": 76_000 + number * 7 % 997,
                "JP": 2_000 + number * 7 % 997,
            }
            return f"{digits[code]}.{code}"
        # First letter and consonants, such as HLMR of Halamere; a further letter tells those apart that are the same.
        letters = stem.upper()
        short = letters[0] + "".join(letter for letter in letters[1:] if letter not in "AEIOU")[:3]
        for extra in ("", *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
            symbol = f"{short}{extra}.{code}"
            if symbol not in self._taken:
                self._taken.add(symbol)
                return symbol
        raise AssertionError(f"more than 27 companies are called like {stem}")
