"""A live session that goes wrong has no score, however often one asks; and nobody can make one go wrong on purpose.

Attacks: an action that breaks the session, ruin, a practice episode, or no request ever again, for no score where it
would be bad, and another try, or for a feed that fills the disk for a day; a venue that dies, a full disk, a lost,
damaged or exchanged tape, for a score of other bars or at the second `finalize`
(`tests/verifier/episodes/test_sessions.py` kills the verifier).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from openfingym.errors import OpenFinGymError, StoreError, VenueError
from openfingym.market.paper.executor import PaperExecutor
from openfingym.market.session import venues
from openfingym.market.session.taped import TapedSession, replayed
from openfingym.market.session.terms import SessionOrder
from openfingym.market.tape_writer import TapeWriter
from openfingym.packages.package import BuiltPackage
from openfingym_verifier.episodes import sessions
from openfingym_verifier.ledger.ledger import Ledger
from openfingym_verifier.principals import Caller
from openfingym_verifier.problems import Problem
from openfingym_verifier.rollouts.creation import CreationRequest
from openfingym_verifier.rollouts.rollout import Rollout
from openfingym_verifier.scoring.truth import HiddenTask, load_tasks
from openfingym_verifier.service import Service

BUY = {"weights": [0.4, 0.3, 0.3]}


@pytest.fixture(scope="module")
def tasks(quick_live: BuiltPackage) -> dict[str, HiddenTask]:
    return load_tasks([quick_live])


@contextlib.contextmanager
def opened(tasks: dict[str, HiddenTask], state: Path) -> Iterator[Service]:
    with contextlib.closing(Ledger(state)) as ledger, contextlib.closing(Service(tasks, ledger)) as service:
        yield service


async def created(service: Service, order: SessionOrder | None = None) -> Rollout:
    return await service.create(CreationRequest("quick-live", ttl_s=60, session=order or SessionOrder()))


async def step(service: Service, rollout: Rollout, number: int, action: object) -> bytes:
    return await service.episodes.step(rollout, {"episode": 1, "step": number, "action": action})


def session_threads() -> list[str]:
    wanted = ("market: ", "local venue", "session tape", "end of a session")
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(wanted)]


def never_scored(
    tasks: dict[str, HiddenTask], state: Path, play: Callable[[Service, Rollout], Coroutine[Any, Any, None]]
) -> None:
    """What is played breaks the session: finalize fails each time, and after a restart too."""

    async def asked(service: Service, rollout: Rollout) -> None:
        for _ in range(2):
            with pytest.raises(OpenFinGymError):
                await service.finalize(rollout)
        assert rollout.result is None

    async def first(service: Service) -> str:
        rollout = await created(service)
        await play(service, rollout)
        await asked(service, rollout)
        return rollout.id

    async def later(service: Service) -> None:
        await asked(service, await service.find(rollout_id))

    with opened(tasks, state) as service:
        rollout_id = asyncio.run(first(service))
    with opened(tasks, state) as service:
        asyncio.run(later(service))


def test_the_venue_dies(tasks: dict[str, HiddenTask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks go on without a venue, and the session ends in time: what it shows is nobody's score all the same."""
    real = venues.simulated_venue

    @contextlib.contextmanager
    def dying(*arguments: Any, **named: Any) -> Iterator[Any]:
        with real(*arguments, **named) as feed:
            yield feed
        raise VenueError("the local venue ended early")

    monkeypatch.setattr(venues, "simulated_venue", dying)

    async def play(service: Service, rollout: Rollout) -> None:
        await service.episodes.start(rollout, {}, None)

    never_scored(tasks, tmp_path, play)
    assert not session_threads()


