"""Generating a season of FinDeepForecast, and proving each week on a copy of its vault that ends with its generation.

python benchmarks/findeepforecast.py [DEFINITION] [WEEKS]

The peer of the proofs is plain generation in the same run; nothing else generates these questions. Goals, on two cores:
a whole season with its proofs below 180 s.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

from size import SHORT, sized

from openfingym.questions.question import Question
from openfingym.rounds.generator import Round
from openfingym.rounds.series import Series
from openfingym_suites.findeepforecast.rounds.generator import GENERATOR, FinDeepForecastOptions
from openfingym_suites.findeepforecast.world.building import findeepforecast_vault
from openfingym_suites.findeepforecast.world.opening import find_vault, vault_name
from openfingym_suites.findeepforecast.world.size import WorldSize


class Stopwatch:
    """Seconds of the wall and of this process's processors, since it was made."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), time.process_time()

    def __str__(self) -> str:
        return f"{time.perf_counter() - self.wall:.1f} s ({time.process_time() - self.cpu:.1f} s of processors)"

    @property
    def seconds(self) -> float:
        """Of processors."""
        return time.process_time() - self.cpu


def _nothing(_: Question) -> None:
    """What the market shows of a question: there is no market."""


def main(definition: Path, weeks: int | None) -> None:
    series = Series.read(definition)
    [(name, source)] = series.asked.items()
    options = source.options
    assert isinstance(options, FinDeepForecastOptions)
    assert series.start_ns is not None
    watch = Stopwatch()
    if SHORT:  # the paper's world takes much longer than all the rest
        options = options.model_copy(update={"vault": vault_name(findeepforecast_vault(WorldSize.small()))})
    print(f"vault {vault_name(find_vault(options.vault))[:29]}, opened or made: {watch}")
    rounds: list[tuple[Round, list[Question]]] = []
    asked: list[Question] = []
    watch = Stopwatch()
    for times in list(series.rounds(series.start_ns, 2**62))[:weeks]:
        one = Round(series, name, times, times.generated_ns, shown=_nothing, earlier=partial(tuple, tuple(asked)))
        made = GENERATOR.make(one, options)
        rounds.append((one, made))
        asked += made
    generation = watch.seconds
    print(f"{len(asked)} questions of {len(rounds)} weeks generated: {watch}")
    for (category, market), count in sorted(Counter((one.category, one.market) for one in asked).items()):
        print(f"  {category:24} {market:6} {count:4}")
    watch = Stopwatch()
    proofs = [GENERATOR.prove(one, options, made) for one, made in rounds if made]
    print(f"{sum(proof.proved for proof in proofs)} of {len(proofs)} weeks proved: {watch}")
    print(f"proofs cost {watch.seconds / generation:.1f} times what generation does")


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent / "rounds" / "findeepforecast.toml"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here, int(sys.argv[2]) if len(sys.argv) > 2 else sized(None, 1))
