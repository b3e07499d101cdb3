"""The stand-in's answer to ``forge/extract``: rules over a paper's text, from how such papers are usually written."""

from __future__ import annotations

from openfingym.models.testing.conversation import CompletionRequest, Reply
from openfingym.models.testing.forging.dealing import read_dealing
from openfingym.models.testing.forging.measures import read_metrics, read_tables
from openfingym.models.testing.forging.prompts import answer_json, fenced_text, prompt_of
from openfingym.models.testing.forging.protocol import read_protocol
from openfingym.models.testing.forging.sentences import Claims, sentences
from openfingym.models.testing.forging.subjects import read_data, read_subject


def extract(request: CompletionRequest) -> Reply:
    """Say what a paper's experiment is, each value with its quotation."""
    prompt = prompt_of(request)
    text = fenced_text(prompt, "PAPER")
    found = list(sentences(text))
    claims = Claims()
    read_subject(fenced_text(prompt, "TITLE"), found, claims)
    read_data(found, text, claims)
    read_protocol(found, claims)
    if claims.first("family") == "trading":
        read_dealing(found, claims)
    metrics, baselines = read_metrics(found, read_tables(fenced_text(prompt, "TABLES")))
    fields = {name: {"readings": readings} for name, readings in claims.fields.items()}
    return answer_json({"fields": fields, "metrics": metrics, "baselines": baselines})
