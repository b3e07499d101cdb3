"""How relations in a simulated world go on from day to day, and which stories come of it.

Of each pair of countries: a *regime* lasts for weeks (calm, warm, dispute, crisis, war, settling) and spreads to pairs
nearby; a *thread* lasts for days, in which the same things happen again; what is hostile is answered in kind. What was
announced comes on its day, mostly.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from openfingym.suites.mirai.world.kinds import KINDS, MEDIATION, REGIMES, SCHEMES, TOPICS, Scheme, StoryKind
from openfingym.suites.mirai.world.story import Act, Announcement, DayStory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.suites.mirai.world.geography import Geography

CALM, WARM, DISPUTE, CRISIS, WAR, SETTLING = range(len(REGIMES))
ACTIVITY = np.array([0.75, 1.1, 1.4, 2.4, 4.0, 1.6])
"""Stories in each regime, over those in calm times before the scaling."""
MOST_A_DAY = 1.2
"""Stories a day of a pair in calm times, at most."""
THREAD_CONTINUES = 0.78
"""How likely a story is the same as the pair's last, if that was within :data:`THREAD_DAYS`."""
THREAD_DAYS = 6
KEPT = 0.88
"""How likely each relation of a thread happens again with it."""
EXCITEMENT = 3.2
"""How much likelier a story is on the day after one; it wears off by half a day."""
ANNOUNCES = 0.15
"""Share of stories that announce something."""
SIDES, MOST_SIDES = 2.0, 8
"""Other kinds of stories that a story of usual importance takes in, on average, and the most that any does: what is
said and done on one day is mixed.
"""
EAGERNESS = 0.2
"""Allies that say something of a story of usual importance, on each side."""
BLAME = ("111", "111", "112", "020", "010", "163", "113", "120", "131", "026")
SUPPORT = ("052", "051", "053", "018", "041", "070", "072", "040")
APPLAUSE = ("051", "019", "010", "041", "030", "020")
"""What allies do to the other side of a hostile story, to their own, and when it is friendly."""
ANSWERED = {
    "criticism": "criticism", "sanctions": "sanctions", "threat": "show of force", "strikes": "strikes",
    "expulsion": "expulsion", "broken ties": "broken ties", "show of force": "show of force", "skirmish": "skirmish",
    "visit": "visit", "complaint": "refusal", "demand": "refusal", "arrest": "arrest", "praise": "praise",
    "ultimatum": "strikes", "sanctions package": "sanctions", "release": "release", "truce": "truce",
}  # fmt: skip
"""The kind of story by which the other side answers some days later."""
_BY_NAME = {kind.name: kind for kind in KINDS}


@dataclass
class _Thread:
    """What a pair was last about."""

    kind: StoryKind
    forward: bool
    to: tuple[str, ...]
    back: tuple[str, ...]
    topic: str
    day: int


@dataclass(frozen=True)
class _Due:
    """A story that is to come."""

    pair: int
    forward: bool
    kind: StoryKind
    importance: float
    topic: str
    longest: int = 1


