"""The files that are kept of a rollout: everything that went into it, and the verifier's evidence of its result."""

from __future__ import annotations

import contextlib
import io
import platform
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from openfingym.agents import Agent
from openfingym.digests import sha256_of_text
from openfingym.errors import ReceiptError, StoreError, UsageError, VerifierError
from openfingym.kinds import asks_questions, is_live, is_sequential, sequential_kind
from openfingym.kinds.question_range import QuestionRange
from openfingym.packages.package import BuiltPackage
from openfingym.results import RolloutResult
from openfingym.results.run_folder import Proof, RunFiles
from openfingym.rollouts.bounds import limits_of
from openfingym.rollouts.verdict import Acted
from openfingym.verifiers.known_logs import meet
from openfingym.verifiers.receipt_check import read_receipt

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from openfingym.agents.llm.playing import PlayedConversation
    from openfingym.agents.llm.setup import ModelSetup
    from openfingym.kinds import Array
    from openfingym.verifiers.client import VerifierClient
    from openfingym_runtime.job import Backend


@dataclass(frozen=True)
class VerifierRecords:
    """The verifier's records of a rollout; empty where it cannot be asked."""

    log: list[dict[str, object]] = field(default_factory=list)
    """Rows of its log about the rollout, in order."""
    submissions: dict[int, bytes] = field(default_factory=dict)
    """Accepted submissions by number, as ``.npy`` bytes."""
    actions: list[dict[str, object]] | None = None
    """Actions of a sequential task, in order; None of any other task."""
    tape: bytes | None = None
    """Tape of the live session; None where there was none."""
    proof: Proof | None = None
    """What proves the result; None where the verifier has no proof."""
    data: Mapping[str, Array] = field(default_factory=dict)
    """Public arrays of the rollout's tape by name, in the place of the package's."""


def evidence_of(
    client: VerifierClient, package: BuiltPackage, rollout_id: str, data: Mapping[str, Array]
) -> VerifierRecords:
    """Ask the verifier for its records of a rollout.

    Args:
        client: speaks to the verifier of the rollout.
        package: the built package of the task.
        rollout_id: id of the rollout.
        data: public arrays of its tape, as the verifier gave them before.

    Raises:
        VerifierError: the verifier does not answer.
    """
    log = [asdict(row) for row in client.log(rollout_id)]
    actions = (
        [asdict(action) for action in client.actions(rollout_id)] if is_sequential(package.task.spec.contract) else None
    )
    numbers = [past.submission for past in client.rollout_status(rollout_id).submissions]
    tape = client.tape(rollout_id) if is_live(package.task.spec.contract) else None
    submissions = {number: _npy(client.submission(rollout_id, number)) for number in numbers}
    return VerifierRecords(log, submissions, actions, tape, proof_of(client, rollout_id), data)


def proof_of(client: VerifierClient, rollout_id: str) -> Proof | None:
    """Ask the verifier for what proves the result of a rollout, and note the key of its log in the store.

    Args:
        client: speaks to the verifier of the rollout.
        rollout_id: id of the rollout.

    Returns:
        The proof; None where the rollout has no result, or the verifier is of a version before receipts.

    Raises:
        VerifierError: the verifier does not answer, or its log has another key than this machine knows it by.
    """
    receipt = client.receipt(rollout_id)
    if receipt is None:
        return None
    meet(receipt, client.where)
    return Proof(receipt.to_json(), client.result_document(rollout_id))


def note_key(folder: Path) -> None:
    """Note the key of the log by which a node of one's own cluster has proven a run; one that cannot be believed is
    left for whoever checks the receipt.

    Args:
        folder: folder of the run, as it came from the node.
    """
    with contextlib.suppress(StoreError, ReceiptError, VerifierError):
        meet(read_receipt(folder), "a node of the cluster")


