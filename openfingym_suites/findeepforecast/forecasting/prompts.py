"""The prompt that asks for a forecast, in the layout of the paper's Figure 5, for both tracks.

The question comes first; then details, what an answer must be, what to base it on, the table to fill in, and three
guidelines. The paper prints the prompt for an event; that for a figure differs in what an answer is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openfingym_suites.findeepforecast.problem import ForecastProblem, Level, Track

YES_NO = "YES/NO"
PLAIN = "number"
"""What the table says in place of the unit of a figure that has none."""
_EVENT_EVIDENCE = {
    "corporate": (
        "Recent news and corporate announcements",
        "Historical patterns of similar events for this company",
        "Current market and industry context",
        "Company's financial health and strategic priorities",
        "Other relevant information",
    ),
    "macro": (
        "Recent news and official announcements",
        "Historical patterns of similar events in this economy",
        "Current economic and political context",
        "Stated priorities and schedules of the authority that decides",
        "Other relevant information",
    ),
}
_FIGURE_EVIDENCE = {
    "corporate": (
        "Published reports and guidance of the company",
        "Historical values and seasonality of this metric",
        "Current market and industry context",
        "Recent news about the company",
        "Other relevant information",
    ),
    "macro": (
        "Published values of this indicator",
        "Historical patterns and seasonality",
        "Current economic and market context",
        "Recent news and official announcements",
        "Other relevant information",
    ),
}
_INDEPENDENCE = (
    "**Independence:** Please conduct your analysis based on company filings, news sources, and your own analytical "
    "work. Do not simply cite prediction markets or third-party forecasts."
)
_RECENCY = (
    "**Recency:** Prioritize the most recent available data and announcements (specify the cut-off date of your data)."
)
_OUTPUT = (
    "**Output Format:** Your response must consist **ONLY** of the completed markdown table as defined in the "
    "Submission Format. No text outside of the table is permitted."
)
_GUIDELINES = (_INDEPENDENCE, _RECENCY, _OUTPUT)


@dataclass(frozen=True)
class AskedForecast:
    """What a prompt says about a problem, and what its answer is read by."""

    text: str
    """The question."""
    track: Track
    level: Level
    unit: str = ""
    """The unit of a figure; empty for an event, or a figure without one."""
    details: Mapping[str, str] | None = None
    """What is stated beside the question, by name, in this order."""
    deadline: str = ""
    """Until when it may be answered, as people read it; empty if that is not stated."""

    @classmethod
    def of(cls, problem: ForecastProblem, deadline: str = "") -> AskedForecast:
        """What a problem asks.

        Args:
            problem: the problem to ask about.
            deadline: its deadline as people read it; empty to state none.
        """
        return cls(problem.text, problem.track, problem.level, problem.unit, problem.details, deadline)

    @property
    def field(self) -> str:
        """The name of the answer in the table."""
        return f"Prediction ({YES_NO if self.track == 'non-recurrent' else self.unit or PLAIN})"


def about(asked: AskedForecast) -> str:
    """The question with its details and what its answer must be, without the table and the guidelines."""
    heading = "Event Details" if asked.track == "non-recurrent" else "Disclosure Details"
    details = {**(asked.details or {}), **({"Deadline": asked.deadline} if asked.deadline else {})}
    listed = "\n".join(f"- {name}: {value}" for name, value in details.items() if value)
    parts = [asked.text, *([f"{heading}\n\n{listed}"] if listed else []), f"Requirements:\n\n{requirement(asked)}"]
    return "\n\n".join(parts)


def requirement(asked: AskedForecast) -> str:
    """What an answer must be, in a sentence."""
    if asked.track == "non-recurrent":
        return "Provide your prediction as either **YES** or **NO**"
    unit = f" in {asked.unit}" if asked.unit else ""
    return f"Provide your prediction as a single number{unit}, without a range"


def table(asked: AskedForecast, *, probability: bool = False) -> str:
    """The table to fill in, of two columns.

    Args:
        asked: what the prompt asks.
        probability: whether there is a row for the probability of an event.
    """
    rows = [f"| {asked.field} | [Your prediction] |"]
    if probability and asked.track == "non-recurrent":
        rows.append("| Probability | [How probable it is that the answer is YES, from 0 to 1] |")
    return "\n".join(["| Field | Value |", "|-----|-----|", *rows])


def full_prompt(asked: AskedForecast, *, probability: bool = False) -> str:
    """The whole prompt, as the paper has it.

    Args:
        asked: what the prompt asks.
        probability: whether the table has a row for the probability of an event.
    """
    return f"{about(asked)}\n\n{ending(asked, probability=probability)}"


def ending(asked: AskedForecast, *, probability: bool = False) -> str:
    """The part of the prompt behind :func:`about`: what to base an answer on, the table, and the guidelines.

    Args:
        asked: what the prompt asks.
        probability: whether the table has a row for the probability of an event.
    """
    evidence = (_EVENT_EVIDENCE if asked.track == "non-recurrent" else _FIGURE_EVIDENCE)[asked.level]
    based = "\n".join(f"- {source}" for source in evidence)
    guidelines = "\n".join(f"({number}) {text}" for number, text in enumerate(_GUIDELINES, 1))
    return "\n\n".join(
        [
            f"Please complete your assessment based on:\n\n{based}",
            "Submission Format",
            f"Present your prediction in this markdown table:\n\n```\n\n{table(asked, probability=probability)}\n\n```",
            f"Additional Guidelines\n\n{guidelines}",
        ]
    )
