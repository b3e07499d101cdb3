"""Draw the pool of questions of the suite finsearch anew, prove every question, and keep the pool in the package.

Run it after a change of the world, of a template or of a rule that decides answers:

    python scripts/finsearch_pool.py
"""

from __future__ import annotations

import sys
import time

from openfingym_suites.finsearch.questions.composition import compose
from openfingym_suites.finsearch.questions.pool import draw_pool
from openfingym_suites.finsearch.questions.pool_file import FILE, stored_pool, write_pool
from openfingym_suites.finsearch.questions.proofs import prove
from openfingym_suites.finsearch.world import finsearch_vault


def main() -> int:
    """Draw, prove, keep; 1 if a proof fails."""
    vault = finsearch_vault()
    begun = time.process_time()
    problems = draw_pool(vault)
    proofs = [prove(problem, vault) for problem in problems]
    faulty = [proof for proof in proofs if proof.faults]
    for proof in faulty:
        print(proof.id, *proof.faults, sep="\n  ")
    parts = {name: len(found) for name, found in compose(problems).items()}
    real = sum(problem.real for problem in problems)
    print(f"{len(problems)} questions, {real} of them about real figures: {parts}; at most "
          f"{max(proof.calls for proof in proofs)} calls; {time.process_time() - begun:.0f} CPU seconds")  # fmt: skip
    if faulty:
        return 1
    write_pool(vault, problems)
    stored_pool.cache_clear()
    print(f"{FILE}: {FILE.stat().st_size:,} bytes, digest {stored_pool().digest[:12]}, of vault {vault.digest[:12]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
