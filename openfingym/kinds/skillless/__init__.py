"""Answers without skill: a standing set for each kind of task, none of which may rank better than the task's baseline.

Where the line is. An answer has no skill if it either ignores the inputs of the items to be answered, or departs from
the baseline in a way that does not depend on them. It may use the unconditional distribution of the training targets
(their mean, deviation, quantiles, draws from them), so a training mean, the last level plus the training drift, and
noise as large as the truth all belong here. A mixture of the last value and the mean does not: it states how fast a
series reverts, which is a forecast. Nor does the degree of a node, which is information about that node; its number
tells nothing of it, and belongs here.

A generation task asks for the distribution of the training windows itself. There an answer has no skill if it knows no
more of that distribution than the baseline does (mean and deviation of each row and channel), or if it hands training
windows back, changed or not.

The module ``skillless`` of a kind's folder, or a module of this package, makes the set of one kind as
``skillless(contract, read, shape, generator)``: submissions by name, each within the contract's range, from public
arrays and a random generator alone. A sequential kind makes the *plans* of its episodes in the same way and then plays
them, for which, and for nothing else, hidden arrays are read.
"""

from __future__ import annotations
