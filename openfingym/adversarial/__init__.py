"""Answers without skill: scored on a task's private fold, judged, recorded, and compared with results.

:mod:`openfingym.kinds.skillless` makes the answers; :mod:`~openfingym.adversarial.promise` scores them and says whether
one is better than the task's baseline; :mod:`~openfingym.adversarial.pooled` does so over all tasks together;
:mod:`~openfingym.adversarial.record` keeps what they reach; :mod:`~openfingym.adversarial.marks` says whether a result
shows skill.
"""

from __future__ import annotations
