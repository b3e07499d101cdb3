"""Rules for metrics, the figures of the table of results, and the methods that are compared."""

from __future__ import annotations

import re

from openfingym.models.testing.forging.sentences import Sentence
from openfingym.models.testing.forging.words import NUMBER, SHARE, number_of, share_of

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
    for table in sorted(tables, key=lambda one: -_numeric_cells(one)):
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


def read_metrics(found: list[Sentence], tables: list[Table]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Metrics with what is said of them, and the methods of the table of results."""
    table = _results(tables)
    names: list[str] = []
    figures: dict[str, list[dict[str, object]]] = {}
    baselines: list[dict[str, object]] = []
    if table is not None:
        header, *rows = table
        columns = [(number, _clean(name)) for number, name in enumerate(header) if number and _is_metric(_clean(name))]
        columns = [
            (number, name)
            for number, name in columns
            if any(len(row) > number and _NUMERIC.match(row[number]) for row in rows)
        ]
        names = list(dict.fromkeys(name for _, name in columns))
        for row in rows:
            if not row[0] or _NUMERIC.match(row[0]) or not any(_NUMERIC.match(cell) for cell in row[1:]):
                continue
            quote = " ".join(cell for cell in row if cell)
            baselines.append({"value": row[0], "quote": row[0]})
            for number, name in columns:
                if len(row) > number and _NUMERIC.match(row[number]):
                    value = float(re.sub(r"[^\d.e-]", "", row[number].replace("−", "-")) or "nan")
                    figures.setdefault(name, []).append({"baseline": row[0], "value": value, "quote": quote})
    if not names:
        told = [
            one
            for one in found
            if one.ours and re.search(r"evaluat|measur|metric|criteri|report|judg|score|compar|loss|rank", one.low)
        ]
        names = [
            name for name, pattern in _KNOWN.items() if any(re.search(pattern, one.text, re.IGNORECASE) for one in told)
        ]
        if (
            "RMSE" in names
            and "MSE" in names
            and not any(re.search(r"(?<!root )mean[\s-]squared|\bMSE\b", one.text) for one in told)
        ):
            names.remove("MSE")
    return [_metric(name, found, figures.get(name, []), names) for name in names], baselines


def _clean(name: str) -> str:
    return re.sub(r"\s*(?:\((?:%|in [^)]*|bps?|x ?10[^)]*)\)|[↑↓]|\\(?:up|down)arrow)\s*", " ", name).strip()


def _aliases(name: str, found: list[Sentence]) -> str:
    """A pattern for a metric's name, its usual long form, and the long form that stands before it in brackets."""
    patterns = [rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])"]
    patterns += [
        pattern
        for known, pattern in _KNOWN.items()
        if known.lower() == name.lower() or re.search(pattern, name, re.IGNORECASE)
    ]
    for one in found:
        text = " ".join(one.text.split())
        long = re.search(rf"((?:[\w-]+\s+){{1,5}}[\w-]+),?\s*\(?\\?(?:text|mathrm)?{{?{re.escape(name)}}}?\)", text)
        if long:
            words = long[1].split()[-max(2, min(len(name), 4)) :]
            patterns.append(r"[\s-]+".join(re.escape(word) for word in words))
    return "|".join(patterns)


def _metric(name: str, found: list[Sentence], figures: list[dict[str, object]], names: list[str]) -> dict[str, object]:
    made: dict[str, object] = {"name": name, "figures": figures}
    pattern = _aliases(name, found)
    about = [one for one in found if re.search(pattern, one.text, re.IGNORECASE)]
    formula = next(
        (one for one in about if re.search(r"=", one.text) and re.search(r"\\|\||\bmean|sum|sqrt|\^|/|\(", one.text)),
        None,
    ) or next(
        (
            one
            for one in about
            if re.search(r"\b(?:is|are|denotes?|averages?|defined as|equals|i\.e\.)\b", one.low)
            and one.ours
            and not re.search(r"table", one.low)
        ),
        None,
    )
    if formula is not None:
        made["formula"] = {"value": " ".join(formula.text.split()), "quote": formula.text}
    direction = _direction(about, found)
    if direction is not None:
        made["direction"] = direction
    weight = _weight(name, pattern, found, names)
    if weight is not None:
        made["weight"] = weight
    return made


