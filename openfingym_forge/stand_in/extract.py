"""The stand-in's answer to ``forge/extract``: rules over a paper's text, from how such papers are usually written."""

from __future__ import annotations

from openfingym.models.testing.conversation import CompletionRequest, Reply
from openfingym_forge.stand_in.dealing import read_dealing
from openfingym_forge.stand_in.measures import read_metrics, read_tables
from openfingym_forge.stand_in.prompts import answer_json, fenced_text, prompt_of
from openfingym_forge.stand_in.protocol import read_protocol
from openfingym_forge.stand_in.sentences import Claims, sentences
from openfingym_forge.stand_in.subjects import read_data, read_subject


def extract(request: CompletionRequest) -> Reply:
    """Say what a paper's experiment is, each value with its quotation."""
    prompt = prompt_of(request)
    text = fenced_text(prompt, "PAPER")
    all_sentences = list(sentences(text))
    claims = Claims()
    # The family and the asset class come first, since the other rules depend on them.
    read_subject(fenced_text(prompt, "TITLE"), all_sentences, claims)
    read_data(all_sentences, text, claims)
    read_protocol(all_sentences, claims)
    if claims.first("family") == "trading":
        read_dealing(all_sentences, claims)
    metrics, baselines = read_metrics(all_sentences, read_tables(fenced_text(prompt, "TABLES")))
    fields = {name: {"readings": readings} for name, readings in claims.fields.items()}
    return answer_json({"fields": fields, "metrics": metrics, "baselines": baselines})
