"""How stories are told: the pieces of news before a story's end, and those about its end.

Before the end, a report says what is being considered, by when it is due, and what about it is contested. It leans one
way or the other, and may warn of a delay or quote a denial. Other pieces come from the authority and decide nothing.
Which way a report leans follows from the story's chance, as well as its outlet knows it. At the end the authority
speaks or is silent, and outlets report that.

The wordings are part of the world's rows: whoever changes one raises the version in ``building``, and looks at
``generation/reports.py``, whose rules read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from openfingym_suites.findeepforecast.world.stories_drawing import Story, StoryDraws

OUTLETS = {
    "Meridian Wire": 0.9, "Harbour Newswire": 0.9, "Continental Dispatch": 0.8, "Sector Monitor": 0.6,
    "Capital Courier": 0.5, "Street Whisper": 0.1, "Bourse Gossip": 0.1,
}  # fmt: skip
"""Made-up outlets, the most reliable first, and how well each knows a story's chance: at 1 its reports lean towards the
event as often as the chance says, at 0 every other time.
"""
_RELIABLE = tuple(OUTLETS)[:4]
"""Outlets that report how stories ended."""
_OPENINGS = (
    "{Actor} is weighing {phrase}, people familiar with the matter said.",
    "{Phrase} is on the table at {actor}, according to two people briefed on it.",
    "Advisers to {actor} have drawn up options for {phrase}.",
    "A draft seen by this desk shows {actor} preparing {phrase}.",
    "At {actor}, {phrase} is under discussion, a person close to the talks said.",
)
_SIGNS = (
    "Signs of {phrase} are mounting, analysts say; {actor} has published nothing on it.",
    "Desks that follow {actor} speak of {phrase}; nothing is confirmed.",
    "The first reports of {phrase} have reached {actor}, a person familiar with them said.",
    "Observers of {actor} are divided about {phrase}.",
)
_TIMING = (
    "A decision is due by {day}.",
    "Those involved name {day} as the last day for it.",
    "The working plan has it concluded no later than {day}.",
    "It is to be settled by {day} at the latest.",
)
_CONTESTED = {
    "happens": (
        "Whether it comes in time is the open point.",
        "The date is what is disputed.",
        "Nobody disputes the substance; the timing is contested.",
    ),
    "at_least": (
        "The size is contested: at least {amount}, or less.",
        "One camp wants at least {amount}; another would settle for less.",
        "Whether it reaches at least {amount} is open.",
    ),
    "at_most": (
        "The size is contested: at most {amount}, or more.",
        "One camp wants at most {amount}; another would go beyond.",
        "Whether it is held to at most {amount} is open.",
    ),
    "detail": (
        'One element is contested: "{detail}".',
        'Opinions differ on the element "{detail}".',
        'The wording "{detail}" is in some drafts and missing in others.',
    ),
}
_FOR = (
    "Two people said that the last obstacles have been cleared.",
    "Support for the contested point has grown since last week, a person involved said.",
    "The papers have gone to those who have to sign them.",
    "Opponents have dropped their objections, according to three people.",
    "A senior figure called the contested point all but settled; nothing is signed.",
    "Preparations for it are running on schedule, an internal note shows.",
    "Those who asked for it expect to get what they asked for.",
    "Analysts who were doubtful now expect it.",
)
_AGAINST = (
    "Two people said that a key objection remains unanswered.",
    "Support for the contested point has thinned since last week, a person involved said.",
    "The papers have been sent back for another reading.",
    "Opponents are gaining ground, according to three people.",
    "A senior figure called the contested point hard to defend; nothing is ruled out.",
    "Preparations for it have fallen behind, an internal note shows.",
    "Those who asked for it are preparing for less than they asked for.",
    "Analysts who were confident now doubt it.",
)
_DELAYS = (
    "The timetable could slip, a person who works on it warned.",
    "A further consultation may be needed, which would cost time.",
    "A postponement has been mentioned, though no one has asked for it.",
)
_DENIALS = (
    "A spokesperson declined to comment on {phrase}.",
    "A spokesperson called reports about {phrase} speculation, and denied nothing in particular.",
    "Asked about {phrase}, an adviser said that reports ran ahead of events.",
)
_STATUS = (
    "{Actor} notes reports about {phrase}. No decision has been taken; one is planned by {day}.",
    "Agenda of {actor}: {phrase}, for decision by {day}. Documents are not public.",
    "{Actor} takes note of questions on {phrase} and will inform the public by {day}.",
)
_TITLES = ("{Phrase}: what is known", "{Actor} and {phrase}", "Talks on {phrase}", "{Phrase} in focus")


@dataclass(frozen=True)
class Piece:
    """A piece of news about a story."""

    at: datetime
    """The time at which it is published, in UTC."""
    source: str
    """Name of the outlet or authority that publishes it."""
    official: bool
    """Whether it comes from an authority."""
    title: str
    """Its title."""
    body: str
    """Its text."""


def tell(story: Story, seed: int) -> Iterator[Piece]:
    """The pieces of news about a story: first those before its end, then those about its end.

    Args:
        story: the story.
        seed: the number from which every random draw of the world follows.
    """
    # Streams of their own: words, which way reports lean, and the words about the end.
    words = StoryDraws(seed, "words", story.id)
    yield from _before(story, words, StoryDraws(seed, "lean", story.id))
    yield from _after(story, StoryDraws(seed, "aftermath", story.id))


def _before(story: Story, words: StoryDraws, leaning: StoryDraws) -> Iterator[Piece]:
    """Five to nine pieces, evenly spread over the days before the last three; fewer if the story ends early."""
    # A story that does not end early ends in the last three days. All of its pieces come before these, so that their
    # number says nothing about the end.
    length = max(3, (story.due - story.opened).days - 2)
    count = words.integer(5, 9)
    for number in range(count):
        day = story.opened + timedelta(days=length * number // count)
        # 12 % of the pieces come from the authority, but never the first.
        from_authority = words.integer(0, 99) < 12 and number > 0
        piece = _status(story, day, words) if from_authority else _report(story, day, words, leaning, first=number == 0)
        if day < story.ended:
            yield piece


def _report(story: Story, day: date, words: StoryDraws, leaning: StoryDraws, *, first: bool) -> Piece:
    """An outlet's report: what is being considered, by when, what is contested, and which way it leans."""
    outlet = words.pick(tuple(OUTLETS))
    knowledge = OUTLETS[outlet]
    sentences = [words.pick(_SIGNS if story.matter.is_shock else _OPENINGS)]
    due, threshold = story.due, story.threshold
    # Gossip may have the day and the amount wrong, but not in a story's first report.
    if knowledge < 0.2 and words.chance(0.25) and not first:
        due += timedelta(days=words.pick((-7, 7, 14)))
        threshold = words.pick(story.matter.thresholds) if story.matter.thresholds else threshold
    sentences += [words.pick(_TIMING), words.pick(_CONTESTED[story.condition])]
    for _ in range(words.integer(0 if first else 1, 2)):
        towards = 0.5 + knowledge * (story.chance - 0.5)
        sentences.append(leaning.pick(_FOR if leaning.chance(towards) else _AGAINST))
    if words.chance(0.2):
        sentences.append(words.pick(_DELAYS))
    if words.chance(0.25):
        sentences.append(words.pick(_DENIALS))
    names = _placeholders(story, day_text(due, words.integer(0, 3)), story.matter.amount(threshold))
    title = words.pick(_TITLES).format(**names)
    return Piece(moment(day, words), outlet, False, title, " ".join(sentences).format(**names))


