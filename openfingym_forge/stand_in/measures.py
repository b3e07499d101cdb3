"""Rules of the stand-in that read a paper's metrics, its table of results, and the methods that it compares."""

from __future__ import annotations

import re

from openfingym_forge.stand_in.sentences import Sentence
from openfingym_forge.stand_in.words import NUMBER, SHARE, number_of, share_of

_KNOWN = {
    "MSE": r"mean[\s-]squared?[\s-](?:forecast[\s-])?error|\bMSE\b",
    "RMSE": r"root[\s-]mean[\s-]squared?[\s-](?:forecast[\s-])?error|\bRMSE\b",
    "MAE": r"mean[\s-]absolute[\s-](?:forecast[\s-])?error|\bMAE\b",
    "MAPE": r"mean[\s-]absolute[\s-]percentage[\s-]error|\bMAPE\b",
    "Directional accuracy": r"directional[\s-]accuracy|hit[\s-]rate|share of (?:correct|right) signs",
    "Sharpe ratio": r"Sharpe[\s-]ratio",
    "Sortino ratio": r"Sortino[\s-]ratio",
    "Maximum drawdown": r"max(?:imum|imal)?\.?[\s-]draw-?down",
    "Total return": r"(?:total|cumulative)[\s-]return",
    "AUROC": r"\bAU-?ROC\b|\bROC[\s-]AUC\b|area under the (?:receiver|ROC)",
    "Average precision": r"average[\s-]precision|area under the precision",
    "F1": r"\bF1\b",
    "Pinball loss": r"pinball|quantile[\s-]loss",
    "CRPS": r"\bCRPS\b|continuous ranked probability",
}
_NO_METRIC = re.compile(
    (
        r"^(?:#|no\.?|n|param\w*|time|seconds?|runtime|rank|year|horizon|model|method|"
        r"params|layers|trades?|turnover|epochs?|p-?values?|"
        r"std\.?|s\.?d\.?|mean|min|max|median|count|obs\w*|rows?|days?|nodes|edges|"
        r"features|first|last|series|from|to|start|end|share)$"
    ),
    re.IGNORECASE,
)
_NUMERIC = re.compile(r"^[-−+]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?\s?(?:%|\*+)?$|^[-−+]?\.\d+$")
_LOW = r"lower|smaller|minimi[sz]|least|smallest|lowest|\bless\b|\blow\b|zero is (?:best|perfect)|error"
_HIGH = r"higher|larger|greater|maximi[sz]|highest|largest|\bmore\b|\bhigh\b|one is (?:best|perfect|the largest)"
Table = list[list[str]]
Figures = dict[str, list[dict[str, object]]]
"""Figures of each metric: the method, the value, and the row that says so."""


def read_tables(text: str) -> list[Table]:
    """Tables of the prompt: rows of cells between bars."""
    made: list[Table] = []
    for block in re.split(r"\n\s*\n", text):
        rows = [[cell.strip() for cell in line.split("|")] for line in block.splitlines() if "|" in line]
        if len(rows) >= 2:
            made.append(rows)
    return made


def _results(tables: list[Table]) -> Table | None:
    """The table whose rows are methods and whose columns are metrics."""
    for table in sorted(tables, key=lambda sentence: -_numeric_cells(sentence)):
        header, *rows = table
        if len(header) < 2 or not rows or _NUMERIC.match(header[1]):
            continue
        if any(_is_metric(name) for name in header[1:]) and _numeric_cells(table) >= len(rows):
            named = re.search(
                (
                    r"model|method|forecast|approach|strateg|generator|detector|network|agent|^$|"
                    r"baseline|policy|rule|score"
                ),
                header[0].lower(),
            )
            if named or not re.match(r"series|tenor|currency|stock|year|period", header[0].lower()):
                return table
    return None


def _numeric_cells(table: Table) -> int:
    return sum(bool(_NUMERIC.match(cell)) for row in table[1:] for cell in row[1:])


def _is_metric(name: str) -> bool:
    return bool(name) and not _NO_METRIC.match(name.strip()) and any(letter.isalpha() for letter in name)


