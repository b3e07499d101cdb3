"""Rules of the stand-in that read what a paper is about, and which data it has."""

from __future__ import annotations

import re

from openfingym_forge.stand_in.sentences import Claims, Sentence
from openfingym_forge.stand_in.series import read_series
from openfingym_forge.stand_in.words import DATE, NUMBER, day_of, number_of

_FAMILY = {
    "trading": (
        r"\b(?:trad(?:e|es|ing|er)\b|portfolio|rebalanc|buy[ -]and[ -]hold|sharpe|allocat|"
        r"transaction cost|execut)"
    ),
    "fraud": r"fraud|anomal|launder|fake|suspicious|spam|illicit|scam|collus|abus",
    "generation": r"generat(?!ed by|or of)|simulat(?:e|es|ing|or)|synthe|sample paths|scenario|\bgan\b|diffusion model",
    "forecasting": r"forecast|predict|ahead|nowcast",
}
_ASSETS = {
    "graph": r"\bgraphs?\b|\bnodes?\b|\bedges?\b",
    "crypto": r"bitcoin|crypto|\bbtc|ethereum|coins?\b",
    "rates": r"treasur|yield curve|\byields?\b|interest rate|swap rate|maturit|gilt|\bbund",
    "fx": r"exchange rate|currenc|foreign exchange|\bfx\b|forex",
    "commodity": r"commodit|\boil\b|\bgold\b|copper|metal|freight|crude|natural gas|wheat|dry bulk",
    "lob": r"limit order|order book|\blob\b",
    "equity": r"\bstocks?\b|equit|\bshares of\b|s&p|companies|large caps?",
    "synthetic": (
        r"ornstein|uhlenbeck|geometric brownian|\bsde\b|simulated (?:path|process|data)|"
        r"synthetic (?:data|path|process)|mean-reverting|diffusion process|heston"
    ),
}
_FREQUENCY = {
    "intraday": r"\b(?:intra-?day|minute(?:ly)?|tick-by-tick)\b",
    "hourly": r"\bhour(?:ly|s)?\b",
    "daily": r"\bdaily\b|\btrading days?\b|\bbusiness days?\b|\bdays?\b|end-of-day|each day|every day",
    "weekly": r"\bweek(?:ly|s)?\b",
    "monthly": r"\bmonth(?:ly|s)?\b",
}
_LICENCE = re.compile(
    r"CC[- ]BY(?:-(?:NC|SA|ND))*(?:[- ]\d\.\d)?|CC0(?:[- ]1\.0)?|public domain|ODbL|"
    r"ODC-By|BSD-\d-Clause|\bMIT\b(?= licen[cs]e)|Apache(?: License)?[- ,]*(?:2\.0)?|"
    r"Creative Commons [A-Za-z \-]+\d\.\d|GPL(?:v\d)?|Open Government Licen[cs]e",
)


def read_subject(title: str, sentences: list[Sentence], claims: Claims) -> None:
    """Claim family, asset class and frequency: those that most of the text is about."""
    head = f"{title}. " + " ".join(sentence.low for sentence in sentences[:12])
    whole = " ".join(sentence.low for sentence in sentences)
    low = head.lower()

    # The title and the first sentences say what a paper is about; of the rest, many words are about others' work.
    def weight(pattern: str) -> float:
        return (
            6 * len(re.findall(pattern, title.lower()))
            + 2 * len(re.findall(pattern, low))
            + len(re.findall(pattern, whole)) / 4
        )

    for name, choices in (("family", _FAMILY), ("asset_class", _ASSETS)):
        scores = {value: weight(pattern) for value, pattern in choices.items()}
        best = max(scores, key=lambda value: scores[value])
        if scores[best] > 0:
            quotes = [
                sentence.text
                for sentence in sentences
                if re.search(choices[best], sentence.low) and not _is_title(sentence)
            ]
            if quotes or re.search(choices[best], title.lower()):
                claims.add(name, best, quotes[0] if quotes else title)
    if claims.first("asset_class") in {"graph", "synthetic"} and claims.first("family") in {"fraud", "generation"}:
        return
    _frequency(sentences, claims)


def _is_title(sentence: Sentence) -> bool:
    """Whether it is a title or a name, and no sentence."""
    return sentence.number <= 2 and not sentence.text.rstrip().endswith((".", "!", "?"))


def _frequency(sentences: list[Sentence], claims: Claims) -> None:
    scores: dict[str, float] = {}
    quotes: dict[str, str] = {}
    for sentence in sentences:
        for value, pattern in _FREQUENCY.items():
            strong = re.search(rf"\b{value}\b", sentence.low) is not None
            count = len(re.findall(pattern, sentence.low))
            if not count or not sentence.ours:
                continue
            about = (
                3.0
                if re.search(r"data|series|sample|clos|price|yield|rate|return|observ|fixing|quot", sentence.low)
                else 1.0
            )
            scores[value] = scores.get(value, 0) + count * about * (3 if strong else 0.5)
            if strong or value not in quotes:
                quotes.setdefault(f"{value}!" if strong else value, sentence.text)
    if scores:
        best = max(scores, key=lambda value: scores[value])
        claims.add("frequency", best, quotes.get(f"{best}!") or quotes[best])


