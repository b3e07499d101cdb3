"""What people decided about a candidate: one decision a line in ``decisions.jsonl``, none of which is ever changed.

Only :func:`accept` makes a task curated, and only as it is then: the digest of its files is part of the decision, so
that a task whose files change later is no longer curated.
"""

from __future__ import annotations

import getpass
import json
import os
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError

from openfingym.digests import sha256_of_files, sha256_of_json
from openfingym.errors import StoreError, UsageError
from openfingym.files.whole import store_errors
from openfingym_forge.blueprint import CHANGED_BY, Scalar, Stated, Value
from openfingym_forge.blueprint_file import read_blueprint, write_blueprint
from openfingym_forge.folder import EDITED_FROM, ForgeFolder, PaperFolder, remove_at_once
from openfingym_forge.stage import RejectionReason, StageResult
from openfingym_forge.vocabulary import problem_of

FILE: Final = "decisions.jsonl"


@dataclass(frozen=True)
class ReviewDecision:
    """One decision of a person."""

    action: Literal["accept", "change", "reject"]
    who: str
    """Name of the person."""
    when: str
    """Time of the decision in UTC, in ISO 8601."""
    task: str = ""
    """Name of the installed task; empty where there is none."""
    digest: str = ""
    """Digest of the installed task's files; empty where there is none, and for a change."""
    field: str = ""
    """Name of the field that was changed; empty for another decision."""
    value: Value = None
    """Value of the field after the change."""
    before: Value = None
    """Value of the field before the change; None where it had none."""
    reason: str = ""
    """Why the person decided so; empty where nothing was said."""


_DECISION = TypeAdapter(ReviewDecision)
_VALUE: TypeAdapter[Value] = TypeAdapter(Value)


def decisions(paper: PaperFolder) -> list[ReviewDecision]:
    """All decisions about a candidate, the oldest first.

    Raises:
        StoreError: the record is damaged.
    """
    path = paper.path / FILE
    if not path.exists():
        return []
    try:
        return [_DECISION.validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError, ValidationError) as error:
        why = " ".join(str(error).split())[:200]
        raise StoreError(f"{path}: the record of decisions is damaged ({why}); restore it from a copy") from None


def installed(forge: ForgeFolder, paper: PaperFolder) -> Path | None:
    """Folder of a candidate's installed task; None where there is none.

    Raises:
        UnreadableRecordError: the record of the installation is damaged.
    """
    kept = paper.result("install")
    if kept is None or kept.result.state != "passed":
        return None
    folder = forge.tasks / str(kept.result.facts.get("task", ""))
    # A record that was tampered with must not name another folder, since a rejected task is removed.
    return folder if folder.is_dir() and folder.parent == forge.tasks and folder != forge.tasks else None


def task_digest(folder: Path) -> str:
    """SHA-256 of all files of a task."""
    return sha256_of_json(sha256_of_files(folder))


def is_curated(forge: ForgeFolder, paper: PaperFolder) -> bool:
    """Whether the latest decision accepts the installed task, as it is now.

    Raises:
        StoreError: a record is damaged.
    """
    made = decisions(paper)
    folder = installed(forge, paper)
    if not made or folder is None or made[-1].action != "accept":
        return False
    return (made[-1].task, made[-1].digest) == (folder.name, task_digest(folder))


def accept(forge: ForgeFolder, paper: PaperFolder, who: str = "", *, reason: str = "") -> ReviewDecision:
    """Accept a candidate's installed task as it is.

    Args:
        forge: the forge, whose lock the caller holds.
        paper: folder of the candidate.
        who: name of the person; empty for the name of this machine's user.
        reason: a remark; empty for none.

    Raises:
        UsageError: no task of the candidate is installed.
        StoreError: the decision cannot be written, or a record is damaged.
    """
    folder = installed(forge, paper)
    if folder is None:
        stage, state = paper.state()
        raise UsageError(f"{paper.key}: nothing to accept, no task is installed ({state} at {stage or 'the start'})")
    made = _keep(paper, ReviewDecision("accept", _name(who), _now(), folder.name, task_digest(folder), reason=reason))
    facts = {"task": made.task, "digest": made.digest, "who": made.who}
    paper.keep_result(StageResult("review", "passed", facts=facts), made.digest, 0.0)
    return made


