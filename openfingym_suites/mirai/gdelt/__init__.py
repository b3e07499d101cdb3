"""The paper's pipeline from the 15-minute files of GDELT 2.0 to the final tables; it can be resumed at any point."""

from openfingym_suites.mirai.gdelt.pull import PullOptions, PullReport, pull

__all__ = ["PullOptions", "PullReport", "pull"]
