"""Kinds of stories: which relations a story of a kind consists of, as CAMEO codes, and when it is likely.

A story has a side that acts and a side that is acted upon. Codes come with their probabilities, as text such as
``042:.9 040:.6``: ``to`` has what the first side does to the second, ``back`` what it gets back.
"""

from __future__ import annotations

from dataclasses import dataclass

REGIMES = ("calm", "warm", "dispute", "crisis", "war", "settling")
"""States that the relations of two countries are in for some weeks each."""
TOPICS = ("trade", "border", "fisheries", "energy", "security", "migration", "water", "technology", "aviation", "debt")
"""What the relations of a story concern."""
BLAME = ("111", "111", "112", "020", "010", "163", "113", "120", "131", "026")
"""What allies of either side of a hostile story do to the other side; a code that stands twice is twice as likely."""
SUPPORT = ("052", "051", "053", "018", "041", "070", "072", "040")
"""What they do to their own side."""
APPLAUSE = ("051", "019", "010", "041", "030", "020")
"""What allies do to their own side of a story that is not hostile."""
APPEALS = ("026", "027", "020")
"""What a third country that wants to mediate does to both sides of a hostile story."""


@dataclass(frozen=True)
class StoryKind:
    """A kind of story."""

    name: str
    """Its name, such as ``visit``."""
    weights: tuple[float, float, float, float, float, float]
    """How often it happens in each of :data:`REGIMES`, relative to the other kinds."""
    to: tuple[tuple[str, float], ...]
    """What the acting side may do: CAMEO codes and their probabilities, the characteristic one first."""
    back: tuple[tuple[str, float], ...] = ()
    """What the other side may do in return, in the same form."""
    tone: int = 0
    """1 if it is friendly, -1 if hostile, 0 if neither; allies of both sides react to it accordingly."""
    weight_of_news: float = 1.0
    """How much is written about it; 1 is usual."""


def _codes(text: str) -> tuple[tuple[str, float], ...]:
    """Read codes with their probabilities, such as ``042:.9 040:.6``."""
    return tuple((part.split(":")[0], float(part.split(":")[1])) for part in text.split())


def _kind(name: str, weights: str, to: str, back: str = "", *, tone: int = 0, news: float = 1.0) -> StoryKind:
    calm, warm, dispute, crisis, war, settling = (float(weight) for weight in weights.split())
    return StoryKind(name, (calm, warm, dispute, crisis, war, settling), _codes(to), _codes(back), tone, news)


