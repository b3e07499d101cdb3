"""The description of the API: its 14 functions, from which everything else that states them is made.

The text in a prompt, the schemas of tools, the checks of arguments and the module that programs get all come from
:data:`FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from openfingym.errors import UsageError

Group = Literal["names", "events", "news"]
Kind = Literal[
    "str", "Date", "DateRange", "ISOCode", "CAMEOCode", "Role", "List[ISOCode]", "List[CAMEOCode]", "List[str]"
]
"""The type of an argument; ``Role`` is a string, one of :data:`ROLES`."""
MOST_EVENTS = 30
"""The most events that one call of get_events returns."""
MOST_ARTICLES = 15
"""The most articles that one call of get_news_articles returns."""
MOST_NAMES = 5
"""The most countries or relations that a search by name or description returns."""
ROLES = ("head", "tail", "both")
SUBSETS: Mapping[str, tuple[Group, ...]] = {
    "full": ("names", "events", "news"),
    "events": ("names", "events"),
    "news": ("names", "news"),
    "none": (),
}
"""Groups of functions that an agent may call, by the name of the subset."""


@dataclass(frozen=True)
class Parameter:
    """An argument of a function."""

    name: str
    kind: Kind
    about: str
    """What it means, for people and models."""
    optional: bool = True
    """Whether it may be left out or be None."""

    @property
    def annotation(self) -> str:
        """Its type, and its default if it has one, as Python text."""
        kind = "str" if self.kind == "Role" else self.kind
        return f"Optional[{kind}] = None" if self.optional else kind


@dataclass(frozen=True)
class Function:
    """A function of the API."""

    name: str
    group: Group
    about: str
    """What it does, in a sentence."""
    parameters: tuple[Parameter, ...]
    returns: str
    """The type of the answer as Python text."""
    answer: str
    """What the answer is, as a part of a sentence."""
    example: str
    """A call of it, as a line of Python."""

    @property
    def signature(self) -> str:
        """The first line of its definition, without the colon."""
        listed = ", ".join(f"{each.name}: {each.annotation}" for each in self.parameters)
        return f"def {self.name}({listed}) -> {self.returns}"

    @property
    def schema(self) -> dict[str, object]:
        """The JSON schema of its arguments."""
        properties = {each.name: {**_SCHEMAS[each.kind], "description": each.about} for each in self.parameters}
        required = [each.name for each in self.parameters if not each.optional]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_CODE = {"type": "string"}
_SCHEMAS: Mapping[Kind, Mapping[str, object]] = {
    "str": {"type": "string"},
    "Role": {"type": "string", "enum": list(ROLES)},
    "Date": {"type": "string", "format": "date"},
    "DateRange": {
        "type": "object",
        "properties": {
            "start_date": {"type": ["string", "null"], "format": "date"},
            "end_date": {"type": ["string", "null"], "format": "date"},
        },
        "additionalProperties": False,
    },
    "ISOCode": _CODE,
    "CAMEOCode": _CODE,
    "List[ISOCode]": {"type": "array", "items": _CODE},
    "List[CAMEOCode]": {"type": "array", "items": _CODE},
    "List[str]": {"type": "array", "items": {"type": "string"}},
}

_RANGE = Parameter("date_range", "DateRange", "first and last day; all days up to the current date by default")
_HEADS = Parameter("head_entities", "List[ISOCode]", "countries that act; any by default")
_TAILS = Parameter("tail_entities", "List[ISOCode]", "countries that are acted upon; any by default")
_RELATIONS = Parameter(
    "relations",
    "List[CAMEOCode]",
    "relations, of either level; one of the first level stands for all its children; any by default",
)
_CODE_OF = Parameter("cameo_code", "CAMEOCode", "code of a relation", optional=False)
_KEYWORDS = Parameter(
    "keywords", "List[str]", "words or phrases that title or text must all hold, as whole words in any case"
)
_NARROW = "date_range=DateRange(start_date=Date('2023-06-01'), end_date=Date('2023-06-30'))"
_PAIR = "head_entities=[ISOCode('USA')], tail_entities=[ISOCode('CHN')]"

FUNCTIONS: Mapping[str, Function] = {
    function.name: function
    for function in (
        Function(
            "map_country_name_to_iso",
            "names",
            f"Finds the countries whose names are most like a text, {MOST_NAMES} at most, the most likely first.",
            (Parameter("name", "str", "name of a country", optional=False),),
            "List[Country]",
            "countries with their ISO 3166-1 alpha-3 codes",
            "map_country_name_to_iso('Korea')",
        ),
        Function(
            "map_iso_to_country_name",
            "names",
            "Gives the name of a country.",
            (Parameter("iso_code", "ISOCode", "ISO 3166-1 alpha-3 code of a country", optional=False),),
            "str",
            "its name",
            "map_iso_to_country_name(ISOCode('USA'))",
        ),
        Function(
            "map_relation_description_to_cameo",
            "names",
            f"Finds the relations that a description fits best, {MOST_NAMES} at most, the most likely first.",
            (Parameter("description", "str", "what happens, in words", optional=False),),
            "List[Relation]",
            "relations of either level",
            "map_relation_description_to_cameo('impose sanctions')",
        ),
        Function(
            "map_cameo_to_relation",
            "names",
            "Gives the relation of a code.",
            (_CODE_OF,),
            "Relation",
            "the relation with its name and description",
            "map_cameo_to_relation(CAMEOCode('010'))",
        ),
        Function(
            "get_parent_relation",
            "names",
            "Gives the first-level relation above a second-level one.",
            (Parameter("cameo_code", "CAMEOCode", "code of a second-level relation, three digits", optional=False),),
            "Relation",
            "the relation one level up",
            "get_parent_relation(CAMEOCode('010'))",
        ),
        Function(
            "get_child_relations",
            "names",
            "Gives the second-level relations below a first-level one.",
            (Parameter("cameo_code", "CAMEOCode", "code of a first-level relation, two digits", optional=False),),
            "List[Relation]",
            "the relations one level down, in the order of their codes",
            "get_child_relations(CAMEOCode('01'))",
        ),
        Function(
            "get_sibling_relations",
            "names",
            "Gives the relations that have the same parent, itself included; of the first level, all of that level.",
            (_CODE_OF,),
            "List[Relation]",
            "the relations in the order of their codes",
            "get_sibling_relations(CAMEOCode('010'))",
        ),
        Function(
            "count_events",
            "events",
            "Counts the different events that meet all conditions.",
            (_RANGE, _HEADS, _TAILS, _RELATIONS),
            "int",
            "number of events",
            f"count_events({_NARROW}, {_PAIR})",
        ),
        Function(
            "get_events",
            "events",
            f"Lists events that meet all conditions, {MOST_EVENTS} at most.",
            (
                _RANGE,
                _HEADS,
                _TAILS,
                _RELATIONS,
                Parameter(
                    "text_description",
                    "str",
                    "words to search the events' news articles for; the best match comes first",
                ),
            ),
            "List[Event]",
            "events, the latest first, or by how well their articles match text_description",
            f"get_events({_NARROW}, {_PAIR}, relations=[CAMEOCode('04')])",
        ),
        Function(
            "get_entity_distribution",
            "events",
            "Counts the events of each country.",
            (
                _RANGE,
                Parameter("involved_relations", "List[CAMEOCode]", _RELATIONS.about),
                Parameter("interacted_entities", "List[ISOCode]", "countries on the other side; any by default"),
                Parameter(
                    "entity_role",
                    "Role",
                    "side on which countries are counted: 'head', 'tail' or 'both' (the default)",
                ),
            ),
            "Dict[ISOCode, int]",
            "number of events by country, the most first",
            f"get_entity_distribution({_NARROW}, interacted_entities=[ISOCode('CHN')], entity_role='head')",
        ),
        Function(
            "get_relation_distribution",
            "events",
            "Counts the events of each second-level relation.",
            (_RANGE, _HEADS, _TAILS),
            "Dict[CAMEOCode, int]",
            "number of events by relation, the most first",
            f"get_relation_distribution({_NARROW}, {_PAIR})",
        ),
        Function(
            "count_news_articles",
            "news",
            "Counts the news articles that meet all conditions; countries and relations are those of one of its "
            "events.",
            (_RANGE, _HEADS, _TAILS, _RELATIONS, _KEYWORDS),
            "int",
            "number of articles",
            f"count_news_articles({_NARROW}, keywords=['trade'])",
        ),
        Function(
            "get_news_articles",
            "news",
            f"Lists news articles that meet all conditions, {MOST_ARTICLES} at most; countries and relations are those "
            "of one of its events.",
            (
                _RANGE,
                _HEADS,
                _TAILS,
                _RELATIONS,
                _KEYWORDS,
                Parameter("text_description", "str", "words to search articles for; the best match comes first"),
            ),
            "List[Tuple[Date, str]]",
            "day and title of each article, the latest first, or by how well they match text_description",
            f"get_news_articles({_NARROW}, {_PAIR}, text_description='trade talks')",
        ),
        Function(
            "browse_news_article",
            "news",
            "Gives a news article whole.",
            (
                Parameter("date", "Date", "its day", optional=False),
                Parameter("title", "str", "its title, as get_news_articles gives it", optional=False),
            ),
            "str",
            "its day, title and text",
            "browse_news_article(Date('2023-06-01'), 'Title of the article')",
        ),
    )
}
"""The functions by name, in the paper's order."""


def functions_of(subset: str) -> tuple[Function, ...]:
    """The functions that an agent may call.

    Args:
        subset: name of the subset, a key of :data:`SUBSETS`.

    Raises:
        UsageError: there is no such subset.
    """
    if subset not in SUBSETS:
        raise UsageError(f"there is no subset {subset!r} of the API; known: {', '.join(SUBSETS)}")
    return tuple(function for function in FUNCTIONS.values() if function.group in SUBSETS[subset])


def documentation(function: Function) -> str:
    """The docstring of a function, indented by four spaces, without its quotes."""
    listed = "".join(f"        {each.name}: {each.about}.\n" for each in function.parameters)
    return (
        f"{function.about}\n\n    Parameters:\n{listed}\n"
        f"    Returns:\n        {function.returns}: {function.answer}.\n\n"
        f"    Example:\n        >>> {function.example}\n    "
    )
