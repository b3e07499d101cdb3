"""Downloading data that the library does not have: by a script that a model writes, behind the recording proxy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

from openfingym.digests import sha256_of
from openfingym.errors import DataError
from openfingym.files.whole import store_errors, write_json, write_text
from openfingym_forge.data.judging import Findings, judge_table
from openfingym_forge.data.matching import texts, wanted_of
from openfingym_forge.data.provenance import ForgeProvenance, licence_says
from openfingym_forge.data.proxy import SOCKET, ProxyEntry, ProxyLimits, RecordingProxy, recording_proxy
from openfingym_forge.data.script_world import MARK, program_of, screen
from openfingym_forge.data.table_tests import failures, read_tests
from openfingym_forge.data.tables import read_table
from openfingym_forge.data.written import measure_of, write_table
from openfingym_forge.prompts import AnswerError, ask_for, of_json, render
from openfingym_forge.stage import CandidateTask, RejectionReason, Role, StageResult

if TYPE_CHECKING:
    import pandas as pd

    from openfingym_forge.asking.sandboxed import CodeOutcome
    from openfingym_forge.blueprint import Blueprint

ROOM: Final = "openfingym_forge.data"
"""Package that holds the prompts."""
ROUNDS: Final = 3
"""How many scripts a model may write."""
STORAGE_MB: Final = 64
"""Megabytes that a script may write."""
Read = TypeVar("Read")


@dataclass(frozen=True)
class Ran:
    """One run of a script."""

    outcome: CodeOutcome
    """How the script ended."""
    log: tuple[ProxyEntry, ...]
    """All its requests, in order."""
    last: bytes
    """The last whole answer of a host; empty where there was none."""

    @property
    def content(self) -> bytes | None:
        """Bytes of the file that the script wrote; None where it wrote none."""
        return self.outcome.files.get("data.csv")


@dataclass(frozen=True)
class Settings:
    """What a download may reach, and for how long."""

    hosts: frozenset[str]
    """``host`` at the ports of the web, or ``host:port``."""
    local: Mapping[str, tuple[str, int]]
    """Address and port of hosts that are served elsewhere, by the host's name."""
    seconds: float
    """Longest time of a download."""


def settings_of(blueprint: Blueprint, local_hosts: Sequence[str], seconds: float) -> Settings:
    """The hosts that a blueprint names, and where those are that are served elsewhere.

    Args:
        blueprint: the blueprint, whose ``data.url`` holds one address, or several with spaces between them.
        local_hosts: ``host:port`` for each host whose address may be private, or ``host=address:port`` for one that is
            served elsewhere.
        seconds: longest time of a download, in seconds.
    """
    local: dict[str, tuple[str, int]] = {}
    for entry in local_hosts:
        name, _, place = entry.partition("=")
        address, _, port = (place or name).rpartition(":")
        local[name] = (address, int(port))
    hosts = set()
    for url in str(blueprint.value("data.url") or "").split():
        parts = urlsplit(url)
        if parts.hostname:
            hosts.add(f"{parts.hostname.lower()}:{parts.port}" if parts.port else parts.hostname.lower())
    return Settings(frozenset(hosts), local, seconds)


def run_script(script: str, settings: Settings) -> Ran:
    """Run a script in the sandbox, where the proxy is its only network.

    Args:
        script: source of the script, which has been screened.
        settings: what it may reach, and for how long.

    Raises:
        BackendUnavailableError: nothing on this machine can isolate programs.
        RuntimeFailureError: the machinery failed, which says nothing about the script.
    """
    from openfingym_forge.asking.sandboxed import CodeLimits, run_in_sandbox
    from openfingym_runtime.owned_directory import owned_directory

    proxy = RecordingProxy(settings.hosts, dict(settings.local), ProxyLimits(seconds=settings.seconds))
    limits = CodeLimits(timeout_s=settings.seconds, storage_mb=STORAGE_MB, output_bytes=64 * 1024)
    with owned_directory() as owned:
        folder = owned / "p"
        folder.mkdir()
        folder.chmod(0o755)
        with recording_proxy(folder, proxy):
            program = program_of(script, f"/run/openfingym/{SOCKET}")
            outcome = run_in_sandbox(program, limits=limits, collect=("data.csv",), directory=folder)
    return Ran(outcome, tuple(proxy.log), proxy.last)


