"""What the operator of a verifier asks of it: participants, seasons, the tasks it holds, and how it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from openfingym.errors import VerifierAbsentError, VerifierError
from openfingym.verifiers.answers import Board, BoardRow, HeldTask, LadderState, Load, Participant, Season
from openfingym.verifiers.connection import NOT_SENT, Connection, build, is_problem

if TYPE_CHECKING:
    from openfingym.results.result import SeasonKind


class OperatorClient:
    """The part of a :class:`~openfingym.verifiers.client.VerifierClient` for the verifier's operator.

    Its methods raise a ``VerifierError`` where the verifier does not answer, or the token is not the admin token.
    """

    _connection: Connection

    def participants(self) -> tuple[Participant, ...]:
        """Everybody who was given a key, by name."""
        return tuple(build(Participant, row) for row in self._connection.json("GET", "/v1/participants"))

    def add_participant(self, name: str, organisation: str | None = None) -> str:
        """Give a new participant a key.

        Args:
            name: name of the participant: 1 to 63 lower case letters, digits, dots, dashes and underscores.
            organisation: name of the organisation that it belongs to, whose keys are one party; None for a party of its
                own.

        Returns:
            The key, which the verifier never shows again.

        Raises:
            VerifierError: the name is taken, or has other characters.
        """
        # Not sent again once it may have arrived: the name would be taken, and the key of the first answer lost.
        body = {"name": name} | ({} if organisation is None else {"organisation": organisation})
        return str(self._connection.json("POST", "/v1/participants", json=body, again=NOT_SENT)["key"])

    def revoke_participant(self, name: str) -> None:
        """Withdraw a participant's key.

        Args:
            name: name of the participant.

        Raises:
            VerifierError: no participant of that name has a key.
        """
        answer = self._connection.send(
            "DELETE", f"/v1/participants/{quote(name, safe='')}", self._connection.admin_token
        )
        if answer.status_code != 204:
            self._connection.checked(answer)

    def season(self) -> Season:
        """The verifier's latest season; for participants too."""
        return _season(self._connection.json("GET", "/v1/season"))

    def close_season(self) -> Season:
        """Close the season, which tells what was entered in it.

        Raises:
            VerifierError: the season is closed already, or the verifier does not answer.
        """
        return _season(self._connection.json("POST", "/v1/season/close"))

    def open_season(self, name: str, *, kind: SeasonKind = "sealed", reuse: Sequence[str] = ()) -> Season:
        """Open the next season, after the last one was closed.

        Args:
            name: name of the new season.
            kind: whether anything of the private fold is told before the close.
            reuse: names of tasks whose hidden data are used again, although an earlier season has told of them; the
                board says so.

        Raises:
            VerifierError: a season is open, the name is taken, or there is no task whose hidden data were not told.
        """
        return _season(
            self._connection.json("POST", "/v1/season", json={"name": name, "kind": kind, "reuse": list(reuse)})
        )

    def board(self, season: str) -> Board:
        """The board of a season that is closed; for participants too.

        Args:
            season: name of the season.

        Raises:
            VerifierError: there is no such season, or it is open.
        """
        answer = self._connection.json("GET", f"/v1/season/{quote(season, safe='')}/board")
        rows = tuple(build(BoardRow, {**row, "flags": tuple(row["flags"])}) for row in answer["rows"])
        return build(Board, {**answer, "rows": rows, "reused": tuple(answer["reused"])})

    def tasks(self) -> tuple[HeldTask, ...]:
        """The tasks that the verifier holds."""
        tasks = self._connection.json("GET", "/v1/tasks")
        return tuple(build(HeldTask, {**task, "submission_shape": tuple(task["submission_shape"])}) for task in tasks)

    def require_well(self) -> None:
        """Return if the verifier could create and record a rollout at this moment; needs no token.

        Raises:
            VerifierError: the verifier answers that it is not well.
            VerifierAbsentError: nothing answers like a verifier at its address.
        """
        try:
            # Without a token, which must not go to whatever else may listen there.
            answer = self._connection.send("GET", "/healthz", None)
        except VerifierError as error:
            raise VerifierAbsentError(str(error)) from error
        if not answer.is_success and not is_problem(answer):
            raise VerifierAbsentError(f"{self._connection.where} does not answer like a verifier; check the address")
        self._connection.checked(answer)

    def load(self) -> Load:
        """Ask how busy the verifier is, which only the operator may know."""
        from prometheus_client.parser import text_string_to_metric_families

        answer = self._connection.send("GET", "/metrics", self._connection.admin_token)
        if not answer.is_success:
            self._connection.checked(answer)
        try:
            values = {
                sample.name: int(sample.value)
                for family in text_string_to_metric_families(answer.text)
                for sample in family.samples
            }
            return Load(values["openfingym_open_rollouts"], values["openfingym_ledger_queue_depth"])
        except (KeyError, ValueError) as error:
            raise VerifierError(
                f"{self._connection.where} does not answer like a verifier; check the address"
            ) from error


def _season(answer: Mapping[str, Any]) -> Season:
    """A season from what the verifier answers."""
    lists = {name: tuple(answer[name]) for name in ("reused", "retired") if name in answer}
    return build(Season, {**answer, **lists, "ladders": tuple(build(LadderState, one) for one in answer["ladders"])})
