"""Tournaments: many agents on the tape of one session, which is decoded once; each trades as if it were alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from openfingym.errors import DataError
from openfingym.market.buffer import Budgets
from openfingym.market.replay import tellers
from openfingym.market.session.account import Agent, SessionAccount
from openfingym.market.session.taped import OWN, decides, machine_of
from openfingym.market.tape_reader import TapeReader
from openfingym.trading.actions import Decision, parse_decision


def tournament(tape: Path, agents: Sequence[Agent], *, budgets: Budgets | None = None) -> list[SessionAccount]:
    """Let agents trade on a session's market; each decides when a
    :class:`~openfingym.market.session.taped.TapedSession` would.

    Args:
        tape: path of the session's tape. What its own agent did is left out.
        agents: the agents, each of which has an account of its own on the session's terms. What they are shown of the
            market are the same objects, which they must not change.
        budgets: seconds after which books, quotes and prices are too old to trade on.

    Returns:
        The accounts after the last mark, in the order of the agents.

    Raises:
        TapeError: the tape cannot be read to the session's end.
        DataError: the tape is not of a session with an account, or the session was interrupted.
        SubmissionError: an action is malformed.
    """
    with TapeReader(tape) as reader:
        machine = machine_of(reader.header, on_paper=True)
        accounts = [SessionAccount(machine.terms, budgets=budgets) for _ in agents]
        machine.others += accounts
        inputs, shown = tellers(machine), machine.shown
        decisions: list[tuple[SessionAccount, int, Decision]] = []
        for record in reader:
            # Decisions take effect at the record at which those of the taped agent did, so that all agents trade at
            # the same time, whatever each took to decide.
            if decisions and decides(record, machine):
                for account, seen, decision in decisions:
                    account.decide(seen, decision, record.at)
                decisions.clear()
            enter = inputs.get(record.kind)
            # What the taped agent did is left out: nobody decides for the machine's own account.
            if enter is None or record.kind in OWN:
                continue
            enter(record)
            if machine.shown is shown:
                continue
            shown = machine.shown
            for account, agent in zip(accounts, agents, strict=True):
                mark = account.shown
                action = None if mark is None or mark.done else agent(mark)
                if mark is not None and action is not None:
                    decisions.append((account, mark.number, parse_decision(action, machine.terms.symbols)))
            if machine.over:
                return accounts
    raise DataError("the tape ends before the session does: it was interrupted")
