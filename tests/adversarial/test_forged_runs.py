"""A forged run backs nothing, displaces nothing and ranks nowhere, whichever door it comes in by.

Attacks: a copied run with another score, and a log of two entries by a key of one's own (a score that seemed proven, in
place of the true run); a result edited beside its own receipt, or an error stated in place of a score (a rank, or a
true run displaced); a verifier that shows another key under the same name; another's name as `principal`.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from openfingym import read_runs
from openfingym.catalog import load_task
from openfingym.cli import cli
from openfingym.errors import StoreError, UsageError, VerifierError
from openfingym.judging.recorded import recorded_answers
from openfingym.packages.build import build
from openfingym.published.answers import run_to_score
from openfingym.receipts import PublicKey, Receipt, SigningKey
from openfingym.reports.certificate import certify
from openfingym.reports.report import Report, make_report
from openfingym.reports.runs import FoundRuns, find_runs
from openfingym.results import read_run
from openfingym.results.faults import SCORE_FIELDS
from openfingym.results.run_folder import RECEIPT, RESULT, TRAJECTORY, VERIFIED
from openfingym.rollouts.single import run as launch
from openfingym.trajectory import RolloutRecord, read_rollout
from openfingym.trajectory.files import write_rollout
from openfingym.trajectory.record import RecordedScore, RunTiming, Turn
from openfingym.verifiers import VerifierAddress, known_logs
from openfingym.verifiers.backing import as_believed, backing_of, read_sound_run
from openfingym_verifier.embedded import EmbeddedVerifier
from tests.openfingym.verifiers.forged import BETTER, KEY, edited, forged

TASK = "treasury-forecast"
FORGER = str(KEY.public)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=True)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    result = launch(TASK, "mean", backend="inline", out=tmp_path_factory.mktemp("true"))
    assert result.path is not None
    return result.path


@pytest.fixture
def runs(original: Path, tmp_path: Path) -> Path:
    """A folder with the true run."""
    shutil.copytree(original, tmp_path / "runs" / "true")
    return tmp_path / "runs"


def called_an_error(original: Path, folder: Path) -> None:
    """A copy of a scored run, edited to be an error of its launcher."""
    blank = {"metrics": {}, "standard_errors": {}, **dict.fromkeys(SCORE_FIELDS)}
    edited(original, folder, state="error", reason="ours", boundary="verifier", **blank)


def names(found: FoundRuns) -> tuple[list[str], list[str]]:
    """Names of the folders that count, and of the damaged ones."""
    kept = [run.path.name for run in found.results if run.path is not None]
    return kept, [damaged.path.name for damaged in found.damaged]


def receipts_caution(report: Report) -> str:
    """What a report says of receipts, in one sentence; empty if nothing."""
    sentences = [caution.sentence for caution in report.cautions if caution.concern == "receipts"]
    assert len(sentences) <= 1
    return "".join(sentences)


@pytest.mark.parametrize("name", ["a-copy", "z-copy"])
def test_a_log_of_ones_own_displaces_no_true_run(runs: Path, original: Path, name: str) -> None:
    forged(original, runs / name)
    found = find_runs([runs])
    assert names(found) == (["true"], [name])
    assert "which has a receipt, states another result" in found.damaged[0].reason
    report = make_report(found)
    assert (report.backed, report.scored) == (1, 1)


def test_a_forged_run_of_its_own_is_not_backed(runs: Path, original: Path) -> None:
    forged(original, runs / "forged", rollout_id="r" + "0" * 20, agent="genius")
    found = find_runs([runs])
    assert names(found)[1] == []
    report = make_report(found)
    assert (report.backed, report.scored) == (1, 2)
    said = receipts_caution(report)
    assert "1 run (genius) is not backed" in said
    assert KEY.public.name in said
    assert "--key" in said
    assert "receipt trust" in said
    (row,) = read_runs(runs).query("agent == 'genius'").to_dict("records")
    assert (row["backed"], row["skill"]) == (False, pytest.approx(0.9))
    told = invoke("report", runs)
    assert "1 of 2 scores are backed by a receipt" in told.stdout
    assert "not backed" in told.stdout
    page = runs.parent / "page.html"
    assert invoke("report", runs, "--html", page).exit_code == 0
    assert "is not backed" in page.read_text()


def test_of_two_forgeries_none_counts(runs: Path, original: Path) -> None:
    shutil.rmtree(runs / "true")
    forged(original, runs / "a")
    forged(original, runs / "b", relative_total=0.2)
    found = find_runs([runs])
    assert names(found) == ([], ["a", "b"])
    assert all("no receipt says which is right under a known key" in damaged.reason for damaged in found.damaged)


@pytest.mark.parametrize(
    "changes",
    [
        BETTER,
        {"relative_total": 0.1},
        {"agent": "genius"},
        {"seed": 7},
        {"flags": ["probing"]},
        {"metrics": {}},
        {"state": "rejected", **dict.fromkeys(SCORE_FIELDS), "reason": "x", "boundary": "agent"},
        {"principal": "team-a"},
        {"rollout_id": "r" + "1" * 20},
        {"state": "error", **dict.fromkeys(SCORE_FIELDS), "reason": "x", "boundary": "verifier"},
    ],
)
def test_an_edited_result_is_damaged_and_in_no_figure(runs: Path, original: Path, changes: dict[str, object]) -> None:
    shutil.rmtree(runs / "true")
    folder = edited(original, runs / "edited", **changes)
    found = find_runs([runs])
    assert names(found) == ([], ["edited"])
    assert found.damaged[0].reason.startswith(f"{folder}: its receipt does not hold")
    told = invoke("report", runs)
    assert isinstance(told.exception, UsageError)
    assert "no run can be read" in str(told.exception)
    assert "its receipt does not hold" in str(told.exception)
    assert list(read_runs(runs)["state"]) == ["damaged"]
    assert invoke("receipt", "verify", folder).exit_code == 7
    with pytest.raises(StoreError, match="its receipt does not hold"):
        read_sound_run(folder)


def test_the_forgers_own_files_must_agree_too(runs: Path, original: Path) -> None:
    folder = forged(original, runs / "forged", rollout_id="r" + "0" * 20)
    document = json.loads((folder / RESULT).read_text())
    (folder / RESULT).write_text(json.dumps(document | {"relative_total": 0.05}))
    assert names(find_runs([runs])) == (["true"], ["forged"])


def test_an_error_that_the_launcher_alone_reports_displaces_no_score(runs: Path, original: Path) -> None:
    called_an_error(original, runs / "a")
    assert backing_of(runs / "a", read_run(runs / "a")).backed
    found = find_runs([runs])
    assert names(found) == (["true"], ["a"])


def test_a_score_that_its_launcher_calls_an_error_is_named(runs: Path, original: Path) -> None:
    """An agent's bad runs, taken out of every figure by a word in a file that no receipt proves."""
    assert receipts_caution(make_report(find_runs([runs]))) == ""
    shutil.rmtree(runs / "true")
    called_an_error(original, runs / "bad")
    report = make_report(find_runs([runs]))
    assert (report.backed, report.scored) == (0, 0)
    said = receipts_caution(report)
    assert said == (
        "On real data 1 run (mean) is an error to its launcher, and in no figure, and its receipt says that the "
        "verifier scored it: look why, such as whether a bad score was taken away"
    )
    assert said in " ".join(invoke("report", runs).stdout.split())


