"""``openfingym export``."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openfingym.cli.choices import SPLITS, STATES
from openfingym.cli.options import json_option
from openfingym.cli.printable import one_line, say
from openfingym.cli.render import print_json
from openfingym.errors import DataError, StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openfingym.trajectory import RolloutRecord
    from openfingym.trajectory.selection import Selected
    from openfingym.trajectory.sft import Unlearnable


@click.group()
def export() -> None:
    """Write what was recorded in the formats others read."""


NAMED = 20
"""Most damaged runs that are named."""
LONGEST = 1000
"""Most characters of a reason that are shown."""
_FORMS = ("atif", "messages", "native", "openai", "sharegpt")


@export.command()
@click.argument("runs", metavar="RUNS...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMS),
    required=True,
    help="Rows for fine-tuning (messages; sharegpt for LLaMA-Factory; openai for OpenAI's service), Harbor's trials "
    "with ATIF 1.8, or the complete record (native).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of atif and native; of the others one file: .jsonl, or of messages and sharegpt .parquet.",
)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES),
    help="Only rollouts in this state; may be given again. Default: all.",
)
@click.option("--task", "tasks", multiple=True, help="Only rollouts on this task; may be given again.")
@click.option("--agent", "agents", multiple=True, help="Only rollouts of this agent; may be given again.")
@click.option(
    "--split",
    "splits",
    multiple=True,
    type=click.Choice(SPLITS),
    help="Only rollouts of this split; may be given again.",
)
@click.option("--min-reward", type=float, help="Only rollouts whose reward in the record (minus the loss) is as high.")
@click.option(
    "--top-quantile",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    help="Only this share of each task's scored rollouts, the best.",
)
@click.option(
    "--distinct", is_flag=True, help="Of equal conversations only the first; ids and white space do not count."
)
@click.option(
    "--hold-out",
    "hold_out",
    multiple=True,
    metavar="TASK",
    help="Write rollouts on this task, and on tasks that share its data, to NAME.held-out.jsonl beside NAME.jsonl; "
    "may be given again. paper: the five tasks that the source paper holds out.",
)
@click.option(
    "--unlearnable",
    type=click.Choice(["cut", "mark", "omit"]),
    default="cut",
    show_default=True,
    help="Of messages: end a conversation before a message that is not to be learnt, mark it, or omit all of it.",
)
@json_option("an object")
def trajectories(
    runs: tuple[Path, ...],
    form: str,
    out: Path,
    hold_out: tuple[str, ...],
    unlearnable: Unlearnable,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Export the trajectories of runs: files, run folders, or folders of run folders.

    A rollout found twice is written once. A damaged run, as one that its own receipt contradicts, is in no file and is
    named. One in which no model spoke, or from which nothing is to be learnt, is left
    out of the formats that have no place for it, and counted.
    """
    from openfingym.reports.recorded_runs import BelievedRuns
    from openfingym.trajectory import find_rollouts
    from openfingym.trajectory.selection import ExportSelection, Selected, held_out_tasks

    if form not in {"messages", "sharegpt"} and out.suffix == ".parquet":
        raise UsageError(f"{out}: --format {form} is not written as Parquet; that is for messages and sharegpt")
    if form in {"atif", "native"} and hold_out:
        raise UsageError(f"--hold-out is for files of conversations (messages, sharegpt, openai), not for {form}")
    # First, so that a place that is missing is said in the words of an export.
    paths = list(find_rollouts(runs))
    believed = BelievedRuns.below(runs)
    selected = Selected(paths, ExportSelection(**chosen), believed.believes)
    # Named in the JSON also where there are none.
    selected.left_out.update({"repeated": 0, "other state": 0, "no messages": 0})
    # Number of trajectories of each split, by file. Rollouts are read one by one as they are written.
    files: dict[Path, Counter[str]] = {}
    try:
        if form == "native":
            files[out] = _records(selected, out)
        elif form == "atif":
            files[out] = _trials(selected, out, selected.left_out)
        else:
            files = _rows(selected, out, form, unlearnable, held_out_tasks(hold_out))
    except OSError as error:
        raise StoreError(f"{out}: cannot be written ({error.strerror}); choose another place with --out") from error
    left_out, written = dict(selected.left_out), sum(splits.total() for splits in files.values())
    if not written:
        reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items() if count)
        why = f" (left out: {reasons})" if reasons else "; a run has one where a model took part"
        why += f"; damaged: {believed.damaged[0].reason}" if believed.damaged else ""
        raise UsageError(f"no trajectory to export in {', '.join(map(str, runs))}{why}")
    if as_json:
        rows = [{"out": str(path), "written": splits.total(), "splits": splits} for path, splits in files.items()]
        print_json(
            {"format": form, "out": str(out), "written": written, "left_out": left_out, "files": rows}
            | {"damaged": [{"path": str(one.path), "reason": one.reason} for one in believed.damaged]}
        )
        return
    for path, splits in files.items():
        shares = ", ".join(f"{count} of split {split}" for split, count in sorted(splits.items()))
        count = splits.total()
        say(
            f"{count} {'trajectory' if count == 1 else 'trajectories'} in {path}"
            + (f": {shares}" if set(splits) != {"test"} else "")
        )
    for reason, count in left_out.items():
        if count:
            say(f"left out: {count} ({reason})")
    for damaged in believed.damaged[:NAMED]:
        say(f"damaged, in no file: {one_line(damaged.reason, LONGEST)}")
    if len(believed.damaged) > NAMED:
        say(f"and {len(believed.damaged) - NAMED:,} more damaged runs; --json names all")
    if files.get(out, Counter())["test"] and form not in {"atif", "native"}:
        say("some are of split test: do not score on their tasks what was trained on them")


