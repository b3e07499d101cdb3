"""The instruction of a built package: what its author wrote, then the facts that every instruction states."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from openfingym.kinds import Material, is_sequential, kind_of, walks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfingym.machine import Libraries
    from openfingym.metrics import Metric
    from openfingym.task import DataKind, Task
    from openfingym.task.scoring import Scoring

HONESTY: dict[DataKind, str] = {
    "real": "Real data: {source}.",
    "simulated": "SIMULATED data, not a real market: {source}.",
    "specified": "Synthetic by definition of the source paper: {source}.",
    # The same words as without hindsight: the experiment compares agents that differ in their tools alone.
    "real with hindsight": "Real data: {source}.",
    "simulated with hindsight": "SIMULATED data, not a real market: {source}.",
}
"""The sentence that says where the data is from, by its kind."""
FACTS = "\n\n## Data\n\n"
"""Stands between what the author wrote and the facts."""
OFFERED = """\
Installed: NumPy, pandas, SciPy, scikit-learn, and where the machine
has them statsmodels, LightGBM and arch."""
"""The sentence on libraries in a package, which is built before it is known where programs will run."""
RULES = "\n## What is refused\n\n"
"""Heading of the rules of a kind that no package holds; see :meth:`openfingym.kinds.kind.Kind.rules`."""
FORM_REMARK = " {panel}: what the text above says of simulated data does not hold."


@dataclass(frozen=True)
class Written:
    """The parts of a package that are as its author wrote them."""

    config: bytes
    """``task.toml``."""
    instruction: str
    """The author's instruction, without the facts that are added to it."""
    interface: bytes
    """``interface.py``, the module that an agent's program imports."""
    panel: str
    """What the data holds, in a few words."""
    remark: str
    """What follows the sentence on the source of the data; begins with a space, or is empty."""


def remark_on_form(panel: str) -> str:
    """The remark on real data that take the place of the simulated data for which the author wrote the instruction."""
    return FORM_REMARK.format(panel=f"{panel[0].upper()}{panel[1:]}")


def stated(instruction: str, data_kind: DataKind, remark: str) -> tuple[str, str]:
    """Take a rendered instruction apart: the author's text, and the source of the data.

    Args:
        instruction: an instruction that :func:`render_instruction` made.
        data_kind: the kind of data that the instruction is about.
        remark: the remark that follows the source, as in :attr:`Written.remark`.

    Raises:
        ValueError: the text is not of the form that :func:`render_instruction` gives it.
    """
    # From the right: the author's own text may have a heading "Data" as well.
    author, heading, facts = instruction.rpartition(FACTS)
    begin, _, end = HONESTY[data_kind].partition("{source}")
    line = facts.partition("\n\n| | |\n")[0].removesuffix(remark)
    if not (heading and line.startswith(begin) and line.endswith(end)):
        raise ValueError("it does not say where the data is from")
    return author, line[len(begin) : len(line) - len(end)]


def render_instruction(task: Task, material: Material, written: Written) -> str:
    """The text of ``instruction.md``: the author's, then the facts that no author should have to repeat."""
    # Every byte is a part of the task's digest: a line that ends in a backslash is wrapped in this file alone.
    spec, contract, info, kind = task.spec, task.spec.contract, material.info, kind_of(task)
    brief = kind.brief(task, material)
    honesty = HONESTY[info.kind].format(source=info.source) + written.remark
    facts = "\n".join(f"| {name} | {value} |" for name, value in brief.facts)
    return f"""{written.instruction}

## Data

{honesty}

| | |
|---|---|
{facts}

{brief.note}

## What to do

Write a Python program. It runs once, in a container without a network, in the empty folder `/work`.

```python
import interface

{brief.usage}
```

Every {kind.bounded} must be finite and between {contract.low:g} and {contract.high:g}.

## How it is scored

{_scoring(spec.scoring)}

{_counting(task, material)}

## Limits

{task.file.agent.timeout_sec:g} seconds, {task.file.environment.memory_mb} MB of memory, \
{task.file.environment.cpus} CPU core(s),
{task.file.environment.storage_mb} MB of disk in `/work`. {OFFERED} The Unix time at which the program will be \
stopped is in `$OPENFINGYM_DEADLINE`.
"""


def told(written: str, rules: str, libraries: Libraries | None = None) -> str:
    """The instruction as an agent is told it, with what is known only where it acts.

    Args:
        written: the instruction in the package.
        rules: the rules of the task's kind; empty where it has none.
        libraries: the libraries that programs can import; None where it is not known yet where they will run.
    """
    text = written if libraries is None else written.replace(OFFERED, _installed(libraries))
    return f"{text.rstrip()}\n{RULES}{rules}\n" if rules else text


def _installed(libraries: Libraries) -> str:
    there = f"Installed: {_listed(libraries.installed) or 'no library beside the standard one'}."
    if not libraries.missing:
        return there
    return f"{there}\nNot installed, whatever else is said of methods: {_listed(libraries.missing)}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _counting(task: Task, material: Material) -> str:
    """Which of an agent's submissions or episodes count, in words."""
    budget = task.spec.verification.budget
    if is_sequential(task.spec.contract):
        return f"""\
{material.n_private} episodes count. They are played in the order of time, each once: `env.reset()` begins the next
one and ends the one before, and an episode that is left early, or never begun, counts as if nothing more were done in \
it.
Before or between them you may practise at most {budget} times on earlier bars, with \
`env.reset(options={{"fold": "public"}})`;
practice does not count. The score is computed by the verifier from what it saw you do, once, at the end."""
    if walks(task.spec.contract):
        return f"""\
The windows of the second part of the hidden set count. `interface.iter_test()` walks through them in the order of
time, once: what was answered stays, a program that is started again goes on at the first window without an answer,
and a walk that is not brought to its end has no score. Before it you may practise at most {budget} times on the first
part: `walk = interface.iter_test(practice=True)` shows its windows, and `walk.feedback` its result, clipped and
rounded, once the last one is answered."""
    return f"""\
You may submit at most {budget} times, and the last accepted submission counts. After each submission you see the
result on a first part of the hidden set, clipped and rounded; the score is the result on the other part, which
is not shown while you work."""


def _scoring(scoring: Scoring) -> str:
    """How the total is computed, in words."""
    from openfingym.metrics import find_metric

    terms = ", ".join(f"{m.weight:.4g} x {_as_loss(find_metric(m.name))}" for m in scoring.metrics if m.weight > 0.0)
    reported = [m.name for m in scoring.metrics if m.weight == 0.0]
    lines = [f"Loss (lower is better): {terms}."]
    if reported:
        lines.append(f"Also reported: {', '.join(reported)}.")
    lines.append(f"Ranks are by each metric's loss relative to the {scoring.baseline} baseline's (geometric mean).")
    return "\n".join(lines)


def _as_loss(metric: Metric) -> str:
    """How a metric enters the total, in words: where higher is better, as its distance from the best value."""
    if metric.direction == "lower":
        return metric.name
    bound = metric.range[1]
    return f"({bound:g} - {metric.name})" if math.isfinite(bound) else f"(-{metric.name})"
