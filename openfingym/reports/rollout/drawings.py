"""Drawings of what was submitted, made of accepted submissions and public arrays: hidden values are never read."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from openfingym.errors import OpenFinGymError
from openfingym.files.strange import MEGABYTE, parse_json, read_array, read_bytes
from openfingym.kinds import kind_of
from openfingym.kinds.pictures import AgentAnswer, Curve, Picture, histogram
from openfingym.reports.charts import BOX, Line, Scale, axes, shown
from openfingym.reports.charts import histogram as draw_histogram
from openfingym.reports.page import macro
from openfingym.results.run_folder import ACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup
    from numpy.typing import NDArray

    from openfingym.packages.package import BuiltPackage
    from openfingym.results import RolloutResult

LIMIT = 256 * MEGABYTE
"""Most bytes of a submission, or of the record of actions."""
LARGEST = 1e12
"""Size to which values are cut, since a stranger's submission may hold any."""
POINTS = 2_000
"""Most points with which a line is drawn."""
TONES = 8
"""How many colours there are for lines."""
TEMPLATE = "rollout/drawings.html.jinja"
ANSWERS = "The hidden answer was submitted, as the check `oracle` does; it is not drawn."
NO_PACKAGE = (
    "The task's package, in the build that the run was made with, is not in the store here; values are shown "
    "without their inputs."
)
OTHER_TAPE = "The run had hidden data of its own, whose inputs are not in the package; values are shown without them."


def draw(folder: Path, number: int, result: RolloutResult) -> tuple[list[Markup], str]:
    """Draw an accepted submission.

    Args:
        folder: folder of the run, which may be a stranger's.
        number: number of the submission.
        result: the result of the run.

    Returns:
        The drawings, which may be none, and a remark on them, which may be empty.
    """
    # Its submissions are the hidden values.
    if result.agent == "oracle":
        return [], ANSWERS
    try:
        submission = read_array(folder / "submissions", f"{number}.npy", LIMIT)
        # What a walk has not answered is NaN, and stays out of the drawings.
        values = np.clip(np.asarray(submission, dtype=np.float64), -LARGEST, LARGEST)
    except (OSError, ValueError, TypeError) as error:
        return [], f"This submission cannot be read: {getattr(error, 'strerror', None) or error}"
    package = _package(result)
    # The record that the verifier keeps of an account, as the submission of a sequential task, tells what the hidden
    # prices were.
    if package is None or package.manifest.submission_shape != values.shape:
        return _plain(folder, values), OTHER_TAPE if result.tape != "given" else NO_PACKAGE
    described = package.contract
    answer = AgentAnswer(
        values,
        _actions(folder, package.manifest.n_private),
        described["labels"],
        described.get("channels", ()),
        package.array,
    )
    pictures = kind_of(package.task).pictures(package.task.spec.contract, answer)
    return _drawn(pictures), ""


def _plain(folder: Path, values: NDArray[np.float64]) -> list[Markup]:
    """A histogram of the values, for a task whose package is not here; none for a sequential task, whose values may be
    the verifier's record of the account.
    """
    return [] if (folder / ACTIONS).exists() else _drawn(histogram(values))


def _package(result: RolloutResult) -> BuiltPackage | None:
    """The package with which a run was made, if it is in the store; none is built, and no hidden half is read."""
    from openfingym import catalog, store
    from openfingym.packages.build import build_key
    from openfingym.packages.package import BuiltPackage

    if result.tape != "given":
        return None
    for real in (False, True):
        try:
            # By its name, never by a path: the result may be a stranger's.
            task = catalog.load_task(catalog.task_folders()[result.task], real=real)
            package = BuiltPackage(*store.package_folders(task.name, build_key(task)))
            if package.manifest.digest == result.task_digest:
                return package
        except (OpenFinGymError, KeyError, OSError):
            continue
    return None


def _actions(folder: Path, episodes: int) -> list[list[object]]:
    """The actions of each private episode that has any, in order; none if there is no readable record of them."""
    actions: list[list[object]] = [[] for _ in range(episodes)]
    try:
        for line in read_bytes(folder, ACTIONS, LIMIT).decode().splitlines():
            entry: Any = parse_json(line)
            if entry["fold"] == "private":
                actions[int(entry["number"])].append(entry["action"])
    except (OSError, ValueError, KeyError, TypeError, IndexError, OverflowError):
        return []
    return [of_episode for of_episode in actions if of_episode]


def _drawn(pictures: Iterable[Picture]) -> list[Markup]:
    """Draw the plain data of pictures, histograms of values or curves; those without a finite number are left out."""
    drawn = []
    for picture in pictures:
        if picture.values is not None:
            values = picture.values[np.isfinite(picture.values)]
            if values.size:
                line = Line(f"{values.size:,} values", values, "s0")
                drawn.append(draw_histogram(picture.title, [line], unit=""))
        elif curves := [thinned for curve in picture.curves if len((thinned := _thinned(curve)).x)]:
            drawn.append(_draw_curves(picture, curves))
    return drawn


def _draw_curves(picture: Picture, curves: Sequence[Curve]) -> Markup:
    """Draw the curves of a picture."""
    scale = Scale.around([curve.y for curve in curves], zero=picture.zero)
    low, high = min(float(curve.x[0]) for curve in curves), max(float(curve.x[-1]) for curve in curves)
    wide = Scale(low, high if high > low else low + 1.0)
    names = list(dict.fromkeys(curve.name for curve in curves))
    # Curves that the agent was given share one colour; its answers have colours of their own.
    answered = [name for name in names if not all(curve.known for curve in curves if curve.name == name)]
    tones = {name: f"s{answered.index(name) % TONES}" if name in answered else "known" for name in names}
    lines = [(tones[curve.name], _path(curve, wide, scale)) for curve in curves]
    ticks, step = wide.ticks()
    across = [(100.0 - wide.percent(tick), shown(tick, "", step)) for tick in ticks]
    spoken = f"{picture.title}: {', '.join(names)}, by {picture.across}"
    return macro(
        TEMPLATE,
        "curves",
        title=picture.title,
        across=picture.across,
        keys=list(tones.items()),
        axes=axes(scale, "", across, spoken),
        box=BOX,
        paths=lines,
    )


def _thinned(curve: Curve) -> Curve:
    """A curve with every so many of its finite points, at most :data:`POINTS`, whose values are cut to what can be
    drawn.
    """
    x, y = (axis[np.isfinite(curve.y)] for axis in (curve.x, curve.y))
    # Rounded up; of nothing, nothing.
    step = max(-(-len(x) // POINTS), 1)
    return dataclasses.replace(curve, x=x[::step], y=np.clip(y[::step], -LARGEST, LARGEST))


def _path(curve: Curve, wide: Scale, scale: Scale) -> str:
    """The SVG path of a curve, on a horizontal and a vertical scale."""
    points = (
        (100.0 - wide.percent(x), scale.percent(y)) for x, y in zip(curve.x.tolist(), curve.y.tolist(), strict=True)
    )
    return "M" + " ".join(f"{round(BOX / 100.0 * x)} {round(BOX / 100.0 * y)}" for x, y in points)