def read_data(sentences: list[Sentence], text: str, claims: Claims) -> None:
    """Claim the data's series, range, source, licence, address and unit, and what their values are."""
    for sentence in sentences:
        if sentence.ours:
            _range(sentence, claims)
            read_series(sentence, claims)
            _origin(sentence, claims)
            _semantics(sentence, claims)
    if "data.start" not in claims.fields:
        for sentence in sentences:
            _range(sentence, claims)
    for match in re.finditer(r"https?://[^\s<>\"'){}\]]+", text):
        address = match[0].rstrip(".,;")
        if re.search(r"csv|data|download|json|zip|xls", address.lower()) and "data.url" not in claims.fields:
            claims.add("data.url", address, address)


_JOIN = (
    r"\s*(?:,?\s*(?:to|until|till|through|and|up to|–|—|-{1,3}|ending|ends?)(?:\s+(?:the end of|in|on|at|with))?)\s*"
)
_RANGE = re.compile(rf"({DATE}){_JOIN}({DATE})", re.IGNORECASE)
_DATA = (
    r"data|sample|series|rates?\b|price|yield|clos|observ|quot|fixing|panel|record|"
    r"bars|histor|curve|period|extend|span|cover|run|range"
)


def _range(sentence: Sentence, claims: Claims) -> None:
    """Claim the first and last day of the data, where a sentence says them."""
    text = " ".join(sentence.text.split())
    both = re.search(r"\b(?:begin|start|first|from|earliest)\b.*\b(?:latest|end|last|until|to|through)\b", sentence.low)
    if re.search(r"\b(?:first|last) (?:day|observation|date|week|row)\b", sentence.low) and not both:
        _ends(text, sentence, claims)
        return
    if not (re.search(_DATA, sentence.low) or both) or re.search(r"crisis|recession|pandemic", sentence.low):
        return
    tested = re.search(
        r"(?:test|train|validation|evaluation)\w*\s+(?:set|period|sample|part|block|years|on)", sentence.low
    )
    match = _RANGE.search(text)
    spans = (match[1], match[2]) if match else None
    if spans is None:
        dates = list(re.finditer(DATE, text, re.IGNORECASE))
        first = (
            re.search(r"(?:from|begin\w*|start\w*|since|first)\b[^.;]{0,60}$", text[: dates[0].start()], re.IGNORECASE)
            if dates
            else None
        )
        if (
            len(dates) == 2
            and first
            and re.search(
                r"\b(?:end|last|until|to|through|final)", text[dates[0].end() : dates[1].start()], re.IGNORECASE
            )
        ):
            spans = (dates[0][0], dates[1][0])
    said = re.findall(DATE, text, re.IGNORECASE)
    if spans is None and len(said) == 2 and re.search(r"earliest.*latest", text):
        spans = (said[0], said[1])
    if spans is None or tested:
        _ends(text, sentence, claims)
        return
    start, end = day_of(spans[0]), day_of(spans[1])
    if start and end and start.first < end.last:
        claims.add("data.start", start.first.isoformat(), sentence.text)
        claims.add("data.end", end.last.isoformat(), sentence.text)


def _ends(text: str, sentence: Sentence, claims: Claims) -> None:
    """Claim one end of the range, where a sentence says it alone."""
    for name, pattern in (
        (
            "data.start",
            rf"(?:sample|data|series|panel|histor\w+)\s+(?:begins?|starts?)\s+(?:on|in|at|with)\s+(?:the\s+)?({DATE})",
        ),
        (
            "data.end",
            (
                rf"(?:sample|data|series|panel|observations?)\s+(?:ends?|stops?|(?:end|run)s? "
                rf"(?:on|until|through))\s+(?:on\s+|in\s+)?({DATE})"
            ),
        ),
        ("data.end", rf"last (?:day|observation|date|week|row)[^.;\d]{{0,30}}({DATE})"),
        ("data.start", rf"first (?:day|observation|date|week|row)[^.;\d]{{0,30}}({DATE})"),
    ):
        match = re.search(pattern, text, re.IGNORECASE)
        day = day_of(match[1]) if match else None
        if day:
            claims.add(name, (day.first if name == "data.start" else day.last).isoformat(), sentence.text)


_ORIGIN = re.compile(
    r"(?:obtained|taken|downloaded|collected|retrieved|sourced|drawn|published|"
    r"released|provided|distributed|compiled|available|are|come|comes|is)"
    r"\s+(?:\w+\s+){0,2}?(?:from|by|at|in)\s+(?:the\s+)?((?:[A-Z]|"
    r"[a-z0-9]+[_-])[\w.&'’\-]*(?:\s+(?:of|the|for|and|[A-Z][\w.&'’\-]*|data|package|"
    r"set|dataset|library))*)"
)
_NO_SOURCE = re.compile(
    r"^(?:Table|Section|Figure|Appendix|Equation|Eq|January|February|March|April|May|"
    r"June|July|August|September|October|November|December|We|The)\b"
)