KINDS: tuple[StoryKind, ...] = (
    # name                 calm warm disp cris war  settling
    _kind("statement",     "4   2    2    1.3  .7   1.4", "010:.9 012:.12 013:.15 014:.15 019:.2", "010:.3"),
    _kind("symbolic act",  "1.2 1    .1   .05  .05  .3", "017:.9 018:.4 010:.3", "017:.2 010:.2", tone=1),
    _kind("condolence",    "1   .8   .2   .1   .3   .4", "018:.95 010:.4 070:.1", "010:.2", tone=1),
    _kind("consultation",  "4   4    1.5  .8   .3   3", "040:.9 041:.3 036:.25 030:.15", "040:.8 041:.2", tone=1),
    _kind("call",          "2   2    1    .8   .5   2", "041:.95 040:.5 019:.2", "041:.9 040:.4", tone=1),
    _kind("visit",         "2.5 4    .4   .1   .05  2", "042:.97 040:.6 036:.3 051:.25", "043:.97 040:.5 030:.15",
          tone=1, news=1.6),
    _kind("third place",   "1   1.5  .6   .3   .2   2", "044:.95 040:.5", "044:.95 040:.4"),
    _kind("talks",         "1.2 1.5  1.2  1    .6   4", "046:.95 036:.35 031:.2", "046:.95 030:.2", news=1.2),
    _kind("agreement",     ".6  2    .05  .01  .01  1.5", "057:.95 061:.3 050:.3 051:.2", "057:.95 061:.2 050:.2",
          tone=1, news=1.5),
    _kind("trade",         "1.6 2.5  .2   .05  .01  .6", "061:.9 060:.3 031:.3", "061:.6 030:.2", tone=1),
    _kind("joint force",   ".6  1.2  .1   .1   .1   .2", "062:.9 064:.2 060:.2", "062:.8 064:.1", tone=1),
    _kind("courts",        ".6  .6   .2   .1   .02  .2", "063:.9 064:.3", "063:.4 010:.2"),
    _kind("aid",           ".7  1    .1   .1   .1   .8", "070:.6 071:.4 073:.4 033:.2", "051:.4 023:.3 010:.3", tone=1),
    _kind("arms",          ".2  .5   .05  .2   .3   .1", "072:.9 033:.3 070:.3", "051:.3 023:.3", tone=1),
    _kind("praise",        "1.4 2.5  .2   .05  .01  .8", "051:.9 019:.4 052:.2 050:.2", "051:.2 010:.3", tone=1),
    _kind("offer",         "1   1.5  .6   .5   .3   2", "030:.7 031:.4 032:.3 036:.3", "019:.3 010:.3", tone=1),
    _kind("appeal",        "1.4 .8   2    1.8  1.2  1.4", "020:.85 022:.4 023:.15 025:.2", "010:.3 120:.15"),
    _kind("criticism",     ".5  .1   3    2.5  1.8   .5", "111:.9 112:.5 110:.3 113:.15", "111:.4 120:.3 016:.25",
            tone=-1),
    _kind("complaint",     ".3  .05  1.6  1.2  .4   .3", "114:.9 111:.4 115:.2", "120:.3 016:.3", tone=-1),
    _kind("demand",        ".2  .05  2.2  2.4  1.2  .4", "105:.6 100:.4 104:.25 106:.2", "120:.5 124:.35", tone=-1),
    _kind("refusal",       ".3  .05  2    2    .8   .4", "120:.7 125:.3 124:.3 127:.2", "111:.4 012:.25", tone=-1),
    _kind("threat",        ".05 .01  1.2  3    2    .1", "130:.6 138:.5 131:.35", "130:.3 111:.4 152:.15", tone=-1),
    _kind("sanctions",     ".05 .01  1    1.6  .8   .1", "163:.9 160:.3 172:.3", "111:.5 163:.3", tone=-1, news=1.3),
    _kind("broken ties",   ".01 .01  .5   1    .6   .02", "161:.9 160:.3 174:.3", "161:.6 174:.3", tone=-1, news=1.4),
    _kind("halted talks",  ".05 .02  .8   .8   .4   .1", "164:.9 125:.3 012:.3", "111:.3 012:.3", tone=-1),
    _kind("arrest",        ".4  .05  1    .8   .4   .2", "173:.9 112:.3 174:.25", "025:.4 111:.3", tone=-1),
    _kind("inquiry",       ".4  .2   .7   .4   .4   .3", "090:.8 091:.3 112:.2", "016:.4 010:.2"),
    _kind("show of force", ".1  .05  .8   3.5  2    .2", "154:.6 150:.5 152:.4", "152:.35 111:.3 154:.25", tone=-1,
          news=1.2),
    _kind("skirmish",      ".02 .01  .2   1.8  5    .2", "190:.95 193:.5 194:.25 171:.15", "190:.7 193:.3 112:.3",
          tone=-1, news=1.5),
    _kind("strikes",       "0   0    .02  .4   5    .05", "195:.9 190:.7 194:.35", "190:.4 195:.35 111:.4 138:.25",
          tone=-1, news=1.8),
    _kind("occupation",    "0   0    .01  .15  1.6  .05", "192:.7 191:.45 190:.6", "111:.5 190:.4", tone=-1, news=1.4),
    _kind("broken truce",  "0   0    .01  .1   .6   .4", "196:.9 190:.6", "112:.6 111:.4", tone=-1),
    _kind("bombing",       ".03 .01  .15  .3   .6   .1", "183:.9 180:.3", "018:.2 090:.4 112:.4", tone=-1, news=1.3),
    _kind("abduction",     ".03 .01  .15  .3   .5   .1", "181:.95 112:.2", "025:.6 111:.4", tone=-1),
    _kind("cyber attack",  ".1  .02  .5   .8   .6   .05", "176:.95", "112:.6 090:.3", tone=-1),
    _kind("protest",       ".2  .05  .6   .6   .4   .15", "141:.9 140:.3 145:.2", "010:.3 153:.2", tone=-1),
    _kind("truce",         ".02 .05  .05  .25  .5   3", "087:.95 080:.4 037:.35", "087:.6 080:.3 051:.3", tone=1,
            news=1.5),
    _kind("release",       ".2  .3   .2   .3   .5   1.5", "084:.95 080:.35", "084:.3 051:.3 010:.2", tone=1, news=1.2),
    _kind("eased measures", ".1 .3   .1   .1   .02  1.2", "085:.8 080:.4 081:.3", "051:.4 061:.2", tone=1),
    _kind("admission",     ".1  .1   .1   .2   .3   .8", "086:.9 080:.3", "073:.4 074:.3"),
    _kind("expulsion",     ".1  .02  .3   .4   .3   .1", "174:.9 172:.3", "111:.4 114:.3", tone=-1),
    _kind("apology",       ".1  .1   .1   .05  .02  .5", "055:.95 010:.4", "056:.4 010:.3", tone=1),
)  # fmt: skip
"""The kinds of stories that happen unannounced."""

MEDIATION = _kind("mediation", "0 0 0 0 0 0", "045:.9 039:.4 028:.3 040:.5", "038:.5 040:.4", tone=1, news=1.2)
"""What a third country does with each side of a conflict; it has no weights, since it only comes as a reaction."""


