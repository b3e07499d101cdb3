"""Nothing of a receipt, a checkpoint or a ledger can be changed without being found: more than 8,000 random bytes,
and the attacks that somebody with a plan would try.

Attacks, and what each gained before:

- `result.json` and `verified.json` changed alike, or called "rounded" so that no digest is checked: a better score
- the receipt of an earlier submission, or none, beside the result: a submission that was not the one scored
- another key, name or origin, a key with the same four-byte id: the attacker's log, taken for the verifier's
- the ledger cut short or written anew, every hash and counter made to fit: results forgotten, another history
- other labels opened than those that were scored: a score that seems true
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import shutil
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import sqlite_utils

from openfingym.catalog import load_task
from openfingym.errors import OpenFinGymError, ReceiptError, StoreError, SubmissionError, UsageError, VerifierError
from openfingym.packages.build import build
from openfingym.receipts import Checkpoint, PublicKey, Receipt, SigningKey
from openfingym.receipts.merkle import leaf_hash, node_hash
from openfingym.results import read_run
from openfingym.results.faults import SCORE_FIELDS
from openfingym.results.run_folder import RECEIPT, RESULT, VERIFIED
from openfingym.rollouts.single import run
from openfingym.verifiers import VerifierAddress
from openfingym.verifiers.backing import backing_of
from openfingym.verifiers.log_tiles import require_consistent
from openfingym.verifiers.opened import check_score, read_opened, write_opened
from openfingym.verifiers.receipt_check import PROVEN, check_run
from openfingym_verifier.audit import log
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.answering import give, practise
from tests.sweeps import ALL
from tests.verifier.conftest import make_package

TASK = "treasury-forecast"
ARRAY = "tiny"
"""A task that is answered in one array, as often as it has a budget."""
RECEIPTS, CHECKPOINTS, VALUES, FILES = 4500, 3000, 50 if ALL else 10, 600
"""Random changes of each: 10,000 together with ``OPENFINGYM_ALL``. Of a ledger so many of each column."""
RATIONING = {
    "rollouts": {"last_refusal", "bucket_tokens", "bucket_ns", "hidden_digest", "instruments"},
    "submissions": {"id", "idempotency_key", "body_digest"},
    "payloads": {"submission"},
    "seasons": {"id"},
}
"""Columns that the log does not state, and that no score depends on: rationing, and numbers that tables are joined by,
which are found where they lead elsewhere.
"""


@dataclass(frozen=True)
class Scene:
    """A run in its folder, and the state folder of the verifier that scored it."""

    folder: Path
    state: Path
    key: PublicKey
    early: str
    """A checkpoint from before the run."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    root = tmp_path_factory.mktemp("receipts")
    package, array = build(load_task(TASK)), make_package(root, ARRAY)
    with EmbeddedVerifier.start([package, array], root / "state") as embedded:
        address = VerifierAddress(str(embedded.uds), embedded.admin_token)
        with contextlib.closing(address.connect()) as client:
            client.add_participant("somebody")
            client.add_participant("somebody-else")
            client.revoke_participant("somebody-else")
            ticket = client.create_rollout(TASK, agent="other", seed=3)
            with pytest.raises(SubmissionError):
                client.submit(ticket.token, np.zeros(3))
            values = np.random.default_rng(1).standard_normal(package.manifest.submission_shape) * 0.001
            practise(client, ticket.token, package, values)
            give(client, ticket.token, package, 2.0 * values)
            client.finalize(ticket.rollout_id)
            ticket = client.create_rollout(ARRAY, agent="other", seed=3)
            values = np.random.default_rng(1).standard_normal(array.manifest.submission_shape) * 0.001
            for factor in (1.0, 2.0):
                client.submit(ticket.token, factor * values)
            client.finalize(ticket.rollout_id)
            early = client.checkpoint()
        result = run(TASK, "naive", backend="inline", verifier=address, out=root / "runs")
        with contextlib.closing(address.connect()) as client:
            client.close_season()
    assert result.path is not None
    key = PublicKey.parse(Receipt.from_json((result.path / RECEIPT).read_bytes()).key)
    return Scene(result.path, root / "state", key, early)