def _origin(sentence: Sentence, claims: Claims) -> None:
    """Claim licence, columns, number of rows, source and kind of the data."""
    text = " ".join(sentence.text.split())
    licences = [match[0].strip(" ,") for match in _LICENCE.finditer(text)]
    if licences:
        claims.add("data.licence", min(licences, key=len), sentence.text)
    columns = re.search(r"\bcolumns? (?:are|is|named|called|:)[:\s]+((?:[\w.]+, )+[\w.]+,? and [\w.]+)", text)
    if columns:
        names = re.split(r",? and |, ", columns[1].rstrip("."))
        claims.add("data.columns", names, sentence.text)
        series = [name for name in names if not re.fullmatch(r"(?i)date|day|time|timestamp|week|month|year|id", name)]
        if "data.series" not in claims.fields and series:
            claims.add("data.series", series, sentence.text)
    rows = re.search(
        rf"({NUMBER})\s+(?:daily\s+|weekly\s+|monthly\s+)?(?:observations|rows|data points)\b", sentence.low
    )
    if rows and number_of(rows[1]) > 20 and re.search(r"sample|data|panel|series|total", sentence.low):
        claims.add("data.observations", int(number_of(rows[1])), sentence.text)
    match = _ORIGIN.search(text)
    if (
        match
        and re.search(r"data|yield|price|rate|clos|series|bars|graph|quot|fixing|curve", sentence.low)
        and not _NO_SOURCE.match(match[1])
    ):
        name = re.sub(r"\s+(?:of|the|for|and)$", "", match[1].strip().rstrip("."))
        claims.add("data.source", name, sentence.text)
    elif (
        re.search(r"\b(?:dataset|data set|graph) (?:of|by|called|named)\b", sentence.low)
        and "data.source" not in claims.fields
    ):
        named = re.search(
            r"\b([A-Z]\w+(?:\s[A-Z]\w+){0,3})\s+(?:graph|data ?set|corpus|benchmark)|(?:called|named)\s+([A-Z]\w+)",
            text,
        )
        if named:
            claims.add("data.source", named[1] or named[2], sentence.text)
    if re.search(
        (
            r"(?:data|path|sample|series|trajector|process|graph)\w*\s+(?:\w+\s+){0,4}?(?:are|"
            r"is|were|was)\s+(?:\w+\s+){0,2}?(?:simulated|generated|synthetic|drawn)|"
            r"simulated (?:data|path|graph|series|stand-in)|stand-in|we simulate|specified by|"
            r"simulated (?:counterpart|version|copy|twin|panel|market)"
        ),
        sentence.low,
    ):
        specified = claims.first("asset_class") == "synthetic"
        claims.add("data.kind", "specified" if specified else "simulated", sentence.text)


def _semantics(sentence: Sentence, claims: Claims) -> None:
    """Claim what the values are, such as log returns or yields in levels, and their unit."""
    low = sentence.low
    asset = claims.first("asset_class")
    about = re.search(
        (
            r"forecast|predict|target|model|(?:done|everything) in|work with|analy|turned into|transform|convert|"
            r"express|comput|generat|measured|quoted|unit|percent"
        ),
        low,
    )
    if not about or claims.first("family") in {"fraud", "trading"}:
        return
    name = "contract.value_semantics"
    if re.search(
        (
            r"log(?:arithmic)?[\s-]*(?:return|change|difference|growth)|logarithms? of (?:\w+ "
            r"){0,3}(?:ratio|relative)|differences? of (?:the )?log"
        ),
        low,
    ):
        if not re.search(r"\bnot\b[^,;]{0,40}return", low):
            claims.add(name, "log_return", sentence.text)
    elif re.search(r"realis?z?ed volatil", low):
        claims.add(name, "realised_vol", sentence.text)
    elif asset == "rates" and re.search(
        r"percent|yields? (?:them|in level)|levels?\b|forecast (?:\w+ ){0,4}yield|yields (?:\w+ ){0,5}ahead|par yield",
        low,
    ):
        claims.add(name, "yield_level", sentence.text)
    elif asset in {"fx", "equity", "commodity", "crypto"} and re.search(
        (
            r"\blevels?\b|prices? themselves|rates? themselves|price paths|paths of (?:\w+ "
            r"){0,3}prices|not (?:\w+ ){0,3}(?:returns|differenc)"
        ),
        low,
    ):
        claims.add(name, "price_level", sentence.text)
    unit = re.search(
        r"percent per annum|per cent per annum|percent a year|percentage points|basis points per annum|annual percent",
        low,
    )
    if unit and "contract.unit" not in claims.fields and asset == "rates":
        claims.add("contract.unit", "percent per annum" if "point" not in unit[0] else unit[0], sentence.text)
    deviations = re.search(
        r"(?:in (?:units of )?|unit is |units are )((?:standard deviations|multiples) of [\w ]{3,40}?)(?=[.,;)]|$)", low
    )
    if deviations:
        claims.add("contract.unit", deviations[1].strip(), sentence.text)
