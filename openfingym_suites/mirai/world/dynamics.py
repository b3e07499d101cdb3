"""The dynamics of a simulated world: how relations develop from day to day, and which stories they give.

Each pair of countries is in a *regime* for weeks (calm, warm, dispute, crisis, war, settling), and crises and wars make
it likelier that pairs nearby get worse. Within a regime a pair has *threads* of a few days in which the same happens
again. Some stories are answered in kind a few days later. What was announced happens on its day, in most cases.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from openfingym_suites.mirai.world.kinds import KINDS, REGIMES, SCHEMES, TOPICS, Scheme, StoryKind
from openfingym_suites.mirai.world.reactions import react
from openfingym_suites.mirai.world.story import Act, Announcement, DayStory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym_suites.mirai.world.geography import Geography

CALM, WARM, DISPUTE, CRISIS, WAR, SETTLING = range(len(REGIMES))
ACTIVITY = np.array([0.75, 1.1, 1.4, 2.4, 4.0, 1.6])
"""A factor of the stories a day in each regime."""
MOST_A_DAY = 1.2
"""The most stories a day of a pair, before the factors of its regime and of its last days."""
THREAD_CONTINUES = 0.78
"""Probability that a story is of the same thread as the pair's last one, if that was within :data:`THREAD_DAYS`."""
THREAD_DAYS = 6
"""The most days without a story after which a thread may still go on."""
KEPT = 0.88
"""Probability that a relation of a thread happens again when the thread goes on."""
EXCITEMENT = 3.2
"""By how much a story raises the rate of further ones on the next day, relative to it; half of it each day after."""
ANNOUNCES = 0.15
"""Share of the stories outside of threads that announce something."""
SIDES, MOST_SIDES = 2.0, 8
"""How many other kinds of stories a story of usual importance includes on average, and the most that any includes: what
two countries say and do on one day is mixed.
"""
ANSWERED = {
    "criticism": "criticism", "sanctions": "sanctions", "threat": "show of force", "strikes": "strikes",
    "expulsion": "expulsion", "broken ties": "broken ties", "show of force": "show of force", "skirmish": "skirmish",
    "visit": "visit", "complaint": "refusal", "demand": "refusal", "arrest": "arrest", "praise": "praise",
    "release": "release", "truce": "truce",
}  # fmt: skip
"""The kind of story with which the other side may answer some days later."""
_BY_NAME = {kind.name: kind for kind in KINDS}


@dataclass
class _Thread:
    """The story of a pair that may happen again in the next days."""

    kind: StoryKind
    """The kind of story."""
    forward: bool
    """Whether the first country of the pair acts, and not the second."""
    to: tuple[str, ...]
    """Codes of what the acting side did."""
    back: tuple[str, ...]
    """Codes of what it got back."""
    topic: str
    """The topic of the story."""
    day: int
    """The last day on which it happened."""


@dataclass(frozen=True)
class _Due:
    """A story that will happen on a later day."""

    pair: int
    """Number of the pair."""
    forward: bool
    """Whether the first country of the pair acts, and not the second."""
    kind: StoryKind
    """The kind of story."""
    importance: float
    """The least importance of the story; 1 is usual."""
    topic: str
    """The topic of the story."""
    longest: int = 1
    """How many days it lasts."""
    scheme: Scheme | None = None
    """The scheme by which it was announced; None if nobody was told of it."""


