"""Answers to the forge's prompts about download scripts: a script for a CSV file, tests of its table, a review."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING

from openfingym_forge.stand_in.prompts import answer_json, fenced_text, prompt_of

if TYPE_CHECKING:
    from openfingym.models.testing.conversation import CompletionRequest, Reply

_SCRIPT = """import io
import urllib.request

import pandas as pd

ADDRESS = {address!r}
COLUMNS = {columns!r}

with urllib.request.urlopen(ADDRESS, timeout=60) as answer:
    content = answer.read()
frame = pd.read_csv(io.BytesIO(content))
frame.columns = [str(name).strip() for name in frame.columns]
by_name = {{name.lower(): name for name in frame.columns}}
times = next((by_name[name] for name in ("date", "time", "timestamp", "observation_date") if name in by_name), None)
wanted = [name for name in COLUMNS if name.lower() in by_name]
missing = [name for name in COLUMNS if name.lower() not in by_name]
if missing:
    raise SystemExit(f"no column {{missing}} among {{list(frame.columns)}}")
tidy = frame[[by_name[name.lower()] for name in wanted]] if wanted else frame.drop(columns=[times] if times else [])
if wanted:
    tidy.columns = wanted
if times is not None:
    dates = pd.to_datetime(frame[times], utc=True).dt.tz_localize(None)
    tidy.insert(0, "date", dates)
    tidy = tidy.sort_values("date", kind="stable")
    first, last = {first!r}, {last!r}
    if first:
        tidy = tidy[tidy["date"] >= first]
    if last:
        tidy = tidy[tidy["date"] <= last]
tidy.to_csv("data.csv", index=False)
print(len(tidy), "rows")
"""
_TESTS = """def test_columns(frame):
    missing = [name for name in {columns!r} if name not in frame.columns]
    assert not missing, f"no column {{missing}}"


def test_rows(frame):
    assert len(frame) >= 30, f"{{len(frame)}} rows"


def test_numbers(frame):
    assert np.isfinite(frame.to_numpy(float)).mean() > 0.9, "more than a tenth of the cells have no value"


def test_times(frame):
    assert frame.index.is_monotonic_increasing and frame.index.is_unique, "times repeat or are out of order"


def test_days(frame):
    first, last = {first!r}, {last!r}
    if first:
        assert frame.index[0] >= pd.Timestamp(first), f"begins on {{frame.index[0]}}"
    if last:
        assert frame.index[-1] < pd.Timestamp(last) + pd.Timedelta(days=1), f"ends on {{frame.index[-1]}}"
"""


def _request(request: CompletionRequest) -> dict[str, object]:
    """What the prompt asks to be downloaded: address, columns beside the times, first and last day."""
    wanted = json.loads(fenced_text(prompt_of(request), "REQUEST"))
    return {
        "address": wanted["addresses"][0] if wanted.get("addresses") else "",
        "columns": [name for name in wanted.get("columns", []) if name.lower() not in ("date", "time", "timestamp")],
        "first": wanted.get("first") or "",
        "last": wanted.get("last") or "",
    }


def script(request: CompletionRequest) -> Reply:
    """A script that downloads a CSV file and writes its columns as ``data.csv``."""
    return answer_json({"script": _SCRIPT.format(**_request(request))})


def tests(request: CompletionRequest) -> Reply:
    """Tests of the table that the script is to make."""
    wanted = {name: value for name, value in _request(request).items() if name != "address"}
    return answer_json({"tests": _TESTS.format(**wanted)})


def review(request: CompletionRequest) -> Reply:
    """A review of a script by its syntax tree: which hosts it asks, which values it changes, whether it ends."""
    prompt = prompt_of(request)
    source, wanted = fenced_text(prompt, "SCRIPT"), fenced_text(prompt, "REQUEST")
    problems = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value:
            problems.append(f"line {node.lineno}: may run without end")
        if isinstance(node, ast.Attribute) and node.attr in ("fillna", "ffill", "bfill", "interpolate", "shift"):
            problems.append(f"line {node.lineno}: {node.attr} changes values")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            hosts = re.findall(r"https?://([^/\\s\"']+)", node.value)
            problems += [
                f"line {node.lineno}: {host} is no host of the request" for host in hosts if host not in wanted
            ]
    return answer_json({"verdict": "reject" if problems else "accept", "problems": problems})
