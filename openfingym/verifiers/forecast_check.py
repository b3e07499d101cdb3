"""Checking a scored forecast offline: the question, the answer and the outcome against the log, and the score computed
once more.

A *scored forecast* is a JSON object that is put together of a verifier's answers, and has nothing that the log does not
commit to: ``question`` as it was asked and ``resolution``, the one that decides (``GET /v1/questions/NAME``),
``forecast`` (of ``GET /v1/forecasts``), and ``receipts`` (``GET /v1/receipts/ROW``) of the rows of the four events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openfingym.digests import canonical_json, sha256_of_text
from openfingym.errors import OpenFinGymError, ReceiptError
from openfingym.questions import Question, moment_ns, utc_text
from openfingym.questions.answer import read_answer
from openfingym.questions.scoring import scores
from openfingym.receipts import Receipt
from openfingym.verifiers.known_logs import pinned_key
from openfingym.verifiers.receipt_check import PassedStep

if TYPE_CHECKING:
    from openfingym.receipts import Checkpoint, PublicKey
    from openfingym.verifiers.client import VerifierClient

FIELDS = frozenset({"question", "resolution", "forecast", "receipts"})
"""Names in a scored forecast."""
RESOLUTION = ("kind", "truth", "source", "evidence", "vintage")
"""Fields of a resolution to which the log commits, in the order in which they are hashed."""
SCORE = ("loss", "naive_loss", "market_loss", "correct")
"""Fields of a score."""
WHO = ("principal", "agent", "version")
"""Fields that say whose forecast it is."""
TOLD = ("forecast", *WHO, "received_at", "answer", "salt", "reference", *SCORE)
"""Fields of a forecast in a scored forecast."""
LATE = ", with what the market showed as it is told: that came after the forecast, in an entry that is not here"
"""Remark on a score that rests on a reference to which none of the four entries commits."""


@dataclass(frozen=True)
class CheckedForecast:
    """A scored forecast whose receipts hold."""

    receipt: Receipt
    """Receipt of the score."""
    checkpoint: Checkpoint
    """Checkpoint of that receipt, whose signature was checked."""
    key_pinned: bool
    """Whether the key is one that the reader has from elsewhere: given, or known in the store."""
    steps: tuple[PassedStep, ...]
    """The steps of the check, in order."""


def scored_forecast(client: VerifierClient, question: Mapping[str, Any], forecast: Mapping[str, Any]) -> dict[str, Any]:
    """Put together a scored forecast, as :func:`check_forecast` takes it.

    Args:
        client: speaks to the verifier, as the forecaster or the operator.
        question: the resolved question with its resolutions, as
            :meth:`~openfingym.verifiers.questions.QuestionClient.show` gives it.
        forecast: one of the question's forecasts that is scored, as
            :meth:`~openfingym.verifiers.questions.QuestionClient.forecasts` gives it.
    """
    # The first resolution decides; later ones are corrections, which are kept beside it.
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
        document: the scored forecast, which may be a stranger's.
        key: public key of the log; None for the one known in the store, else the one in the receipts.

    Raises:
        ReceiptError: a step of the check fails; the error names it.
    """
    try:
        receipts = [Receipt.from_dict(item) for item in document["receipts"]]
        last = receipts[-1]
        key = key or pinned_key(last)
        # Signatures and inclusion come first: what follows believes the entries.
        checkpoints = [receipt.checked(key) for receipt in receipts]
        if any((receipt.key, len(receipt.leaves)) != (last.key, 1) for receipt in receipts):
            raise ReceiptError("the receipts are not of one entry each, of one log", step="format")
        asked, made, resolved, scored = (receipt.leaves[0].document for receipt in receipts)
        details = _check(document, asked, made, resolved, scored)
    except ReceiptError:
        raise
    except (OpenFinGymError, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        # The document may be of any form, and is looked into without asking at each step what is there.
        raise ReceiptError(f"not a scored forecast: {type(error).__name__} {error}", step="format") from error
    entries = ", ".join(str(receipt.leaves[0].index) for receipt in receipts)
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
    resolved: Mapping[str, Any],
    scored: Mapping[str, Any],
) -> Sequence[PassedStep]:
    """Compare a scored forecast with the entries of its log, and compute the score once more.

    Args:
        document: the scored forecast.
        asked: entry of the question.
        made: entry of the forecast.
        resolved: entry of the resolution.
        scored: entry of the score.

    Raises:
        ReceiptError: something is stated that the entries do not commit to, or the score is another one.
    """
    stated_question, resolution, forecast = (document[name] for name in ("question", "resolution", "forecast"))
    # A field beyond these would be one that nothing proves.
    if forecast.keys() != set(TOLD) or resolution.keys() != {*RESOLUTION, "known_at"}:
        raise ReceiptError("its forecast or its resolution has other fields than the log commits to", step="format")
    name, number, reference = stated_question["id"], forecast["forecast"], forecast["reference"]
    truth = resolution["truth"]
    known_ns = None if resolution["known_at"] is None else moment_ns(resolution["known_at"])
    # The fields of the resolution that the entry has the digest of, in the ledger's order and forms.
    row = [_text(resolution[field]) if field in {"truth", "evidence"} else resolution[field] for field in RESOLUTION]
    row += [known_ns, resolved["at_ns"], float(truth) if isinstance(truth, int | float) else None]
    answer = _text(forecast["answer"])
    for part, stated, committed in (
        ("events", ("question-asked", "forecast", "question-resolved", "forecast-scored"),
         tuple(entry["event"] for entry in (asked, made, resolved, scored))),
        ("question", (name, sha256_of_text(_text(stated_question))), (asked["question"], asked["content"])),
        ("places", [(name, number)] * 2, [(entry["question"], entry["forecast"]) for entry in (made, scored)]),
        ("forecaster", [forecast[field] for field in WHO], [made[field] for field in WHO]),
        ("time of receipt", forecast["received_at"], utc_text(made["received_ns"])),
        ("time of the truth", resolution["known_at"], None if known_ns is None else utc_text(known_ns)),
        ("answer", sha256_of_text(forecast["salt"] + answer), made["payload"]),
        ("resolution", (name, 1, sha256_of_text(_text(row))),
         (resolved["question"], resolved["n"], resolved["resolution"])),
    ):  # fmt: skip
        if stated != committed:
            raise ReceiptError(f"the {part} of forecast {number} is not what the log commits to", step="result")
    # A reference that was captured after the forecast has an entry of its own, which is not among these four.
    late = made["reference"] is None and reference is not None
    if not late and made["reference"] != (reference and sha256_of_text(_text(reference))):
        raise ReceiptError(f"the reference of forecast {number} is not what the log commits to", step="result")
    question = Question.from_dict(stated_question)
    computed = scores(question, read_answer(question, forecast["answer"]).values, _payouts(truth), reference)
    for field in SCORE:
        # To the last digit, since the same arithmetic is done with the same values.
        if not getattr(computed, field) == scored[field] == forecast[field]:
            raise ReceiptError(
                f"the {field} of forecast {number} is {getattr(computed, field)!r} by its answer and the truth, and "
                f"{scored[field]!r} in the log",
                step="score",
            )
    return (
        PassedStep(
            "result", f"question, answer, time {forecast['received_at']} and truth are what the entries commit to"
        ),
        PassedStep("score", f"loss {computed.loss!r}, computed once more from answer and truth{LATE if late else ''}"),
    )


def _payouts(truth: Any) -> Any:
    """A truth as the scoring takes it: payouts, which JSON has as a list, are a tuple."""
    return tuple(truth) if isinstance(truth, list) else truth


def _text(value: object) -> str:
    return canonical_json(value).decode()