def files_of(
    package: BuiltPackage,
    agent: Agent,
    setup: ModelSetup | None,
    backend: Backend | None,
    result: RolloutResult,
    acted: Acted,
    evidence: VerifierRecords,
) -> RunFiles:
    """Collect the files to keep of a rollout.

    Args:
        package: the built package of the task.
        agent: the agent that acted in the rollout.
        setup: the model, prompt and limits of an agent with a model or a command; None of any other.
        backend: the backend that ran its programs; None where there were none.
        result: the result of the rollout.
        acted: how the agent acted and ended.
        evidence: the verifier's records of the rollout.
    """
    program, trajectory = agent.program, None
    if acted.played is not None:
        from openfingym.agents.llm.record import rollout_record

        program, trajectory = acted.played.program, rollout_record(acted.played, result).model_dump_json()
    config = _config(package, agent, setup, backend, result, acted.played, program)
    return RunFiles(
        config,
        program,
        acted.output,
        evidence.log,
        evidence.submissions,
        evidence.actions,
        trajectory,
        evidence.tape,
        evidence.proof,
        question_rows(package, result, evidence),
    )


def question_rows(
    package: BuiltPackage, result: RolloutResult, evidence: VerifierRecords
) -> list[Mapping[str, object]] | None:
    """A row for each question that the rollout was to be asked; None where it was asked none, or nothing was scored.

    A row has the ``question``, counted from 1, whether it was ``begun``, its ``actions``, and what the kind says of it
    (:meth:`~openfingym.kinds.kind.SequentialKind.question_row`). It has no score, because scores of single questions
    would tell whoever can ask them again which answers are true. Questions about a world of the rollout's own are kept
    nowhere else; of those that were begun, the row has what its agent was shown as data.

    Args:
        package: the built package of the task.
        result: the result of the rollout.
        evidence: the verifier's records of the rollout.
    """
    import numpy as np

    contract, manifest = package.task.spec.contract, package.manifest
    if not asks_questions(contract) or not evidence.submissions or evidence.actions is None:
        return None
    # The one submission of a sequential task: what came of each episode, public ones first.
    outcomes = np.load(io.BytesIO(evidence.submissions[max(evidence.submissions)]), allow_pickle=False)
    begun = {
        entry.get("number")
        for entry in (row["entry"] for row in evidence.log)
        if isinstance(entry, dict) and entry.get("event") == "episode-started" and entry.get("fold") == "private"
    }
    taken = Counter(action["number"] for action in evidence.actions if action["fold"] == "private")
    asked = QuestionRange(1, manifest.n_private) if result.slice is None else QuestionRange.parse(result.slice)
    kind = sequential_kind(contract)

    def read(name: str) -> Array:
        return evidence.data[name] if name in evidence.data else package.array(name)

    def row(place: int) -> Mapping[str, object]:
        number, kept = manifest.n_public + place, result.tape == "given" or place not in begun
        return {
            "question": place + 1,
            "begun": place in begun,
            "actions": taken[place],
            **kind.question_row(contract, read, number, outcomes[number], kept=kept),
        }

    return [row(place) for place in range(asked.first - 1, asked.last)]


def _config(
    package: BuiltPackage,
    agent: Agent,
    setup: ModelSetup | None,
    backend: Backend | None,
    result: RolloutResult,
    played: PlayedConversation | None,
    program: str,
) -> dict[str, object]:
    """The document ``config.json``, of plain values; docs/rollouts.md has the list."""
    from openfingym.version import __version__

    manifest = package.manifest
    of_model = {} if setup is None else setup.describe() | {"prompt_sha256": played.prompt_sha256 if played else None}
    return {
        "format": result.format,
        "openfingym": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "task": manifest.name,
        "task_version": manifest.version,
        "task_digest": manifest.digest,
        "family": package.task.spec.family,
        "data_kind": manifest.data_kind,
        "agent": agent.name,
        "agent_digest": _digest_of(agent),
        "program_sha256": sha256_of_text(program) if program else None,
        "backend": result.backend,
        "environment": backend.environment() if backend else None,
        "limits": asdict(limits_of(package)),
        "seed": result.seed,
        "split": result.split,
        "instance": result.instance,
        "questions": result.slice,
        **of_model,
    }


def _digest_of(agent: Agent) -> str | None:
    """The digest of an agent; None where it is made of what cannot be distinguished from another of its kind."""
    from openfingym.rollouts.spec import agent_digest

    try:
        return agent_digest(agent)
    except UsageError:
        return None


def _npy(values: NDArray[np.float64]) -> bytes:
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()
