"""The folder of a forge: papers, what each stage found of them, and the installed tasks.

::

    forge.toml                 settings that the forge was begun with
    papers/KEY/paper.json      the paper as text
    papers/KEY/original/       the file that the paper was read from
    papers/KEY/STAGE.json      what a stage found
    papers/KEY/blueprint.toml  the blueprint, which a person may edit
    papers/KEY/data/           the data, and where they are from
    papers/KEY/metrics/        new metrics, each a package that a person may install
    papers/KEY/journal.jsonl   every prompt and answer
    papers/KEY/decisions.jsonl what people decided
    papers/KEY/task/           the assembled package
    tasks/NAME/                an installed task

The file of a stage appears whole once the stage is done, so that a forge that was killed goes on with what is missing.
It holds the digest of what it was made from: the paper, the models, and the file of the stage before. If these are
others by the next run, or a person edited the blueprint, the stage is done again.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from openfingym.digests import sha256_of_json
from openfingym.errors import StoreError, UsageError
from openfingym.files.locks import take
from openfingym.files.whole import remove_dead, store_errors, write_json, write_text
from openfingym.packages.toml_tables import toml_of
from openfingym_forge.paper import Paper
from openfingym_forge.stage import STAGES, StageResult, StageState

FORMAT = 1
"""Version of the folder's layout."""
EDITED_FROM = "triage"
"""First stage that is done again after a person edited the blueprint."""


@dataclass(frozen=True)
class ForgeSettings:
    """What a forge was begun with."""

    model: str
    """Model that generates, as ``openfingym run --model`` takes it."""
    reviewer: str
    """Model that reviews; may be the same."""
    base_url: str = ""
    """Address of the endpoint of both models; empty for the one that the environment names."""
    backend: str = "sandbox"
    """What the programs of the proofs run in: docker, sandbox or inline."""
    local_hosts: tuple[str, ...] = ()
    """Hosts with private addresses that download scripts may reach nevertheless, each ``host:port``, or
    ``host=address:port`` for one that is served there."""
    budget_usd: float | None = None
    """US dollars that may be spent over all papers and runs; None for no limit."""
    budget_tokens: int | None = None
    """Tokens of prompts and answers that may be used over all papers and runs; None for no limit."""


_FREE = {"budget_usd": None, "budget_tokens": None, "local_hosts": ()}
"""Settings that may change between two runs of a forge without anything being done again."""


class UnreadableRecordError(StoreError):
    """A file that the forge keeps of a paper is damaged, or is not there. It ends the work on that paper alone."""


@dataclass(frozen=True)
class KeptResult:
    """What a stage found, as it is written down."""

    result: StageResult
    made_from: str
    """Digest of what the result follows from: the record before it, the stage and the models."""
    blueprint: str
    """SHA-256 of the blueprint's file after the stage; empty where there was none."""
    seconds: float
    """Wall time of the stage."""
    digest: str
    """Digest of this record without its seconds, which differ from run to run."""


class PaperFolder:
    """The folder of one paper."""

    def __init__(self, path: Path) -> None:
        """The folder at a path, which need not exist yet."""
        self.path = path

    @property
    def key(self) -> str:
        """Key of the paper, which names its folder."""
        return self.path.name

    @property
    def blueprint_path(self) -> Path:
        """Path of the blueprint, which a person may edit."""
        return self.path / "blueprint.toml"

    def blueprint_digest(self) -> str:
        """SHA-256 of the blueprint's file; empty where there is none."""
        try:
            return hashlib.sha256(self.blueprint_path.read_bytes()).hexdigest()
        except FileNotFoundError:
            return ""

    def keep_paper(self, paper: Paper, name: str, original: bytes) -> None:
        """Write a paper and the file it was read from into the folder.

        Args:
            paper: the paper as it was read.
            name: name of the file it was read from.
            original: bytes of that file.

        Raises:
            StoreError: they cannot be written.
        """
        with store_errors(self.path):
            (self.path / "original").mkdir(parents=True, exist_ok=True)
            # The last part alone: a name from outside may hold a path that leads elsewhere.
            (self.path / "original" / Path(name).name).write_bytes(original)
            write_json(self.path / "paper.json", asdict(paper))

    @property
    def has_paper(self) -> bool:
        """Whether a paper is kept here; a file that could not be read as one has a folder without it."""
        return (self.path / "paper.json").exists()

    def paper(self) -> Paper:
        """The paper.

        Raises:
            UnreadableRecordError: it is not there, or damaged.
        """
        return _read(self.path / "paper.json", _PAPER)

    def result(self, stage: str) -> KeptResult | None:
        """What a stage found; None where it is not done.

        Raises:
            UnreadableRecordError: the record is damaged.
        """
        path = self.path / f"{stage}.json"
        if not path.exists():
            return None
        return _read(path, _KEPT)

    def results(self) -> list[KeptResult]:
        """What the stages found so far, in their order.

        Raises:
            UnreadableRecordError: a record is damaged.
        """
        return [kept for stage in STAGES if (kept := self.result(stage)) is not None]

    def keep_result(self, result: StageResult, made_from: str, seconds: float) -> KeptResult:
        """Write down what a stage found, and forget what later stages had found before.

        Args:
            result: what the stage found.
            made_from: digest of what the result follows from.
            seconds: wall time of the stage.

        Raises:
            StoreError: it cannot be written.
        """
        # Before the new record is there: a process that is killed in between leaves a shorter chain, never a false one.
        self.forget_from(result.stage)
        timeless = _RESULT.dump_python(result, mode="json") | {
            "made_from": made_from,
            "blueprint": self.blueprint_digest(),
        }
        kept = KeptResult(result, made_from, self.blueprint_digest(), round(seconds, 3), sha256_of_json(timeless))
        with store_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            write_json(self.path / f"{result.stage}.json", _KEPT.dump_python(kept, mode="json"))
        return kept

    def forget_from(self, stage: str) -> None:
        """Remove the records of a stage and of all stages after it.

        Raises:
            StoreError: one cannot be removed.
        """
        with store_errors(self.path):
            # The last first, so that a process that is killed in between leaves no gap in the chain.
            for later in reversed(STAGES[STAGES.index(stage) :]):
                (self.path / f"{later}.json").unlink(missing_ok=True)

    def state(self) -> tuple[str, StageState]:
        """The last stage that is done, and its state; ``("", "waiting")`` before the first.

        Raises:
            UnreadableRecordError: a record is damaged.
        """
        results = self.results()
        return (results[-1].result.stage, results[-1].result.state) if results else ("", "waiting")


