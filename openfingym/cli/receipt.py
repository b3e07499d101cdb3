"""``openfingym receipt ...``: showing and checking receipts, which prove a score to those who were not there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openfingym.cli.completion import complete_task
from openfingym.cli.options import json_option, real_option
from openfingym.cli.printable import printable, say
from openfingym.cli.render import print_json, print_table
from openfingym.errors import OpenFinGymError, ReceiptError, UsageError

if TYPE_CHECKING:
    from openfingym.receipts import Checkpoint, PublicKey, Receipt
    from openfingym.verifiers.receipt_check import CheckedRun, PassedStep

RECEIPT_PATH = click.Path(path_type=Path)
LONGEST = 300
"""The most characters of a value in an entry that are shown."""


@click.group()
def receipt() -> None:
    """Show and check receipts: what proves a score to those who were not there."""


@receipt.command()
@click.argument("path", metavar="RUN|RECEIPT", type=RECEIPT_PATH)
@click.option("--checkpoint", "only", flag_value="checkpoint", help="Print the signed checkpoint alone, to be kept.")
@click.option("--key", "only", flag_value="key", help="Print the log's public key alone.")
@click.option("--proof", type=click.IntRange(0), metavar="ENTRY", help="Print one entry's proof as a C2SP tlog-proof.")
@json_option("an object")
def show(path: Path, only: str | None, proof: int | None, as_json: bool) -> None:
    """Show what a receipt says; nothing is checked."""
    shown = _read(path)
    if proof is not None:
        leaf = next((leaf for leaf in shown.leaves if leaf.index == proof), None)
        if leaf is None:
            indices = ", ".join(str(leaf.index) for leaf in shown.leaves)
            raise UsageError(f"{path}: no entry {proof} in this receipt; it has {indices}")
        click.echo(shown.proof_text(leaf), nl=False)
    elif only is not None:
        # A checkpoint is a signed text, which already ends with a line break and must stay as it is.
        click.echo(getattr(shown, only), nl=only == "key")
    elif as_json:
        print_json(
            {
                "key": shown.key,
                "checkpoint": shown.checkpoint,
                "entries": [{"index": leaf.index, **leaf.document} for leaf in shown.leaves],
            }
        )
    else:
        rows = [("key", printable(shown.key)), ("", _whose(shown)), *_lines("checkpoint", shown.checkpoint)]
        for leaf in shown.leaves:
            rows += [
                (f"entry {leaf.index}", ""),
                *((f"  {name}", _short(value)) for name, value in leaf.document.items()),
            ]
        print_table("", ["receipt of", printable(shown.origin)], rows)


@receipt.command()
@click.argument("paths", metavar="RUN|RECEIPT...", nargs=-1, required=True, type=RECEIPT_PATH)
@click.option(
    "--key",
    help="The log's public key, or a file with it. Default: a key that this machine knows the log by.",
)
@click.option(
    "--checkpoint",
    "earlier",
    type=RECEIPT_PATH,
    help="A checkpoint that you kept, or a receipt: the log must go on from it, or lead to it.",
)
@click.option(
    "--log",
    metavar="WHERE",
    help="Where the log's tiles are, to compare checkpoints of two sizes: a verifier, a state folder, or a folder with "
    "tile/.",
)
@click.option("--opened", type=RECEIPT_PATH, help="Opened labels, from which the score is computed once more.")
@click.option(
    "--unpinned",
    is_flag=True,
    help="Be content with the key in the receipt itself, which anybody may have made; nobody vouches for it.",
)
@json_option("a list, an object a receipt")
@click.pass_context
def verify(
    ctx: click.Context,
    paths: Sequence[Path],
    key: str | None,
    earlier: Path | None,
    log: str | None,
    opened: Path | None,
    unpinned: bool,
    as_json: bool,
) -> None:
    """Check receipts, offline: of a run, also that its folder says what the log commits to.

    The exit status is 7 where a receipt does not hold, or is by a key that this machine does not know; which step
    failed, and at which entry, is on stderr. It is 6 where a file is missing or cannot be read.
    """
    given, documents, status = None if key is None else read_key(key), [], 0
    for path in paths:
        try:
            document = _verified(path, given, earlier, log, opened)
            if not document["key_pinned"] and not unpinned:
                raise ReceiptError(_not_known(document), step="signature")
        except OpenFinGymError as error:
            document = _failed(path, error)
            # A receipt that does not hold (7) is worse than one that cannot be read (6).
            status = max(status, error.exit_code)
            say(f"error: {document['reason']}", err=True)
        documents.append(document)
        if not as_json and document["holds"]:
            _print(document)
    if as_json:
        print_json(documents)
    ctx.exit(status)


@receipt.command()
@click.argument("key", required=False)
@click.option("--remove", is_flag=True, help="Do not trust the key any more, also if its verifier was met from here.")
@json_option("a list, an object a key that is known afterwards")
def trust(key: str | None, remove: bool, as_json: bool) -> None:
    """Trust the KEY of somebody else's log, so that receipts by it back runs; without KEY, list the keys that are
    known.

    KEY is the key's text, a file with it, or a run's folder or receipt that has it: ask the log's operator whether it
    is theirs, since anybody can make a key under any name. The keys of verifiers that run on this machine, or that a
    rollout was run at, are known without this.
    """
    from openfingym.verifiers import known_logs

    if key is None and remove:
        raise UsageError("--remove takes the KEY to remove; `openfingym receipt trust` lists the keys that are known")
    if key is not None:
        stated = _key_of(key)
        changed = known_logs.distrust(stated) if remove else known_logs.trust(stated)
        if not as_json:
            told = ("no longer trusted", "was not known") if remove else ("trusted", "is known already")
            say(f"{told[not changed]}: {stated}")
    if key is None or as_json:
        how = {known_logs.FILE: "met", known_logs.TRUSTED: "trusted"}
        known = known_logs.all_known_keys()
        rows = [(how[name], each.name, str(each)) for name, keys in known.items() for each in keys]
        if as_json:
            print_json([{"log": log, "key": text, "known": known_by} for known_by, log, text in rows])
        else:
            print_table("", ["known", "key"], [(known_by, text) for known_by, _, text in rows])


@receipt.command("open")
@click.argument("name", metavar="TASK", shell_complete=complete_task)
@click.option("--out", required=True, type=RECEIPT_PATH, help="File to write, such as labels.npz.")
@real_option
def open_labels(name: str, real: bool, out: Path) -> None:
    """Write the hidden data of a task, both folds, so that anybody can compute its scores once more.

    The task's digest commits to them; whoever reads the file can hold it against that. From then on a score in this
    task says nothing about who made it after reading.
    """
    from openfingym import catalog
    from openfingym.packages.build import build
    from openfingym.verifiers.opened import write_opened

    digest = write_opened(build(catalog.load_task(name, real=real)), out)
    say(f"{out}: the hidden data of {name}, to which its digest commits by {digest}")
    say("warning: who has this file knows the answers; scores made from now on prove nothing", err=True)


def _verified(
    path: Path, key: PublicKey | None, earlier: Path | None, log: str | None, opened: Path | None
) -> dict[str, object]:
    """Check one receipt.

    Args:
        path: folder of a run, or file of a receipt or of a scored forecast.
        key: public key of the log; None for the one known in the store, else the one in the receipt.
        earlier: file of another checkpoint of the log, which must be consistent; None for none.
        log: location of the log's tiles, to compare checkpoints of two sizes.
        opened: file of opened labels, from which the score is computed once more; None for none.

    Returns:
        The document that is printed of it.

    Raises:
        OpenFinGymError: the receipt does not hold, or a file cannot be read.
    """
    from openfingym.receipts import Checkpoint, PublicKey
    from openfingym.verifiers.forecast_check import FIELDS, check_forecast
    from openfingym.verifiers.known_logs import pinned_key
    from openfingym.verifiers.log_tiles import read_note, require_consistent
    from openfingym.verifiers.receipt_check import UNPROVEN, PassedStep, check_run, read_object

    # The receipt itself, by what it is of: a run, a scored forecast, or entries of the log alone.
    checked: CheckedRun | None = None
    if path.is_dir():
        checked = check_run(path, key)
        held, checkpoint, pinned, steps = checked.receipt, checked.checkpoint, checked.key_pinned, list(checked.steps)
    elif (document := read_object(path)) is not None and document.keys() == FIELDS:
        scored = check_forecast(document, key)
        held, checkpoint, pinned, steps = scored.receipt, scored.checkpoint, scored.key_pinned, list(scored.steps)
    else:
        held = _read(path)
        key = key or pinned_key(held)
        checkpoint, pinned = held.checked(key), key is not None
        steps = [
            PassedStep("signature", f"{checkpoint.origin}, {checkpoint.size:,} entries"),
            *(PassedStep("inclusion", f"entry {leaf.index} is in the log") for leaf in held.leaves),
        ]
    # Then what goes beyond it: the history of the log, and the score.
    if earlier is not None:
        other = Checkpoint.opened(read_note(earlier), PublicKey.parse(held.key))
        steps.append(PassedStep("consistency", require_consistent(other, checkpoint, log)))
    if opened is not None:
        from openfingym.verifiers.opened import check_score

        if checked is None:
            raise UsageError(f"{path}: a score is computed again of a run's folder, which holds the submission")
        steps.append(check_score(path, checked, opened))
    unproven = [] if checked is None else list(UNPROVEN)
    return _held(path, held, checkpoint, steps, pinned=pinned) | {"unproven": unproven}


def _held(
    path: Path, receipt: Receipt, checkpoint: Checkpoint, steps: Sequence[PassedStep], *, pinned: bool
) -> dict[str, object]:
    """The document that is printed of a receipt that holds."""
    return {
        "path": str(path),
        "holds": True,
        "reason": None,
        "step": None,
        "entry": None,
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "key": receipt.key,
        "key_pinned": pinned,
        "steps": [{"step": step.name, "detail": step.detail} for step in steps],
        "entries": [{"index": leaf.index, **leaf.document} for leaf in receipt.leaves],
    }


def _not_known(document: Mapping[str, object]) -> str:
    """Why a receipt that holds under its own key proves nothing here, with what to do."""
    from openfingym.verifiers.backing import REMEDY

    return (
        f"the receipt holds under its own key alone ({document['key']}), which this machine does not know, and anybody "
        f"can make such a key: {REMEDY}; --unpinned shows what holds under it"
    )


def _failed(path: Path, error: OpenFinGymError) -> dict[str, object]:
    """The document that is printed of a receipt that does not hold, or cannot be read."""
    step, entry = (error.step, error.index) if isinstance(error, ReceiptError) else (None, None)
    where = "" if step is None else f"{step}{'' if entry is None else f', entry {entry}'}: "
    reason = f"{where}{error}" if str(error).startswith(str(path)) else f"{path}: {where}{error}"
    return {"path": str(path), "holds": False, "reason": reason, "step": step, "entry": entry}


def _print(document: dict[str, object]) -> None:
    steps = document["steps"]
    assert isinstance(steps, list)
    for step in steps:
        say(f"{step['step']:<12} {step['detail']}")
    if document["unproven"]:
        assert isinstance(document["unproven"], list)
        say(f"{'not proven':<12} what only the launcher says: {', '.join(document['unproven'])}")
    if not document["key_pinned"]:
        say(
            "warning: nobody vouches for the key, which is the receipt's own: it shows that nothing was changed since "
            "whoever holds that key made it. Ask the log's operator for its key and give it with --key",
            err=True,
        )
    under = "" if document["key_pinned"] else ", under its own key"
    say(f"{document['path']}: the receipt holds{under}")


def _read(path: Path) -> Receipt:
    """The receipt in a run's folder or in a file."""
    from openfingym.verifiers.receipt_check import read_receipt, read_receipt_file

    return read_receipt(path) if path.is_dir() else read_receipt_file(path)


