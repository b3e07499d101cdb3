"""Scoring files by hand, for whoever owns both the submission and the truth.

The files are treated as the verifier would treat them, without a verifier: the same parsing, the same checks, the same
metrics on the same folds.
"""

from __future__ import annotations

import io
from codecs import BOM_UTF8
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import DataError, SubmissionError, UsageError
from openfingym.kinds.walk import SHOWN
from openfingym.verifiers.routes import ARROW_FILE, JSON, NPY, NPZ, PARQUET
from openfingym.verifiers.row_keys import TableName, order_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from openfingym.kinds.material import Array
    from openfingym.packages.package import BuiltPackage
    from openfingym_verifier.scoring.truth import HiddenTask

COLUMNAR = frozenset({".parquet", ".arrow"})
"""Suffixes of files of tables that are no text."""
SUBMISSION_LIMIT = 2 * 1024**3
"""The most bytes that a file of a submission may have."""
MEDIA_TYPES: Mapping[str, str] = {
    ".npy": NPY,
    ".npz": NPZ,
    ".json": JSON,
    ".arrow": ARROW_FILE,
    ".parquet": PARQUET,
}
"""Media type of a submission by the suffix of its file; ``.csv``, which the verifier does not take, is converted."""


@dataclass(frozen=True)
class FoldScore:
    """The score of one fold."""

    items: int
    """Number of hidden items in the fold."""
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
    """Name of the baseline."""
    public: FoldScore
    private: FoldScore
    warnings: tuple[str, ...] = ()
    """Remarks on what is admissible but hardly meant, such as percent in place of decimals."""

    def to_dict(self) -> dict[str, object]:
        """Plain values for ``--json``."""
        return {**asdict(self), "warnings": list(self.warnings)}


def score_files(package: BuiltPackage, submission: Path, truth: Path) -> Scorecard:
    """Score a submission against a truth.

    Args:
        package: the built package of the task; only its public half is read, unless ``truth`` is its hidden half.
        submission: file of the submission: ``.npy``, ``.npz``, ``.json``, ``.arrow``, ``.parquet``, or ``.csv`` with a
            column for each name along the last axis and the rows in order, or with keys that say which row is which
            (:mod:`openfingym.verifiers.row_keys`).
        truth: a folder of ``.npy`` files named as the hidden arrays of the task, an ``.npz`` of them, or one ``.npy``
            where the task has a single hidden array.

    Raises:
        SubmissionError: the verifier would refuse the submission; the message says what is wrong.
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
    scores = {}
    for name, fold, items in (
        ("public", grader.public, task.manifest.n_public),
        ("private", grader.private, task.manifest.n_private),
    ):
        # The same resamples of the hidden rows for both, so that the interval of their ratio is a paired one.
        design = kind_named(spec.contract).resampling(spec.contract, fold)
        own, base = (
            score_with_replicates(spec.contract, spec.scoring, fold, answer, design)
            for answer in (values, grader.baseline)
        )
        error = sampling_error(spec.scoring, own, base)
        scores[name] = FoldScore(
            items,
            own.total,
            relative(spec.scoring, own.metrics, base.metrics),
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
        public=scores["public"],
        private=scores["private"],
        warnings=(*_unscored(task.hidden), *warnings_for(package, values)),
    )


def _unscored(hidden: Mapping[str, Array]) -> tuple[str, ...]:
    """A remark on hidden values that nobody knows."""
    import numpy as np

    counts = [
        (name, int(np.isnan(array).sum()), array.size) for name, array in hidden.items() if array.dtype.kind == "f"
    ]
    return tuple(f"unknown: {count} of {size} values of {name} are NaN and not scored" for name, count, size in counts
                 if count)  # fmt: skip


def read_answer(
    package: BuiltPackage, submission: Path, hidden: Mapping[str, Array] | None
) -> tuple[HiddenTask, NDArray[np.float64]]:
    """Read a submission from a file as the verifier reads one.

    Args:
        package: the built package of the task.
        submission: file of the submission, in one of the formats that :func:`score_files` takes.
        hidden: the hidden arrays by name; None for those of the package.

    Returns:
        The task with its hidden arrays, and the submission, float64 of the task's submission shape.

    Raises:
        SubmissionError: the verifier would refuse the submission for its shape or its values; the message says what is
            wrong.
        UsageError: the file is missing or of an unknown sort.
    """
    from openfingym_verifier.problems import Problem
    from openfingym_verifier.scoring.truth import load_task
    from openfingym_verifier.submissions.parsing import read_submission

    if hidden is not None:
        # Whoever brings a truth brings what is asked for; what windows show is the package's.
        shown = (f"{SHOWN}{name}" for name in package.contract.get("window", ()))
        hidden = {**{name: package.shown_array(name) for name in shown}, **hidden}
    task = load_task(package, hidden)
    media_type, body = _read(submission, task, package)
    try:
        return task, read_submission(media_type, body, task)
    except Problem as problem:
        raise SubmissionError(f"{submission}: {problem.detail}", problem=problem.slug) from None


def read_truth(package: BuiltPackage, path: Path) -> dict[str, Array]:
    """Read the hidden arrays of a task from files of the caller's.

    Args:
        package: the built package of the task.
        path: a folder of ``.npy`` files, an ``.npz``, or one ``.npy`` where the task has a single hidden array.

    Returns:
        The hidden arrays by name.

    Raises:
        UsageError: there is no such file, or it is of an unknown sort.
        DataError: a file cannot be read, or an array is missing, of another shape than the task's, or holds what it may
            not.
    """
    import numpy as np

    from openfingym.kinds import kind_of

    kind = kind_of(package.task)
    wanted = kind.hidden_shapes(package.manifest.submission_shape, package.manifest.n_test)
    try:
        if path.is_dir():
            arrays = {name: np.load(path / f"{name}.npy", allow_pickle=False) for name in wanted}
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        elif path.suffix == ".npy" and len(wanted) == 1:
            arrays = {next(iter(wanted)): np.load(path, allow_pickle=False)}
        else:
            raise UsageError(
                f"{path}: a truth is a folder of .npy files, an .npz, or one .npy; the arrays are {', '.join(wanted)}"
            )
    except FileNotFoundError as error:
        raise UsageError(f"{error.filename}: no such file") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from error
    for name, shape in wanted.items():
        if name not in arrays:
            raise DataError(f"{path}: no array {name!r}; found {', '.join(arrays) or 'none'}")
        if arrays[name].shape != shape:
            raise DataError(f"{path}: {name} has shape {list(arrays[name].shape)}, expected {list(shape)}")
        values = arrays[name]
        if values.dtype.kind not in "fiu" or not np.isfinite(values[~np.isnan(values)]).all():
            raise DataError(f"{path}: {name} must hold finite numbers")
        unknown = int(np.isnan(values).sum())
        if unknown and (not kind.partly_known or unknown == values.size):
            raise DataError(f"{path}: {name} must hold finite numbers, found NaN in {unknown} of {values.size}")
        if name == "labels" and not np.isin(arrays[name], (0, 1)).all():
            at = int((~np.isin(arrays[name], (0, 1))).argmax())
            raise DataError(f"{path}: labels must be 0 or 1, found {arrays[name][at]} at {at}")
    # An .npz may hold other arrays too, which are left out.
    return {name: arrays[name] for name in wanted}


def _read(path: Path, task: HiddenTask, package: BuiltPackage) -> tuple[str, bytes]:
    """Media type and body of a submission's file, as a request to the verifier would have them."""
    if path.suffix != ".csv" and path.suffix not in MEDIA_TYPES:
        raise UsageError(f"{path}: not a known sort of submission; known: .csv, {', '.join(MEDIA_TYPES)}")
    try:
        if path.suffix != ".csv":
            if path.stat().st_size > SUBMISSION_LIMIT:
                raise UsageError(
                    f"{path}: larger than {SUBMISSION_LIMIT // 1024**3} GiB, the most a submission may have"
                )
            content = path.read_bytes()
            table = _with_keys(path, content, task)
            if table is not None:
                return MEDIA_TYPES[".npy"], _as_npy(path, table, task, package)
            # Some editors put a byte-order mark before a text; the verifier, which reads programs' answers, takes none.
            return MEDIA_TYPES[path.suffix], content.removeprefix(BOM_UTF8) if path.suffix == ".json" else content
        return MEDIA_TYPES[".npy"], _as_npy(path, _csv(path), task, package)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None


