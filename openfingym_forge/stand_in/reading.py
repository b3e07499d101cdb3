"""Answers to ``forge/screen`` and ``forge/read``: rules over the sentences of what is shown."""

from __future__ import annotations

import re

from openfingym.models.testing.conversation import CompletionRequest, Reply
from openfingym_forge.stand_in.prompts import answer_json, fenced_text, prompt_of

_FINANCE = re.compile(
    r"\b(?:yields?|bonds?|treasur|exchange rates?|currenc|dollars?|stocks?|equit|shares?|portfolio|returns?|volatilit|"
    r"futures|commodit|freight|options?|credit|default|broker|margin|prices?|market|trading|fraud|interest rate|crypto|"
    r"bitcoin|financ|anti-money|insider)",
    re.IGNORECASE,
)
_FAMILIES = {
    "fraud": re.compile(r"\bfraud|anomal|default on|money laundering|insider", re.IGNORECASE),
    "trading": re.compile(
        r"\btrading (?:rules?|agents?|strateg|polic|environment)|reinforcement[- ]learning agent", re.IGNORECASE
    ),
    "generation": re.compile(
        r"\bgenerat(?:e|es|ing|ion|ive|ors?)\b|\bsynthetic (?:data|series|process|daily)", re.IGNORECASE
    ),
    "forecasting": re.compile(r"\bforecast|\bpredict|\bahead\b|\bnowcast", re.IGNORECASE),
}
_CLOSED = re.compile(
    r"proprietary|cannot be (?:shared|disclosed|published|made public)|confidential(?:ity)?\b|not permit us to|"
    r"not publicly available|available (?:only )?to subscribers|non-disclosure",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"public(?:ly)?[ -]+(?:domain|available|benchmark|source)|openly|\bopen[- ](?:source|access|data)|free of charge|"
    r"free re-use|\bfree\b|-3-clause|apache-2|\bmit licen|"
    r"licen[cs]e|\bCC[ -]BY|creative commons|simulat|synthetic|published by|download|\bpublic\b",
    re.IGNORECASE,
)
_SPLIT = re.compile(
    r"\b(?:train(?:ing|ed)?|estimat(?:ion|e|ed)|fitted|fitting|test(?:ing|ed)?|"
    r"held[- ]back|evaluation|validation|feedback|"
    r"sealed|open to everyone|blocks?|oldest|periods?|learn)\b",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"\d\s*(?:%|\\%|percent|per cent)|\bpercent\b|\b0?\.\d+ of|"
    r"fifths?|thirds?|quarters?|\bhalf\b|paths?|percentile",
    re.IGNORECASE,
)
_METRIC = re.compile(
    r"\b(?:error|deviation|AUROC|AUC|area under|average precision|accuracy|Sharpe|drawdown|distance|discrepancy|score|"
    r"RMSE|MAE|MSE|ACF|measure|autocorrelation|total variation|criteri|loss)|=",
    re.IGNORECASE,
)
_BETTER = re.compile(
    r"\b(?:lower|smaller|less|higher|larger|more)\b[^.]{0,30}\b(?:better|best|desir|prefer)"
    r"|\b(?:minimi[sz]|maximi[sz])|should be (?:low|high|small)|made small|as small as"
    r"|\bzero (?:for|of each)|lower the better|perfect",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """Sentences of a text, without headings and rows of tables."""
    kept = []
    for paragraph in text.split("\n\n"):
        if " | " in paragraph:
            continue
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\\(])", paragraph):
            words = sentence.strip()
            if 15 <= len(words) <= 600:
                kept.append(words)
    return kept


def screen(request: CompletionRequest) -> Reply:
    """Whether title and abstract are in scope."""
    text = fenced_text(prompt_of(request))
    title = text.partition("\n")[0].strip()
    passages = [title, *sentences(text.partition("\n")[2])]
    finance = [passage for passage in passages if _FINANCE.search(passage)]
    # The family that the title names, else the one that most passages speak of; of equal ones the rarer, which comes
    # first in the table.
    counts = {family: sum(bool(rule.search(passage)) for passage in passages) for family, rule in _FAMILIES.items()}
    titled = [family for family, rule in _FAMILIES.items() if rule.search(title)]
    family = titled[0] if titled else max(counts, key=lambda name: counts[name])
    if not finance or not (titled or counts[family]):
        why = "neither title nor abstract speaks of a task in finance"
        return answer_json({"in_scope": False, "family": None, "why": why, "quotations": passages[:1]})
    both = [passage for passage in finance if _FAMILIES[family].search(passage)] or finance
    return answer_json({"in_scope": True, "family": family, "why": f"it is about {family}", "quotations": both[:2]})


def read(request: CompletionRequest) -> Reply:
    """Whether the full text has a protocol, metrics and public data."""
    passages = sentences(fenced_text(prompt_of(request)))
    protocol = [passage for passage in passages if _SPLIT.search(passage) and _SHARE.search(passage)]
    better = [passage for passage in passages if _BETTER.search(passage)]
    measured = [passage for passage in passages if _METRIC.search(passage) and passage not in better]
    # A sentence that says both what is measured and which way is better, or one sentence for each of the two.
    both = [passage for passage in better if _METRIC.search(passage)]
    formulas = sorted(measured, key=lambda passage: "=" not in passage)
    metrics = both + formulas[:1] if both else [*formulas[:1], *better[:1]] if measured and better else []
    closed = [passage for passage in passages if _CLOSED.search(passage)]
    public = [passage for passage in passages if _OPEN.search(passage) and not _CLOSED.search(passage)]
    return answer_json(
        {
            "protocol": _verdict(protocol[:3], "how data are divided", "nothing says how data are divided"),
            "metrics": _verdict(metrics[:3], "a metric is defined", "no metric is defined"),
            "public_data": {"found": False, "why": "the data are not to be had by others", "quotations": closed[:3]}
            if closed
            else _verdict(public[:3], "data that anybody may obtain", "no data set that anybody may obtain is named"),
        }
    )


def _verdict(quotations: list[str], holds: str, lacks: str) -> dict[str, object]:
    return {"found": bool(quotations), "why": holds if quotations else lacks, "quotations": quotations}