def test_the_venue_never_opens(tasks: dict[str, HiddenTask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def shut(*_: Any, **__: Any) -> Iterator[Any]:
        raise VenueError("the local venue did not come up")
        yield

    monkeypatch.setattr(venues, "simulated_venue", shut)

    async def play(service: Service, rollout: Rollout) -> None:
        for _ in range(2):
            with pytest.raises(OpenFinGymError):
                await service.episodes.start(rollout, {}, None)

    never_scored(tasks, tmp_path, play)


def test_the_disk_is_full(tasks: dict[str, HiddenTask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(service: Service, rollout: Rollout) -> None:
        await service.episodes.start(rollout, {}, None)

        def full(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(TapeWriter, "_write", full)
        with pytest.raises(OpenFinGymError):
            await service.finalize(rollout)

    never_scored(tasks, tmp_path, play)
    assert not session_threads()


def test_the_ledger_cannot_keep_what_was_done(
    tasks: dict[str, HiddenTask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session was begun, and the ledger knows nothing of it."""

    async def play(service: Service, rollout: Rollout) -> None:
        async def failing(_: object) -> None:
            raise StoreError("the ledger cannot be written")

        with monkeypatch.context() as patch:
            patch.setattr(service.ledger.writer, "submit", failing)
            with pytest.raises(OpenFinGymError):
                await service.episodes.start(rollout, {}, None)
        assert not session_threads(), "a session that nobody can play on goes on"

    never_scored(tasks, tmp_path, play)


def changed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES = [changed, cut, Path.unlink]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_the_tape_is_damaged(
    whole: tuple[Path, str], tasks: dict[str, HiddenTask], tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """After a restart, when the tape is all that is left of the session."""
    before, rollout_id = whole
    copied(before, tmp_path)
    damage(tmp_path / "sessions" / f"{rollout_id}.tape")
    assert_refused(tasks, tmp_path, rollout_id)


def test_the_tape_is_another_rollouts(whole: tuple[Path, str], tasks: dict[str, HiddenTask], tmp_path: Path) -> None:
    before, rollout_id = whole
    copied(before, tmp_path)
    folder = tmp_path / "sessions"
    (folder / "other.tape").replace(folder / f"{rollout_id}.tape")
    assert_refused(tasks, tmp_path, rollout_id)


def test_a_whole_tape_is_scored_after_a_restart(
    whole: tuple[Path, str], tasks: dict[str, HiddenTask], tmp_path: Path
) -> None:
    before, rollout_id = whole
    copied(before, tmp_path)

    async def finalized(service: Service) -> dict[str, object]:
        return await service.finalize(await service.find(rollout_id))

    with opened(tasks, tmp_path) as service:
        assert asyncio.run(finalized(service))["state"] == "scored"


@pytest.fixture(scope="module")
def whole(tasks: dict[str, HiddenTask], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The state of a verifier that was stopped after a session and before its result; beside it another's tape."""
    state = tmp_path_factory.mktemp("whole")

    async def play(service: Service) -> tuple[str, str]:
        rollouts = [await created(service) for _ in range(2)]
        await asyncio.gather(*(service.episodes.start(rollout, {}, None) for rollout in rollouts))
        await asyncio.gather(*(step(service, rollout, 1, BUY) for rollout in rollouts))
        await asyncio.gather(*(service.episodes.end_session(rollout) for rollout in rollouts))
        assert not session_threads()
        return rollouts[0].id, rollouts[1].id

    with opened(tasks, state) as service:
        first, second = asyncio.run(play(service))
    folder = state / "sessions"
    (folder / f"{second}.tape").replace(folder / "other.tape")
    return state, first


def copied(state: Path, to: Path) -> None:
    for path in state.rglob("*"):
        if path.is_file():
            place = to / path.relative_to(state)
            place.parent.mkdir(exist_ok=True, mode=0o700)
            place.write_bytes(path.read_bytes())
            place.chmod(path.stat().st_mode)


def assert_refused(tasks: dict[str, HiddenTask], state: Path, rollout_id: str) -> None:
    async def asked(service: Service) -> None:
        rollout = await service.find(rollout_id)
        for _ in range(2):
            with pytest.raises(OpenFinGymError):
                await service.finalize(rollout)

    for _ in range(2):
        with opened(tasks, state) as service:
            asyncio.run(asked(service))


def test_who_asks_for_nothing_any_more_is_not_recorded_for_ever(
    tasks: dict[str, HiddenTask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Feed, venue and tape end with the last mark; and what is over takes nobody's place."""
    monkeypatch.setattr(sessions, "MOST", 1)

    async def play(service: Service) -> None:
        first, second = [await created(service) for _ in range(2)]
        await service.episodes.start(first, {}, None)
        with pytest.raises(Problem) as caught:
            await service.episodes.start(second, {}, None)
        assert caught.value.slug == "unavailable"
        deadline = time.monotonic() + 20.0
        while session_threads():
            assert time.monotonic() < deadline, session_threads()
            await asyncio.sleep(0.05)
        size = service.sessions.tape(first.id).stat().st_size
        await service.episodes.start(second, {}, None)
        assert service.sessions.tape(first.id).stat().st_size == size
        assert (await service.finalize(first))["state"] == "scored"

    with opened(tasks, tmp_path) as service:
        asyncio.run(play(service))
    assert not session_threads(), "the second session outlives its verifier"


def test_ruin_is_a_score(tasks: dict[str, HiddenTask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ruined account ends its agent's part alone: otherwise who loses all would have no score, and try again."""
    value = PaperExecutor._value

    def ruined(account: PaperExecutor) -> None:
        if account.row > 0:
            account.cash = -1e9
        value(account)

    monkeypatch.setattr(PaperExecutor, "_value", ruined)

    async def play(service: Service) -> dict[str, object]:
        rollout = await created(service)
        await service.episodes.start(rollout, {}, None)
        assert b'"terminated":true' in await step(service, rollout, 1, BUY)
        result = await service.finalize(rollout)
        bars = replayed(service.sessions.tape(rollout.id))[0].bars
        assert np.isfinite(bars).all(), "the baseline has fewer bars than that of others"
        return result

    with opened(tasks, tmp_path) as service:
        result = asyncio.run(play(service))
    assert result["state"] == "scored"
    assert np.isfinite(float(str(result["baseline_total"])))


def test_what_is_not_a_participants_to_ask_for(tasks: dict[str, HiddenTask], tmp_path: Path) -> None:
    async def ask(service: Service) -> None:
        stranger = Caller("stranger", operator=False)
        for order in (SessionOrder(tape="/etc/passwd"), SessionOrder("real"), SessionOrder("real", 4)):
            with pytest.raises(Problem) as caught:
                await service.create(CreationRequest("quick-live", ttl_s=60, session=order), stranger)
            assert caught.value.slug == "forbidden"
        for order in (SessionOrder(tape="/etc/passwd"), SessionOrder(tape="/nowhere"), SessionOrder(duration_s=10**9)):
            with pytest.raises(Problem) as caught:
                await created(service, order)
            assert caught.value.slug == "malformed-request"

    with opened(tasks, tmp_path) as service:
        asyncio.run(ask(service))
    assert not (tmp_path / "sessions").exists()


NUMBERS = (0, -0.0, 1, -1, 0.5, 1e-320, 1e18, 1e300, 1.7e308, 10**17, -(10**17), None)


def hostile(random: np.random.Generator) -> Any:
    """An action in the right form, whose numbers nobody expects."""
    number = lambda: NUMBERS[random.integers(len(NUMBERS))]  # noqa: E731  # short
    whole = lambda: int(random.choice([-1, 0, 1, 2, 3, 10**17]))  # noqa: E731
    if random.integers(3) == 0:
        return {"weights": [number() for _ in range(3)]}
    orders = [
        {
            "symbol": ("btc", "eth", "?", -1, 10**17)[random.integers(5)],
            "side": str(random.choice(["buy", "sell"])),
            "quantity": number(),
            "type": str(random.choice(["market", "limit", "stop", "stop-limit"])),
            "limit_price": number() if random.integers(2) else 60_000.0,
            "stop_price": number() if random.integers(2) else 60_000.0,
            "time_in_force": str(random.choice(["gtc", "ioc"])),
            "client_id": ("a", "b", "\U0001f600", "\x00")[random.integers(4)],
        }
        for _ in range(random.integers(1, 30))
    ]
    replaces = [{"order": whole(), "quantity": number(), "limit_price": number(), "stop_price": number()}]
    return {"orders": orders, "cancels": [whole()], "replaces": replaces}


def test_no_action_breaks_a_session(whole: tuple[Path, str], tasks: dict[str, HiddenTask]) -> None:
    """Otherwise an agent whose session goes badly would end it without a score."""
    state, rollout_id = whole
    random = np.random.default_rng(5)
    for _ in range(150):
        with TapedSession(state / "sessions" / f"{rollout_id}.tape") as session:
            mark = session.begin()
            while not mark.done:
                mark = session.step(hostile(random))
            session.leave()
            assert np.isfinite(session.outcome()).all()
            session.machine.digest()