@dataclass(frozen=True)
class Scheme:
    """Something that is announced for a later day and, in most cases, happens on it."""

    name: str
    """Its name, such as ``summit``."""
    weights: tuple[float, float, float, float, float, float]
    """How often it is announced in each of :data:`REGIMES`, relative to the other schemes."""
    announced: StoryKind
    """The story of the day on which it is announced."""
    outcome: StoryKind
    """The story of the announced day, if it happens."""
    otherwise: StoryKind
    """The story of the announced day, if it does not."""
    holds: float
    """Probability that it happens."""
    days: tuple[int, int]
    """The fewest and the most days from the announcement to the announced day."""
    longest: int = 1
    """The most days that the outcome lasts."""


def _scheme(
    name: str, weights: str, announced: str, announced_back: str, outcome: str, outcome_back: str, otherwise: str, *,
    holds: float, days: tuple[int, int], tone: int, longest: int = 1,
) -> Scheme:  # fmt: skip
    # The stories of a scheme are never drawn as unannounced ones.
    none = "0 0 0 0 0 0"
    calm, warm, dispute, crisis, war, settling = (float(weight) for weight in weights.split())
    return Scheme(
        name,
        (calm, warm, dispute, crisis, war, settling),
        _kind(f"{name} announced", none, announced, announced_back, tone=tone, news=2.2),
        _kind(name, none, outcome, outcome_back, tone=tone, news=2.6),
        _kind(f"{name} fails", none, otherwise, tone=-tone, news=1.4),
        holds,
        days,
        longest,
    )


SCHEMES: tuple[Scheme, ...] = (
    _scheme("summit", "3 4 .8 .3 .1 2", "036:.95 030:.3", "036:.6", "042:.97 040:.8 057:.35 051:.3",
            "043:.97 040:.8 057:.35 051:.2", "164:.8 012:.4", holds=0.9, days=(3, 45), tone=1, longest=2),
    _scheme("round of talks", "1 1.5 1.5 1 .6 3", "036:.8 019:.4", "036:.6", "046:.97 044:.5 040:.4",
            "046:.97 044:.5 040:.3", "164:.9 125:.5", holds=0.85, days=(2, 25), tone=1, longest=3),
    _scheme("ultimatum", "0 0 1 3 2 0", "139:.95 138:.5 105:.6", "124:.4 111:.5", "195:.7 190:.8 154:.5 138:.3",
            "190:.5 111:.6 152:.5", "164:.3 080:.7 037:.5", holds=0.75, days=(2, 9), tone=-1, longest=2),
    _scheme("sanctions package", ".1 0 1.6 2 1 0", "131:.8 014:.6 111:.5", "111:.6", "163:.97 160:.4 172:.5",
            "111:.7 163:.4 131:.2", "014:.5 010:.5", holds=0.85, days=(3, 30), tone=-1),
    _scheme("aid package", "1 1.6 .2 .2 .3 1", "033:.95 031:.4", "051:.4", "071:.8 070:.7 073:.5", "051:.6 019:.3",
            "162:.8 012:.3", holds=0.9, days=(3, 40), tone=1),
    _scheme("treaty", ".6 1.6 .1 0 0 1", "030:.7 031:.6 019:.4", "031:.4", "057:.97 050:.6 061:.4",
            "057:.97 050:.5", "120:.7 012:.4", holds=0.85, days=(5, 60), tone=1),
    _scheme("joint exercise", ".6 1.2 .1 .2 .1 .2", "031:.8 030:.4", "031:.5", "062:.97 064:.3", "062:.97",
            "164:.4 012:.5",
            holds=0.9, days=(4, 40), tone=1, longest=5),
    _scheme("prisoner exchange", ".1 .1 .2 .4 .8 1.2", "035:.8 036:.4", "035:.7", "084:.97 080:.4", "084:.9 080:.3",
            "120:.6 124:.6", holds=0.8, days=(2, 14), tone=1),
    _scheme("verdict", ".4 .1 1 .5 .2 .2", "115:.9 112:.4", "016:.5", "116:.95 173:.4", "111:.6 114:.4",
            "084:.6 080:.4",
            holds=0.75, days=(5, 60), tone=-1),
    _scheme("withdrawal", ".1 .1 .1 .2 .5 2", "035:.7 037:.6", "051:.4", "087:.95 166:.3", "051:.4 080:.3",
            "190:.5 012:.5",
            holds=0.8, days=(4, 35), tone=1),
)  # fmt: skip
"""What is announced ahead, so that whoever reads the announcement knows the day."""


def all_codes() -> frozenset[str]:
    """Every CAMEO code that an act of a story, or a reaction to one, may have."""
    stories = [*KINDS, MEDIATION]
    for scheme in SCHEMES:
        stories += [scheme.announced, scheme.outcome, scheme.otherwise]
    acts = frozenset(code for story in stories for code, _ in (*story.to, *story.back))
    return acts.union(BLAME, SUPPORT, APPLAUSE, APPEALS)
