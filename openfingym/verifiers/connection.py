"""The connection to a verifier: sending requests, repeating those that may be repeated, and checking the answers."""

from __future__ import annotations

import copy
import json
import logging
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import httpx

from openfingym.errors import SubmissionError, UsageError, VerifierAwayError, VerifierError
from openfingym.verifiers.routes import PROBLEM

if TYPE_CHECKING:
    from tenacity import RetryCallState

AGENT_STATUSES = frozenset({409, 413, 415, 422, 429})
"""Status codes of answers to requests that were the sender's fault."""
PATIENCE_S = 1.1
"""Seconds to wait for a verifier that does not answer, unless the caller is more patient: three pauses."""
FIRST_PAUSE_S = 0.05
"""Seconds before a request is sent for the second time; each further pause is four times as long."""
LONGEST_PAUSE_S = 2.0
"""Longest pause in seconds between two tries."""
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout)
"""Failures after which it is certain that nothing arrived."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class _Lost(NamedTuple):
    """A request that got no answer."""

    reason: str
    """Why there is no answer."""
    repeat: bool
    """Whether the request may be sent again."""


class Connection:
    """Sends requests to one verifier; safe to share between threads.

    A request whose connection fails is repeated for a moment, or for longer in a connection from :meth:`patient`.

    Attributes:
        where: the verifier's address, for messages.
        admin_token: the bearer token of requests that have no token of their own.
    """

    def __init__(self, *, admin_token: str | None, base_url: str | None, uds: Path | None, timeout_s: float) -> None:
        """Connect when first needed; the arguments are those of :class:`~openfingym.verifiers.client.VerifierClient`.

        Raises:
            UsageError: both addresses are given, or neither, or the URL is none.
        """
        if (base_url is None) == (uds is None):
            raise UsageError("give exactly one of base_url and uds")
        self.where = base_url or f"unix:{uds}"
        # The environment's proxies are for the outside world, and must never see a token.
        try:
            self._http = httpx.Client(
                base_url=base_url or "http://verifier",
                transport=_transport(uds),
                # The system's authorities, or those of $SSL_CERT_FILE, as everywhere else in this library. Without TLS
                # none, which take longer to read than most requests.
                verify=ssl.create_default_context()
                if (base_url or "").startswith("https:")
                else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                timeout=httpx.Timeout(timeout_s, connect=5.0),
                trust_env=False,
            )
        except httpx.InvalidURL as error:
            raise UsageError(f"{base_url}: expected the verifier's address as http://host:port ({error})") from None
        self.admin_token = admin_token
        self._patience_s = PATIENCE_S
        self._hurry = threading.Event()
        self._away = threading.Event()
        """Set while the verifier does not answer, for all who share the connections."""

    def patient(self, patience_s: float, hurry: threading.Event) -> Connection:
        """This connection, for a verifier that may be restarted; see
        :meth:`~openfingym.verifiers.client.VerifierClient.patient`.
        """
        # A shallow copy: both use the same pool of connections, and know together whether the verifier answers.
        other = copy.copy(self)
        other._patience_s, other._hurry = patience_s, hurry
        return other

    def send(
        self,
        method: str,
        path: str,
        token: str | None,
        *,
        again: tuple[type[Exception], ...] = (httpx.TransportError,),
        **request: Any,
    ) -> httpx.Response:
        """The answer to a request, whatever its status.

        Args:
            method: HTTP method of the request.
            path: path of the route.
            token: bearer token of the request; None sends none.
            again: kinds of failures after which the request is sent again; a timeout of the answer is never one.
            request: further arguments of :meth:`httpx.Client.request`, such as ``json`` or ``timeout``.

        Raises:
            VerifierError: the verifier does not answer; a :class:`~openfingym.errors.VerifierAwayError` where it was
                waited for in vain.
        """
        from tenacity import Retrying, retry_if_result, wait_exponential

        headers = {**request.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        until, over = time.monotonic() + self._patience_s, False

        def attempt() -> httpx.Response | _Lost:
            try:
                return self._http.request(method, path, headers=headers, **request)
            except httpx.TransportError as error:
                # A read timeout took its time already: the verifier is there, and repeating would add to its load.
                repeat = isinstance(error, again) and not isinstance(error, httpx.ReadTimeout)
                # Not the error itself, whose traceback would keep the connection open.
                return _Lost(str(error) or type(error).__name__, repeat)

        def stop(state: RetryCallState) -> bool:
            nonlocal over
            over = time.monotonic() + state.upcoming_sleep > until
            # The pause is made here and not in `sleep`, so that an event that ends it also ends the tries.
            return over or self._hurry.wait(state.upcoming_sleep)

        attempts = Retrying(
            retry=retry_if_result(lambda outcome: isinstance(outcome, _Lost) and outcome.repeat),
            wait=wait_exponential(multiplier=FIRST_PAUSE_S, exp_base=4, max=LONGEST_PAUSE_S),
            stop=stop,
            before_sleep=self._warn_once,
            sleep=lambda _: None,
            # After the last try the outcome is returned as it is; tenacity would raise an error of its own.
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        outcome: httpx.Response | _Lost = attempts(attempt)
        if isinstance(outcome, httpx.Response):
            self._away.clear()
            return outcome
        # "Away" says that all patience was used up, after which a rollout is not tried again.
        over = over or time.monotonic() > until
        kind = VerifierAwayError if over and self._patience_s > PATIENCE_S else VerifierError
        raise kind(f"the verifier at {self.where} cannot be reached: {outcome.reason}")

    def json(
        self, method: str, path: str, *, again: tuple[type[Exception], ...] = (httpx.TransportError,), **request: Any
    ) -> Any:
        """The JSON of the answer to a request with the admin token; the arguments are those of :meth:`send`.

        Raises:
            VerifierError: the verifier does not answer, or answers with a problem.
        """
        return self.checked(self.send(method, path, self.admin_token, again=again, **request))

    def get(self, path: str) -> httpx.Response:
        """A document that is read with the admin token, whatever its media type.

        Args:
            path: path of the document's route.

        Raises:
            VerifierError: there is no such document, or the verifier does not answer.
        """
        answer = self.send("GET", path, self.admin_token)
        if answer.status_code != 200:
            self.checked(answer)
        return answer

    def checked(self, answer: httpx.Response) -> Any:
        """The JSON of an answer.

        Raises:
            VerifierError: the answer is a problem document, or is not a verifier's.
        """
        if answer.is_success:
            try:
                return answer.json()
            except ValueError as error:
                raise VerifierError(f"{self.where} does not answer like a verifier; check the address") from error
        slug, detail = problem(answer)
        raise VerifierError(
            f"the verifier at {self.where} answered {answer.status_code} {slug}: {detail}", problem=slug
        )

    def accepted(self, answer: httpx.Response) -> Any:
        """The JSON of an answer to a request that may be the sender's fault.

        Raises:
            SubmissionError: what was sent is refused; ``problem`` says why.
            VerifierError: the answer is another problem document, or is not a verifier's.
        """
        if answer.status_code in AGENT_STATUSES:
            slug, detail = problem(answer)
            raise SubmissionError(f"{slug}: {detail}", problem=slug)
        return self.checked(answer)

    def close(self) -> None:
        """Drop the connections."""
        self._http.close()

    def _warn_once(self, _: RetryCallState) -> None:
        """Warn that the verifier is being waited for, once for all rollouts that wait for it."""
        if self._patience_s > PATIENCE_S and not self._away.is_set():
            _log.warning(
                "the verifier at %s cannot be reached; waiting for it, up to %.0f s", self.where, self._patience_s
            )
            self._away.set()


def _transport(uds: Path | None) -> httpx.BaseTransport | None:
    """The transport to a unix socket; None for that of httpx."""
    if uds is None:
        return None
    from openfingym.verifiers.unix_socket import UnixSocketTransport

    return UnixSocketTransport(uds)


def is_problem(answer: httpx.Response) -> bool:
    """Whether an answer is a problem document (RFC 9457)."""
    return bool(answer.headers.get("content-type", "").startswith("application/problem+json"))


def problem(answer: httpx.Response) -> tuple[str, str]:
    """Slug and detail of a problem document; ``internal`` where the answer is none."""
    # A proxy in between answers in its own form.
    try:
        document = json.loads(answer.content)
        return str(document["type"]).removeprefix(PROBLEM), str(document["detail"])
    except (ValueError, KeyError, TypeError):
        return "internal", answer.reason_phrase or "no problem document"


def build(kind: type[T], document: Mapping[str, Any]) -> T:
    """A dataclass from a JSON object; keys that a newer verifier may have added are left out.

    Args:
        kind: one of the dataclasses in :mod:`openfingym.verifiers.answers`, or of the same sort.
        document: the JSON object that a verifier answered.

    Raises:
        VerifierError: a field is missing.
    """
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # T is always a dataclass
    try:
        return kind(**{key: value for key, value in document.items() if key in names})
    except TypeError as error:
        raise VerifierError(
            f"the verifier's answer is not a {kind.__name__}: {error}; are both of one version?"
        ) from error