def _csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_csv(path)
    except (ValueError, pd.errors.ParserError) as error:
        raise SubmissionError(f"{path}: not a readable table ({error})", problem="malformed-submission") from None


def _with_keys(path: Path, content: bytes, task: HiddenTask) -> pd.DataFrame | None:
    """A Parquet or Arrow file that has columns beside the answer's, which may say what its rows are; None for others.

    Of these the verifier, which reads programs' answers, takes keys alone; here other columns are left out.
    """
    if path.suffix not in COLUMNAR:
        return None
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return None  # refused by the verifier's own reader, with what to install
    source = pa.BufferReader(content)
    try:
        table = pq.read_table(source) if path.suffix == ".parquet" else pa.ipc.open_file(source).read_all()
        if set(table.column_names) <= set(task.manifest.labels):
            return None
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError, ValueError):
        return None  # refused by the verifier's own reader, with the reason
    return frame


def _as_npy(path: Path, table: pd.DataFrame, task: HiddenTask, package: BuiltPackage) -> bytes:
    """A table with a column for each label and all other axes as rows, as ``.npy`` of the submission's shape."""
    import numpy as np
    import pandas as pd

    labels, shape = list(task.manifest.labels), task.shape
    missing = [name for name in labels if name not in table.columns]
    if missing:
        raise SubmissionError(
            f"{path}: no column {missing[0]!r}; expected {', '.join(labels[:20])}", problem="wrong-shape"
        )
    rows = int(np.prod(shape)) // len(labels)
    if len(table) != rows:
        axes = " x ".join(task.manifest.submission_axes[:-1]) or task.manifest.submission_axes[0]
        raise SubmissionError(f"{path}: {len(table)} rows, expected {rows} ({axes})", problem="wrong-shape")
    # Of a file of text, rows are known by their lines.
    order = order_of(TableName(str(path), 0 if path.suffix in COLUMNAR else 2), table, package)
    table = table if order is None else table.iloc[order]
    # Columns are taken by name: their order in the file does not matter, and other columns are left out.
    predictions = table[labels]
    for name in labels:
        if predictions[name].dtype.kind not in "fiu":
            row = int(pd.to_numeric(predictions[name], errors="coerce").isna().to_numpy().argmax())
            # Lines of the file are counted from 1, and the first one holds the names.
            raise SubmissionError(
                f"{path}: row {row + 2}, column {name!r}: {predictions[name].iloc[row]!r} is not a number",
                problem="wrong-dtype",
            )
    content = io.BytesIO()
    np.save(content, predictions.to_numpy(dtype=np.float64).reshape(shape), allow_pickle=False)
    return content.getvalue()
