"""The wording of a simulated world's articles; clauses for the relations are in ``data/world-phrases.tsv``.

In these texts ``{s}`` stands for the country that acts, ``{o}`` for the one that is acted upon, ``{topic}`` for the
topic of the story, and ``{clause}`` for a whole clause (``{clause_low}`` within a sentence).
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

OUTLETS = (
    "Meridian Post", "Harbour Gazette", "The Ledger", "Northern Wire", "Civic Herald", "Evening Dispatch",
    "Continental Observer", "Daily Compass", "Lantern", "Open Column", "Capital Courier", "Quarterdeck News",
)  # fmt: skip
"""Names of newspapers, all invented."""

# Frames fit every relation: which one a sentence reports can be read from its clause alone.
LEADS = (
    "{clause}, officials said on {weekday}.",
    "{clause} on {weekday}, according to people who were told of it.",
    "{clause}. The news came late on {weekday}.",
    "On {weekday}, {clause_low}, state media reported.",
    "{clause}, as this paper learned on {weekday}.",
    "It had been expected for a while: {clause_low}.",
    "{clause}. Nobody in either capital would say more at first.",
    "{weekday} brought what many had waited for. {clause}.",
)
"""Frames of an article's first sentence, which reports its main act."""
MORE = (
    "{clause}, a second report had it.",
    "On the same day {clause_low}.",
    "In the meantime {clause_low}, which drew less notice.",
    "{clause}, too.",
    "There was more: {clause_low}.",
    "{clause}, witnesses said.",
    "Almost unnoticed, {clause_low}.",
    "{clause}.",
    "Later {clause_low}.",
    "{clause}, as was confirmed in the evening.",
    "By noon {clause_low}.",
    "That was not all, for {clause_low}.",
    "{clause}, if a wire report is right.",
    "Besides, {clause_low}.",
    "{clause}, a cable shows.",
    "Then {clause_low}.",
    "{clause}, to the surprise of many.",
    "At about the same hour {clause_low}.",
    "{clause}, which few had reckoned with.",
    "From another corner came word that {clause_low}.",
)
"""Frames of sentences that report the other acts."""
EARLIER = (
    "Some days before, {clause_low}.",
    "It follows on earlier news, when {clause_low}.",
    "Readers will remember that {clause_low} not long ago.",
    "Only lately {clause_low}.",
)
"""Frames of sentences that come back to an earlier act of the same two countries."""
QUOTES = {
    1: (
        '"We have found a way to listen to each other," a diplomat of {s} said.',
        '"This is how neighbours should treat each other," said a member of parliament in {o}.',
        '"I am pleased, and I do not say that often," an adviser in {s} told reporters.',
        'A trader in {o} shrugged: "Good for all of us, if it lasts."',
    ),
    0: (
        '"We take note," a spokeswoman of {o} said, and left it there.',
        '"It is one step among many," said a researcher who follows {s}.',
        '"Ask me again in a week," an official in {o} answered.',
        '"The {topic} file is thick, and nobody reads it to the end," a former envoy of {s} said.',
    ),
    -1: (
        '"There is a line, and it has been crossed," said an officer in {o}.',
        '"They leave us no choice," a member of the cabinet of {s} said.',
        '"I have not seen it this bad in years," a teacher near the border of {o} told us.',
        'A columnist in {s} wrote that "every word now weighs a ton".',
    ),
}
"""What people are quoted with, by the tone of the story."""
TOPIC_LINES = {
    "trade": "Trade between the two is worth more than it was a decade ago, and both sides count on it.",
    "border": "Where exactly the border runs has been argued over by three generations of surveyors.",
    "fisheries": "Fishing grounds off the coast have been shared by treaty, and the quotas are due for review.",
    "energy": "Pipelines and cables tie the two together, and winter is when it is felt.",
    "security": "Security questions have taken up most of the hours that diplomats of both have spent together.",
    "migration": "Families on the move have become a matter in every campaign of the region.",
    "water": "The river they share carries less water each summer, and the dams upstream hold some of it.",
    "technology": "Makers of machines in both countries compete for the same customers.",
    "aviation": "Flights between the capitals are few, and the rights to land are handed out one by one.",
    "debt": "Old loans are still on the books, and nobody agrees on how much is owed.",
}
"""A sentence of background for each topic."""
NOISE = (
    "Markets hardly moved on the day.",
    "Rain kept most people indoors, and the squares stayed empty.",
    "A museum in the capital meanwhile reopened after repairs that took two years.",
    "The football league goes on as planned at the weekend.",
    "A survey published this week found that most people follow other matters.",
    "Prices for grain were steady, and shipping rates fell a little.",
    "The central bank left its rate where it was.",
    "Schools return from holidays next week, which keeps ministries busy.",
)
"""Sentences that have nothing to do with the story."""
RUMOURS = (
    "Fuel has been brought up to depots near the border, truck drivers said.",
    "Families of diplomats were seen leaving with more luggage than for a holiday.",
    "Hospitals close to the line have been told to keep beds free.",
    "Field kitchens stand in villages where none stood last month.",
)
"""Signs that an attack may be prepared."""
NOTICES = {
    "gathering": (
        "Heads of the alliance will come together in {host} {when}.",
        "{host} prepares for guests: the alliance has its summit there {when}.",
    ),
    "summit": (
        "The leader of {s} will travel to {o} {when}.",
        "{o} expects the visitors {when}, and hotels near the palace are booked.",
        "Both protocols have settled on a day: {when}.",
    ),
    "round of talks": (
        "Negotiators are to meet in {host} {when}.",
        "The next session has been fixed: the two come to the table {when}.",
    ),
    "ultimatum": (
        "{o} has until then to comply: the deadline of {s} runs out {when}.",
        "What happens {when}, when the time that {s} gave is over, nobody would say.",
    ),
    "sanctions package": (
        "The measures, which firms of {o} would feel, are meant to start {when}.",
        "Officials in {s} work on a list, to be put into force {when}.",
    ),
    "aid package": (
        "The first instalment for {o} is due {when}.",
        "Planes are being loaded in {s}, and the help should be there {when}.",
    ),
    "treaty": (
        "Pens and papers are to be laid out {when}.",
        "The text is ready, and the ceremony with {o} is planned {when}.",
    ),
    "joint exercise": (
        "Units of {s} and {o} are to train side by side {when}.",
        "The manoeuvre starts {when}, according to a notice to pilots.",
    ),
    "prisoner exchange": (
        "Buses are to roll over the bridge between them {when}.",
        "Lists have been compared, and relatives were told to be ready {when}.",
    ),
    "verdict": (
        "The judges in {s} will read out their decision {when}.",
        "A ruling in the case against {o} is expected {when}.",
    ),
    "withdrawal": (
        "The units of {s} shall be gone {when}.",
        "A timetable says that the pull-back is carried out {when}.",
    ),
}  # fmt: skip
"""Announcements of a later day (``{when}``), by the name of the scheme; ``{host}`` is the country where it is."""
SUMMARIES = (
    "News in brief from the region", "The day at a glance", "What else happened", "Short notes from the capitals",
    "From the desks of our correspondents",
)  # fmt: skip
"""Beginnings of the titles of round-ups."""


@cache
def phrases() -> dict[str, tuple[str, ...]]:
    """The clauses that report each second-level relation, by its CAMEO code."""
    text = (resources.files("openfingym_suites.mirai") / "data" / "world-phrases.tsv").read_text(encoding="utf-8")
    clauses: dict[str, list[str]] = {}
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        clauses.setdefault(row["code"], []).append(row["phrase"])
    return {code: tuple(phrasings) for code, phrasings in clauses.items()}
