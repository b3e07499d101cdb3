"""The paper's prompts, filled in for a question.

The texts of ReAct with single functions, of ReAct with code blocks and of the thinking model are the paper's (F.1, F.2,
F.3), word for word but for what is filled in. The paper does not print those of direct questions, of retrieval and of
rankings: they are made of its words here. The templates are the files in ``prompts/``.
"""

from __future__ import annotations

from datetime import date
from functools import cache
from importlib import resources
from string import Template
from typing import Literal

from openfingym.suites.asking import STEP_BY_STEP, Prompt
from openfingym_suites.mirai import taxonomy
from openfingym_suites.mirai.client import api_description
from openfingym_suites.mirai.question import ObjectQuestion, RelationQuestion
from openfingym_suites.mirai.retrieval import Retrieved

Style = Literal["direct", "dictionary", "zero-shot-cot", "retrieval", "react-single", "react-code", "thinking"]
AnswerStyle = Literal["set", "ranking", "probabilities"]
FIRST_DAY = date(2023, 1, 1)
"""First day of the paper's database."""
STEPS = 20
"""How many steps an agent has by default."""


def prompt_of(
    style: Style,
    question: RelationQuestion | ObjectQuestion,
    *,
    subset: str = "full",
    answer: AnswerStyle = "set",
    most: int | None = None,
    retrieved: Retrieved | None = None,
    first_day: date = FIRST_DAY,
    steps: int = STEPS,
    simulated: bool = False,
) -> Prompt:
    """The prompt of a style for a question.

    Args:
        style: how the model is to come to its answer.
        question: the question to ask.
        subset: functions of the API that the model has, a key of
            :data:`~openfingym_suites.mirai.functions.SUBSETS`.
        answer: form of the answer to a question for relations: a set of codes, a ranking, or one with probabilities.
        most: how many codes a ranking shall have; None for all that are possible.
        retrieved: events and articles that are given with the question in the style ``retrieval``.
        first_day: the first day of the database.
        steps: the most steps that the model may take.
        simulated: whether the world is made up by a simulator, which the prompt then says.
    """
    values = {
        "head": question.head,
        "head_name": taxonomy.country(question.head).name,
        "date": question.day.isoformat(),
        "date_words": in_words(question.day),
        "today_words": in_words(question.today),
        # The paper writes the first day without a zero, and the others with one.
        "first_words": f"{first_day:%B} {first_day.day}, {first_day.year}",
        "steps": str(steps),
        "how_many": "all possible" if most is None else f"the {most} most likely",
        "label": "" if style in {"direct", "dictionary", "zero-shot-cot", "retrieval"} else "Action: ",
    }
    note = _filled("simulated", {}) if simulated else ""
    values["ontology"] = _filled("ontology", {}) + note
    if isinstance(question, ObjectQuestion):
        values |= {"relation": question.relation, "relation_name": taxonomy.relation(question.relation).name}
        form, asked = "objects", "objects"
    else:
        values |= {"tail": question.tail, "tail_name": taxonomy.country(question.tail).name}
        form, asked = answer, "relations"
    values["answer"] = _filled(f"answer-{form}", values)
    values["task"] = _filled(f"task-{asked}", {})
    query = _filled(f"query-{asked}", values)
    # F.3 is one message of the user's, and quotes codes with single quotes where F.1 has double ones.
    if style == "thinking":
        values["ontology"] = values["ontology"].replace('"', "'")
        values |= {"query": query, "api_description": api_description(subset), **_tagged(values["answer"])}
        return Prompt("", _filled("thinking", values))
    if style in {"react-single", "react-code"}:
        values["api_description"] = api_description(subset)
        return Prompt(_filled(style, values), query)
    values["context"] = _context(style, retrieved, values)
    return Prompt(_filled("direct", values), f"{query} {STEP_BY_STEP}" if style == "zero-shot-cot" else query)


def in_words(day: date) -> str:
    """A day as the paper writes it, such as ``February 08, 2024``."""
    return f"{day:%B %d, %Y}"


def _context(style: Style, retrieved: Retrieved | None, values: dict[str, str]) -> str:
    """What is given with a question: the dictionary of codes, or what was retrieved; else nothing."""
    if style == "dictionary":
        relations = sorted((*taxonomy.relations(1), *taxonomy.relations(2)), key=lambda relation: relation.code)
        entries = "\n".join(f"{each.code}: {each.name}. {each.description}" for each in relations)
        return _filled("dictionary", {"entries": entries})
    if style != "retrieval" or retrieved is None:
        return ""
    context = ""
    if retrieved.events is not None:
        listed = "\n".join(map(repr, retrieved.events)) or "None."
        context += _filled("context-events", {"events": listed})
    if retrieved.articles is not None:
        listed = (
            "\n\n".join(f"{each.date.date}: {each.title}\n{each.content}" for each in retrieved.articles) or "None."
        )
        context += _filled("context-news", {**values, "articles": listed})
    return context


def _tagged(answer: str) -> dict[str, str]:
    """The form of an answer in the tags of thinking models, and how answers are evaluated, as parts of the prompt F.3.

    Args:
        answer: the form of the answer as F.1 states it, an empty line, and how answers are evaluated.
    """
    form, _, evaluation = answer.partition("\n\n")
    start, _, example = form.partition(' For example, "Action: Final Answer: ')
    # The wording of F.3 differs from that of F.1 in these places.
    start = start.replace("answer should be", "answer must be").replace(
        "the keys are the forecasted", "the keys are forecasted"
    )
    start = start.replace("CAMEO codes and the values", "CAMEO codes, and the values")
    example = example.removesuffix('".')
    return {"tagged_answer": f"{start} For example, <answer>{example}</answer>.", "evaluation": evaluation}


def _filled(name: str, values: dict[str, str]) -> str:
    return _template(name).substitute(values)


@cache
def _template(name: str) -> Template:
    text = (resources.files("openfingym_suites.mirai") / "prompts" / f"{name}.txt").read_text(encoding="utf-8")
    return Template(text.removesuffix("\n"))