def _status(story: Story, day: date, words: StoryDraws) -> Piece:
    """What the authority says before it decides, which leans neither way."""
    names = _placeholders(story, day_text(story.due, words.integer(0, 3)), "")
    body = words.pick(_STATUS).format(**names)
    return Piece(moment(day, words), story.source, True, "Notice on {phrase}".format(**names), body)


def _after(story: Story, words: StoryDraws) -> Iterator[Piece]:
    """The pieces about the end of a story: what the authority states, and what outlets and others say of it."""
    day, names = story.ended, _placeholders(story, "", "")
    statements = [Piece(moment(day, words), story.source, True, f"Statement on {story.matter.phrase}", text)
                  for text in _statements(story, words, names)]  # fmt: skip
    yield from statements
    next_day = moment(day + timedelta(days=1), words)
    outlet = words.pick(_RELIABLE)
    if story.ending == "silent":
        body = "The day by which it was due has passed without a word from {actor} on {phrase}."
    elif story.ending == "unconfirmed":
        body = "{Phrase} is in effect, people who deal with {actor} said. " + _extent(story)
    else:
        body = "On {phrase}, {actor} has spoken: " + (statements[0].body if statements else "nothing in writing.")
    yield Piece(next_day, outlet, False, "{Phrase}: the outcome".format(**names), body.format(**names))
    if story.ending == "disputed":
        body = "The statement of {actor} on {phrase} has no legal effect until a review has ended, the registrar says."
        at = moment(day + timedelta(days=2), words)
        yield Piece(at, "Office of the registrar", True, "Notice on {phrase}".format(**names), body.format(**names))
    if story.ending == "late" and story.happened_on:
        body = "{Actor} confirms, later than planned: {phrase}. " + _extent(story)
        at = moment(story.happened_on, words)
        title = f"Statement on {story.matter.phrase}"
        yield Piece(at, story.source, True, title, body.format(**names))


