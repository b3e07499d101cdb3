"""Attacks on a task that need no skill: run against its private fold, judged, recorded, and held against results.

:mod:`openfingym.kinds.skillless` has the answers; :mod:`~openfingym.adversarial.promise` scores them and says whether
one is better than the task's reference; :mod:`~openfingym.adversarial.record` keeps what they reach;
:mod:`~openfingym.adversarial.marks` says of a result that it shows no skill.
"""

from __future__ import annotations
