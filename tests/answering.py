"""Giving a whole answer to a verifier, whether its task takes it in one array or window by window."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openfingym.kinds import walks
from openfingym.packages.package import BuiltPackage
from openfingym.verifiers.client import VerifierClient

Values = NDArray[np.float64]


def practise(client: VerifierClient, token: str, package: BuiltPackage, values: Values) -> dict[str, float]:
    """The metrics that an agent is told of an answer's public part; empty where it is told none."""
    if not walks(package.task.spec.contract):
        return dict(client.submit(token, values).metrics)
    told: Any = client.walk(token, values[: package.manifest.n_public], "public").info["feedback"]
    return dict(told["metrics"])


def give(client: VerifierClient, token: str, package: BuiltPackage, values: Values) -> None:
    """Answer what counts."""
    if walks(package.task.spec.contract):
        client.walk(token, values[package.manifest.n_public :])
    else:
        client.submit(token, values)
