"""What people decided about a candidate: kept one a line in ``decisions.jsonl``, and never changed.

Only :func:`accept` makes a task curated, and only as it was then: its digest is part of the decision, so that a task
whose files are others later is not curated any more.
"""

from __future__ import annotations

import getpass
import json
import shutil
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import TypeAdapter, ValidationError

from openfingym.digests import sha256_of_files, sha256_of_json
from openfingym.errors import StoreError, UsageError
from openfingym.files.whole import store_errors
from openfingym.forge.blueprint import CHANGED_BY, Scalar, Stated, Value
from openfingym.forge.blueprint_file import read_blueprint, write_blueprint
from openfingym.forge.folder import EDITED_FROM, ForgeFolder, PaperFolder
from openfingym.forge.stage import RejectionReason, StageResult
from openfingym.forge.vocabulary import problem_of

FILE: Final = "decisions.jsonl"


@dataclass(frozen=True)
class ReviewDecision:
    """One decision of a person."""

    action: Literal["accept", "change", "reject"]
    who: str
    when: str
    """UTC, ISO 8601."""
    task: str = ""
    """Name of the installed task; empty where there is none."""
    digest: str = ""
    """Of the installed task's files; empty where there is none."""
    field: str = ""
    value: Value = None
    before: Value = None
    reason: str = ""


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
    """Folder of a candidate's installed task; None where there is none."""
    kept = paper.result("install")
    if kept is None or kept.result.state != "passed":
        return None
    folder = forge.tasks / str(kept.result.facts.get("task", ""))
    return folder if folder.is_dir() and folder.parent == forge.tasks and folder != forge.tasks else None


def task_digest(folder: Path) -> str:
    """SHA-256 of all files of a task."""
    return sha256_of_json(sha256_of_files(folder))


def is_curated(forge: ForgeFolder, paper: PaperFolder) -> bool:
    """Whether the last word of a person is that the installed task is accepted, as it is now."""
    made = decisions(paper)
    folder = installed(forge, paper)
    if not made or folder is None or made[-1].action != "accept":
        return False
    return (made[-1].task, made[-1].digest) == (folder.name, task_digest(folder))


def accept(forge: ForgeFolder, paper: PaperFolder, who: str = "", *, reason: str = "") -> ReviewDecision:
    """Accept a candidate's installed task as it is.

    Args:
        forge: the forge.
        paper: the candidate.
        who: name of the person; the user's by default.
        reason: a remark, if any.

    Raises:
        UsageError: no task of it is installed.
        StoreError: it cannot be written.
    """
    folder = installed(forge, paper)
    if folder is None:
        stage, state = paper.state()
        raise UsageError(f"{paper.key}: nothing to accept, no task is installed ({state} at {stage or 'the start'})")
    found = _keep(paper, ReviewDecision("accept", _name(who), _now(), folder.name, task_digest(folder), reason=reason))
    facts = {"task": found.task, "digest": found.digest, "who": found.who}
    paper.keep_result(StageResult("review", "passed", facts=facts), found.digest, 0.0)
    return found


def reject(forge: ForgeFolder, paper: PaperFolder, reason: str, who: str = "") -> ReviewDecision:
    """Reject a candidate; its installed task, if any, is removed.

    Raises:
        UsageError: no reason is given.
        StoreError: it cannot be written.
    """
    if not reason.strip():
        raise UsageError("say why it is rejected: `reject REASON`")
    folder = installed(forge, paper)
    digest = task_digest(folder) if folder is not None else ""
    task = folder.name if folder is not None else ""
    found = _keep(paper, ReviewDecision("reject", _name(who), _now(), task, digest, reason=reason.strip()))
    told = RejectionReason("rejected", f"{found.who}: {found.reason}")
    paper.keep_result(StageResult("review", "refused", (told,)), digest, 0.0)
    if folder is not None:
        # Out of sight at once, so that nobody meets half of it.
        aside = folder.with_name(f".{folder.name}.rejected")
        with store_errors(folder):
            shutil.rmtree(aside, ignore_errors=True)
            folder.rename(aside)
            shutil.rmtree(aside)
    return found


def change(forge: ForgeFolder, paper: PaperFolder, field: str, value: str, who: str = "") -> ReviewDecision:
    """Change a field of a candidate's blueprint; the stages after the blueprint are done again by the next run.

    Args:
        forge: the forge.
        paper: the candidate.
        field: name of the field, as on the page.
        value: the new value as JSON; what is no JSON is taken as a text.
        who: name of the person; the user's by default.

    Raises:
        UsageError: there is no blueprint or no such field, or the value does not fit it.
        StoreError: it cannot be written.
    """
    blueprint = read_blueprint(paper.blueprint_path)
    made = _value(value)
    if problem := problem_of(field, made):
        raise UsageError(f"{field}: {problem}")
    person = _name(who)
    old = blueprint.fields.get(field)
    stated = Stated(value=made, assumed=f"{CHANGED_BY} {person}")
    changed = blueprint.model_copy(update={"fields": {**blueprint.fields, field: stated}})
    folder = installed(forge, paper)
    found = ReviewDecision(
        "change",
        person,
        _now(),
        folder.name if folder is not None else "",
        field=field,
        value=made,
        before=old.value if old is not None else None,
    )
    # The decision first: where writing the blueprint fails, it is seen that somebody wanted it.
    _keep(paper, found)
    write_blueprint(paper.blueprint_path, changed)
    paper.forget_from(EDITED_FROM)
    return found


def _value(text: str) -> Value:
    try:
        found = _VALUE.validate_python(json.loads(text))
    except (ValueError, ValidationError):
        found = text
    return _day(found) if isinstance(found, str) else found


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


def _keep(paper: PaperFolder, found: ReviewDecision) -> ReviewDecision:
    line = json.dumps(asdict(found), ensure_ascii=False, default=str) + "\n"
    decisions(paper)  # a damaged record is not added to
    with store_errors(paper.path), (paper.path / FILE).open("a", encoding="utf-8") as stream:
        stream.write(line)
    return found