@pytest.fixture
def folder(scene: Scene, tmp_path: Path) -> Path:
    return Path(shutil.copytree(scene.folder, tmp_path / scene.folder.name))


def changed(content: bytes, rng: np.random.Generator) -> bytes:
    """One byte changed to any other."""
    place = int(rng.integers(len(content)))
    return content[:place] + bytes([content[place] ^ int(rng.integers(1, 256))]) + content[place + 1 :]


def test_any_byte_of_a_receipt(scene: Scene) -> None:
    content, rng = (scene.folder / RECEIPT).read_bytes(), np.random.default_rng(1)
    assert Receipt.from_json(content).checked(scene.key)
    unfound = 0
    for _ in range(RECEIPTS):
        other = changed(content, rng)
        try:
            found = Receipt.from_json(other)
            found.checked(scene.key)
        except ReceiptError:
            continue
        unfound += 1
        # The line's end is no part of the document.
        assert found == Receipt.from_json(content)
        assert other.split() == content.split()
    assert unfound < RECEIPTS / 100


def test_any_byte_of_a_checkpoint(scene: Scene) -> None:
    note, rng = scene.early.encode(), np.random.default_rng(2)
    assert Checkpoint.opened(scene.early, scene.key).size > 0
    for _ in range(CHECKPOINTS):
        with pytest.raises((ReceiptError, UnicodeDecodeError)):
            Checkpoint.opened(changed(note, rng).decode(), scene.key)


def test_any_byte_of_a_runs_files(scene: Scene, folder: Path) -> None:
    rng, missed = np.random.default_rng(3), Counter[str]()
    for i in range(FILES):
        name = (RECEIPT, VERIFIED, RESULT, "submissions/1.npy")[i % 4]
        path = folder / name
        content = path.read_bytes()
        path.write_bytes(changed(content, rng))
        try:
            check_run(folder, scene.key)
        except OpenFinGymError as error:
            assert isinstance(error, ReceiptError | StoreError)  # noqa: PT017  # which of the two depends on the byte
        else:
            missed[name] += 1
            if name == RESULT:
                # What the launcher says of itself, which nothing proves; or the space between two values.
                ours, theirs = read_run(folder).to_dict(), read_run(scene.folder).to_dict()
                # A result whose word "principal" is damaged names nobody, as one of an earlier version does.
                told = PROVEN if ours["principal"] is not None else tuple(key for key in PROVEN if key != "principal")
                assert {key: ours[key] for key in told} == {key: theirs[key] for key in told}
                assert ours["state"] == theirs["state"]
            elif name == VERIFIED:
                pytest.fail("a canonical document has no byte to spare")
            elif name == RECEIPT:
                assert Receipt.from_json(path.read_bytes()) == Receipt.from_json(content)
            else:
                # NumPy's header is padded with spaces; the values are all there.
                assert np.load(path).tobytes() == np.load(scene.folder / name).tobytes()
        path.write_bytes(content)
    assert missed[RESULT] < FILES / 4
    check_run(folder, scene.key)