def _statements(story: Story, words: StoryDraws, names: dict[str, str]) -> list[str]:
    """What the authority states on the day of the end: one text, or none if it is silent or never confirms it."""
    if story.ending in {"done", "short", "disputed"}:
        start = words.pick(("{Actor} confirms: {phrase}. ", "{Phrase} is official, {actor} states. ",
                            "Decision of {actor}: {phrase}. "))  # fmt: skip
        return [(start + _extent(story)).format(**names).strip()]
    if story.ending == "dropped":
        start = words.pick(("{Actor} will not go ahead with {phrase}.", "{Actor} has ruled out {phrase}.",
                            "There will be no {noun}, {actor} states."))  # fmt: skip
        return [start.format(**names)]
    if story.ending in {"postponed", "late"}:
        start = words.pick(("{Actor} has put off {phrase}; no new date is set.",
                            "{Actor} needs more time for {phrase} and has set no date."))  # fmt: skip
        return [start.format(**names)]
    return []


def _extent(story: Story) -> str:
    """The amount of what is announced, or whether its detail is part of it."""
    matter = story.matter
    if matter.thresholds:
        return f"The figure is {matter.amount(story.threshold if story.amount is None else story.amount)}."
    if story.condition == "detail":
        return f'The element "{story.detail}" is {"not " if story.amount == 0 else ""}part of it.'
    return "It takes effect as set out."


def _placeholders(story: Story, day: str, amount: str) -> dict[str, str]:
    """The values of the placeholders in sentences; names in capitals begin a sentence, and a noun has no article."""
    phrase = story.matter.phrase
    return {
        "actor": story.actor, "Actor": story.actor[0].upper() + story.actor[1:], "phrase": phrase,
        "Phrase": phrase[0].upper() + phrase[1:], "noun": phrase.split(" ", 1)[1], "day": day, "amount": amount,
        "detail": story.detail,
    }  # fmt: skip


def day_text(day: date, form: int) -> str:
    """A day in one of the four forms that outlets use.

    Args:
        day: the day.
        form: number of the form, from 0 to 3.

    Example:
        >>> [day_text(date(2025, 12, 19), form) for form in range(4)]
        ['19 December 2025', 'December 19, 2025', '2025-12-19', 'Friday, 19 December 2025']
    """
    month = _MONTHS[day.month - 1]
    return (
        f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", day.isoformat(),
        f"{_DAYS[day.weekday()]}, {day.day} {month} {day.year}",
    )[form]  # fmt: skip


_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def moment(day: date, words: StoryDraws) -> datetime:
    """A random minute of a day, from 05:00 to 20:59 UTC.

    Args:
        day: the day.
        words: the random numbers that decide.
    """
    return datetime.combine(day, time(words.integer(5, 20), words.integer(0, 59)), UTC)