class Dynamics:
    """The state of a world, which moves on by a day with each call of :meth:`stories_of`.

    Args:
        geography: the countries and pairs of the world.
        stories_a_day: how many stories all pairs together have on a calm day.
        rng: the source of all random draws, whose order decides the world.

    Attributes:
        regime: int64[n], the regime of each pair, as its place in ``REGIMES``.
    """

    def __init__(self, geography: Geography, stories_a_day: float, rng: np.random.Generator) -> None:
        self._world = geography
        self._rng = rng
        self._touching = geography.touching()
        pairs = len(geography.first)
        self.regime = np.full(pairs, CALM)
        self.regime[geography.affinity > 0.5] = WARM
        self.regime[geography.affinity < -0.6] = DISPUTE
        # Bounded, or pairs of two large countries would have a story on nearly every day.
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
        """Move the world on by a day.

        Args:
            day: the day, counted from 0 at the first day of the world. Days come in order, from a negative one if the
                world is burnt in.

        Returns:
            The stories of the day with the reactions to them.
        """
        self._move_on()
        # First what was planned for the day: due stories, and summits of alliances.
        stories = [self._due_story(day, due) for due in self._due.pop(day, [])]
        for members, host, topic in self._summits.pop(day, []):
            stories.extend(self._gathering(day, members, host, topic))
        stories.extend(self._announce_gathering(day))
        # Then what nobody planned: a pair has a story unless its Poisson number of them is 0, so with 1 - exp(-rate).
        expected = self._rate * ACTIVITY[self.regime] * (1.0 + EXCITEMENT * self._heat)
        happens = self._rng.random(len(expected)) < -np.expm1(-expected)
        stories.extend(self._story(day, pair) for pair in np.flatnonzero(happens).tolist())
        # Stories excite further ones, so that they come in clusters.
        self._heat *= 0.5
        for story in stories:
            pair = self._pair(story.actor, story.target)
            if pair is not None:
                self._heat[pair] = 1.0
            react(story, self._world, self._rng)
        return stories

    def draw_anew(self, rng: np.random.Generator) -> None:
        """From the next day on, draw from another source, also what comes of earlier announcements.

        Args:
            rng: the source of all further random draws.
        """
        self._rng = rng
        for day, dues in self._due.items():
            self._due[day] = [self._decided(due) for due in dues]

    def _decided(self, due: _Due) -> _Due:
        """What was announced, with what comes of it decided once more; anything else as it is."""
        if due.scheme is None:
            return due
        kind = due.scheme.outcome if self._rng.random() < due.scheme.holds else due.scheme.otherwise
        return replace(due, kind=kind, longest=1 + int(self._rng.integers(due.scheme.longest)))

    def _move_on(self) -> None:
        """Let the regime of every pair change with its probability for a day."""
        affinity, regime = self._world.affinity, self.regime
        # How many pairs nearby are in trouble makes it likelier that a pair gets worse, up to three of them.
        troubled = self._touching @ ((regime == CRISIS) | (regime == WAR)).astype(np.float64)
        worse = 1.0 + 1.5 * np.minimum(troubled, 3.0)
        # The probability of each change within a day; constant ones are arrays too, so that all have one type.
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
        # One draw for each pair: it changes to the first regime whose running sum of probabilities is above the draw.
        draw = self._rng.random(len(regime))
        reached = np.cumsum(chance, axis=1)
        self.regime = np.where(draw < reached[:, -1], (draw[:, None] < reached).argmax(axis=1), regime)

    def _story(self, day: int, pair: int) -> DayStory:
        """A story of a pair that was not planned: one of its thread, one that announces something, or a new one."""
        rng, regime = self._rng, int(self.regime[pair])
        # The thread may go on: the same again, with most of its relations and always with the main one.
        thread = self._threads.get(pair)
        if thread is not None and day - thread.day <= THREAD_DAYS and rng.random() < THREAD_CONTINUES:
            keep = [code for code in thread.to[1:] if rng.random() < KEPT]
            to, back = (thread.to[0], *keep), tuple(code for code in thread.back if rng.random() < KEPT)
            thread.day = day
            importance = self._importance(thread.kind)
            return self._between(day, pair, thread.forward, thread.kind, to, back, thread.topic, importance)
        forward = bool(rng.random() < self._world.initiative[pair])
        topic = TOPICS[int(rng.integers(len(TOPICS)))]
        if rng.random() < ANNOUNCES:
            return self._announced(day, pair, forward, topic)
        # A new story, of a kind that is usual in the regime and for the pair, begins a thread.
        weights = self._weights[regime] * self._world.kind_style[pair]
        kind = KINDS[_drawn(weights, rng)]
        importance = self._importance(kind)
        to, back = self._codes_of_day(kind, pair, importance)
        self._threads[pair] = _Thread(kind, forward, to, back, topic, day)
        story = self._between(day, pair, forward, kind, to, back, topic, importance)
        if kind.name in ANSWERED and rng.random() < 0.35:
            answer = _Due(pair, not forward, _BY_NAME[ANSWERED[kind.name]], story.importance, topic)
            self._due[day + int(rng.integers(1, 5))].append(answer)
        # Half of all shows of force come with rumours, of which three in five are borne out by a skirmish.
        if kind.name == "show of force" and rng.random() < 0.5:
            story.rumour = True
            if rng.random() < 0.6:
                self.regime[pair] = max(self.regime[pair], CRISIS)
                due = _Due(pair, forward, _BY_NAME["skirmish"], story.importance * 1.3, topic, longest=3)
                self._due[day + int(rng.integers(2, 11))].append(due)
        return story

    def _announced(self, day: int, pair: int, forward: bool, topic: str) -> DayStory:
        """A story that announces something for a later day. Whether that will happen is decided here already."""
        rng = self._rng
        scheme: Scheme = SCHEMES[_drawn(self._scheme_weights[int(self.regime[pair])], rng)]
        comes = day + int(rng.integers(scheme.days[0], scheme.days[1] + 1))
        kind = scheme.outcome if rng.random() < scheme.holds else scheme.otherwise
        importance = self._importance(scheme.announced)
        to, back = self._codes_of_day(scheme.announced, pair, importance)
        story = self._between(day, pair, forward, scheme.announced, to, back, topic, importance)
        longest = 1 + int(rng.integers(scheme.longest))
        # On its day it is important enough for articles of its own (see `coverage.ALONE`).
        self._due[comes].append(_Due(pair, forward, kind, max(1.6, story.importance), topic, longest, scheme))
        # A second announcement may come one to three days before.
        if comes - day > 4 and rng.random() < 0.5:
            soon = comes - int(rng.integers(1, 4))
            self._due[soon].append(_Due(pair, forward, _reminder(scheme, comes), story.importance, topic))
        host = story.target if scheme.name != "round of talks" else self._host(story)
        story.notice = Announcement(scheme.name, comes, host)
        return story

    def _due_story(self, day: int, due: _Due) -> DayStory:
        """A story on the day for which it was planned; it may last for further days."""
        kind = due.kind
        importance = max(self._importance(kind), due.importance)
        # What was announced fills the day, so that little else happens on it.
        to, back = self._codes_of_day(kind, due.pair, importance * 0.3)
        story = self._between(day, due.pair, due.forward, kind, to, back, due.topic, importance)
        if isinstance(kind, _Reminder):
            story.notice = Announcement(kind.scheme, kind.day, story.target)
        elif due.longest > 1:
            again = _Due(due.pair, due.forward, kind, due.importance * 0.9, due.topic, due.longest - 1)
            self._due[day + 1].append(again)
        return story

    def _announce_gathering(self, day: int) -> list[DayStory]:
        """On some days an alliance invites its members to a summit that is 10 to 74 days ahead.

        Returns:
            The stories in which the host invites; none on most days.
        """
        rng = self._rng
        # About one day in fourteen, whatever the state of the world.
        if rng.random() > 0.07:
            return []
        members = self._world.alliances[int(rng.integers(len(self._world.alliances)))]
        host = members[int(rng.integers(len(members)))]
        comes = day + int(rng.integers(10, 75))
        topic = TOPICS[int(rng.integers(len(TOPICS)))]
        self._summits[comes].append((members, host, topic))
        scheme = SCHEMES[0]
        stories = []
        # Articles are written about the invitations of the largest members only; on its day most members come.
        for member in members[:4]:
            if member != host:
                acts = (Act(host, "036", member), Act(member, "019", host))
                story = DayStory(day, scheme.announced, host, member, acts, topic, 1.5)
                story.notice = Announcement("gathering", comes, host)
                stories.append(story)
        return stories

    def _gathering(self, day: int, members: tuple[int, ...], host: int, topic: str) -> list[DayStory]:
        """The day of an alliance's summit: guests visit the host, and some meet each other or sign an agreement."""
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

    def _between(
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
        """A story between the two countries of a pair, from the codes of what each did."""
        first, second = int(self._world.first[pair]), int(self._world.second[pair])
        actor, target = (first, second) if forward else (second, first)
        acts = (*(Act(actor, code, target) for code in to), *(Act(target, code, actor) for code in back))
        return DayStory(day, kind, actor, target, acts, topic, importance)

    def _importance(self, kind: StoryKind) -> float:
        return float(self._rng.lognormal(0.0, 0.8)) * kind.weight_of_news

    def _codes_of_day(self, kind: StoryKind, pair: int, importance: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Codes of what each side does on the day of a story: those of its kind first, then those of other kinds."""
        weights = self._weights[int(self.regime[pair])] * self._world.kind_style[pair]
        to, back = self._codes_of_kind(kind, pair)
        for _ in range(min(MOST_SIDES, int(self._rng.poisson(SIDES * min(importance, 4.0))))):
            more_to, more_back = self._codes_of_kind(KINDS[_drawn(weights, self._rng)], pair)
            # Each code once, in the order in which it first came.
            to, back = tuple(dict.fromkeys(to + more_to)), tuple(dict.fromkeys(back + more_back))
        return to, back

    def _codes_of_kind(self, kind: StoryKind, pair: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Codes of what each side does in a story of a kind; the other side may do nothing in return."""
        return self._codes(kind.to, pair), self._codes(kind.back, pair, least=0)

    def _codes(self, chances: tuple[tuple[str, float], ...], pair: int, *, least: int = 1) -> tuple[str, ...]:
        """Draw the codes of one side, each by its probability and the pair's inclination.

        Args:
            chances: the codes with their probabilities.
            pair: number of the pair.
            least: how many of the first codes are taken if none is drawn.
        """
        style = self._world.code_style[pair]
        # What a kind of story is hardly ever without does not depend on the pair.
        codes = [
            code
            for code, chance in chances
            if self._rng.random() < (chance if chance > 0.9 else min(0.97, chance * style[self._column[code]]))
        ]
        return tuple(codes) or tuple(code for code, _ in chances[:least])

    def _host(self, story: DayStory) -> int:
        """The country in which the two of a story meet: an ally of the one that acts, if it has any."""
        allies = self._world.allies[story.actor][:5]
        return allies[int(self._rng.integers(len(allies)))] if allies else story.target

    def _pair(self, actor: int, target: int) -> int | None:
        """Number of the pair of two countries; None if they have no stories of their own."""
        return self._pair_of.get((min(actor, target), max(actor, target)))


@dataclass(frozen=True)
class _Reminder(StoryKind):
    """A kind of story that announces a later day once more."""

    scheme: str = ""
    """Name of the scheme."""
    day: int = 0
    """The announced day, counted from 0 at the first day of the world."""


def _reminder(scheme: Scheme, day: int) -> StoryKind:
    """The second announcement of something that is planned for a day."""
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
    """Draw an index with a probability in proportion to its weight."""
    reached = np.cumsum(weights)
    # From the right, so that an index of weight 0 is never drawn.
    return int(np.searchsorted(reached, rng.random() * reached[-1], side="right"))