def _direction(about: list[Sentence], found: list[Sentence]) -> dict[str, object] | None:
    after = [near for one in about for near in found[one.number : one.number + 2]]
    for one in [*about, *after]:
        low, high = re.search(_LOW.replace("|error", ""), one.low), re.search(_HIGH, one.low)
        others = re.search(r"table|model|network|return of", one.low) and not re.search(
            r"better|best|minimi|maximi|worse|perfect|smaller is|lower is", one.low
        )
        if (
            bool(low) != bool(high)
            and not others
            and re.search(
                r"better|best|minimi|maximi|perfect|worse|largest possible|desir|good|prefer|is to be", one.low
            )
        ):
            if (
                one in after
                and one not in about
                and not re.search(
                    (
                        r"^(?:it|both|all|lower|smaller|higher|larger|the (?:lower|smaller|higher|"
                        r"larger))|\bboth\b|\ball\b"
                    ),
                    one.low,
                )
            ):
                continue
            return {"value": "lower" if low else "higher", "quote": one.text}
    return None


def _weight(name: str, pattern: str, found: list[Sentence], names: list[str]) -> dict[str, object] | None:
    if len(names) == 1:
        sole = next(
            (
                one
                for one in found
                if re.search(r"\b(?:only|sole|single)\b[^.]{0,40}(?:metric|criteri|measure|score|loss)", one.low)
            ),
            None,
        )
        return {"value": 1.0, "quote": sole.text} if sole else None
    for one in found:
        low = one.low
        if re.search(
            (
                r"equal(?:ly)?[\s-]+weight|weigh\w*\s+(?:\w+\s+)?equal|same weight|equal weight|"
                r"weighted alike|(?:simple|plain|unweighted|arithmetic) (?:average|mean) of "
                r"(?:the )?(?:two|three|four|both|all|its|these)|count (?:equally|alike)|weigh "
                r"the same"
            ),
            low,
        ):
            return {"value": round(1 / len(names), 9), "quote": one.text}
    for one in found:
        listed = re.search(
            (
                rf"weights?\b[^.]{{0,40}}?((?:{NUMBER}(?:\s?%)?,\s*)*{NUMBER}(?:\s?%)?,?\s+and\s+{NUMBER})\s*(%|"
                rf"percent|per cent)?"
            ),
            one.low,
        )
        if listed and not re.search(pattern, one.text, re.IGNORECASE):
            shares_said = [number_of(match[0]) for match in re.finditer(NUMBER, listed[1])]
            total = sum(shares_said)
            if len(shares_said) == len(names) and (abs(total - 100) < 0.5 or abs(total - 1) < 0.005):
                return {
                    "value": round(shares_said[names.index(name)] / (100 if total > 2 else 1), 9),
                    "quote": one.text,
                }
        if not re.search(r"weight|count|enter|decide|total|overall|share of|combin", one.low) or not re.search(
            SHARE, one.low
        ):
            continue
        mine = list(re.finditer(pattern, one.text, re.IGNORECASE))
        shares = [
            (share_of(match[0]), match.start(), match.end()) for match in re.finditer(SHARE, one.text, re.IGNORECASE)
        ]
        places = sorted(
            (match.start(), other)
            for other in names
            for match in [re.search(_aliases(other, found), one.text, re.IGNORECASE)]
            if match
        )
        if len(shares) == len(places) == len(names) and mine:
            order = [other for _, other in places]
            return {"value": shares[order.index(name)][0], "quote": one.text}
    return None