def fault_of(ran: Ran) -> RejectionReason | None:
    """Why a run ends the download: it did what no script may do, or failed as every script would; None where another
    script may do better, or the run was good.
    """
    outcome = ran.outcome
    # What it tried to do counts before how it ended: a script that was caught may well fail for another reason.
    for line in outcome.output.splitlines():
        if line.startswith(MARK):
            return RejectionReason("script-refused", line.removeprefix(MARK))
    for entry in ran.log:
        if entry.code in ("host", "method", "limit"):
            return RejectionReason("script-refused", f"{entry.method} {entry.url}: {entry.outcome}")
    if outcome.ended_by != "exit":
        why = {"timeout": "it did not end in its time", "memory": "it ran out of memory"}.get(
            outcome.ended_by, f"ended by {outcome.ended_by}"
        )
        return RejectionReason(
            "script-refused", f"{why}, after {outcome.wall_s:.0f} s; it printed {_tail(outcome.output)}"
        )
    if "No space left" in outcome.output or "File too large" in outcome.output:
        return RejectionReason("script-refused", f"it wrote more than {STORAGE_MB} MB: {_tail(outcome.output)}")
    if "data.csv" in outcome.lacking and outcome.whole and "bytes" in outcome.lacking["data.csv"]:
        return RejectionReason("script-refused", f"data.csv: {outcome.lacking['data.csv']}")
    if outcome.whole and ran.content is not None:
        return None
    return _service_fault(ran.log)


def _service_fault(log: Sequence[ProxyEntry]) -> RejectionReason | None:
    """What a host did to make a script fail; None where it did nothing."""
    for entry in log:
        if entry.code in ("moved", "private", "unreachable"):
            return RejectionReason("data-unavailable", f"{entry.url}: {entry.outcome}")
        if entry.status >= 400:
            return RejectionReason("data-unavailable", f"{entry.url}: answered with status {entry.status}")
    return None


def _tail(output: str) -> str:
    return repr(output.strip()[-300:])


def payload_fault(content: bytes, blueprint: Blueprint) -> RejectionReason | None:
    """What is wrong with a host's answer that a script could not read; None where nothing is, or where it is no table
    as it stands.

    Args:
        content: bytes of the answer.
        blueprint: what the paper says of its data.
    """
    if content[:512].lstrip().lower().startswith((b"<!doctype", b"<html")):
        return RejectionReason("data-changed", f"a web page where a table should be: {content[:80]!r}")
    try:
        refusals = judge_table(read_table(content), blueprint).refusals
    # Zipped, or of another form, which the next script may be able to read.
    except DataError:
        return None
    return next((reason for reason in refusals if reason.code == "data-changed"), None)


def download(
    candidate: CandidateTask,
    blueprint: Blueprint,
    facts: dict[str, object],
    *,
    local_hosts: Sequence[str],
    seconds: float,
) -> StageResult:
    """Have a script written, reviewed and run, and its table tested and judged.

    Args:
        candidate: the paper, whose models are asked.
        blueprint: what the paper says of its data.
        facts: facts of the result, which are added to.
        local_hosts: hosts that may be reached at a private address, as :func:`settings_of` takes them.
        seconds: longest time of a run, in seconds.

    Raises:
        ModelUnavailableError: the model cannot be reached.
        BudgetSpentError: the budget does not allow another request.
    """
    licence = str(blueprint.value("data.licence") or "")
    if licence_says(licence) == "forbids":
        stated = blueprint.fields["data.licence"]
        reason = RejectionReason(
            "licence-forbids", f"{licence!r} does not allow the data to be passed on", tuple(stated.quotations)
        )
        return _refused([reason], facts)
    return _Download(candidate, blueprint, facts, settings_of(blueprint, local_hosts, seconds)).run()


