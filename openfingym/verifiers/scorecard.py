"""Scoring files by hand, for whoever owns both the submission and the truth.

What the verifier would do with them, without a verifier: the same parsing, the same checks, the
same metrics on the same folds.
"""

from __future__ import annotations

import io
from codecs import BOM_UTF8
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import DataError, SubmissionError, UsageError
from openfingym.verifiers.routes import ARROW_FILE, JSON, NPY, NPZ, PARQUET

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from openfingym.kinds import Array
    from openfingym.packages.package import BuiltPackage
    from openfingym_verifier.truth import HiddenTask

SUBMISSION_LIMIT = 2 * 1024**3
MEDIA_TYPES: Mapping[str, str] = {
    ".npy": NPY,
    ".npz": NPZ,
    ".json": JSON,
    ".arrow": ARROW_FILE,
    ".parquet": PARQUET,
}
"""How a submission is read, by the end of its name; ``.csv`` is read here."""


@dataclass(frozen=True)
class FoldScore:
    """The score of one fold."""

    items: int
    """Hidden items of the fold."""
    total: float
    """The source paper's weighted loss; lower is better."""
    relative_total: float
    """Geometric mean of each metric's loss relative to the baseline's; lower is better, 1 is the baseline."""
    relative_interval: tuple[float, float] | None
    """95 % interval of the relative total; None where nothing can be said."""
    total_interval: tuple[float, float] | None
    """95 % interval of the total; None where nothing can be said."""
    metrics: dict[str, float]
    """Each metric, in its own direction."""
    baseline_metrics: dict[str, float]
    """Each metric of the baseline."""
    standard_errors: dict[str, float]
    """Standard error of each metric, in its unit; metrics without one are left out."""


@dataclass(frozen=True)
class Scorecard:
    """The score of a submission."""

    task: str
    task_digest: str
    data_kind: str
    baseline: str
    public: FoldScore
    private: FoldScore
    warnings: tuple[str, ...] = ()
    """What is admissible and yet hardly meant, such as percent for decimals."""

    def to_dict(self) -> dict[str, object]:
        """Plain values for ``--json``."""
        return {**asdict(self), "warnings": list(self.warnings)}


def score_files(package: BuiltPackage, submission: Path, truth: Path) -> Scorecard:
    """Score a submission against a truth.

    Args:
        package: the task; only its public half is read, unless ``truth`` is its truth half.
        submission: ``.npy``, ``.npz``, ``.json``, ``.arrow``, ``.parquet``, or ``.csv`` with a column for each
            name along the last axis and the rows in order.
        truth: a folder of ``.npy`` files named as the hidden arrays of the task, an ``.npz`` of them, or one
            ``.npy`` where the task has a single one.

    Raises:
        SubmissionError: the verifier would refuse the submission; says what was wrong.
        DataError: the truth does not fit the task.
        UsageError: a file is missing or of an unknown sort, or the task is stepped through.
    """
    from openfingym.kinds import is_sequential, kind_named, score_with_replicates
    from openfingym.metrics import relative
    from openfingym.metrics.sampling_error import sampling_error
    from openfingym.verifiers.plausibility import warnings_for

    if is_sequential(package.task.spec.contract):
        raise UsageError(
            f"{package.manifest.name} is stepped through, and scored from what the verifier saw an agent do; a file "
            "proves nothing. "
            f"Run an agent: openfingym run {package.manifest.name} --agent script --program FILE"
        )
    package.verify_public()
    task, values = read_answer(package, submission, read_truth(package, truth))
    grader, spec = task.grader, task.spec
    grader.check(values)
    scored = {}
    for name, fold, items in (
        ("public", grader.public, task.manifest.n_public),
        ("private", grader.private, task.manifest.n_private),
    ):
        design = kind_named(spec.contract).resampling(spec.contract, fold)
        own, base = (
            score_with_replicates(spec.contract, spec.scoring, fold, one, design) for one in (values, grader.baseline)
        )
        rank = relative(spec.scoring, own.metrics, base.metrics)
        error = sampling_error(spec.scoring, own, base)
        scored[name] = FoldScore(
            items,
            own.total,
            rank,
            error.relative_interval,
            error.total_interval,
            own.metrics,
            base.metrics,
            dict(error.standard_errors),
        )
    manifest = task.manifest
    return Scorecard(
        task=manifest.name,
        task_digest=manifest.digest,
        data_kind=manifest.data_kind,
        baseline=spec.scoring.baseline,
        public=scored["public"],
        private=scored["private"],
        warnings=warnings_for(package, values),
    )


def read_answer(
    package: BuiltPackage, submission: Path, hidden: Mapping[str, Array] | None
) -> tuple[HiddenTask, NDArray[np.float64]]:
    """A task with its hidden arrays, and a submission from a file of the caller's as the verifier reads it.

    Args:
        package: the task.
        submission: a file of the submission's array, in one of the formats that :func:`score_files` reads.
        hidden: the hidden arrays, by name; None for those of the package.

    Raises:
        SubmissionError: the verifier would refuse the submission for its shape or its values; says what was wrong.
        UsageError: the file is missing or of an unknown sort.
    """
    from openfingym_verifier.problems import Problem
    from openfingym_verifier.submission import read_submission
    from openfingym_verifier.truth import load_task

    task = load_task(package, hidden)
    media_type, body = _read(submission, task, package)
    try:
        return task, read_submission(media_type, body, task)
    except Problem as problem:
        raise SubmissionError(f"{submission}: {problem.detail}", problem=problem.slug) from None