class ForgeFolder:
    """A forge on disk."""

    def __init__(self, root: Path, settings: ForgeSettings) -> None:
        """A forge in a folder; use :meth:`begin` or :meth:`open`."""
        self.root = root
        self.settings = settings

    @classmethod
    def begin(cls, root: Path, settings: ForgeSettings) -> ForgeFolder:
        """Begin a forge in a folder, or go on with the one there.

        Args:
            root: the folder, which is made if it is missing.
            settings: the settings. Its budget and its local hosts replace those of a forge that is there already.

        Raises:
            UsageError: the forge there was begun with other models, or the folder holds something else.
            StoreError: it cannot be written.
        """
        if (root / "forge.toml").exists():
            there = cls.open(root)
            before, now = ({**asdict(each), **_FREE} for each in (there.settings, settings))
            if before != now:
                changed = ", ".join(key for key in before if before[key] != now[key])
                raise UsageError(
                    f"{root}: this forge was begun with another {changed} ({there.settings.model}, reviewed by "
                    f"{there.settings.reviewer}); choose another folder with --out, or say the same"
                )
        elif root.exists() and any(root.iterdir()):
            raise UsageError(f"{root}: not empty, and no forge; choose another folder with --out")
        with store_errors(root):
            for folder in (root / "papers", root / "tasks"):
                folder.mkdir(parents=True, exist_ok=True)
                # What a killed process left half made.
                remove_dead(folder)
            lines = [f"{key} = {toml_of(value)}" for key, value in asdict(settings).items() if value is not None]
            write_text(root / "forge.toml", "\n".join([f"format = {FORMAT}", *lines, ""]))
        return cls(root, settings)

    @classmethod
    def open(cls, root: Path) -> ForgeFolder:
        """The forge in a folder.

        Raises:
            UsageError: there is none, or its settings cannot be read.
        """
        path = root / "forge.toml"
        try:
            stated = tomllib.loads(path.read_text(encoding="utf-8"))
            if stated.pop("format") != FORMAT:
                raise UsageError(f"{path}: written by another version of the forge; begin a new one with --out")

            stated["local_hosts"] = tuple(stated.get("local_hosts", ()))
            return cls(root, ForgeSettings(**stated))
        except FileNotFoundError:
            raise UsageError(
                f"{root}: no forge there; begin one with `openfingym forge run PAPERS --model MODEL --out {root}`"
            ) from None
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            raise UsageError(f"{path}: cannot be read as the settings of a forge ({error})") from None

    @property
    def tasks(self) -> Path:
        """Folder of the installed tasks."""
        return self.root / "tasks"

    def paper(self, key: str) -> PaperFolder:
        """The folder of a paper, which need not exist."""
        return PaperFolder(self.root / "papers" / key)

    def papers(self) -> list[PaperFolder]:
        """The folders of all papers, by key."""
        paths = [path for path in (self.root / "papers").iterdir() if path.is_dir() and not path.name.startswith(".")]
        return [PaperFolder(path) for path in sorted(paths)]

    def find(self, name: str) -> PaperFolder:
        """The paper that a name means: the one with this key, or the only one whose key begins with it.

        Raises:
            UsageError: there is none, or more than one.
        """
        matches = [paper for paper in self.papers() if paper.key.startswith(name)]
        exact = [paper for paper in matches if paper.key == name]
        if len(exact or matches) == 1:
            return (exact or matches)[0]
        if matches:
            raise UsageError(f"{name!r} may be any of {', '.join(paper.key for paper in matches)}; say more of it")
        raise UsageError(f"no paper {name!r} in {self.root}; `openfingym forge status {self.root}` lists them")

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Hold the lock of the forge for the time of the block, so that no other process works in it.

        Raises:
            UsageError: another process holds it.
            StoreError: the lock cannot be taken.
        """
        with store_errors(self.root):
            try:
                lock = take(self.root / ".lock", wait=False)
            except BlockingIOError:
                raise UsageError(f"{self.root}: another process works in this forge; wait for it to end") from None
        with lock:
            yield


def remove_at_once(folder: Path) -> None:
    """Remove a folder so that nobody meets half of it.

    Raises:
        OSError: it cannot be removed.
    """
    # Renamed first, which takes no time; a name with a dot in front is no task's.
    aside = folder.with_name(f".{folder.name}.gone")
    # What a process that was killed left there.
    shutil.rmtree(aside, ignore_errors=True)
    folder.rename(aside)
    shutil.rmtree(aside)


_PAPER = TypeAdapter(Paper)
_RESULT = TypeAdapter(StageResult)
_KEPT = TypeAdapter(KeptResult)
T = TypeVar("T")


def _read(path: Path, adapter: TypeAdapter[T]) -> T:
    """The record in a file."""
    try:
        return adapter.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        # One line: pydantic's messages have several.
        why = " ".join(str(error).split())[:300]
        raise UnreadableRecordError(f"{path}: cannot be read ({why}); remove the file to have it made again") from None
