"""Trajectories on disk: writing, reading and finding them, and their JSON schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from openfingym.errors import StoreError, UsageError
from openfingym.files.strange import MEGABYTE, parse_json, read_bytes, walk
from openfingym.files.whole import write_text
from openfingym.results.run_folder import TRAJECTORY
from openfingym.trajectory.record import FORMAT, RolloutRecord

LIMIT = 256 * MEGABYTE
"""Most bytes of a record that is read."""


def rollout_schema() -> dict[str, object]:
    """The JSON schema of the record (draft 2020-12)."""
    schema: dict[str, object] = RolloutRecord.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def write_rollout(path: Path, rollout: RolloutRecord) -> None:
    """Write a record; it appears complete or not at all.

    Raises:
        StoreError: the record cannot be written.
    """
    # Half a surrogate pair, which JSON from elsewhere can state and UTF-8 cannot, is written as its escape.
    write_text(path, rollout.model_dump_json() + "\n", errors="backslashreplace")


def read_rollout(path: Path) -> RolloutRecord:
    """Read a record.

    Raises:
        StoreError: the record is missing, damaged, or of a format that this version does not know.
    """
    try:
        raw = read_bytes(path.parent, path.name, LIMIT)
        return RolloutRecord.model_validate_json(raw)
    except OSError as error:
        raise StoreError(f"{path}: the trajectory cannot be read ({error.strerror})") from error
    except ValidationError as error:
        # A later format fails for keys that are not known here: an update is the remedy, and not a repair.
        stated = _format(raw)
        if isinstance(stated, int) and stated > FORMAT:
            raise StoreError(
                f"{path}: is of format {stated}, this version knows up to {FORMAT}; update openfingym"
            ) from None
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StoreError(f"{path}: not a trajectory ({f'{where}: ' if where else ''}{first['msg']})") from None


def find_rollouts(places: Iterable[Path]) -> Iterator[Path]:
    """Paths of the records in run folders, or below them; runs that are not complete are left out.

    Raises:
        UsageError: a place does not exist.
    """
    for place in places:
        if place.is_dir():
            # A run under way has a hidden folder, into which the walk does not go, until it is complete.
            for folder, names in walk(place):
                if TRAJECTORY in (names or ()):
                    yield folder / TRAJECTORY
        elif place.exists():
            yield place.resolve()
        else:
            raise UsageError(f"{place}: no such run")


def _format(raw: bytes) -> object:
    """The number of the format that a record states; None where it is no JSON object."""
    try:
        document = parse_json(raw)
    except ValueError:
        return None
    return document.get("format") if isinstance(document, dict) else None