@pytest.fixture
def ledger(scene: Scene) -> Iterator[sqlite3.Connection]:
    """The ledger in memory, without the triggers that whoever owns the file would drop."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as memory:
        with contextlib.closing(sqlite3.connect(scene.state / "ledger.db")) as connection:
            connection.backup(memory)
        for (name,) in memory.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            memory.execute(f"DROP TRIGGER {name}")
        yield memory


def cells(connection: sqlite3.Connection) -> Iterator[tuple[str, str, list[tuple[int, str]]]]:
    """Each table and column of the ledger that the log speaks for, with row and type of its values."""
    for table in ("log", "rollouts", "submissions", "payloads", "participants", "seasons"):
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        for column in columns:
            if column not in RATIONING.get(table, ()):
                query = f"SELECT rowid, typeof({column}) FROM {table} WHERE {column} IS NOT NULL"
                if values := connection.execute(query).fetchall():
                    yield table, column, values


def test_any_byte_of_a_ledgers_rows(ledger: sqlite3.Connection) -> None:
    rng = np.random.default_rng(4)
    database = sqlite_utils.Database(ledger, recursive_triggers=False, execute_plugins=False)
    log._verify(database, None, None)
    columns = list(cells(ledger))
    for table, column, values in columns * VALUES:
        rowid, kind = values[int(rng.integers(len(values)))]
        (value,) = ledger.execute(f"SELECT CAST({column} AS BLOB) FROM {table} WHERE rowid = ?", (rowid,)).fetchone()
        if not value:
            continue
        other = changed(value, rng)
        ledger.execute("SAVEPOINT before")
        stored = "?" if kind == "blob" else "CAST(? AS TEXT)"
        try:
            # What begins with a digit is a number to SQLite, as it is written.
            ledger.execute(f"UPDATE {table} SET {column} = {stored} WHERE rowid = ?", (other, rowid))
        except sqlite3.IntegrityError:  # its own rules refuse it already
            ledger.execute("ROLLBACK TO before")
            continue
        # The number of a row is a column too; where that was changed, the row is not at its place any more.
        found = ledger.execute(f"SELECT CAST({column} AS BLOB) FROM {table} WHERE rowid = ?", (rowid,)).fetchone()
        now = None if found is None else found[0]
        try:
            log._verify(database, None, None)
        except (VerifierError, sqlite3.DatabaseError, ValueError, KeyError):
            pass
        else:
            assert now == value, f"{table}.{column} of {rowid}: {value!r} became {now!r}"
        ledger.execute("ROLLBACK TO before")
    log._verify(database, None, None)


FORGED: dict[str, tuple[str, dict[str, object]]] = {
    "a better score": (RESULT, {"relative_total": 0.1}),
    "another agent": (RESULT, {"agent": "mine"}),
    "another task": (RESULT, {"task": "fx-forecast"}),
    "another rollout": (RESULT, {"rollout_id": "r" + "0" * 20}),
    "another budget": (RESULT, {"budget": 9}),
    "another state": (RESULT, {"state": "rejected", **dict.fromkeys(SCORE_FIELDS)}),
    "a better score in both": (VERIFIED, {"relative_total": 0.1}),
    "a score that is told rounded": (VERIFIED, {"disclosure": "rounded"}),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_result(scene: Scene, folder: Path, name: str) -> None:
    file, changes = FORGED[name]
    for path in {folder / RESULT, folder / file}:
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(ReceiptError) as caught:
        check_run(folder, scene.key)
    assert caught.value.step in {"result", "entry"}
    assert backing_of(folder, read_run(folder), [scene.key]).state == "contradicted"


def test_a_log_of_ones_own(scene: Scene, folder: Path) -> None:
    """Everything is forged consistently, under a key that the forger made: only whoever has the true key sees it."""
    entry = json.loads(Receipt.from_json((folder / RECEIPT).read_bytes()).leaves[1].entry)
    for path in (folder / RESULT, folder / VERIFIED):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"relative_total": 0.1, "skill": 0.9}))
    verified = json.loads((folder / VERIFIED).read_text())
    verified.pop("log_head")
    from openfingym.digests import canonical_json, sha256_of_json
    from openfingym.receipts.receipt import Leaf

    accepted = Receipt.from_json((folder / RECEIPT).read_bytes()).leaves[0].entry
    finalized = canonical_json({**entry, "result": sha256_of_json(verified)}).decode()
    hashes = [leaf_hash(text.encode()) for text in (accepted, finalized)]
    for name, found in ((scene.key.name, False), ("openfingym.local/elsewhere", True)):
        key = SigningKey(name, bytes(32))
        note = Checkpoint(name, 2, node_hash(*hashes)).signed(key)
        leaves = (Leaf(0, accepted, (hashes[1],)), Leaf(1, finalized, (hashes[0],)))
        (folder / RECEIPT).write_bytes(Receipt(str(key.public), note, leaves).to_json())
        with pytest.raises(ReceiptError, match="is by the key") as caught:
            check_run(folder, scene.key)
        assert caught.value.step == "signature"
        if found:
            # Nobody here knows that log: the receipt holds in itself, and it is said that the key is not pinned.
            assert not check_run(folder).key_pinned
        else:
            with pytest.raises(ReceiptError, match="is by the key"):
                check_run(folder)


@pytest.mark.parametrize(
    ("task", "accepted", "unscored"),
    [(ARRAY, 2, "not the submission that was scored"), (TASK, 1, "is no submission that is scored")],
)
def test_an_earlier_submission_is_not_the_one_that_was_scored(
    scene: Scene, tmp_path: Path, task: str, accepted: int, unscored: str
) -> None:
    """Two submissions were made; the receipt of the first proves that it was made, not that it was scored. Of a walk,
    the first is practice, of which any number is made before the one that is accepted."""
    from openfingym_verifier.ledger.ledger import Ledger
    from openfingym_verifier.ledger.receipts import Receipts, load_signing_key

    with contextlib.closing(Ledger(scene.state)) as ledger:
        receipts = Receipts(ledger, load_signing_key(scene.state))
        with ledger.read() as connection:
            (rollout,) = connection.execute(
                "SELECT id FROM rollouts WHERE task = ? AND agent = 'other'", (task,)
            ).fetchone()
            entries = connection.execute("SELECT seq, entry FROM log WHERE rollout_id = ?", (rollout,)).fetchall()
        rows = [(seq, json.loads(entry)) for seq, entry in entries]
        events = {"accepted", "practised", "played"}
        made = {entry["submission"]: seq for seq, entry in rows if entry["event"] in events}
        (end,) = (seq for seq, entry in rows if entry["event"] == "finalized")
        first, second = made[1], made[2]
        verified = ledger.rollout(rollout)
        assert verified is not None
        assert receipts.of_rollout(rollout) == receipts.of_entries([second, end])
        folder = Path(shutil.copytree(scene.folder, tmp_path / rollout))
        result = json.loads((folder / RESULT).read_text())
        for derived in ("skill", "verdict", "reward"):
            del result[derived]
        (folder / RESULT).write_text(json.dumps(result | verified[0].result | {"rollout_id": rollout}))
        (folder / VERIFIED).write_text(json.dumps(verified[0].result))
        for n in made:
            values = np.frombuffer(ledger.payload(rollout, n) or b"", "<f8")
            np.save(folder / "submissions" / f"{n}.npy", values)
        (folder / RECEIPT).write_bytes(receipts.of_entries([second, end]).to_json())
        assert check_run(folder).verified["submissions_accepted"] == accepted
        for rows_told, reason in (
            ([first, end], unscored),
            ([end], "does not say which"),
            ([first, second, end], unscored),
            ([second], "not the end of rollout"),
        ):
            (folder / RECEIPT).write_bytes(receipts.of_entries(rows_told).to_json())
            with pytest.raises(ReceiptError, match=reason):
                check_run(folder)


def test_two_histories_of_one_log(scene: Scene) -> None:
    early = Checkpoint.opened(scene.early, scene.key)
    receipt = Receipt.from_json((scene.folder / RECEIPT).read_bytes())
    late = receipt.checked(scene.key)
    assert early.size < late.size
    assert "begin with" in require_consistent(early, late, str(scene.state))
    assert require_consistent(late, early, str(scene.state)) == require_consistent(early, late, str(scene.state))
    forged = Checkpoint(early.origin, early.size, leaf_hash(b"another history"))
    for other in (forged, Checkpoint(late.origin, late.size, forged.root), Checkpoint(late.origin, 0, forged.root)):
        with pytest.raises(ReceiptError, match="two histories") as caught:
            require_consistent(other, late, str(scene.state))
        assert caught.value.step == "consistency"
    with pytest.raises(ReceiptError, match="of two logs"):
        require_consistent(Checkpoint("elsewhere", early.size, early.root), late, str(scene.state))


def test_the_score_follows_from_opened_labels(scene: Scene, folder: Path, tmp_path: Path) -> None:
    package = build(load_task(TASK))
    write_opened(package, tmp_path / "labels.npz")
    checked = check_run(folder, scene.key)
    assert check_score(folder, checked, tmp_path / "labels.npz").name == "score"
    # A verifier of an earlier version did not say when the windows were.
    true = dict(checked.verified)
    sample = dict(true["relative_sample"])
    undated = {name: value for name, value in sample.items() if name not in {"begins", "ends", "seed", "block"}}
    assert len(undated) == len(sample) - 4
    object.__setattr__(checked, "verified", {**true, "relative_sample": undated})
    assert check_score(folder, checked, tmp_path / "labels.npz").name == "score"
    # The verifier itself lied: its log commits to a score that the labels do not give.
    object.__setattr__(checked, "verified", true | {"relative_total": 0.5})
    with pytest.raises(ReceiptError, match="the labels give relative_total") as caught:
        check_score(folder, checked, tmp_path / "labels.npz")
    assert caught.value.step == "score"


def test_a_disk_that_fills_up_leaves_no_half_of_the_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, out = build(load_task(TASK)), tmp_path / "labels.npz"
    written = 0

    def until_full(archive: zipfile.ZipFile, *arguments: object) -> None:
        nonlocal written
        written += 1
        if written == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        writestr(archive, *arguments)  # type: ignore[arg-type]

    writestr = zipfile.ZipFile.writestr
    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "writestr", until_full)
        with pytest.raises(StoreError, match="free some space"):
            write_opened(package, out)
    assert list(tmp_path.iterdir()) == []
    write_opened(package, out)
    before = out.read_bytes()
    with pytest.raises(UsageError, match="there is such a file"):
        write_opened(package, out)
    assert out.read_bytes() == before


def test_other_labels_are_not_what_the_digest_commits_to(tmp_path: Path) -> None:
    package = build(load_task(TASK))
    write_opened(package, tmp_path / "labels.npz")
    with zipfile.ZipFile(tmp_path / "labels.npz") as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    content, rng = (tmp_path / "labels.npz").read_bytes(), np.random.default_rng(5)
    for _ in range(40):
        (tmp_path / "other.npz").write_bytes(changed(content, rng))
        try:
            found = read_opened(tmp_path / "other.npz", package)
        except OpenFinGymError:
            continue
        # A byte of the archive's own notes, such as a date.
        assert all(np.array_equal(array, package.read_truth()[name]) for name, array in found.items())
    name = next(name for name in contents if name.endswith(".npy"))
    forged = contents | {name: contents[name][:-1] + bytes([contents[name][-1] ^ 1])}
    stated = json.loads(forged["truth.json"])
    from openfingym.digests import sha256_of

    honest_list = dict(forged)
    forged["truth.json"] = json.dumps(
        stated | {"arrays": stated["arrays"] | {name.removesuffix(".npy"): sha256_of(forged[name])}}
    ).encode()
    for parts in (forged, honest_list):
        with zipfile.ZipFile(tmp_path / "forged.npz", "w") as archive:
            for part, text in parts.items():
                archive.writestr(part, text)
        with pytest.raises(ReceiptError, match="not the hidden arrays"):
            read_opened(tmp_path / "forged.npz", package)


def test_the_id_of_a_key_says_nothing_alone(scene: Scene) -> None:
    """Four bytes are found by trying: a signature by another key under the same name and id does not pass."""
    note = scene.early
    line = note.splitlines()[-1]
    other = SigningKey(scene.key.name, bytes(32))
    text = note.partition("\n\n")[0] + "\n"
    forged = base64.b64encode(scene.key.id + other.sign(text.encode())).decode()
    with pytest.raises(ReceiptError, match="is not signed by"):
        Checkpoint.opened(note.replace(line.split()[-1], forged), scene.key)