def read_metrics(
    sentences: list[Sentence], tables: list[Table]
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Metrics with what is said of them, and the methods of the table of results."""
    table = _results(tables)
    names, figures, baselines = ([], {}, []) if table is None else _read_results(table)
    names = names or _metrics_named(sentences)
    return [_metric(name, sentences, figures.get(name, []), names) for name in names], baselines


def _read_results(table: Table) -> tuple[list[str], Figures, list[dict[str, object]]]:
    """Names of the metrics, the figures of each, and the methods, of a table of results."""
    figures: Figures = {}
    baselines: list[dict[str, object]] = []
    header, *rows = table
    columns = [(number, _clean(name)) for number, name in enumerate(header) if number and _is_metric(_clean(name))]
    columns = [
        (number, name)
        for number, name in columns
        if any(len(row) > number and _NUMERIC.match(row[number]) for row in rows)
    ]
    for row in rows:
        if not row[0] or _NUMERIC.match(row[0]) or not any(_NUMERIC.match(cell) for cell in row[1:]):
            continue
        quote = " ".join(cell for cell in row if cell)
        baselines.append({"value": row[0], "quote": row[0]})
        for number, name in columns:
            if len(row) > number and _NUMERIC.match(row[number]):
                value = float(re.sub(r"[^\d.e-]", "", row[number].replace("−", "-")) or "nan")
                figures.setdefault(name, []).append({"baseline": row[0], "value": value, "quote": quote})
    return list(dict.fromkeys(name for _, name in columns)), figures, baselines


def _metrics_named(sentences: list[Sentence]) -> list[str]:
    """Known metrics that the text says it uses, for a paper without a table of results."""
    about = r"evaluat|measur|metric|criteri|report|judg|score|compar|loss|rank"
    texts = [sentence.text for sentence in sentences if sentence.ours and re.search(about, sentence.low)]
    names = [name for name, pattern in _KNOWN.items() if any(re.search(pattern, text, re.IGNORECASE) for text in texts)]
    # "Root mean squared error" holds the words of the mean squared error too.
    alone = any(re.search(r"(?<!root )mean[\s-]squared|\bMSE\b", text) for text in texts)
    if "RMSE" in names and "MSE" in names and not alone:
        names.remove("MSE")
    return names


def _clean(name: str) -> str:
    """A column's name without units and arrows."""
    return re.sub(r"\s*(?:\((?:%|in [^)]*|bps?|x ?10[^)]*)\)|[↑↓]|\\(?:up|down)arrow)\s*", " ", name).strip()


def _aliases(name: str, sentences: list[Sentence]) -> str:
    """A pattern for a metric's name, its usual long form, and the long form that stands before it in brackets."""
    patterns = [rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])"]
    patterns += [
        pattern
        for known, pattern in _KNOWN.items()
        if known.lower() == name.lower() or re.search(pattern, name, re.IGNORECASE)
    ]
    for sentence in sentences:
        text = " ".join(sentence.text.split())
        long = re.search(rf"((?:[\w-]+\s+){{1,5}}[\w-]+),?\s*\(?\\?(?:text|mathrm)?{{?{re.escape(name)}}}?\)", text)
        if long:
            words = long[1].split()[-max(2, min(len(name), 4)) :]
            patterns.append(r"[\s-]+".join(re.escape(word) for word in words))
    return "|".join(patterns)


def _metric(
    name: str, sentences: list[Sentence], figures: list[dict[str, object]], names: list[str]
) -> dict[str, object]:
    """A metric with what the text says of it: its formula, its direction and its weight among all of them."""
    made: dict[str, object] = {"name": name, "figures": figures}
    pattern = _aliases(name, sentences)
    about = [sentence for sentence in sentences if re.search(pattern, sentence.text, re.IGNORECASE)]
    # A formula in signs, or else a definition in words.
    signs = r"\\|\||\bmean|sum|sqrt|\^|/|\("
    formula = next(
        (sentence for sentence in about if "=" in sentence.text and re.search(signs, sentence.text)), None
    ) or next(
        (
            sentence
            for sentence in about
            if re.search(r"\b(?:is|are|denotes?|averages?|defined as|equals|i\.e\.)\b", sentence.low)
            and sentence.ours
            and not re.search(r"table", sentence.low)
        ),
        None,
    )
    if formula is not None:
        made["formula"] = {"value": " ".join(formula.text.split()), "quote": formula.text}
    direction = _direction(about, sentences)
    if direction is not None:
        made["direction"] = direction
    weight = _weight(name, pattern, sentences, names)
    if weight is not None:
        made["weight"] = weight
    return made