def test_a_copy_without_its_receipt_takes_the_backing_from_no_run(runs: Path, original: Path) -> None:
    bare = Path(shutil.copytree(original, runs / "a"))
    (bare / RECEIPT).unlink()
    found = find_runs([runs])
    assert (names(found), found.copies, make_report(found).backed) == ((["true"], []), 1, 1)


@pytest.mark.parametrize("missing", [RECEIPT, VERIFIED])
def test_what_is_missing_is_no_forgery_and_backs_nothing(runs: Path, missing: str) -> None:
    (runs / "true" / missing).unlink()
    found = find_runs([runs])
    assert names(found) == (["true"], [])
    assert make_report(found).backed == 0
    assert read_sound_run(runs / "true").agent == "mean"


def test_a_known_log_by_another_key_is_refused(runs: Path, original: Path) -> None:
    """The forger takes the name of the true log."""
    name = Receipt.from_json((original / RECEIPT).read_bytes()).origin
    forged(original, runs / "forged", key=SigningKey(name, bytes(32)), rollout_id="r" + "0" * 20)
    found = find_runs([runs])
    assert names(found) == (["true"], ["forged"])
    assert "receipt trust KEY" in found.damaged[0].reason
    assert "is by the key" in found.damaged[0].reason


def test_verify_holds_only_under_a_known_key(original: Path, tmp_path: Path) -> None:
    folder = forged(original, tmp_path / "forged")
    alone = invoke("receipt", "verify", folder)
    assert alone.exit_code == 7
    assert "this machine does not know" in alone.stderr
    assert "--unpinned" in alone.stderr
    assert "the receipt holds" not in alone.stdout
    (document,) = json.loads(invoke("receipt", "verify", folder, "--json").stdout)
    assert (document["holds"], document["step"]) == (False, "signature")
    content = invoke("receipt", "verify", folder, "--unpinned")
    assert (content.exit_code, "nobody vouches for the key" in content.stderr) == (0, True)
    assert "the receipt holds, under its own key" in content.stdout
    assert invoke("receipt", "verify", folder / RECEIPT).exit_code == 7
    assert invoke("receipt", "verify", folder / RECEIPT, "--unpinned").exit_code == 0
    assert "not known to this machine" in invoke("receipt", "show", folder).stdout
    assert "known to this machine" in invoke("receipt", "show", original).stdout
    # Of several, one that is not known is enough for a failure.
    assert invoke("receipt", "verify", original, folder).exit_code == 7


