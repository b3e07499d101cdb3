"""Proving that generation used nothing but what was known: each week again, on a copy without what came later."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openfingym.digests import sha256_of
from openfingym.errors import OpenFinGymError
from openfingym.questions.question import moment_at
from openfingym.suites.findeepforecast.world.known import KnownWorld
from openfingym.suites.findeepforecast.world.opening import open_world
from openfingym.vault import Vault


@dataclass(frozen=True)
class WeekProof:
    """What came of generating a week again without what became known after it was generated."""

    week: str
    generated_ns: int
    """As of when the copy was cut."""
    questions: int
    digest: str
    """SHA-256 of the questions that were asked, one line of canonical JSON each, in their order."""
    again: str
    """The same of those that were generated on the copy."""
    differences: tuple[str, ...]
    """What is different, for people: nothing where it is proved."""

    def to_dict(self) -> dict[str, object]:
        """It as JSON."""
        found: dict[str, object] = {"week": self.week, "questions": self.questions, "proved": self.proved}
        return found | {"digest": self.digest, "again": self.again, "differences": list(self.differences)}

    @property
    def proved(self) -> bool:
        """Whether both are the same, byte for byte."""
        return not self.differences and self.digest == self.again


def prove_week(
    vault: Vault,
    week: str,
    generated_ns: int,
    asked: Sequence[bytes],
    generate: Callable[[KnownWorld], Sequence[bytes]],
) -> WeekProof:
    """Generate a week again on a copy of its vault that ends with its generation.

    Args:
        vault: that the week was generated from.
        week: its name.
        generated_ns: when it was generated (t_g), in nanoseconds since the epoch.
        asked: the questions that were asked, as bytes, in their order.
        generate: generates the week's questions from a world, as bytes.

    Raises:
        StoreError: the copy cannot be written.
    """
    moment = moment_at(generated_ns)
    with tempfile.TemporaryDirectory(prefix="openfingym-proof-") as folder:
        copy = vault.truncated(moment, Path(folder) / "vault")
        try:
            again = list(generate(open_world(copy, moment)))
        except OpenFinGymError as error:
            return WeekProof(week, generated_ns, len(asked), _digest(asked), "", (f"it cannot be generated: {error}",))
    return WeekProof(week, generated_ns, len(asked), _digest(asked), _digest(again), tuple(_differences(asked, again)))


def _digest(lines: Sequence[bytes]) -> str:
    return sha256_of(b"".join(line + b"\n" for line in lines))


def _differences(asked: Sequence[bytes], again: Sequence[bytes]) -> list[str]:
    if len(asked) != len(again):
        return [f"{len(asked)} questions were asked, and {len(again)} are generated without what came later"]
    return [
        f"question {place + 1} is another one without what came later: {there[:80].decode(errors='replace')}"
        for place, (here, there) in enumerate(zip(asked, again, strict=True))
        if here != there
    ][:5]
