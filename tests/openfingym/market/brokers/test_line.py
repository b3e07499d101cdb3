"""The line to a broker without any input or output: when it connects again, and what it says."""

from __future__ import annotations

import json

import numpy as np
import pytest

from openfingym.market.brokers.line import BrokerLine
from openfingym.market.commands import Close, Command, Connect, RestAnswer, Send, Tell, ending
from tests.openfingym.market.brokers.fake_alpaca import Line, S

AUTHORIZED = json.dumps(
    {"stream": "authorization", "data": {"status": "authorized", "action": "authenticate"}}
).encode()
LISTENING = json.dumps({"stream": "listening", "data": {"streams": ["trade_updates"]}}).encode()


class Session:
    """A machine, and the time that passes for it."""

    def __init__(self) -> None:
        self.line = Line()
        self.machine = BrokerLine(self.line.executor, np.random.default_rng(0))
        assert self.machine.start(self.line.at) == [Connect(1)]

    def login(self, number: int) -> list[Command]:
        found = self.machine.opened(number, self.line.at)
        found += self.machine.frame(number, AUTHORIZED, self.line.at)
        return found + self.machine.frame(number, LISTENING, self.line.at)

    def carry(self) -> list[Command]:
        """Answer what is asked."""
        found: list[Command] = []
        while self.line.sent:
            ask = self.line.sent.pop(0)
            answer = self.line.venue.answer(ask.request)
            found += self.machine.answered(ask.question, RestAnswer(answer.status, answer.body), self.line.at)
        return found

    def waits(self) -> float:
        """Seconds until the next connection."""
        began = self.line.venue.now
        while not any(isinstance(one, Connect) for one in self.machine.passed(self.line.at)):
            self.line.venue.now += S // 10
            self.carry()
        return (self.line.venue.now - began) / S


def kinds(commands: list[Command]) -> list[str]:
    return [one.kind for one in commands if isinstance(one, Tell)]


def test_a_connection_is_logged_in_and_told_of_once_the_account_is_known() -> None:
    session = Session()
    sent = [json.loads(one.frame) for one in session.login(1) if isinstance(one, Send)]
    assert [frame["action"] for frame in sent] == ["auth", "listen"]
    assert not session.machine.executor.ready
    assert kinds(session.carry()) == ["connected"]
    assert kinds(session.machine.passed(session.line.at)) == []


def test_waits_grow_and_begin_anew_after_a_connection_that_was_good() -> None:
    session = Session()
    waits = []
    for number in range(1, 9):
        assert kinds(session.machine.closed(number, "it broke", session.line.at)) == ["lost"]
        waits.append(session.waits())
    assert waits[0] <= 0.6
    assert 30 <= waits[-1] <= 61
    session.login(9)
    session.carry()
    session.line.venue.now += 60 * S
    session.machine.closed(9, "it broke", session.line.at)
    assert session.waits() <= 0.6


def test_the_venues_word_on_when_to_come_back_is_kept() -> None:
    session = Session()
    session.machine.closed(1, ending("HTTP 429", 120.0), session.line.at)
    assert session.waits() >= 120


@pytest.mark.parametrize("opened", [False, True])
def test_a_connection_that_does_not_begin_is_given_up(opened: bool) -> None:
    session = Session()
    if opened:
        session.machine.opened(1, session.line.at)
    session.line.venue.now += 21 * S
    commands = session.machine.passed(session.line.at)
    assert Close(1) in commands
    assert kinds(commands) == ["lost"]
    session.waits()
    assert session.machine.opened(1, session.line.at) == [Close(1)], "it came too late"
    assert session.machine.frame(1, LISTENING, session.line.at) == []


def test_a_frame_that_cannot_be_read_ends_the_connection() -> None:
    session = Session()
    session.login(1)
    session.carry()
    commands = session.machine.frame(1, b"\xff{", session.line.at)
    assert kinds(commands) == ["unreadable"]
    assert Close(1) in commands
    assert not session.machine.executor.ready
    assert session.waits() < 1


def test_a_refused_login_is_tried_again_unless_the_keys_are_wrong() -> None:
    session = Session()
    session.machine.opened(1, session.line.at)
    session.machine.frame(1, AUTHORIZED, session.line.at)
    nothing = json.dumps({"stream": "listening", "data": {"streams": []}}).encode()
    assert Close(1) in session.machine.frame(1, nothing, session.line.at)
    session.waits()
    session.machine.opened(2, session.line.at)
    refused = json.dumps({"stream": "authorization", "data": {"status": "unauthorized"}}).encode()
    commands = session.machine.frame(2, refused, session.line.at)
    assert kinds(commands) == ["refused", "failed"]
    assert Close(2) in commands
    session.line.venue.now += 3600 * S
    assert session.machine.passed(session.line.at) == []
    assert "APCA_API_KEY_ID" in session.machine.failed


def test_nothing_is_opened_after_the_end() -> None:
    session = Session()
    session.login(1)
    session.carry()
    assert session.machine.stop(session.line.at) == [Close(1)]
    session.line.venue.now += 3600 * S
    assert session.machine.passed(session.line.at) == []
    assert not session.machine.executor.ready
