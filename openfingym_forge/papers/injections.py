"""Finding text that tries to instruct whoever reads a paper.

It is only noted here. What keeps it from having an effect is how a paper is passed on: as material between marks, with
answers that are checked against it.
"""

from __future__ import annotations

import re

from openfingym_forge.paper import Paper
from openfingym_forge.quoting import LONGEST, quotation_at
from openfingym_forge.stage import RejectionReason

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?]+(?=\s|$)|$|\n)")
_NAMES = "(?:automated|ai|llm|machine|language[- ]model|artificial)"
_TEXTS = "(?:paragraph|sentence|note|text|instruction|section)"
_PATTERNS = [
    (
        r"\b(?:ignore|disregard|forget|override)\b[^.]{0,40}"
        r"\b(?:previous|prior|above|earlier|preceding|system|your|all)\b[^.]{0,30}"
        r"\b(?:instruction|prompt|rule|direction|guideline|text)s?\b"
    ),
    rf"\b(?:note|message|instructions?|attention)\s+(?:to|for)\s+(?:all\s+|any\s+)?{_NAMES}\b",
    r"\bas an? (?:ai|artificial intelligence|large language model|language model|llm)\b[^.]{0,40}\byou\b",
    r"\byou (?:are|act|must act)\s+(?:now\s+)?(?:as\s+)?an? (?:[a-z]+ ){0,3}(?:assistant|model|reviewer|agent)\b",
    r"\b(?:system prompt|jailbreak|developer message)\b",
    rf"\bdo not (?:mention|reveal|disclose|report|quote|flag) this {_TEXTS}\b",
    r"\b(?:respond|answer|reply) only with\b",
    r"\boutput (?:only )?the following (?:json|answer|text)\b",
    r"\b(?:give|assign|award) (?:this|our) (?:paper|task|submission) (?:a |the )?(?:highest|full|maximum|positive)\b",
    r"^(?:system|assistant|user)\s*:\s",
    r"<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?INST\]|<<<(?:BEGIN|END) [A-Z]",
    r"^task: forge/",
]
_ANY = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE | re.MULTILINE)


def instructions(paper: Paper) -> tuple[RejectionReason, ...]:
    """A note with the sentences that try to instruct the reader; empty where there are none."""
    quotations = []
    for sentence in _SENTENCE.finditer(paper.text):
        words = sentence[0].strip()
        if words and _ANY.search(words):
            start = sentence.start() + sentence[0].index(words[0])
            quotations.append(quotation_at(paper, start, min(start + len(words), start + LONGEST)))
    if not quotations:
        return ()
    many = "a sentence tries" if len(quotations) == 1 else f"{len(quotations)} sentences try"
    text = f"{many} to instruct whoever reads the paper; this was handed on as material and has no effect"
    return (RejectionReason("instructs-reader", text, tuple(quotations[:10])),)