def _refused(reasons: Sequence[RejectionReason], facts: Mapping[str, object], *, failed: bool = False) -> StageResult:
    return StageResult("data", "failed" if failed else "refused", tuple(reasons), facts=facts)


class _Download:
    """One download: the request, the reviewer's tests, and the rounds of scripts."""

    def __init__(self, candidate: CandidateTask, blueprint: Blueprint, facts: dict[str, object], settings: Settings):
        self.candidate, self.blueprint, self.facts, self.settings = candidate, blueprint, facts, settings
        self.folder = candidate.folder / "data"
        self.request = _request(blueprint)

    def run(self) -> StageResult:
        # Before any script, so that the tests follow the request and not a script.
        tests = self._ask("reviewer", "script-tests", read_tests)
        if tests is None:
            return self._malformed("the reviewer wrote no tests")
        last_script = ""
        problems: list[str] = []
        for number in range(1, ROUNDS + 1):
            self.facts["scripts"] = number
            script = self._ask(
                "generator",
                "download-script",
                _text("script"),
                seconds=int(self.settings.seconds),
                megabytes=STORAGE_MB,
                complaints="\n".join(problems),
            )
            if script is None:
                return self._malformed("the generator wrote no script")
            # It was told what is wrong, and wrote the same again: so it would the next time.
            if script == last_script:
                break
            last_script = script
            self._keep("download.py", script)
            result, problems = self._try(script, tests)
            if result is not None:
                return result
        evidence = "; ".join(problems)[:800]
        return _refused(
            [RejectionReason("script-refused", f"no script did it within {ROUNDS} tries: {evidence}")], self.facts
        )

    def _try(self, script: str, tests: str) -> tuple[StageResult | None, list[str]]:
        """The result of the stage, or None with what is wrong with the script, for the next round."""
        named = {*self.settings.hosts, *(urlsplit(f"//{host}").hostname or "" for host in self.settings.hosts)}
        if problems := screen(script, named):
            return None, problems
        rejected = self._ask("reviewer", "review-script", _verdict, script=script)
        if rejected is None:
            return self._malformed("the reviewer gave no verdict"), []
        if rejected:
            return None, rejected
        ran = run_script(script, self.settings)
        # For people, whatever comes of the run.
        with store_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / "proxy-log.json", [entry.__dict__ for entry in ran.log])
            write_text(self.folder / "output.txt", ran.outcome.output[-20_000:], errors="replace")
        fault = fault_of(ran)
        if fault is not None:
            # A host that cannot be reached may be there the next time, and so the paper fails and is not refused.
            down = fault.code == "data-unavailable" and any(entry.code == "unreachable" for entry in ran.log)
            return _refused([fault], self.facts, failed=down), []
        if ran.content is None or not ran.outcome.whole:
            changed = payload_fault(ran.last, self.blueprint)
            if changed is not None:
                return _refused([changed], self.facts), []
            return None, [f"it ended with status {ran.outcome.exit_code}: {_tail(ran.outcome.output)}"]
        return self._judge(ran.content, ran, tests)

    def _judge(self, content: bytes, ran: Ran, tests: str) -> tuple[StageResult | None, list[str]]:
        """The result of the stage for a table that a script wrote, or None with the tests that it does not pass."""
        try:
            frame = read_table(content)
        except DataError as error:
            # The host's own answer tells more than what a script made of it.
            changed = payload_fault(ran.last, self.blueprint) or RejectionReason("data-changed", str(error))
            return _refused([changed], self.facts), []
        findings = judge_table(frame, self.blueprint)
        if findings.refusals:
            return _refused(findings.refusals, self.facts), []
        failed = failures(tests, content)
        if failed:
            return None, [f"the reviewer's tests of the table: {one}" for one in failed]
        return self._done(frame, findings, ran), []

    def _done(self, frame: pd.DataFrame, findings: Findings, ran: Ran) -> StageResult:
        """Write the table and where it is from; the result of the stage."""
        licence = str(self.blueprint.value("data.licence") or "")
        # Only a licence that says so lets a package hold the data; silence does not.
        known = licence_says(licence) == "allows"
        script = (self.folder / "download.py").read_bytes()
        wanted = wanted_of(self.blueprint)
        taken = ForgeProvenance(
            how="script",
            source=wanted.source or wanted.url,
            licence=licence or "not stated",
            pass_on=known,
            address=wanted.url,
            why=[
                f"{entry.url}: {entry.size} bytes, SHA-256 {entry.sha256}" for entry in ran.log if entry.status == 200
            ],
            digests={"download.py": sha256_of(script)},
        )
        taken = write_table(frame, self.folder, taken, measure_of(self.blueprint, frame))
        taken.write(self.folder)
        notes = list(findings.notes)
        if not known:
            notes.append(
                RejectionReason(
                    "licence-forbids", f"licence {licence or 'not stated'!r}: not passed on, each user fetches it"
                )
            )
        self.facts |= {"how": "script", "rows": taken.rows, "address": wanted.url, "requests": len(ran.log)}
        names = ("provenance.json", "data.csv", "download.py", "proxy-log.json", "output.txt")
        return StageResult(
            "data", "passed", notes=tuple(notes), facts=self.facts, files=tuple(f"data/{name}" for name in names)
        )

    def _ask(self, role: Role, name: str, read: Callable[[object], Read], **values: object) -> Read | None:
        """What is read from a model's answer to a prompt; None where no answer could be used."""
        prompt = render(ROOM, name, request=self.request, **values)
        return ask_for(self.candidate.asking, role, name, prompt, of_json(read)).value

    def _malformed(self, what: str) -> StageResult:
        return _refused(
            [RejectionReason("malformed-answer", f"{what} within its tries; see journal.jsonl")], self.facts
        )

    def _keep(self, name: str, text: str) -> None:
        with store_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(self.folder / name, text)


