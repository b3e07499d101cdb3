"""Keys, checkpoints and receipts: what is accepted, and what is refused with the reason.

Attacks: a proof for another size or place, sizes of 2^63 and more, base64 with spare bits. `test_merkle.py` has two
children of a node passed off as an entry.
"""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from openfingym.digests import canonical_json
from openfingym.errors import ReceiptError, UsageError
from openfingym.receipts import Checkpoint, Leaf, PublicKey, Receipt, SigningKey
from openfingym.receipts.merkle import MOST_LEAVES, complete_root, inclusion_proof, leaf_hash, root_of
from openfingym.receipts.receipt import Opened

KEY = SigningKey("example.org/log", bytes(range(32)))
OTHER = SigningKey("example.org/log", bytes(range(1, 33)))
ELSEWHERE = SigningKey("example.org/another", bytes(range(32)))
ENTRIES = [
    canonical_json({"event": "test", "n": n, "digest": Opened("digest", "salt", f"{n}").digest}) for n in range(11)
]


def node(height: int, n: int) -> bytes:
    return complete_root([leaf_hash(entry) for entry in ENTRIES][n << height : (n + 1) << height])


def made(*indices: int, key: SigningKey = KEY, size: int = len(ENTRIES)) -> Receipt:
    checkpoint = Checkpoint(key.public.name, size, root_of(size, node))
    leaves = tuple(Leaf(i, ENTRIES[i].decode(), tuple(inclusion_proof(i, size, node))) for i in indices)
    return Receipt(str(key.public), checkpoint.signed(key), leaves)


def test_the_key_of_the_specification() -> None:
    """The example of Go's sumdb/note, whose format C2SP's signed-note describes."""
    key = PublicKey.parse("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    signature = base64.b64decode(
        "x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM="
    )
    assert key.name == "PeterNeumann"
    assert signature[:4] == key.id == bytes.fromhex("c74f20a3")
    assert key.signed(signature[4:], text.encode())
    assert not key.signed(signature[4:], text.encode() + b"\n")
    assert str(key) == "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"


def test_keys_are_read_back() -> None:
    assert PublicKey.parse(f"{KEY.public}\n") == KEY.public
    assert SigningKey.parse(KEY.secret_text()).public == KEY.public
    assert KEY.public.id == hashlib.sha256(b"example.org/log\n\x01" + KEY.public.key).digest()[:4]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a+b",
        "a+00000000+AAAA",
        str(KEY.public)[:-1],
        str(KEY.public).replace("log", "lag"),
        str(KEY.public).replace("+AQ", "+Ag"),
        str(KEY.public) + "A",
        " +00000000+" + "A" * 44,
    ],
)
def test_what_is_no_key(text: str) -> None:
    with pytest.raises(UsageError, match=r"public key|changed"):
        PublicKey.parse(text)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\nb", "a\u2003b"])
def test_what_cannot_name_a_log(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a log"):
        SigningKey(name, bytes(32))


def test_a_checkpoint_is_opened_with_its_key_alone() -> None:
    note = Checkpoint(KEY.public.name, 5, bytes(32)).signed(KEY)
    assert Checkpoint.opened(note, KEY.public) == Checkpoint(KEY.public.name, 5, bytes(32))
    for key, reason in ((OTHER, "0 signatures"), (ELSEWHERE, "is of the log")):
        with pytest.raises(ReceiptError, match=reason) as caught:
            Checkpoint.opened(note, key.public)
        assert caught.value.step == "signature"
    # Signed by a key of the same name and another id, or under another name.
    for forged in (Checkpoint(KEY.public.name, 5, bytes(32)).signed(OTHER), note.replace("— example.org/log", "— x")):
        with pytest.raises(ReceiptError, match="0 signatures"):
            Checkpoint.opened(forged, KEY.public)


def test_witnesses_may_sign_too() -> None:
    note = Checkpoint(KEY.public.name, 5, bytes(32)).signed(KEY)
    witness = SigningKey("witness.example", bytes(32))
    line = base64.b64encode(witness.public.id + bytes(8) + witness.sign(b"whatever it signs")).decode()
    assert Checkpoint.opened(f"{note}— witness.example {line}\n", KEY.public).size == 5
    with pytest.raises(ReceiptError, match="2 signatures"):
        Checkpoint.opened(note + note.splitlines()[-1] + "\n", KEY.public)


GOOD = Checkpoint("a", 5, bytes(32)).text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\n",
        GOOD[:-1],
        GOOD + "\n",
        GOOD + "extension\n",
        GOOD.replace("5", "05"),
        GOOD.replace("5", "-5"),
        GOOD.replace("5", "+5"),
        GOOD.replace("5", "5.0"),
        GOOD.replace("5", "٥"),
        GOOD.replace("5", " 5"),
        GOOD.replace("5", ""),
        GOOD.replace("5", str(MOST_LEAVES + 1)),
        GOOD.replace("5", str(2**64 + 5)),
        GOOD.replace("5", "9" * 5000),
        GOOD.replace("=", ""),
        GOOD.replace("A=", "B="),
        GOOD.replace("AAAA=", "AAA=="),
        GOOD.replace("a", "", 1),
        GOOD.replace("a", "a\x07"),
        GOOD.replace("\n", "\r\n"),
    ],
)
def test_what_is_no_checkpoint(text: str) -> None:
    with pytest.raises(ReceiptError) as caught:
        Checkpoint.parse(text)
    assert caught.value.step == "checkpoint"


