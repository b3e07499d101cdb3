"""``openfingym forge review``: a page for each candidate, and people's decisions, which alone make a task curated."""

from openfingym_forge.review.decisions import (
    ReviewDecision,
    accept,
    change,
    decisions,
    is_curated,
    reject,
)
from openfingym_forge.review.page import candidate_page, index_page, write_pages

__all__ = [
    "ReviewDecision",
    "accept",
    "candidate_page",
    "change",
    "decisions",
    "index_page",
    "is_curated",
    "reject",
    "write_pages",
]
