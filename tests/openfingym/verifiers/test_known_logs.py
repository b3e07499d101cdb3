"""Keys of logs that this machine has met: found among many, and as the file is now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openfingym.errors import ReceiptError, StoreError, VerifierError
from openfingym.receipts import Checkpoint, Leaf, PublicKey, Receipt, SigningKey
from openfingym.receipts.merkle import leaf_hash
from openfingym.verifiers import known_logs
from openfingym.verifiers.known_logs import (
    FILE,
    TRUSTED,
    all_known_keys,
    distrust,
    is_met,
    known_keys,
    meet,
    pinned_key,
    remember,
    require_known_checkpoint,
    trust,
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path))
    return tmp_path / FILE


def key(number: int, name: str = "openfingym.local/") -> SigningKey:
    return SigningKey(f"{name}{number}", number.to_bytes(32, "big"))


def test_many_keys_are_read_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [key(number).public for number in range(1, 40)]
    file.write_text("".join(f"{one}\n" for one in keys))
    opened, original = [], Path.open

    def counting(path: Path, *arguments: Any, **named: Any) -> Any:
        opened.append(path)
        return original(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", counting)
    assert [known_keys(one.name) for one in keys] == [(one,) for one in keys]
    assert opened.count(file) == 1


def receipt(signing: SigningKey, *, signed_by: SigningKey | None = None) -> Receipt:
    """A receipt of the one entry of a log."""
    entry = '{"event":"finalized"}'
    note = Checkpoint(signing.public.name, 1, leaf_hash(entry.encode())).signed(signed_by or signing)
    return Receipt(str(signing.public), note, (Leaf(0, entry, ()),))


def test_the_first_key_that_is_met_is_believed_and_another_one_is_refused(file: Path) -> None:
    first, other = key(1), SigningKey(key(1).public.name, bytes(32))
    assert known_keys(first.public.name) == ()
    for _ in range(2):
        meet(receipt(first), "http://here")
        assert known_keys(first.public.name) == (first.public,)
    with pytest.raises(VerifierError, match=r"http://here signs the log openfingym.local/1 by another key.*trust KEY"):
        meet(receipt(other), "http://here")
    assert file.read_text() == f"{first.public}\n"
    meet(receipt(key(2)), "http://there")
    assert known_keys("openfingym.local/2") == (key(2).public,)
    # An operator who has replaced a key said so, and what the old one signed still holds.
    assert trust(other.public)
    assert [is_met(one.public) for one in (first, other)] == [True, False]
    meet(receipt(other), "http://here")
    assert known_keys(first.public.name) == (first.public, other.public)
    assert is_met(other.public)


@pytest.mark.parametrize(
    "bad",
    [
        Receipt(f"{key(9).public}\nopenfingym.local/1+00000000+AA", "", ()),
        Receipt("nonsense", "", ()),
        receipt(key(9), signed_by=SigningKey(key(9).public.name, bytes(32))),
    ],
)
def test_what_a_verifier_cannot_prove_is_not_noted(file: Path, bad: Receipt) -> None:
    with pytest.raises(VerifierError, match="gave a receipt that does not hold"):
        meet(bad, "http://here")
    assert not file.exists()


def test_a_checkpoint_by_another_key_than_the_known_ones(file: Path) -> None:
    one, other = key(1), SigningKey(key(1).public.name, bytes(32))
    notes = [Checkpoint(signing.public.name, 0, bytes(32)).signed(signing) for signing in (one, other)]
    for note in notes:
        # Of a log that was never met, nothing can be said yet.
        require_known_checkpoint(note, "http://here")
    remember(one.public)
    require_known_checkpoint(notes[0], "http://here")
    with pytest.raises(VerifierError, match="by another key than this machine knows it by"):
        require_known_checkpoint(notes[1], "http://here")
    trust(other.public)
    for note in notes:
        require_known_checkpoint(note, "http://here")


def test_the_key_that_a_receipt_must_be_by(file: Path) -> None:
    one, other = key(1), SigningKey(key(1).public.name, bytes(32))
    assert pinned_key(receipt(one)) is None
    assert pinned_key(receipt(one), [key(2).public]) is None
    assert pinned_key(receipt(one), [key(2).public, one.public]) == one.public
    assert pinned_key(receipt(other), [one.public]) == one.public
    remember(one.public)
    assert pinned_key(receipt(one)) == one.public
    assert pinned_key(receipt(other)) == one.public
    assert pinned_key(receipt(other), [other.public]) == other.public
    with pytest.raises(ReceiptError) as caught:
        pinned_key(Receipt("nonsense", "", ()))
    assert caught.value.step == "signature"


def test_keys_of_others_are_added_and_removed_by_hand(file: Path) -> None:
    mine, theirs, another = (key(number).public for number in (1, 2, 3))
    remember(mine)
    assert [trust(theirs), trust(theirs), trust(mine), trust(another)] == [True, False, False, True]
    assert all_known_keys() == {FILE: (mine,), TRUSTED: (theirs, another)}
    assert [distrust(theirs), distrust(theirs), distrust(mine)] == [True, False, True]
    assert all_known_keys() == {FILE: (), TRUSTED: (another,)}
    # What is known is noted once, also by a process that has not noted it before.
    known_logs._note.cache_clear()
    remember(another)
    remember(another)
    known_logs._note.cache_clear()
    remember(another)
    assert file.read_text() == f"{another}\n"
    # Not only for as long as this process runs.
    remember(mine)
    assert known_keys(mine.name) == (mine,)


def test_a_store_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").write_text("a file")
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "store"))
    remember(key(1).public)
    meet(receipt(key(1)), "http://here")
    assert known_keys(key(1).public.name) == ()
    with pytest.raises(StoreError, match="OPENFINGYM_HOME"):
        trust(key(1).public)


def test_whoever_changes_the_file_is_believed(file: Path) -> None:
    remember(key(1).public)
    other = SigningKey(key(1).public.name, bytes(32)).public
    file.write_text(f"{other}\n")
    assert known_keys(other.name) == (other,)
    file.unlink()
    assert known_keys(other.name) == ()


def test_a_line_that_was_broken_off_hides_no_other(file: Path) -> None:
    whole = str(key(3).public)
    file.write_text(f"{whole[:-5]}\n{whole}\n{whole}\n")
    assert known_keys("openfingym.local/3") == (PublicKey.parse(whole),)
    file.write_text(whole[:-5])
    remember(key(4).public)
    assert known_keys("openfingym.local/4") == (key(4).public,)
    file.write_bytes(b"\xff\xfe")
    assert all_known_keys() == {FILE: (), TRUSTED: ()}