def test_the_largest_size_is_read() -> None:
    assert Checkpoint.parse(GOOD.replace("5", str(MOST_LEAVES))).size == MOST_LEAVES


def test_a_receipt_proves_its_entries() -> None:
    receipt = made(0, 7, 10)
    assert receipt.checked() == receipt.checked(KEY.public) == Checkpoint(KEY.public.name, 11, root_of(11, node))
    assert Receipt.from_json(receipt.to_json()) == receipt
    assert receipt.origin == "example.org/log"


def test_a_receipt_by_another_key_is_refused() -> None:
    for other in (OTHER, ELSEWHERE):
        with pytest.raises(ReceiptError, match="expected example") as caught:
            made(3).checked(other.public)
        assert caught.value.step == "signature"
    # The key is exchanged along with nothing else.
    with pytest.raises(ReceiptError, match="0 signatures"):
        Receipt(str(OTHER.public), made(3).checkpoint, made(3).leaves).checked()
    with pytest.raises(ReceiptError, match="of the log"):
        Receipt(str(ELSEWHERE.public), made(3).checkpoint, made(3).leaves).checked()


def test_a_proof_for_another_size_or_place_is_refused() -> None:
    receipt = made(3)
    leaf = receipt.leaves[0]
    others = [
        Leaf(leaf.index + 1, leaf.entry, leaf.proof),
        Leaf(leaf.index + 2**64, leaf.entry, leaf.proof),
        Leaf(leaf.index, ENTRIES[4].decode(), leaf.proof),
        Leaf(leaf.index, leaf.entry, leaf.proof[:-1]),
        Leaf(leaf.index, leaf.entry, leaf.proof[::-1]),
        made(3, size=8).leaves[0],
    ]
    for other in others:
        with pytest.raises(ReceiptError, match="is not in the log of 11 entries") as caught:
            Receipt(receipt.key, receipt.checkpoint, (other,)).checked()
        assert (caught.value.step, caught.value.index) == ("inclusion", other.index)


def test_what_is_opened_must_be_what_the_entry_commits_to() -> None:
    receipt = made(6)
    leaf = receipt.leaves[0]

    def opening(opened: Opened) -> Receipt:
        return Receipt(receipt.key, receipt.checkpoint, (Leaf(leaf.index, leaf.entry, leaf.proof, opened),))

    good = opening(Opened("digest", "salt", "6"))
    assert Receipt.from_json(good.to_json()).checked() == receipt.checked()
    for wrong in (
        Opened("digest", "salt", "7"),
        Opened("digest", "sal", "6"),
        Opened("n", "salt", "6"),
        Opened("", "", ""),
    ):
        with pytest.raises(ReceiptError, match="does not commit") as caught:
            opening(wrong).checked()
        assert (caught.value.step, caught.value.index) == ("entry", 6)


def document() -> dict[str, object]:
    return json.loads(made(3).to_json())  # type: ignore[no-any-return]  # an object


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": True},
        {"format": 1.0},
        {"format": "1"},
        {"leaves": []},
        {"leaves": {}},
        {"leaves": [1]},
        {"leaves": [{}]},
        {"key": 1},
        {"key": "\ud800"},
        {"checkpoint": None},
        {"more": 1},
    ],
)
def test_what_is_no_receipt(change: dict[str, object]) -> None:
    with pytest.raises(ReceiptError, match="not a receipt") as caught:
        Receipt.from_json(json.dumps(document() | change).encode())
    assert caught.value.step == "format"