def test_a_named_key_backs_runs(runs: Path, original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of another machine: not backed there, until its key is named or trusted."""
    key = Receipt.from_json((original / RECEIPT).read_bytes()).key
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "elsewhere"))
    report = make_report(find_runs([runs]))
    assert report.backed == 0
    assert "does not know" in receipts_caution(report)
    assert make_report(find_runs([runs], [PublicKey.parse(key)])).backed == 1
    assert make_report(find_runs([runs], [KEY.public])).backed == 0
    (tmp_path / "log.vkey").write_text(f"{key}\n")
    assert "1 of 1 scores are backed" in invoke("report", runs, "--key", tmp_path / "log.vkey", "--key", FORGER).stdout
    assert list(read_runs(runs, keys=[key])["backed"]) == [True]
    assert list(read_runs(runs)["backed"]) == [False]
    assert not (tmp_path / "elsewhere" / known_logs.TRUSTED).exists(), "to name a key is not to trust it for good"
    trusted = invoke("receipt", "trust", runs / "true")
    assert trusted.stdout.startswith("trusted: ")
    assert make_report(find_runs([runs])).backed == 1
    assert invoke("receipt", "verify", runs / "true").exit_code == 0
    assert invoke("receipt", "trust", key, "--remove").stdout.startswith("no longer trusted")
    assert make_report(find_runs([runs])).backed == 0


@pytest.mark.parametrize(
    "reader",
    [read_sound_run, certify, recorded_answers, run_to_score],
    ids=lambda reader: reader.__name__,
)
def test_nothing_is_made_of_a_run_that_its_receipt_contradicts(
    original: Path, tmp_path: Path, reader: Callable[[Path], object]
) -> None:
    with pytest.raises(StoreError, match=r"edited: its receipt does not hold \(result\)"):
        reader(edited(original, tmp_path / "edited"))


def test_view_shows_no_score_that_a_receipt_contradicts_and_says_what_is_not_backed(runs: Path, original: Path) -> None:
    folder = edited(original, runs / "edited", relative_total=0.123, total=0.0456)
    forged(original, runs / "forged", rollout_id="r" + "0" * 20)
    # As it was written, and as what a viewer is given of it.
    assert as_believed(folder, read_run(folder)).skill is None
    listed = invoke("view", runs)
    assert "error: damaged, and in no figure: its receipt does not hold" in listed.stdout
    page = runs.parent / "page.html"
    for name, words in (
        ("true", "backed, by the log openfingym.local/"),
        ("forged", "not backed: its receipt is by a key of"),
        ("edited", "contradicted by the run"),
    ):
        assert f"receipt: {words}" in (shown := invoke("view", runs / name).stdout)
        assert invoke("view", runs / name, "--html", page).exit_code == 0
        assert words in (written := page.read_text())
        if name == "edited":
            assert "damaged, and in no figure" in shown
            assert "damaged, and in no figure" in written
            (document,) = json.loads(invoke("view", folder, "--json").stdout)
            assert [document[name] for name in ("state", "total", "skill")] == ["error", None, None]
            # The score that was written into the file is in the reason alone, if at all.
            assert "0.877" not in shown + written


def test_trust_lists_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, original: Path) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "elsewhere"))
    assert json.loads(invoke("receipt", "trust", "--json").stdout) == []
    assert "is known already" in (invoke("receipt", "trust", FORGER), invoke("receipt", "trust", FORGER))[1].stdout
    known_logs.remember(SigningKey("met.example.org", bytes(32)).public)
    (file := tmp_path / "their.vkey").write_text(Receipt.from_json((original / RECEIPT).read_bytes()).key)
    for path in (file, original, original / RECEIPT):
        assert invoke("receipt", "trust", path).exit_code == 0
    listed = json.loads(invoke("receipt", "trust", "--json").stdout)
    assert [(row["known"], row["log"]) for row in listed][:2] == [
        ("met", "met.example.org"),
        ("trusted", KEY.public.name),
    ]
    assert len(listed) == 3
    assert FORGER in invoke("receipt", "trust").stdout
    assert "was not known" in invoke("receipt", "trust", str(SigningKey("x", bytes(32)).public), "--remove").stdout
    for arguments in (["--remove"], ["nonsense"], ["a+b+c"]):
        assert isinstance(invoke("receipt", "trust", *arguments).exception, UsageError)


def test_two_teams_with_an_agent_of_one_name_stay_apart(
    tmp_path: Path, original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = build(load_task(TASK))
    with EmbeddedVerifier.start([package], policy="strict") as embedded:
        operator = VerifierAddress(str(embedded.uds), embedded.admin_token)
        with contextlib.closing(operator.connect()) as client:
            keys = {team: client.add_participant(team) for team in ("team-a", "team-b")}
            for team, key in keys.items():
                address = VerifierAddress(operator.location, key)
                result = launch(TASK, "naive", backend="inline", verifier=address, out=tmp_path / "runs" / team)
                assert result.principal == team
            client.close_season()
            for team, key in keys.items():
                monkeypatch.setenv("OPENFINGYM_KEY", key)
                collected = invoke("verifier", "collect", tmp_path / "runs" / team, "--verifier", operator.location)
                assert collected.exit_code == 0, collected.output
    assert result.path is not None
    # One of its own making under the name of a team, one edited to be of another team, and one of this machine.
    forged(result.path, tmp_path / "runs" / "x" / "forged", rollout_id="r" + "0" * 20, principal="team-b")
    shutil.copytree(original, tmp_path / "runs" / "own")
    made = make_report(find_runs([tmp_path / "runs"]), by=("agent", "principal"))
    assert sorted(cell.row for cell in made.cells) == [
        ("mean", "local"),
        ("naive", "(unproven)"),
        ("naive", "team-a"),
        ("naive", "team-b"),
    ]
    told = invoke("report", tmp_path / "runs", "--by", "principal")
    assert (told.exit_code, "unproven" in told.stdout) == (0, True)
    frame = read_runs(tmp_path / "runs")
    assert sorted(frame["principal"].fillna("-")) == ["-", "local", "team-a", "team-b"]


def test_a_verifier_that_changes_its_key_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "store"))
    package = build(load_task(TASK))
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "client"))
    with EmbeddedVerifier.start([package], tmp_path / "state") as embedded:
        address = VerifierAddress(str(embedded.uds), embedded.admin_token)
        with contextlib.closing(address.connect()) as client:
            name = client.checkpoint().partition("\n")[0]
            (tmp_path / "client" / known_logs.FILE).unlink()
            # Somebody else was met under that name before.
            known_logs.remember(SigningKey(name, bytes(32)).public)
            with pytest.raises(VerifierError, match="by another key than this machine knows it by"):
                launch(TASK, "naive", backend="inline", verifier=address, out=tmp_path / "runs")
            assert not (tmp_path / "runs").exists()
            own = client.receipt_of_row(1).key
        known_logs.trust(PublicKey.parse(own))
        result = launch(TASK, "naive", backend="inline", verifier=address, out=tmp_path / "runs")
    assert result.path is not None
    assert backing_of(result.path, result).backed


def recorded(folder: Path, **score: object) -> None:
    """Write the record of a run beside its result, as an agent with a model leaves one; it may state another score."""
    result = read_run(folder)
    record = RolloutRecord(
        id=result.rollout_id,
        task=result.task,
        task_digest=result.task_digest,
        data_kind=result.data_kind,
        seed=result.seed,
        agent=result.agent,
        model=result.model,
        messages=(Turn(role="user", content="Go on."), Turn(role="assistant", content="I answer.")),
        score=RecordedScore.from_result(result).model_copy(update=score),
        timing=RunTiming(started_at=datetime(2026, 1, 2, tzinfo=UTC), wall_s=1.0),
    )
    write_rollout(folder / TRAJECTORY, record)


def test_nothing_is_learnt_from_a_forged_run(runs: Path, original: Path) -> None:
    recorded(runs / "true")
    out = runs.parent / "out"

    def exported(*places: Path) -> tuple[int, dict[str, int], list[str]]:
        told = invoke("export", "trajectories", *places, "--format", "native", "--out", out, "--json")
        assert told.exit_code == 0, told.exception
        document = json.loads(told.stdout)
        # By the end of each reason: it begins with the folder.
        reasons = [one["reason"].partition(": ")[2] for one in document["damaged"]]
        return document["written"], document["left_out"], reasons

    before = exported(runs)
    assert (before[0], before[2]) == (1, [])
    for name, folder, reason in (
        ("edited", lambda folder: recorded(edited(original, folder)), "its receipt does not hold"),
        ("a-forged", lambda folder: recorded(forged(original, folder)), ""),
        ("z-forged", lambda folder: recorded(forged(original, folder)), ""),
        ("retold", lambda folder: recorded(shutil.copytree(original, folder), reward=-1e-6), "states another score"),
    ):
        folder(runs / name)
        written, left_out, reasons = exported(runs)
        assert (written, left_out["damaged"]) == (1, 1), name
        assert reason in reasons[0]
        (written_to,) = out.iterdir()
        assert read_rollout(written_to).score.reward == read_run(runs / "true").reward()
        # Alone, or as a file, it is no training data either.
        place = {"edited": runs / name, "retold": runs / name / TRAJECTORY}.get(name)
        if place is not None:
            alone = invoke("export", "trajectories", place, "--format", "native", "--out", out)
            assert isinstance(alone.exception, UsageError)
            assert reason in str(alone.exception)
        else:
            told = invoke("export", "trajectories", runs, "--format", "native", "--out", out)
            assert "damaged, in no file: " in told.stdout
        shutil.rmtree(runs / name)
    # A record of the rollout in a folder without a result is held against the true result, if that is there.
    recorded(runs / "true", reward=-1e-6)
    (runs / "loose").mkdir()
    (runs / "true" / TRAJECTORY).rename(runs / "loose" / TRAJECTORY)
    alone = invoke("export", "trajectories", runs, "--format", "native", "--out", out)
    assert "states another score" in str(alone.exception)
    assert exported(runs / "loose")[0] == 1