def read_key(text: str) -> PublicKey:
    """A public key, given as text or as a file.

    Raises:
        UsageError: the text is no key, and no file with one.
    """
    from openfingym.receipts import PublicKey

    # A key has plus signs between its parts; so may the name of a file.
    if "+" not in text or Path(text).is_file():
        try:
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise UsageError(f"{text}: neither a public key nor a file with one ({error})") from None
    return PublicKey.parse(text)


def _key_of(text: str) -> PublicKey:
    """A public key, given as text, as a file, or as what has a receipt by it.

    Raises:
        UsageError: the text is none of these.
        StoreError: the receipt cannot be read.
    """
    from openfingym.receipts import PublicKey

    path = Path(text)
    if path.is_dir() or path.suffix == ".json":
        return PublicKey.parse(_read(path).key)
    return read_key(text)


def _lines(name: str, text: str) -> list[tuple[str, str]]:
    """Rows of a table for a text of several lines, the first of which has the name."""
    return [(name if i == 0 else "", printable(line)) for i, line in enumerate(text.rstrip("\n").split("\n"))]


def _whose(receipt: Receipt) -> str:
    """Whether this machine knows the key that a receipt states."""
    from openfingym.verifiers.known_logs import pinned_key

    try:
        key = pinned_key(receipt)
    except ReceiptError:
        return "no key of a log"
    if key is None:
        return "not known to this machine: anybody can make such a key"
    return "known to this machine" if str(key) == receipt.key else f"this machine knows this log by another key: {key}"


def _short(value: object) -> str:
    return printable(str(value))[:LONGEST]