def _direction(about: list[Sentence], sentences: list[Sentence]) -> dict[str, object] | None:
    after = [near for sentence in about for near in sentences[sentence.number : sentence.number + 2]]
    for sentence in [*about, *after]:
        low, high = re.search(_LOW.replace("|error", ""), sentence.low), re.search(_HIGH, sentence.low)
        others = re.search(r"table|model|network|return of", sentence.low) and not re.search(
            r"better|best|minimi|maximi|worse|perfect|smaller is|lower is", sentence.low
        )
        if (
            bool(low) != bool(high)
            and not others
            and re.search(
                r"better|best|minimi|maximi|perfect|worse|largest possible|desir|good|prefer|is to be", sentence.low
            )
        ):
            if (
                sentence in after
                and sentence not in about
                and not re.search(
                    (
                        r"^(?:it|both|all|lower|smaller|higher|larger|the (?:lower|smaller|higher|"
                        r"larger))|\bboth\b|\ball\b"
                    ),
                    sentence.low,
                )
            ):
                continue
            return {"value": "lower" if low else "higher", "quote": sentence.text}
    return None


def _weight(name: str, pattern: str, sentences: list[Sentence], names: list[str]) -> dict[str, object] | None:
    if len(names) == 1:
        sole = next(
            (
                sentence
                for sentence in sentences
                if re.search(r"\b(?:only|sole|single)\b[^.]{0,40}(?:metric|criteri|measure|score|loss)", sentence.low)
            ),
            None,
        )
        return {"value": 1.0, "quote": sole.text} if sole else None
    for sentence in sentences:
        low = sentence.low
        if re.search(
            (
                r"equal(?:ly)?[\s-]+weight|weigh\w*\s+(?:\w+\s+)?equal|same weight|equal weight|"
                r"weighted alike|(?:simple|plain|unweighted|arithmetic) (?:average|mean) of "
                r"(?:the )?(?:two|three|four|both|all|its|these)|count (?:equally|alike)|weigh "
                r"the same"
            ),
            low,
        ):
            return {"value": round(1 / len(names), 9), "quote": sentence.text}
    for sentence in sentences:
        listed = re.search(
            (
                rf"weights?\b[^.]{{0,40}}?((?:{NUMBER}(?:\s?%)?,\s*)*{NUMBER}(?:\s?%)?,?\s+and\s+{NUMBER})\s*(%|"
                rf"percent|per cent)?"
            ),
            sentence.low,
        )
        if listed and not re.search(pattern, sentence.text, re.IGNORECASE):
            shares_said = [number_of(match[0]) for match in re.finditer(NUMBER, listed[1])]
            total = sum(shares_said)
            if len(shares_said) == len(names) and (abs(total - 100) < 0.5 or abs(total - 1) < 0.005):
                return {
                    "value": round(shares_said[names.index(name)] / (100 if total > 2 else 1), 9),
                    "quote": sentence.text,
                }
        if not re.search(r"weight|count|enter|decide|total|overall|share of|combin", sentence.low) or not re.search(
            SHARE, sentence.low
        ):
            continue
        mine = list(re.finditer(pattern, sentence.text, re.IGNORECASE))
        shares = [share_of(match[0]) for match in re.finditer(SHARE, sentence.text, re.IGNORECASE)]
        # As many shares as metrics in one sentence are taken to stand in the same order.
        places = sorted(
            (match.start(), other)
            for other in names
            for match in [re.search(_aliases(other, sentences), sentence.text, re.IGNORECASE)]
            if match
        )
        if len(shares) == len(places) == len(names) and mine:
            order = [other for _, other in places]
            return {"value": shares[order.index(name)], "quote": sentence.text}
    return None
