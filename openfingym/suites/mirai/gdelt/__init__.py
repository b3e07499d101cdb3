"""From the 15-minute files of GDELT 2.0 to the final tables: the pipeline of the paper, resumable at any point."""

from openfingym.suites.mirai.gdelt.pull import PullOptions, PullReport, pull

__all__ = ["PullOptions", "PullReport", "pull"]