@export.command()
@click.argument("runs", metavar="RUNS...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", required=True, help="Id of the dataset, such as equity-trading/momentum-v0.")
@click.option("--author", help="Who made it.  [default: unknown]")
@click.option("--lookback", type=click.IntRange(min=1), default=16, show_default=True, help="Bars of an observation.")
@click.option("--task", help="Only runs of this task.  [default: all, which must be of one]")
@json_option("an object")
def minari(
    runs: tuple[Path, ...], name: str, author: str | None, lookback: int, task: str | None, as_json: bool
) -> None:
    """Export trading runs as a dataset for offline learning, below $MINARI_DATASETS_PATH.

    Observations are made again by playing the recorded actions, which must lead to the recorded account. The dataset
    holds hidden bars that the agent saw, and no others.
    """
    from openfingym.envs.offline import to_minari
    from openfingym.reports.runs import run_folders
    from openfingym.results import read_run

    folders = [folder for folder in run_folders(runs) if task is None or read_run(folder).task == task]
    if task is not None and not folders:
        raise UsageError(f"no run of {task!r} in {', '.join(map(str, runs))}")
    dataset = to_minari(folders, name, author=author, lookback=lookback)
    path, metadata = Path(dataset.storage.data_path), dataset.storage.metadata
    if as_json:
        print_json(
            {
                "name": name,
                "path": str(path),
                "episodes": dataset.total_episodes,
                "steps": dataset.total_steps,
                "data_kind": metadata["data_kind"],
                "licence": metadata["licence"],
            }
        )
        return
    say(f"{dataset.total_episodes} episodes of {dataset.total_steps} steps in all in {path}")
    say(f"data: {metadata['data_kind']}; licence: {metadata['licence']}")
    say("made from hidden bars: do not score on this task what was trained on it")


@export.command()
def schema() -> None:
    """Print the JSON schema of the native record."""
    from openfingym.trajectory import rollout_schema

    say(json.dumps(rollout_schema(), indent=2, sort_keys=True))


def _records(rollouts: Iterable[RolloutRecord], out: Path) -> Counter[str]:
    """Write one file for each rollout; returns how many there are of each split."""
    from openfingym.trajectory.files import write_rollout

    written = Counter[str]()
    for rollout in rollouts:
        # Not before there is anything to write: nothing to export leaves no folder behind.
        out.mkdir(parents=True, exist_ok=True)
        write_rollout(out / f"{rollout.id}.json", rollout)
        written[rollout.split] += 1
    return written


def _trials(rollouts: Iterable[RolloutRecord], out: Path, left_out: Counter[str]) -> Counter[str]:
    """Write one of Harbor's trials for each rollout; returns how many there are of each split."""
    from openfingym.files.whole import write_text
    from openfingym.trajectory import to_atif
    from openfingym.trajectory.harbor import to_trial, trial_name

    written = Counter[str]()
    for rollout in rollouts:
        try:
            document = to_atif(rollout)
        except DataError:
            left_out["no messages"] += 1
            continue
        folder = out / trial_name(rollout)
        (folder / "agent").mkdir(parents=True, exist_ok=True)
        for path, content in (
            (folder / "agent" / "trajectory.json", document),
            (folder / "result.json", to_trial(rollout)),
        ):
            write_text(
                path,
                json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
                errors="backslashreplace",
            )
        written[rollout.split] += 1
    return written


def _rows(
    rollouts: Selected, out: Path, form: str, unlearnable: Unlearnable, held_out: frozenset[str]
) -> dict[Path, Counter[str]]:
    """Write one row for each rollout; rows of tasks that are held out go to a file of their own.

    Files appear complete or not at all, and none without a row.

    Args:
        rollouts: the rollouts to write; what is left out is counted in them.
        out: file of the rows.
        form: ``messages``, ``openai`` or ``sharegpt``.
        unlearnable: what is done about messages that are not to be learnt.
        held_out: names of the tasks that are held out.

    Returns:
        The number of rows of each split, by file.
    """
    from openfingym.trajectory import to_messages, to_openai, to_sharegpt
    from openfingym.trajectory.rows import row_writer

    convert: Callable[[RolloutRecord], dict[str, object]]
    convert = {"openai": to_openai, "sharegpt": to_sharegpt}.get(form, lambda record: to_messages(record, unlearnable))
    apart = out.with_name(f"{out.stem}.held-out{out.suffix}")
    written: dict[Path, Counter[str]] = {}
    write = {}
    with ExitStack() as stack:
        for rollout in rollouts:
            try:
                row = convert(rollout)
            except DataError:
                spoken = any(turn.role == "assistant" for turn in rollout.messages)
                unfit = "nothing to learn, or out of turn" if form == "sharegpt" else "nothing to learn"
                rollouts.left_out[unfit if spoken else "no messages"] += 1
                continue
            path = apart if rollout.task in held_out else out
            if path not in write:
                path.parent.mkdir(parents=True, exist_ok=True)
                write[path] = stack.enter_context(row_writer(path, sharegpt=form == "sharegpt"))
                written[path] = Counter()
            write[path](row)
            written[path][rollout.split] += 1
    return written