class Dynamics:
    """The state of a world; :meth:`stories_of` is called for each day in turn."""

    def __init__(self, geography: Geography, stories_a_day: float, rng: np.random.Generator) -> None:
        self._world = geography
        self._rng = rng
        self._touching = geography.touching()
        pairs = len(geography.first)
        self.regime = np.full(pairs, CALM)
        self.regime[geography.affinity > 0.5] = WARM
        self.regime[geography.affinity < -0.6] = DISPUTE
        # Activity is bounded, so that no pair has more than a few stories a day.
        rate = geography.rate / geography.rate.sum() * stories_a_day
        self._rate = np.minimum(rate, MOST_A_DAY)
        self._heat = np.zeros(pairs)
        self._threads: dict[int, _Thread] = {}
        self._due: dict[int, list[_Due]] = defaultdict(list)
        self._summits: dict[int, list[tuple[tuple[int, ...], int, str]]] = defaultdict(list)
        self._pair_of = {
            (int(first), int(second)): index
            for index, (first, second) in enumerate(zip(geography.first, geography.second, strict=True))
        }
        codes = {code: index for index, code in enumerate(geography.codes)}
        self._column = codes
        self._weights = np.array([kind.weights for kind in KINDS]).T
        self._scheme_weights = np.array([scheme.weights for scheme in SCHEMES]).T

    def stories_of(self, day: int) -> list[DayStory]:
        """The stories of a day; days come in order, from 0."""
        self._move_on()
        found = [self._on_its_day(day, due) for due in self._due.pop(day, [])]
        for members, host, topic in self._summits.pop(day, []):
            found.extend(self._gathering(day, members, host, topic))
        found.extend(self._announce_gathering(day))
        expected = self._rate * ACTIVITY[self.regime] * (1.0 + EXCITEMENT * self._heat)
        happens = self._rng.random(len(expected)) < -np.expm1(-expected)
        found.extend(self._story(day, pair) for pair in np.flatnonzero(happens).tolist())
        self._heat *= 0.5
        for story in found:
            pair = self._pair(story.actor, story.target)
            if pair is not None:
                self._heat[pair] = 1.0
            self._react(story)
        return found

    def _move_on(self) -> None:
        """Let every pair's regime go on by a day."""
        affinity, regime = self._world.affinity, self.regime
        troubled = self._touching @ ((regime == CRISIS) | (regime == WAR)).astype(np.float64)
        worse = 1.0 + 1.5 * np.minimum(troubled, 3.0)
        chance = np.zeros((len(regime), len(REGIMES)))
        moves = (
            (CALM, WARM, 0.010 * (1.0 + affinity)), (CALM, DISPUTE, 0.008 * (1.0 - affinity) * worse),
            (WARM, CALM, 0.035 * (1.2 - affinity)), (WARM, DISPUTE, 0.003 * (1.0 - affinity) * worse),
            (DISPUTE, CALM, 0.040 * (1.0 + 0.8 * affinity)), (DISPUTE, CRISIS, 0.022 * (1.0 - affinity) * worse),
            (CRISIS, DISPUTE, 0.030 + 0.0 * affinity), (CRISIS, WAR, 0.014 * (1.0 - affinity)),
            (CRISIS, SETTLING, 0.030 * (1.3 + affinity)), (WAR, SETTLING, 0.022 + 0.0 * affinity),
            (SETTLING, CALM, 0.040 * (1.1 + affinity)), (SETTLING, CRISIS, 0.012 * (1.0 - affinity)),
        )  # fmt: skip
        for before, after, rate in moves:
            chance[:, after] += np.where(regime == before, np.clip(rate, 0.0, 0.3), 0.0)
        draw = self._rng.random(len(regime))
        reached = np.cumsum(chance, axis=1)
        self.regime = np.where(draw < reached[:, -1], (draw[:, None] < reached).argmax(axis=1), regime)

    def _story(self, day: int, pair: int) -> DayStory:
        """An unannounced story of a pair, or one that announces."""
        rng, regime = self._rng, int(self.regime[pair])
        thread = self._threads.get(pair)
        if thread is not None and day - thread.day <= THREAD_DAYS and rng.random() < THREAD_CONTINUES:
            keep = [code for code in thread.to[1:] if rng.random() < KEPT]
            to, back = (thread.to[0], *keep), tuple(code for code in thread.back if rng.random() < KEPT)
            thread.day = day
            importance = self._importance(thread.kind)
            return self._made(day, pair, thread.forward, thread.kind, to, back, thread.topic, importance)
        forward = bool(rng.random() < self._world.initiative[pair])
        topic = TOPICS[int(rng.integers(len(TOPICS)))]
        if rng.random() < ANNOUNCES:
            return self._announced(day, pair, forward, topic)
        weights = self._weights[regime] * self._world.kind_style[pair]
        kind = KINDS[_drawn(weights, rng)]
        importance = self._importance(kind)
        to, back = self._mixed(kind, pair, importance)
        self._threads[pair] = _Thread(kind, forward, to, back, topic, day)
        story = self._made(day, pair, forward, kind, to, back, topic, importance)
        if kind.name in ANSWERED and rng.random() < 0.35:
            answer = _Due(pair, not forward, _BY_NAME[ANSWERED[kind.name]], story.importance, topic)
            self._due[day + int(rng.integers(1, 5))].append(answer)
        if kind.name == "show of force" and rng.random() < 0.5:
            story.rumour = True
            if rng.random() < 0.6:
                self.regime[pair] = max(self.regime[pair], CRISIS)
                due = _Due(pair, forward, _BY_NAME["skirmish"], story.importance * 1.3, topic, longest=3)
                self._due[day + int(rng.integers(2, 11))].append(due)
        return story

    def _announced(self, day: int, pair: int, forward: bool, topic: str) -> DayStory:
        """A story that announces another, which comes on its day or does not."""
        rng = self._rng
        scheme: Scheme = SCHEMES[_drawn(self._scheme_weights[int(self.regime[pair])], rng)]
        comes = day + int(rng.integers(scheme.days[0], scheme.days[1] + 1))
        kind = scheme.outcome if rng.random() < scheme.holds else scheme.otherwise
        importance = self._importance(scheme.announced)
        to, back = self._mixed(scheme.announced, pair, importance)
        story = self._made(day, pair, forward, scheme.announced, to, back, topic, importance)
        longest = 1 + int(rng.integers(scheme.longest))
        self._due[comes].append(_Due(pair, forward, kind, max(1.6, story.importance), topic, longest))
        # Others hear of it again shortly before.
        if comes - day > 4 and rng.random() < 0.5:
            soon = comes - int(rng.integers(1, 4))
            self._due[soon].append(_Due(pair, forward, _reminder(scheme, comes), story.importance, topic))
        host = story.target if scheme.name != "round of talks" else self._host(story)
        story.notice = Announcement(scheme.name, comes, host)
        return story

    def _on_its_day(self, day: int, due: _Due) -> DayStory:
        kind = due.kind
        importance = max(self._importance(kind), due.importance)
        # What was announced fills the day, so that little else is told of it.
        to, back = self._mixed(kind, due.pair, importance * 0.3)
        story = self._made(day, due.pair, due.forward, kind, to, back, due.topic, importance)
        if isinstance(kind, _Reminder):
            story.notice = Announcement(kind.scheme, kind.day, story.target)
        elif due.longest > 1:
            again = _Due(due.pair, due.forward, kind, due.importance * 0.9, due.topic, due.longest - 1)
            self._due[day + 1].append(again)
        return story

    def _announce_gathering(self, day: int) -> list[DayStory]:
        """Now and then an alliance calls its members to a summit some weeks ahead; it is known by the calendar."""
        rng = self._rng
        if rng.random() > 0.07:
            return []
        members = self._world.alliances[int(rng.integers(len(self._world.alliances)))]
        host = members[int(rng.integers(len(members)))]
        comes = day + int(rng.integers(10, 75))
        topic = TOPICS[int(rng.integers(len(TOPICS)))]
        self._summits[comes].append((members, host, topic))
        scheme = SCHEMES[0]
        stories = []
        for member in members[:4]:
            if member != host:
                acts = (Act(host, "036", member), Act(member, "019", host))
                story = DayStory(day, scheme.announced, host, member, acts, topic, 1.5)
                story.notice = Announcement("gathering", comes, host)
                stories.append(story)
        return stories

    def _gathering(self, day: int, members: tuple[int, ...], host: int, topic: str) -> list[DayStory]:
        """The day of an alliance's summit: guests visit the host, and meet each other."""
        rng, stories = self._rng, []
        kind = SCHEMES[0].outcome
        for member in members:
            if member == host or rng.random() < 0.15:
                continue
            acts = [
                Act(member, "042", host),
                Act(host, "043", member),
                Act(member, "040", host),
                Act(host, "040", member),
            ]
            other = members[int(rng.integers(len(members)))]
            if other not in {member, host}:
                acts += [Act(member, "044", other), Act(other, "044", member)]
            if rng.random() < 0.3:
                acts += [Act(member, "057", host), Act(host, "057", member)]
            stories.append(DayStory(day, kind, member, host, tuple(acts), topic, 1.0 + float(rng.exponential(0.8))))
        return stories

    def _react(self, story: DayStory) -> None:
        """Let allies of both sides, and one that mediates, say something on the same day."""
        rng, world = self._rng, self._world
        if story.kind.tone == 0 and story.importance < 2.0:
            return
        eager = EAGERNESS * min(story.importance, 4.0)
        for side, other in ((story.target, story.actor), (story.actor, story.target)):
            allies = [ally for ally in world.allies[side][:6] if ally != other]
            for ally in allies[: int(rng.poisson(eager))]:
                if story.kind.tone < 0:
                    story.reactions.append(Act(ally, self._one_of(BLAME), other))
                    if rng.random() < 0.4:
                        story.reactions.append(Act(ally, self._one_of(SUPPORT), side))
                else:
                    story.reactions.append(Act(ally, self._one_of(APPLAUSE), side))
        if story.kind.tone < 0 and story.importance > 2.0 and rng.random() < 0.45:
            broker = int(np.argsort(-world.weight, kind="stable")[int(rng.integers(12))])
            if broker not in {story.actor, story.target}:
                code = self._one_of(("026", "027", "020"))
                story.reactions += [Act(broker, code, story.actor), Act(broker, code, story.target)]
                if rng.random() < 0.4:
                    for side in (story.actor, story.target):
                        to = [code for code, chance in MEDIATION.to if rng.random() < chance]
                        story.reactions += [Act(broker, code, side) for code in to]
                        story.reactions += [
                            Act(side, code, broker) for code, chance in MEDIATION.back if rng.random() < chance
                        ]

    def _made(
        self,
        day: int,
        pair: int,
        forward: bool,
        kind: StoryKind,
        to: tuple[str, ...],
        back: tuple[str, ...],
        topic: str,
        importance: float,
    ) -> DayStory:
        one, two = int(self._world.first[pair]), int(self._world.second[pair])
        actor, target = (one, two) if forward else (two, one)
        acts = (*(Act(actor, code, target) for code in to), *(Act(target, code, actor) for code in back))
        return DayStory(day, kind, actor, target, acts, topic, importance)

    def _importance(self, kind: StoryKind) -> float:
        return float(self._rng.lognormal(0.0, 0.8)) * kind.weight_of_news

    def _mixed(self, kind: StoryKind, pair: int, importance: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Codes of both sides of a story, with those of others that it takes in; the kind's own first."""
        weights = self._weights[int(self.regime[pair])] * self._world.kind_style[pair]
        to, back = self._both(kind, pair)
        for _ in range(min(MOST_SIDES, int(self._rng.poisson(SIDES * min(importance, 4.0))))):
            more_to, more_back = self._both(KINDS[_drawn(weights, self._rng)], pair)
            to, back = tuple(dict.fromkeys(to + more_to)), tuple(dict.fromkeys(back + more_back))
        return to, back

    def _both(self, kind: StoryKind, pair: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self._codes(kind.to, pair), self._codes(kind.back, pair, least=0)

    def _codes(self, chances: tuple[tuple[str, float], ...], pair: int, *, least: int = 1) -> tuple[str, ...]:
        """Codes of one side of a story: each by its probability and the pair's own inclination."""
        style = self._world.code_style[pair]
        found = [
            code
            for code, chance in chances
            if self._rng.random() < (chance if chance > 0.9 else min(0.97, chance * style[self._column[code]]))
        ]
        return tuple(found) or tuple(code for code, _ in chances[:least])

    def _one_of(self, codes: tuple[str, ...]) -> str:
        return codes[int(self._rng.integers(len(codes)))]

    def _host(self, story: DayStory) -> int:
        """A third country where two meet."""
        allies = self._world.allies[story.actor][:5]
        return allies[int(self._rng.integers(len(allies)))] if allies else story.target

    def _pair(self, one: int, two: int) -> int | None:
        return self._pair_of.get((min(one, two), max(one, two)))


@dataclass(frozen=True)
class _Reminder(StoryKind):
    """A story that tells again of a day to come."""

    scheme: str = ""
    day: int = 0


def _reminder(scheme: Scheme, day: int) -> StoryKind:
    kind = scheme.announced
    return _Reminder(
        f"{scheme.name} ahead",
        kind.weights,
        (("010", 0.8), ("014", 0.3)),
        (("010", 0.3),),
        kind.tone,
        1.2,
        scheme.name,
        day,
    )


def _drawn(weights: NDArray[np.float64], rng: np.random.Generator) -> int:
    """An index with a chance in proportion to its weight."""
    reached = np.cumsum(weights)
    return int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))
