"""Refusals to answer, in English and Chinese: texts that say they do not know, and nothing else."""

from __future__ import annotations

import re

SPEAKS_OF_REFUSAL = re.compile(
    r"\b(?:i\s+(?:do\s+not|don't|cannot|can't|could\s+not|couldn't)\b|unknown|not\s+(?:sure|available|found"
    r"|known|disclosed|certain)"
    r"|unable\s+to|cannot\s+(?:be\s+)?(?:determine|find|answer|provide)|no\s+(?:answer|data|information|idea)"
    r"|n/?a\b|none\b|undetermined)"
    r"|不知道|不清楚|不确定|无法|没有找到|未找到|未知|暂无|抱歉|对不起|没有数据",
    re.IGNORECASE,
)
"""Words of refusals, which a text may also say of something else than its answer."""
_OPENING = re.compile(
    r"(?:i(?:'m| am)|we(?:'re| are))?\s*(?:very |so )?(?:sorry|afraid)(?: to say)?|unfortunately|regrettably|answer"
    r"|(?:the |my )?(?:final )?answer is|非常?抱歉|很抱歉|抱歉|对不起|很?遗憾",
    re.IGNORECASE,
)
"""What a refusal may begin with, and which is no answer by itself."""
_NO_MORE = (
    r"(?![^:]*\b"
    r"(?:but|however|although|though|estimate|think|believe|guess|answer is|except|besides|only|other than)\b)"
)
"""No word follows that brings an answer all the same."""
_ABOUT = (
    rf"(?:{_NO_MORE}\s+(?:for|on|about|of|in|from|to|at|with|regarding|based|by|as|because|since|that|what|which|this"
    r"|the)\b[^:]*)?"
)
"""What a refusal is about. It may be long, but is no sentence of its own."""
_SUBJECT = (
    r"(?:(?:it|this|that|there|the|these|any|such|data|information|answers?|figures?|values?|results?|questions?"
    r"|number)\s+){0,4}(?:(?:is|are|was|were|has been|have been)\s+)?"
)
_NOT_KNOWN = (
    r"(?:unknown|undetermined|undisclosed|unavailable|unclear|unsure|uncertain|none|n/?a"
    r"|not\s+(?:\w+ly\s+)?(?:sure|available|found|known|disclosed|certain|given|provided|determinable|clear|stated"
    r"|reported)"
    r"|no\s+(?:(?:\w+\s+)?(?:answers?|data|information|results?|records?)|idea)"
    r"(?:\s+(?:is|was|were|are|could be|can be)?\s*(?:available|found|disclosed|provided|given|exists?))?"
    r"|unable\s+to\s+\w+|(?:cannot|can't|can not|could not|couldn't)\s+(?:be\s+)?(?:\w+ly\s+)?"
    r"(?:determined?|find|found|answer(?:ed)?|provided?|say|tell|known|retrieved?|access(?:ed)?|verif(?:y|ied)))"
)
_FIRST_PERSON = (
    r"(?:but\s+|so\s+|and\s+|however\s+)?(?:i|we)(?:'m| am|'re| are| was| were)?\s+(?:\w+ly\s+|still\s+)?"
    r"(?:do not|don't|did not|didn't|cannot|can't|can not|could not|couldn't|not able to|unable to|have no|found no"
    rf"|not sure|not certain|unsure|lack)\b{_NO_MORE}[^:]*"
)
"""As in "I could not find the figure in the filings"."""
_CHINESE = (
    r"(?:我们?|目前|暂时|现在|该|此|这个?|本|相关)*[^:]{0,6}"
    r"(?:不知道|不清楚|不确定|无法(?:确定|回答|得知|找到|获取|提供|判断|查到)|没有找到|未找到|找不到|未知|暂无"
    r"|没有(?:相关)?(?:数据|信息|资料|答案|结果)|无(?:数据|可用数据|法))[^:但除]{0,20}"
)
_REFUSED = re.compile(
    rf"{_SUBJECT}{_NOT_KNOWN}(?:\s+(?:at (?:this|the) (?:time|moment)|yet|here))?{_ABOUT}|{_FIRST_PERSON}|{_CHINESE}",
    re.IGNORECASE,
)
"""A sentence that says it has no answer."""
_SENTENCES = re.compile(r"[.;!?\n,]+(?=\s|$)|[;!?,]")


def refusal(text: str) -> str:
    """The first words of a text that refuses to answer; empty if the text is no refusal.

    A text is one only if each of its sentences says so: a long answer that speaks of what is "not disclosed" or of
    "none" answers all the same.

    Args:
        text: the text, after :func:`~openfingym.answers.reading.cleaning.cleaned`.
    """
    sentences = [part.strip(" \"'()[]{}`*_-:") for part in _SENTENCES.split(text)]
    said = [part for part in sentences if part and not _OPENING.fullmatch(part)]
    apologetic = len(said) < sum(map(bool, sentences))
    if not said:
        return text.strip()[:60] if apologetic else ""
    return said[0][:60] if all(map(_REFUSED.fullmatch, said)) else ""