@pytest.mark.parametrize(
    "change",
    [
        {"index": -1},
        {"index": "3"},
        {"index": 3.0},
        {"index": True},
        {"proof": "x"},
        {"proof": [1]},
        {"proof": ["AAAA"]},
        {"proof": ["A" * 43]},
        {"proof": ["A" * 43 + "="] * 64},
        {"entry": 1},
        {"opened": 1},
        {"opened": {"salt": "a"}},
        {"x": 1},
    ],
)
def test_what_is_no_leaf(change: dict[str, object]) -> None:
    found = document()
    found["leaves"] = [{**found["leaves"][0], **change}]  # type: ignore[index]
    with pytest.raises(ReceiptError, match="not a receipt"):
        Receipt.from_json(json.dumps(found).encode())


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b"[" * 10_000, b"1" * 70_000, b'{"format":' + b"9" * 5000 + b"}"]
)
def test_what_is_no_document(content: bytes) -> None:
    with pytest.raises(ReceiptError, match="not a receipt"):
        Receipt.from_json(content)


def test_a_proof_as_others_read_it() -> None:
    receipt = made(3)
    lines = receipt.proof_text(receipt.leaves[0]).split("\n")
    assert lines[:2] == ["c2sp.org/tlog-proof@v1", "index 3"]
    empty = lines.index("")
    assert [base64.b64decode(line) for line in lines[2:empty]] == list(receipt.leaves[0].proof)
    assert "\n".join(lines[empty + 1 :]) == receipt.checkpoint


def test_a_receipt_is_small_in_a_log_of_a_hundred_million() -> None:
    """The two entries of a rollout, as long as they get, and proofs of 27 hashes each."""
    accepted = {
        "at_ns": 2**62,
        "event": "accepted",
        "payload": "f" * 64,
        "rollout": "r" + "f" * 20,
        "submission": 10**6,
    }
    finalized = {
        "at_ns": 2**62,
        "disclosure": "rounded",
        "event": "finalized",
        "told": "f" * 64,
        "flags": ["probing", "ensemble"],
        "result": "f" * 64,
        "rollout": "r" + "f" * 20,
        "state": "rejected",
    }
    leaves = [
        Leaf(10**8 - 1 - i, canonical_json(one).decode(), (bytes(32),) * 27)
        for i, one in enumerate((accepted, finalized))
    ]
    key = SigningKey("openfingym.local/0123456789abcdef", bytes(32))
    note = Checkpoint(key.public.name, 10**8, bytes(32)).signed(key)
    assert len(Receipt(str(key.public), note, tuple(leaves)).to_json()) <= 4096


def vkey(name: str, content: bytes) -> str:
    """A key in its text form, whose id is the right one whatever the content."""
    key_id = hashlib.sha256(name.encode() + b"\n" + content).digest()[:4].hex()
    return f"{name}+{key_id}+{base64.b64encode(content).decode()}"


@pytest.mark.parametrize(
    "text",
    [
        vkey("a b", b"\x01" + bytes(32)),
        vkey("", b"\x01" + bytes(32)),
        vkey("a" * 201, b"\x01" + bytes(32)),
        vkey("a", b"\x01" + bytes(31)),
        vkey("a", b"\x01" + bytes(33)),
        vkey("a", b"\x02" + bytes(32)),
        vkey("a", b""),
        vkey("a", b"\x01" + bytes(32)).replace("+", "-", 1),
    ],
)
def test_what_is_no_public_key(text: str) -> None:
    assert PublicKey.parse(vkey("a", b"\x01" + bytes(32))).key == bytes(32)
    with pytest.raises(UsageError, match="no public key of a log"):
        PublicKey.parse(text)


def test_what_is_no_private_key_is_refused_without_a_word_of_it() -> None:
    secret = SigningKey("a", bytes(range(32))).secret_text()
    assert SigningKey.parse(secret).secret_text() == secret
    encoded = secret.rpartition("+")[2]
    longer = base64.b64encode(base64.b64decode(encoded) + b"\x00").decode()
    others = secret.replace("PRIVATE", "PUBLIC"), secret.replace("+a+", "+b+"), ""
    for text in (secret.replace(encoded, longer), *others):
        with pytest.raises(UsageError, match="no private key of a log") as caught:
            SigningKey.parse(text)
        assert encoded not in str(caught.value)
