"""What a receipt is worth: by whose key it is, what it contradicts, and what it cannot say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from openfingym.errors import StoreError
from openfingym.receipts import PublicKey, Receipt, SigningKey
from openfingym.reports.report import make_report
from openfingym.reports.runs import find_runs
from openfingym.results import read_run
from openfingym.results.run_folder import RECEIPT, RESULT, VERIFIED
from openfingym.rollouts.run_files import note_key
from openfingym.verifiers import known_logs
from openfingym.verifiers.backing import Backing, backing_of, read_sound_run
from tests.openfingym.reports.made import failed, scored
from tests.openfingym.verifiers.forged import KEY, edited, proven

OTHER = SigningKey(KEY.public.name, bytes(range(32)))
"""Another key of a log of the same name."""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "store"))


def backing(folder: Path, *keys: PublicKey) -> Backing:
    return backing_of(folder, read_run(folder), keys)


def change(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_by_whose_key_it_is(tmp_path: Path) -> None:
    folder = proven(tmp_path, scored(0.5))
    unknown = backing(folder)
    assert (unknown.state, unknown.backed, unknown.principal) == ("unknown key", False, None)
    assert unknown.origin == KEY.public.name
    assert unknown.in_words.startswith(f"not backed: its receipt is by a key of {KEY.public.name} that this machine")
    assert "--key" in unknown.reason
    given = backing(folder, OTHER.public, KEY.public)
    assert given == Backing("backed", "", KEY.public.name, "team-a", met=False, ended=True)
    assert given.in_words == f"backed, by the log {KEY.public.name}"
    # The name of the log says nothing: only its key does.
    other = backing(folder, OTHER.public)
    assert other.state == "contradicted"
    assert "is by the key" in other.reason
    assert "receipt trust KEY" in other.reason
    known_logs.trust(KEY.public)
    assert (backing(folder).state, backing(folder).met) == ("backed", False)
    known_logs.remember(KEY.public)
    assert backing(folder) == Backing("backed", "", KEY.public.name, "team-a", met=True, ended=True)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", [RESULT, VERIFIED])
def test_a_folder_that_says_something_else_than_its_receipt(tmp_path: Path, name: str, known: bool) -> None:
    folder = proven(tmp_path, scored(0.5))
    change(folder / name, relative_total=0.4)
    found = backing(folder, *([KEY.public] if known else []))
    assert (found.state, found.backed, found.principal) == ("contradicted", False, None)
    assert found.reason.startswith("its receipt does not hold (result)")
    assert "receipt trust" not in found.reason
    with pytest.raises(StoreError, match=f"^{folder}: its receipt does not hold"):
        read_sound_run(folder)


def test_what_is_missing_or_of_another_version_contradicts_nothing(tmp_path: Path) -> None:
    folder = proven(tmp_path, scored(0.5))
    whole = (folder / RECEIPT).read_bytes()
    (folder / RECEIPT).write_bytes(whole.replace(b'"format":1', b'"format":2'))
    assert (backing(folder, KEY.public).state, "upgrade openfingym" in backing(folder).reason) == ("unreadable", True)
    (folder / RECEIPT).write_bytes(whole[:-40])
    assert backing(folder, KEY.public).state == "unreadable"
    (folder / RECEIPT).unlink()
    assert backing(folder, KEY.public).state == "no receipt"
    (folder / RECEIPT).symlink_to("nowhere")
    assert backing(folder, KEY.public).state == "unreadable"
    (folder / RECEIPT).unlink()
    (folder / RECEIPT).write_bytes(whole)
    (folder / VERIFIED).unlink()
    assert backing(folder, KEY.public).state == "unreadable"
    assert read_sound_run(folder).relative_total == 0.5
    (folder / RECEIPT).write_bytes(Receipt("no key", "no checkpoint", Receipt.from_json(whole).leaves).to_json())
    assert backing(folder).state == "contradicted"


def test_an_error_claims_no_end(tmp_path: Path) -> None:
    folder = proven(tmp_path / "true", scored(0.5))
    blank = {"total": None, "relative_total": None, "metrics": {}, "reason": "ours", "boundary": "verifier"}
    edited(folder, tmp_path / "error", state="error", **blank)
    stated = [backing(path, KEY.public).ended for path in (folder, tmp_path / "error")]
    assert stated == [True, False]
    assert not backing(tmp_path / "error").ended
    assert backing(folder).ended
    rejected = proven(tmp_path / "rejected", failed("rejected", seed=1))
    assert (backing(rejected, KEY.public).backed, backing(rejected, KEY.public).ended) == (True, True)


@pytest.mark.parametrize(
    ("stated", "believed"),
    [("team-b", "team-b"), ("a b", None), (" a", None), ("a\n", None), ("", None), (None, None), (7, None)],
)
def test_a_principal_as_the_log_states_it(tmp_path: Path, stated: object, believed: str | None) -> None:
    folder = proven(tmp_path, scored(0.5), principal=stated)
    assert backing(folder, KEY.public).principal == believed


def test_a_result_that_states_its_principal_must_state_the_true_one(tmp_path: Path) -> None:
    folder = proven(tmp_path, scored(0.5))
    # An older version did not state it.
    assert read_run(folder).principal is None
    change(folder / RESULT, principal="team-a")
    assert backing(folder, KEY.public).backed
    change(folder / RESULT, principal="team-b")
    assert backing(folder, KEY.public).state == "contradicted"


def test_only_scores_are_counted_as_backed(tmp_path: Path) -> None:
    proven(tmp_path, scored(0.5))
    proven(tmp_path, failed("rejected", seed=1))
    report = make_report(find_runs([tmp_path], [KEY.public]))
    assert (report.backed, report.scored, report.runs) == (1, 1, 2)
    # A score that is in no figure is not counted either.
    proven(tmp_path, scored(0.5, seed=2, isolation="outside"))
    assert make_report(find_runs([tmp_path], [KEY.public])).backed == 2
    assert make_report(find_runs([tmp_path], [KEY.public], isolated_only=True)).backed == 1


def test_of_different_results_of_one_rollout_the_known_one_counts(tmp_path: Path) -> None:
    true = proven(tmp_path / "m", scored(0.5))
    for name, key in (("a", OTHER), ("z", OTHER), ("b", SigningKey("elsewhere", bytes(32)))):
        proven(tmp_path / name, scored(0.1), key)
    found = find_runs([tmp_path], [KEY.public])
    assert [run.path for run in found.results] == [true]
    assert sorted(path.path.relative_to(tmp_path).parts[0] for path in found.damaged) == ["a", "b", "z"]
    assert (found.results[0].relative_total, found.copies) == (0.5, 0)
    none = find_runs([tmp_path])
    assert (none.results, len(none.damaged)) == ((), 4)
    assert "no receipt says which is right under a known key" in none.damaged[0].reason


@pytest.mark.parametrize("name", ["a", "z"])
def test_no_copy_gives_a_score_to_another_model(tmp_path: Path, name: str) -> None:
    """Both receipts hold: of the model they say nothing, so that neither folder is believed."""
    true = proven(tmp_path / "m", scored(0.5, model="one"))
    edited(true, tmp_path / name, model="another")
    found = find_runs([tmp_path], [KEY.public])
    assert (found.results, len(found.damaged)) == ((), 2)
    assert "no receipt says which is right" in found.damaged[0].reason


@pytest.mark.parametrize("name", ["a", "z"])
def test_a_copy_from_before_the_end_displaces_no_score(tmp_path: Path, name: str) -> None:
    scored_run = scored(0.5)
    true = proven(tmp_path / "m", scored_run)
    proven(tmp_path / name, replace(failed("deferred"), rollout_id=scored_run.rollout_id))
    found = find_runs([tmp_path], [KEY.public])
    assert ([run.path for run in found.results], len(found.damaged)) == ([true], 1)


def test_of_copies_the_backed_one_counts(tmp_path: Path) -> None:
    folder = proven(tmp_path / "b", scored(0.5))
    (edited(folder, tmp_path / "a", attempt=0) / RECEIPT).unlink()
    edited(folder, tmp_path / "c", attempt=0)
    found = find_runs([tmp_path], [KEY.public])
    assert ([run.path for run in found.results], found.copies) == ([folder], 2)
    assert found.configs[found.results[0].rollout_id].backed
    assert found.results[0].principal == "team-a"


def test_the_report_names_what_it_cannot_check(tmp_path: Path) -> None:
    def said() -> list[str]:
        report = make_report(find_runs([tmp_path]))
        return [caution.sentence for caution in report.cautions if caution.concern == "receipts"]

    first = proven(tmp_path, scored(0.5))
    proven(tmp_path, scored(0.6, seed=1))
    (several,) = said()
    assert several.startswith("On real data 2 runs (ridge) are not backed: the receipt is by a key")
    (first / VERIFIED).unlink()
    one, unread = said()
    assert "1 run (ridge) is not backed: the receipt" in one
    assert unread.startswith(f"On real data 1 run is not backed, such as {first}: its receipt cannot be checked")
    known_logs.trust(KEY.public)
    (left,) = said()
    assert left == unread
    # A run without any receipt is one of those that are not counted as backed, which the report states.
    (first / RECEIPT).unlink()
    assert said() == []


def test_a_driver_notes_the_keys_of_its_nodes(tmp_path: Path) -> None:
    folder = proven(tmp_path, scored(0.5))
    note_key(folder)
    assert (backing(folder).state, backing(folder).met) == ("backed", True)
    # A node that is not believed, and a run without a receipt, are no failure.
    note_key(proven(tmp_path / "other", scored(0.5, seed=1), OTHER))
    (folder / RECEIPT).write_text("{")
    note_key(folder)
    (folder / RECEIPT).unlink()
    note_key(folder)
    assert known_logs.known_keys(KEY.public.name) == (KEY.public,)