def reject(forge: ForgeFolder, paper: PaperFolder, reason: str, who: str = "") -> ReviewDecision:
    """Reject a candidate; its installed task, if any, is removed.

    Args:
        forge: the forge, whose lock the caller holds.
        paper: folder of the candidate.
        reason: why it is rejected.
        who: name of the person; empty for the name of this machine's user.

    Raises:
        UsageError: no reason is given.
        StoreError: the decision cannot be written, the task cannot be removed, or a record is damaged.
    """
    if not reason.strip():
        raise UsageError("say why it is rejected: `reject REASON`")
    folder = installed(forge, paper)
    digest = task_digest(folder) if folder is not None else ""
    task = folder.name if folder is not None else ""
    made = _keep(paper, ReviewDecision("reject", _name(who), _now(), task, digest, reason=reason.strip()))
    why = RejectionReason("rejected", f"{made.who}: {made.reason}")
    paper.keep_result(StageResult("review", "refused", (why,)), digest, 0.0)
    if folder is not None:
        with store_errors(folder):
            remove_at_once(folder)
    return made


def change(forge: ForgeFolder, paper: PaperFolder, field: str, value: str, who: str = "") -> ReviewDecision:
    """Change a field of a candidate's blueprint; the stages after the blueprint are done again by the next run.

    Args:
        forge: the forge, whose lock the caller holds.
        paper: folder of the candidate.
        field: name of the field, as the page shows it.
        value: the new value as JSON; text that is no JSON is the value itself.
        who: name of the person; empty for the name of this machine's user.

    Raises:
        UsageError: there is no blueprint or no such field, or the value does not fit it.
        StoreError: the decision or the blueprint cannot be written, or a record is damaged.
    """
    blueprint = read_blueprint(paper.blueprint_path)
    new = _value(value)
    if problem := problem_of(field, new):
        raise UsageError(f"{field}: {problem}")
    person = _name(who)
    old = blueprint.fields.get(field)
    stated = Stated(value=new, assumed=f"{CHANGED_BY} {person}")
    changed = blueprint.model_copy(update={"fields": {**blueprint.fields, field: stated}})
    folder = installed(forge, paper)
    made = ReviewDecision(
        "change",
        person,
        _now(),
        folder.name if folder is not None else "",
        field=field,
        value=new,
        before=old.value if old is not None else None,
    )
    # The decision first: if the blueprint cannot be written, the record still shows what somebody wanted.
    _keep(paper, made)
    write_blueprint(paper.blueprint_path, changed)
    paper.forget_from(EDITED_FROM)
    return made


def _value(text: str) -> Value:
    """The value that a person wrote on the command line: JSON, a date, or the text itself."""
    try:
        value = _VALUE.validate_python(json.loads(text))
    except (ValueError, ValidationError):
        value = text
    return _day(value) if isinstance(value, str) else value


def _day(text: str) -> Scalar:
    from datetime import date

    try:
        return date.fromisoformat(text)
    except ValueError:
        return text


def _name(who: str) -> str:
    if who.strip():
        return " ".join(who.split())
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise UsageError("say who decides: --who NAME") from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _keep(paper: PaperFolder, made: ReviewDecision) -> ReviewDecision:
    """Append a decision to the record."""
    line = json.dumps(asdict(made), ensure_ascii=False, default=str) + "\n"
    # Raises if the record is damaged, which nothing must be added to: somebody has to restore it.
    decisions(paper)
    with store_errors(paper.path), (paper.path / FILE).open("a", encoding="utf-8") as stream:
        stream.write(line)
        stream.flush()
        # On the disk before anything is done about it: a rejected task is removed, and a curated one is published.
        os.fsync(stream.fileno())
    return made