def _request(blueprint: Blueprint) -> str:
    """What is wanted, for the models: a few fields of the blueprint, and nothing else that the paper says."""
    wanted = wanted_of(blueprint)
    columns = texts(blueprint.value("data.columns")) or wanted.series
    return json.dumps(
        {
            "addresses": wanted.url.split(),
            "source": wanted.source,
            "columns": list(columns),
            "first": wanted.first.isoformat() if wanted.first else None,
            "last": wanted.last.isoformat() if wanted.last else None,
            "frequency": wanted.frequency,
            "unit": blueprint.value("data.unit"),
        },
        indent=1,
        default=str,
    )


def _text(name: str) -> Callable[[object], str]:
    """A reader of answers that are a JSON object with a text of this name."""

    def read(answer: object) -> str:
        value = answer.get(name) if isinstance(answer, dict) else None
        if not isinstance(value, str) or not value.strip():
            raise AnswerError(f"expected a JSON object with the text {name!r}")
        return value

    return read


def _verdict(answer: object) -> list[str]:
    """The problems of a script in a reviewer's answer; empty where the script is accepted."""
    if not isinstance(answer, dict) or answer.get("verdict") not in ("accept", "reject"):
        raise AnswerError('expected a JSON object with "verdict": "accept" or "reject"')
    problems = answer.get("problems") or []
    if not isinstance(problems, list):
        raise AnswerError('"problems" must be a list of texts')
    if answer["verdict"] == "accept":
        return []
    return [str(each)[:300] for each in problems] or ["the reviewer rejects it, and does not say why"]
