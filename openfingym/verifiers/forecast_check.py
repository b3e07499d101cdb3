"""Checking a scored forecast offline: what was asked and answered, what came, and the score once more, from the log.

A *scored forecast* is a JSON object of what a verifier answers, of which it has nothing that the log does not commit
to: ``question`` as it was asked and ``resolution``, the one that decides (``GET /v1/questions/NAME``), ``forecast`` (of
``GET /v1/forecasts``), and ``receipts`` (``GET /v1/receipts/ROW``) of the rows of the four events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.digests import canonical_json, sha256_of_text
from openfingym.errors import OpenFinGymError, ReceiptError
from openfingym.questions import Question, moment_ns, read_answer, utc_text
from openfingym.questions.scoring import scores
from openfingym.receipts import Receipt
from openfingym.verifiers.known_logs import known_key
from openfingym.verifiers.receipt_check import PassedStep

if TYPE_CHECKING:
    from openfingym.receipts import Checkpoint, PublicKey
    from openfingym.verifiers.client import VerifierClient

FIELDS = frozenset({"question", "resolution", "forecast", "receipts"})
RESOLUTION = ("kind", "truth", "source", "evidence", "vintage")
SCORE = ("loss", "naive_loss", "market_loss", "correct")
WHO = ("principal", "agent", "version")
TOLD = ("forecast", *WHO, "received_at", "answer", "salt", "reference", *SCORE)
LATE = ", with what the market showed as it is told: that came after the forecast, in an entry that is not here"


@dataclass(frozen=True)
class CheckedForecast:
    """A scored forecast whose receipts hold."""

    receipt: Receipt
    """Of its score."""
    checkpoint: Checkpoint
    key_pinned: bool
    steps: tuple[PassedStep, ...]


def scored_forecast(client: VerifierClient, question: Mapping[str, Any], forecast: Mapping[str, Any]) -> dict[str, Any]:
    """Put together what :func:`check_forecast` needs of a forecast that is scored.

    Args:
        client: speaks to the verifier, as the forecaster or the operator.
        question: the resolved question with its resolutions, which
            :meth:`~openfingym.verifiers.questions.Questions.show` gives.
        forecast: one of its forecasts that is scored, which
            :meth:`~openfingym.verifiers.questions.Questions.forecasts` gives.
    """
    resolution = question["resolutions"][0]
    rows = (question["log_row"], forecast["log_row"], resolution["log_row"], forecast["score_row"])
    return {
        "question": question["question"],
        "resolution": {name: resolution[name] for name in (*RESOLUTION, "known_at")},
        "forecast": {name: forecast[name] for name in TOLD},
        "receipts": [client.receipt_of_row(row).to_dict() for row in rows],
    }


def check_forecast(document: Mapping[str, Any], key: PublicKey | None = None) -> CheckedForecast:
    """Check a scored forecast, without a verifier.

    Args:
        document: the object, which may be anybody's.
        key: public key of the log; None for the one known in the store, else the one in the receipts.

    Raises:
        ReceiptError: with the first step that fails.
    """
    try:
        receipts = [Receipt.from_dict(one) for one in document["receipts"]]
        last = receipts[-1]
        key = key or known_key(last.origin)
        checkpoints = [one.checked(key) for one in receipts]
        if any((one.key, len(one.leaves)) != (last.key, 1) for one in receipts):
            raise ReceiptError("the receipts are not of one entry each, of one log", step="format")
        asked, made, came, scored = (one.leaves[0].document for one in receipts)
        details = _check(document, asked, made, came, scored)
    except ReceiptError:
        raise
    except (OpenFinGymError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ReceiptError(f"not a scored forecast: {type(error).__name__} {error}", step="format") from error
    entries = ", ".join(str(one.leaves[0].index) for one in receipts)
    steps = (
        PassedStep("signature", f"{last.origin}, {checkpoints[-1].size:,} entries"),
        PassedStep("inclusion", f"entries {entries} are in the log"),
        *details,
    )
    return CheckedForecast(last, checkpoints[-1], key is not None, steps)


def _check(
    document: Mapping[str, Any],
    asked: Mapping[str, Any],
    made: Mapping[str, Any],
    came: Mapping[str, Any],
    scored: Mapping[str, Any],
) -> Sequence[PassedStep]:
    """Hold what is told against the entries, and compute the score."""
    what, resolution, forecast = (document[one] for one in ("question", "resolution", "forecast"))
    if forecast.keys() != set(TOLD) or resolution.keys() != {*RESOLUTION, "known_at"}:
        raise ReceiptError("its forecast or its resolution has other fields than the log commits to", step="format")
    name, number, reference = what["id"], forecast["forecast"], forecast["reference"]
    truth = resolution["truth"]
    known_ns = None if resolution["known_at"] is None else moment_ns(resolution["known_at"])
    told = [_text(resolution[one]) if one in {"truth", "evidence"} else resolution[one] for one in RESOLUTION]
    told += [known_ns, came["at_ns"], float(truth) if isinstance(truth, int | float) else None]
    answer = _text(forecast["answer"])
    for part, stated, committed in (
        ("events", ("question-asked", "forecast", "question-resolved", "forecast-scored"),
         tuple(one["event"] for one in (asked, made, came, scored))),
        ("question", (name, sha256_of_text(_text(what))), (asked["question"], asked["content"])),
        ("places", [(name, number)] * 2, [(one["question"], one["forecast"]) for one in (made, scored)]),
        ("forecaster", [forecast[one] for one in WHO], [made[one] for one in WHO]),
        ("time of receipt", forecast["received_at"], utc_text(made["received_ns"])),
        ("time of the truth", resolution["known_at"], None if known_ns is None else utc_text(known_ns)),
        ("answer", sha256_of_text(forecast["salt"] + answer), made["payload"]),
        ("resolution", (name, 1, sha256_of_text(_text(told))), (came["question"], came["n"], came["resolution"])),
    ):  # fmt: skip
        if stated != committed:
            raise ReceiptError(f"the {part} of forecast {number} is not what the log commits to", step="result")
    # What came later than the forecast is an entry of its own, which is not among these.
    late = made["reference"] is None and reference is not None
    if not late and made["reference"] != (reference and sha256_of_text(_text(reference))):
        raise ReceiptError(f"the reference of forecast {number} is not what the log commits to", step="result")
    asked_of = Question.from_dict(what)
    found = scores(asked_of, read_answer(asked_of, forecast["answer"]).values, _payouts(truth), reference)
    for field in SCORE:
        if not getattr(found, field) == scored[field] == forecast[field]:
            raise ReceiptError(
                f"the {field} of forecast {number} is {getattr(found, field)!r} by its answer and the truth, and "
                f"{scored[field]!r} in the log",
                step="score",
            )
    return (
        PassedStep(
            "result", f"question, answer, time {forecast['received_at']} and truth are what the entries commit to"
        ),
        PassedStep("score", f"loss {found.loss!r}, computed once more from answer and truth{LATE if late else ''}"),
    )


def _payouts(truth: Any) -> Any:
    return tuple(truth) if isinstance(truth, list) else truth


def _text(value: object) -> str:
    return canonical_json(value).decode()
