"""Proving that generation used nothing but what was known: a week is generated again without what came later."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from openfingym.digests import sha256_of
from openfingym.errors import OpenFinGymError
from openfingym.questions.question import moment_at
from openfingym.vault import Vault
from openfingym_suites.findeepforecast.world.known import KnownWorld
from openfingym_suites.findeepforecast.world.opening import open_world


@dataclass(frozen=True)
class WeekProof:
    """The result of generating a week again without what became known after it was generated."""

    week: str
    """Name of the week, such as ``2025-W44``."""
    generated_ns: int
    """When the week was generated, with which the copy ends, in nanoseconds since the epoch."""
    questions: int
    """How many questions were asked."""
    digest: str
    """Hex SHA-256 of the questions that were asked, each a line of canonical JSON, in their order."""
    again: str
    """Hex SHA-256 of the questions that were generated on the copy; empty if none could be."""
    differences: tuple[str, ...]
    """What differs, in words; empty if it is proved."""

    def to_dict(self) -> dict[str, object]:
        """The proof as JSON."""
        document: dict[str, object] = {"week": self.week, "questions": self.questions, "proved": self.proved}
        return document | {"digest": self.digest, "again": self.again, "differences": list(self.differences)}

    @property
    def proved(self) -> bool:
        """Whether the questions are the same, byte for byte."""
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
        vault: the vault that the week was generated from.
        week: name of the week.
        generated_ns: when it was generated (t_g), in nanoseconds since the epoch.
        asked: the questions that were asked, each as canonical JSON, in their order.
        generate: generates the week's questions from a world, each as canonical JSON.

    Raises:
        StoreError: the copy cannot be written.
    """
    moment = moment_at(generated_ns)
    with tempfile.TemporaryDirectory(prefix="openfingym-proof-") as folder:
        # Later rows are not only hidden from the copy but gone, whatever a generator may look at.
        copy = vault.truncated(moment, Path(folder) / "vault")
        # A generator that fails without later rows has used them: the week is not proved.
        try:
            again = list(generate(open_world(copy, moment)))
        except OpenFinGymError as error:
            return WeekProof(week, generated_ns, len(asked), _digest(asked), "", (f"it cannot be generated: {error}",))
    return WeekProof(week, generated_ns, len(asked), _digest(asked), _digest(again), tuple(_differences(asked, again)))


def _digest(lines: Sequence[bytes]) -> str:
    return sha256_of(b"".join(line + b"\n" for line in lines))


def _differences(asked: Sequence[bytes], again: Sequence[bytes]) -> list[str]:
    """What differs, in words; of several questions the first five."""
    if len(asked) != len(again):
        return [f"{len(asked)} questions were asked, and {len(again)} are generated without what came later"]
    return [
        f"question {place + 1} is another one without what came later: {there[:80].decode(errors='replace')}"
        for place, (here, there) in enumerate(zip(asked, again, strict=True))
        if here != there
    ][:5]
