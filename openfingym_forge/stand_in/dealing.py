"""Rules of the stand-in that read a paper's terms of trading: costs, money, limits."""

from __future__ import annotations

import re

from openfingym_forge.stand_in.sentences import Claims, Sentence
from openfingym_forge.stand_in.words import NUMBER, number_of

_BPS = rf"({NUMBER})\s*(basis points?|bps?\b|bp\b|%|percent|per cent)"
"""A number in basis points or in percent."""
_COSTS = {
    "contract.slippage_bps": r"slippage",
    "contract.borrow_bps_per_year": r"borrow|stock loan|lending fee|shorting cost",
    "contract.fee_bps": (
        r"\bfees?\b|commission|transaction costs?|trading costs?|proportional cost|"
        r"brokerage|\bcosts?\b"
    ),
}
_LIMITS = {
    "contract.max_participation": r"volume|participation",
    "contract.max_short": r"short",
}


def read_dealing(sentences: list[Sentence], claims: Claims) -> None:
    """Claim the terms of a trading paper."""
    for sentence in sentences:
        if sentence.ours:
            _costs(sentence, claims)
            _money(sentence, claims)
            _limits(sentence, claims)


def _costs(sentence: Sentence, claims: Claims) -> None:
    """Claim each rate as the cost whose word stands nearest to it, with no other rate between."""
    spans = list(re.finditer(_BPS, sentence.low))
    for match in spans:
        value = number_of(match[1]) * (1 if match[2].startswith(("basis", "bp")) else 100)
        near: list[tuple[int, str]] = []
        for name, pattern in _COSTS.items():
            for word in re.finditer(pattern, sentence.low):
                # A word behind the number counts as further away: "a fee of 10 bps" is the usual order.
                distance = (
                    match.start() - word.end() if word.end() <= match.start() else (word.start() - match.end()) + 3
                )
                between = sentence.low[min(word.end(), match.end()) : max(word.start(), match.start())]
                crossed = any(
                    min(word.start(), match.start()) < other.start() < max(word.start(), match.start())
                    for other in spans
                    if other is not match
                )
                if 0 <= distance < 70 and not crossed and "volume" not in between:
                    near.append((distance, name))
        if near and value <= 1000 and "of the volume" not in sentence.low[match.end() : match.end() + 20]:
            claims.add(min(near)[1], float(value), sentence.text)
    if re.search(
        r"(?:no|without|zero|free of) (?:\w+ )?(?:transaction costs?|fees?|commission|trading costs?)", sentence.low
    ):
        claims.add("contract.fee_bps", 0.0, sentence.text)


def _money(sentence: Sentence, claims: Claims) -> None:
    patterns = (
        (
            rf"(?:initial|start\w*|begin\w*|endow\w*)\s[^.;\d$]{{0,50}}(?:\$|usd\s?|us "
            rf"dollars\s?)?\s?({NUMBER})\s*(million|thousand|k\b)?"
        ),
        (
            rf"(?:\$|usd\s?)\s?({NUMBER})\s*(million|thousand|k\b)?\s*(?:of\s+|"
            rf"in\s+)?(?:\w+\s+){{0,2}}(?:cash|capital|wealth)"
        ),
        rf"(?:cash|capital|wealth)\s(?:of|is)\s(?:\$|usd\s?)?\s?({NUMBER})\s*(million|thousand|k\b)?",
    )
    if not re.search(r"cash|capital|wealth|dollar|money|\$", sentence.low):
        return
    for pattern in patterns:
        match = re.search(pattern, sentence.low)
        if match and number_of(match[1]) * {"million": 1e6, "thousand": 1e3, "k": 1e3}.get(match[2] or "", 1) >= 1000:
            claims.add(
                "contract.initial_cash",
                number_of(match[1]) * {"million": 1e6, "thousand": 1e3, "k": 1e3}.get(match[2] or "", 1),
                sentence.text,
            )
            return


def _limits(sentence: Sentence, claims: Claims) -> None:
    for name, pattern in _LIMITS.items():
        if not re.search(pattern, sentence.low):
            continue
        clauses = re.split(r";|, (?:and|while|but)\b", sentence.low)
        clause = next((part for part in clauses if re.search(pattern, part)), sentence.low)
        of = r"\s+of" if name == "contract.max_short" else ""
        match = re.search(rf"({NUMBER})\s*(?:%|percent|per cent){of}", clause)
        if match:
            claims.add(name, number_of(match[1]) / 100, sentence.text)
        elif name == "contract.max_short" and re.search(
            (
                r"(?:once|one times?|1(?:\.0)? times?|exceed) (?:the |its |their )?(?:\w+ "
                r")?(?:wealth|equity|capital)|up to (?:the )?(?:full )?(?:value of (?:the|its) "
                r"(?:account|portfolio)|wealth|equity|account)"
            ),
            clause,
        ):
            claims.add(name, 1.0, sentence.text)
        elif name == "contract.max_short" and re.search(
            (
                r"short (?:sales?|positions?|selling) (?:is|are) (?:not allowed|forbidden|"
                r"prohibited|excluded)|no short|long[- ]only"
            ),
            clause,
        ):
            claims.add(name, 0.0, sentence.text)
        elif name == "contract.max_participation":
            word = re.search(r"\b(?:a|one) (tenth|fifth|quarter|half|twentieth)\b", clause)
            if word:
                claims.add(
                    name,
                    {"tenth": 0.1, "fifth": 0.2, "quarter": 0.25, "half": 0.5, "twentieth": 0.05}[word[1]],
                    sentence.text,
                )