def read_truth(package: BuiltPackage, path: Path) -> dict[str, Array]:
    """The hidden arrays of a task from files of the caller's.

    Raises:
        UsageError: there is no such file.
        DataError: it cannot be read, or an array is missing or of another shape than the task's.
    """
    import numpy as np

    from openfingym.kinds import kind_of

    wanted = kind_of(package.task).hidden_shapes(package.manifest.submission_shape, package.manifest.n_test)
    try:
        if path.is_dir():
            found = {name: np.load(path / f"{name}.npy", allow_pickle=False) for name in wanted}
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                found = {name: archive[name] for name in archive.files}
        elif path.suffix == ".npy" and len(wanted) == 1:
            found = {next(iter(wanted)): np.load(path, allow_pickle=False)}
        else:
            raise UsageError(
                f"{path}: a truth is a folder of .npy files, an .npz, or one .npy; the arrays are {', '.join(wanted)}"
            )
    except FileNotFoundError as error:
        raise UsageError(f"{error.filename}: no such file") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    for name, shape in wanted.items():
        if name not in found:
            raise DataError(f"{path}: no array {name!r}; found {', '.join(found) or 'none'}")
        if found[name].shape != shape:
            raise DataError(f"{path}: {name} has shape {list(found[name].shape)}, expected {list(shape)}")
        if found[name].dtype.kind not in "fiu" or not np.isfinite(found[name]).all():
            raise DataError(f"{path}: {name} must hold finite numbers")
        if name == "labels" and not np.isin(found[name], (0, 1)).all():
            at = int((~np.isin(found[name], (0, 1))).argmax())
            raise DataError(f"{path}: labels must be 0 or 1, found {found[name][at]} at {at}")
    return {name: found[name] for name in wanted}


def _read(path: Path, task: HiddenTask, package: BuiltPackage) -> tuple[str, bytes]:
    """(media type, body) of a submission file."""
    if path.suffix != ".csv" and path.suffix not in MEDIA_TYPES:
        raise UsageError(f"{path}: not a known sort of submission; known: .csv, {', '.join(MEDIA_TYPES)}")
    try:
        if path.suffix != ".csv":
            if path.stat().st_size > SUBMISSION_LIMIT:
                raise UsageError(
                    f"{path}: larger than {SUBMISSION_LIMIT // 1024**3} GiB, the most a submission may have"
                )
            content = path.read_bytes()
            # Some editors put a byte-order mark before a text; from an agent the verifier takes none.
            return MEDIA_TYPES[path.suffix], content.removeprefix(BOM_UTF8) if path.suffix == ".json" else content
        return MEDIA_TYPES[".npy"], _csv_as_npy(path, task, package)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None


def _csv_as_npy(path: Path, task: HiddenTask, package: BuiltPackage) -> bytes:
    """A table with one column a label and all other axes as rows, as ``.npy`` of the submission's shape."""
    import numpy as np
    import pandas as pd

    labels, shape = list(task.manifest.labels), task.shape
    try:
        table = pd.read_csv(path)
    except (ValueError, pd.errors.ParserError) as error:
        raise SubmissionError(f"{path}: not a readable table ({error})", problem="malformed-submission") from None
    missing = [name for name in labels if name not in table.columns]
    if missing:
        raise SubmissionError(
            f"{path}: no column {missing[0]!r}; expected {', '.join(labels[:20])}", problem="wrong-shape"
        )
    rows = int(np.prod(shape)) // len(labels)
    if len(table) != rows:
        axes = " x ".join(task.manifest.submission_axes[:-1]) or task.manifest.submission_axes[0]
        raise SubmissionError(f"{path}: {len(table)} rows, expected {rows} ({axes})", problem="wrong-shape")
    _check_times(path, table, package)
    chosen = table[labels]
    for name in labels:
        if chosen[name].dtype.kind not in "fiu":
            row = int(pd.to_numeric(chosen[name], errors="coerce").isna().to_numpy().argmax())
            raise SubmissionError(
                f"{path}: row {row + 2}, column {name!r}: {chosen[name].iloc[row]!r} is not a number",
                problem="wrong-dtype",
            )
    content = io.BytesIO()
    np.save(content, chosen.to_numpy(dtype=np.float64).reshape(shape), allow_pickle=False)
    return content.getvalue()


TIME_COLUMNS = ("time", "date")
"""Columns of a table that, where they are there, must be the times that are predicted."""


def _check_times(path: Path, table: pd.DataFrame, package: BuiltPackage) -> None:
    """Refuse rows that are unsorted, repeated or of other times; only a table with a column of times says so."""
    import numpy as np
    import pandas as pd

    from openfingym.kinds import kind_of

    named = [name for name in TIME_COLUMNS if name in table.columns and name not in package.manifest.labels]
    expected = kind_of(package.task).target_times(package.task.spec.contract, package.array)
    if not named or expected is None:
        return
    found = (
        pd.to_datetime(table[named[0]], utc=True, format="ISO8601", errors="coerce")
        .dt.tz_localize(None)
        .to_numpy("datetime64[ns]")
    )
    wrong = found != expected
    if wrong.any():
        row = int(wrong.argmax())
        wanted = np.datetime_as_string(expected[row], unit="auto")
        raise SubmissionError(
            f"{path}: row {row + 2}: {named[0]} is {table[named[0]].iloc[row]}, expected {wanted}; "
            f"rows are in time order, each once ({', then '.join(package.manifest.submission_axes[:-1]) or 'row'})",
            problem="malformed-submission",
        )
