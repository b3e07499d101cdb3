"""Write ``openfingym/leaks/text_model.npz``: how often characters follow one another in English and Python.

    python scripts/text_model.py [FOLDER]

It counts the sources of some rooms below FOLDER, by default of this checkout. The leak search reads the file instead of
the sources, so that rewording a comment does not move what it reports; write it anew only to change the model.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from openfingym.leaks.entropy import SYMBOLS, TEXT_MODEL, symbols_of

ROOMS = ("task", "packages", "kinds", "data")


def main() -> None:
    """Count, and write the file."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]) / "openfingym"
    files = sorted(path for room in ROOMS for path in (root / room).rglob("*.py"))
    s = symbols_of("\n".join(path.read_text(encoding="utf-8") for path in files))
    places, counts = np.unique((s[:-2] * SYMBOLS + s[1:-1]) * SYMBOLS + s[2:], return_counts=True)
    np.savez_compressed(TEXT_MODEL, places=places.astype(np.int32), counts=counts.astype(np.int32))
    print(f"{TEXT_MODEL}: {len(s)} characters of {len(files)} files, {len(places)} different triples")


if __name__ == "__main__":
    main()
