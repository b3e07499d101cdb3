"""Names in the verifier's HTTP interface: paths, media types, and the types of problems.

The verifier, the gate and the client take them from here. The agent image holds nothing of this library, and so has
names of its own for what it uses.
"""

from __future__ import annotations

TASK, ROLLOUT = "/v1/task", "/v1/rollout"
SUBMISSIONS, EPISODES, STEPS, LIVE = "/v1/submissions", "/v1/episodes", "/v1/steps", "/v1/episodes/live"
QUESTIONS, FORECASTS, RESOLUTIONS = "/v1/questions", "/v1/forecasts", "/v1/resolutions"
RECORDINGS, CLOCKS, LEDGER, REFERENCES = "/v1/recordings", "/v1/clocks", "/v1/ledger", "/v1/references"
PAST_FORECASTS = "/v1/past-forecasts"
PROBLEM = "urn:openfingym:problem:"
"""Beginning of the type of every problem document (RFC 9457)."""
MOST_AGENTS = 1000
"""Agents that one request files."""
JSON, NPY, NPZ, ZIP = "application/json", "application/x-npy", "application/x-npz", "application/zip"
ARROW_STREAM, ARROW_FILE, PARQUET = (
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.arrow.file",
    "application/vnd.apache.parquet",
)
MEDIA_TYPES = (NPY, NPZ, ZIP, ARROW_STREAM, ARROW_FILE, PARQUET, JSON)
"""Media types that a submission may have."""
BODY_OVERHEAD_BYTES = 64 * 1024
"""Bytes of a submission's body beyond its numbers: headers and names of arrays, brackets and commas."""
BODY_BYTES_PER_NUMBER = 32
"""Bytes of a submission's body for each number: the longest text of one takes 24 and a comma, a binary one eight."""


def most_body_bytes(numbers: int) -> int:
    """The longest body of a submission of so many numbers, whatever its media type."""
    return BODY_OVERHEAD_BYTES + BODY_BYTES_PER_NUMBER * numbers
