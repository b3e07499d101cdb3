"""Rules of the stand-in that read the protocol of a paper's experiment: horizon, input, blocks, scaling, order."""

from __future__ import annotations

import re

from openfingym_forge.stand_in.sentences import Claims, Sentence
from openfingym_forge.stand_in.words import NUMBER, SHARE, UNIT, number_of, rows_of, share_of

_N = rf"(?P<n>{NUMBER})"
_U = rf"(?P<u>{UNIT})"
_FORECAST = r"forecast|predict|horizon|target|ahead|nowcast|project"
# Ways to say a duration, the most certain first: what one of them has matched is not read by another.
_HORIZON = [
    rf"{_N}[\s-]+{_U}[\s-]+(?:that|which)\s+follow",
    rf"{_N}[\s-]+{_U}[\s-]+(?:ahead|later|hence|forward|into the future|out\b|in advance)",
    rf"(?P<one>next|following)[\s-]+{_U}(?:'s)?\s+(?:\w+\s+)?(?:return|yield|price|rate|value|level|volatil|close)",
    (
        rf"(?:forecast|predict|project)\w*\s[^.;]{{0,80}}?(?:the\s|over\s)?(?:next|"
        rf"following|coming|subsequent)\s+{_N}\s+{_U}"
    ),
    rf"{_N}\s+(?:following|next|subsequent|coming)\s+{_U}",
    rf"(?:next|following|subsequent|coming)\s+{_N}\s+{_U}",
    rf"horizon[^.;\d]{{0,30}}?(?:of|is|was|to|at|equals|:|=)\s*(?:h\s*=\s*)?\$?{_N}\s*{_U}?",
    rf"{_N}[\s-]+{_U}[\s-]+horizon",
    rf"(?<![a-z])h\s*=\s*{_N}(?:\s+{_U})?",
    rf"(?P<one>one|a|single)[\s-]{_U}[\s-](?:ahead|later|forward)",
    rf"(?P<one>next|following)[\s-]+{_U}",
]
_LOOKBACK = [
    rf"(?:past|last|previous|preceding|prior|latest|recent|trailing)\s+{_N}\s+{_U}",
    rf"{_N}\s+(?:past|last|previous|preceding|prior|latest|most recent|trailing)\s+{_U}",
    rf"{_N}[\s-]+{_U}\s+(?:of\s+)?(?:input|histor|look-?\s?back|past|context|before)",
    rf"{_N}[\s-]+{_U}[\s-]+(?:window|lookback|look-back|history|context|input)",
    (
        r"(?:look-?\s?back|input|history|context|conditioning|observation)"
        r"(?:\s+(?:window|length|period|size|is|block))*"
        rf"[^.;\d]{{0,25}}?(?:of|is|was|to|covers|holds|spans|=|:)\s*(?:l\s*=\s*)?\$?{_N}\s*{_U}?"
    ),
    rf"(?:window|windows|block)\s+(?:of|length|size)[^.;\d]{{0,15}}?{_N}\s+{_U}",
    (
        rf"(?:handed|fed|reads?|sees?|receives?|takes?|is given|are given|is shown|are shown|"
        rf"observes?|from)\s+(?:the\s+|only\s+)*{_N}\s+{_U}"
    ),
    rf"(?<![a-z])[lpk]\s*=\s*{_N}(?:\s+{_U})?",
    rf"{_N}\s+lag(?:s|ged)",
]
_LENGTH = [
    (
        rf"(?:path|trajector|window|sequence|segment|series|scenario|"
        rf"block)\w*\s+(?:\w+\s+)?(?:of|with|has|have|having|spans?|covers?|"
        rf"consists? of|comprises?|contains?|lasts?)\s+(?:one channel and\s+|exactly\s+|length\s+)?{_N}\s+{_U}"
    ),
    rf"(?:of|with) length\s+(?:l\s*=\s*)?{_N}",
    rf"{_N}[\s-]+{_U}[\s-]+(?:long\s+)?(?:\w+\s+)?(?:path|trajector|window|sequence|segment|scenario|stretch)",
    rf"(?:length|horizon)\s*(?:of|is|was|=|:)\s*(?:\$?[ht]\s*=\s*)?{_N}\s*{_U}?",
    rf"(?:paths?|windows?|trajectories|sequences?)[^.;\d]{{0,40}}?(?:next|following|over)\s+{_N}\s+{_U}",
    rf"(?:next|following)\s+{_N}\s+{_U}",
]
_GAP = [
    rf"(?:gap|embargo|buffer|purg\w+|separat\w+)[^.;\d]{{0,40}}?{_N}\s+{_U}",
    (
        rf"{_N}\s+{_U}\s+(?:[\w.]+\s+){{0,5}}?(?:between|apart|separat|gap|"
        r"(?:are|is|were) (?:dropped|left out|skipped|discarded|omitted|removed|purged|cut out|unused|set aside))"
    ),
    rf"(?:drop|skip|discard|omit|remov|purg|leav\w+ out|left out|set aside)\w*\s+(?:the\s+|first\s+)*{_N}\s+{_U}",
    rf"(?:gap|embargo|buffer)\s+(?:of|is)\s+(?P<one>one)\s+{_U}",
]
_TRAIN = r"train|estimat|fit|in-sample|learn|calibrat"
_VALID = r"valid|select|tun|develop|choos|hyper|adjust|feedback|monitor"
_TEST = r"test|evaluat|held|hold|out-of-sample|scor|final|remain|rest\b|compar|judg|report"
_PARTS = r"rows|days|weeks|months|years|sessions|data\b|observations|sample|histor|origins|windows"
_NOT_ROWS = re.compile(r"\b(?:volatilit|moving|rolling mean|crossover|crisis|neuron|layer|epoch|hidden|seed|tree)\w*")


def _matches(patterns: list[str], low: str) -> list[tuple[float, str, int, int]]:
    """Number, unit, start and end of each duration that a pattern finds in a text in lower case."""
    made: list[tuple[float, str, int, int]] = []
    for pattern in patterns:
        for match in re.finditer(pattern, low):
            groups = match.groupdict()
            count = number_of(groups["n"]) if groups.get("n") else 1.0
            # A number that may be a year is none.
            if (
                count >= 1
                and not 1900 <= count <= 2100
                and not any(start < match.end() and match.start() < end for _, _, start, end in made)
            ):
                made.append((count, groups.get("u") or "step", match.start(), match.end()))
    return made


def read_protocol(sentences: list[Sentence], claims: Claims) -> None:
    """Claim durations, shares of blocks, order and scaling, where sentences say them."""
    family, frequency = str(claims.first("family")), str(claims.first("frequency"))
    for sentence in sentences:
        if sentence.ours:
            _durations(sentence, claims, family, frequency)
            _shares(sentence, claims)
            _order(sentence, claims)
            _scaling(sentence, claims)
    _two_sentences(sentences, claims)


def _durations(sentence: Sentence, claims: Claims, family: str, frequency: str) -> None:
    """Claim horizon, input, episode and gap, in rows of the data's frequency."""
    # "One to four weeks" ends at four.
    low = re.sub(rf"(?:{NUMBER}\s+(?:to|up to|through)\s+|\d\s*[–-]\s*)(?={NUMBER}[\s-]+{UNIT})", "", sentence.low)
    gaps = _matches(_GAP, low)
    for count, unit, _, _ in gaps:
        if re.search(
            rf"block|gap|embargo|buffer|purg|part|between|boundar|border|meet|set|window|{_TRAIN}|{_TEST}", low
        ):
            claims.add("split.embargo", rows_of(count, unit, frequency), sentence.text)
    taken = [(start, end) for _, _, start, end in gaps]

    def claim(name: str, patterns: list[str], most: int) -> None:
        for count, unit, start, end in _matches(patterns, low):
            rows = rows_of(count, unit, frequency)
            if 0 < rows <= most and not any(start < e and s < end for s, e in taken):
                taken.append((start, end))
                claims.add(name, rows, sentence.text)

    if family == "generation":
        claim("contract.horizon", _LENGTH, 10_000)
    elif family == "trading":
        claim(
            "contract.steps",
            [rf"episode\w*[^.;\d]{{0,40}}?{_N}\s+{_U}", rf"{_N}[\s-]+{_U}\s+(?:\w+\s+)?episode"],
            100_000,
        )
        claim("contract.lookback", _LOOKBACK, 100_000)
    elif family == "forecasting":
        if re.search(_FORECAST + r"|follow|next|output|label|step", low):
            claim("contract.horizon", _HORIZON if re.search(_FORECAST, low) else [_HORIZON[0], *_HORIZON[4:6]], 10_000)
        if not _NOT_ROWS.search(low) or re.search(r"input|look-?back|history", low):
            claim("contract.lookback", _LOOKBACK, 100_000)


def _shares(sentence: Sentence, claims: Claims) -> None:
    """Claim the shares of the blocks for training, feedback and test, where one sentence says them."""
    low = sentence.low
    # Blocks that end at percentiles of the data.
    percentiles = [int(digits) / 100 for digits in re.findall(r"(\d\d)th(?= (?:and \d\dth )?percentile)", low)]
    if percentiles and "split.train" not in claims.fields and re.search(_TRAIN, low):
        claims.add("split.train" if len(percentiles) == 1 else "protocol.train_share", percentiles[0], sentence.text)
        return
    if len(percentiles) == 2 and percentiles[0] == claims.first("split.train") and "split.public" not in claims.fields:
        claims.add("split.public", round(percentiles[1] - percentiles[0], 6), sentence.text)
        claims.add("split.private", round(1 - percentiles[1], 6), sentence.text)
        return
    # Three shares that add up to the whole are the blocks, even where none of them is named.
    if not _without_shares(sentence) and not re.search(_TRAIN, low) and re.search(_PARTS, low):
        three = [share_of(match[0]) for match in re.finditer(SHARE, low)]
        if len(three) == 3 and abs(sum(three) - 1) < 0.001:
            _claim_blocks(three, sentence.text, claims)
        return
    if _without_shares(sentence) or not re.search(rf"{_TRAIN}|split|divid|partition|block", low):
        return
    # Written as 60/20/20.
    listed = re.search(
        r"(?<![\d/:])(\d\d?)(?:\s?%)?\s?[/:–-]\s?(\d\d?)(?:\s?%)?(?:\s?[/:–-]\s?(\d\d?))?(?:\s?%)?(?![\d/:])", low
    )
    if listed:
        shares = [int(part) / 100 for part in listed.groups() if part]
        if abs(sum(shares) - 1) < 0.001:
            _claim_blocks(shares, sentence.text, claims)
            return
    # Written as shares of named blocks, the last of which may be "the rest".
    tokens = [(share_of(match[0]), match.start(), match.end()) for match in re.finditer(SHARE, low)]
    tokens = [token for token in tokens if 0 < token[0] < 1]
    rest = re.search(r"\b(?:remaining|remainder|rest|left over)\b", low)
    if (
        rest
        and tokens
        and not any(abs(rest.end() - start) < 12 for _, start, _ in tokens)
        and sum(t[0] for t in tokens) < 0.999
    ):
        tokens.append((round(1 - sum(token[0] for token in tokens), 6), rest.start(), rest.end()))
        tokens.sort(key=lambda token: token[1])
    shares = [token[0] for token in tokens]
    if len(shares) not in {1, 2, 3} or (len(shares) == 3 and sum(shares) > 1.2):
        return
    if len(shares) == 1:
        if re.search(rf"{_TRAIN}", low) and re.search(r"first|earl|initial|oldest|train", low):
            claims.add("protocol.train_share", shares[0], sentence.text)
        return
    # Where two shares would be of the same block, the words mislead, and the order in time decides.
    roles = [_role(low, start, end, index, len(shares)) for index, (_, start, end) in enumerate(tokens)]
    if len(set(roles)) < len(roles):
        roles = ["train", "test"] if len(shares) == 2 else ["train", "valid", "test"]
    names = {"train": "split.train", "valid": "split.public", "test": "split.private"}
    if len(shares) == 2 and set(roles) == {"train", "test"}:
        claims.add("protocol.train_share", shares[roles.index("train")], sentence.text)
        return
    for role, share in zip(roles, shares, strict=True):
        claims.add(names[role], share, sentence.text)


def _without_shares(sentence: Sentence) -> bool:
    """Whether the sentence is a row of a table without percentages, whose decimals are results and no shares."""
    return " | " in sentence.text and not re.search(r"%|per\s?cent", sentence.low)


def _role(low: str, start: int, end: int, index: int, count: int) -> str:
    """The block that a share is of: ``train``, ``valid`` or ``test``, by the word nearest behind it, else before it.

    Args:
        low: the sentence in lower case.
        start: where the share begins in it.
        end: where the share ends.
        index: position of the share among those of the sentence.
        count: how many shares the sentence has.
    """
    behind = low[end : end + 60]
    before = low[max(0, start - 60) : start]
    nearest: list[tuple[int, str]] = []
    for role, pattern in (("train", _TRAIN), ("valid", _VALID), ("test", _TEST)):
        match = re.search(pattern, re.split(SHARE, behind)[0])
        if match:
            nearest.append((match.start(), role))
    if not nearest:
        for role, pattern in (("train", _TRAIN), ("valid", _VALID), ("test", _TEST)):
            matches = list(re.finditer(pattern, before))
            if matches:
                nearest.append((len(before) - matches[-1].end(), role))
    if nearest:
        return min(nearest)[1]
    return "train" if index == 0 else "test" if index == count - 1 else "valid"


def _claim_blocks(shares: list[float], quote: str, claims: Claims) -> None:
    """Claim two or three shares as those of the blocks in their order in time."""
    if len(shares) == 2:
        claims.add("protocol.train_share", shares[0], quote)
    else:
        for name, share in zip(("split.train", "split.public", "split.private"), shares, strict=True):
            claims.add(name, share, quote)


def _two_sentences(sentences: list[Sentence], claims: Claims) -> None:
    """Claim blocks whose shares are told over two or three sentences."""
    if any(name in claims.fields for name in ("split.train", "split.public", "split.private")):
        return
    names = {"train": "split.train", "valid": "split.public", "test": "split.private"}
    about = (
        r"rows|days|weeks|months|sample|data|observ|block|first|last|histor|oldest|newest|earl|lat|following|subsequent"
    )
    for sentence in sentences:
        if not sentence.ours or _without_shares(sentence) or not re.search(about, sentence.low):
            continue
        # Block, share and sentence of each share that is told here and in the three sentences that follow.
        said: list[tuple[str, float, str]] = []
        near = [other for other in sentences if other.ours and 0 <= other.number - sentence.number <= 3]
        for other in near:
            tokens = [match for match in re.finditer(SHARE, other.low) if 0 < share_of(match[0]) < 1]
            if not tokens or len(tokens) > 2 or _without_shares(other) or not re.search(about, other.low):
                continue
            for index, match in enumerate(tokens):
                role = _role(other.low, match.start(), match.end(), len(said) + index, 3)
                said.append((role, share_of(match[0]), other.text))
        if len(said) == 3 and abs(sum(share for _, share, _ in said) - 1) < 0.001 and said[0][0] == "train":
            roles = (
                [role for role, _, _ in said] if len({role for role, _, _ in said}) == 3 else ["train", "valid", "test"]
            )
            claims.fields.pop("protocol.train_share", None)
            for role, (_, share, quote) in zip(roles, said, strict=True):
                claims.add(names[role], share, quote)
            return


_SIDES = r"(?:both|the two|either|different|neighbou?ring|adjacent) (?:parts?|sets?|blocks?|samples?|sides?)"
_OVERLAP = (
    rf"windows? (?:of|on|from|in) .*(?:\btrain.*\btest|\btest.*\btrain|{_SIDES}).*(?:overlap|share)|"
    r"(?:train\w*|test\w*) (?:and|with) (?:the )?(?:train\w*|test\w*) windows .*(?:overlap|share)|"
    rf"windows? .*(?:overlap|share) .*(?:across|between|at) .*(?:boundar|border|{_SIDES}|\btrain.*\btest)"
)
_DENIED = re.compile(r"\b(?:no|not|never|nor|none|without|avoid\w*|remov\w*|drop\w*|purg\w*|left out|cannot)\b")
_NO_GAP = re.compile(
    r"\b(?:no|not|nothing|without|never)\W+(?:\w+\W+){0,3}?"
    r"(?:gaps?|embargo|buffer|purg\w*|dropp\w*|remov\w*|left out)\b"
)


def _order(sentence: Sentence, claims: Claims) -> None:
    """Claim whether rows are shuffled, whether windows overlap two blocks, and how data are resampled."""
    low = sentence.low
    about = re.search(rf"{_TRAIN}|split|divid|partition|block|window|sampl|fold", low)
    if about and re.search(
        (
            r"(?:not|never|without|no) (?:\w+ ){0,2}(?:shuffl|random)|chronolog|in (?:time|"
            r"temporal) order|order of time|in order\b"
        ),
        low,
    ):
        claims.add("protocol.shuffled", False, sentence.text)
    elif about and re.search(
        (
            r"shuffl|random(?:ly)? (?:\w+ ){0,2}(?:split|divid|partition|assign|permut)|"
            r"(?:split|divid|partition|assign)\w* (?:\w+ ){0,3}at random"
        ),
        low,
    ):
        claims.add("protocol.shuffled", True, sentence.text)
        if re.search(r"window", low):
            claims.add("protocol.overlap", True, sentence.text)
    if re.search(_OVERLAP, low) and not _DENIED.search(_NO_GAP.sub("", low)):
        claims.add("protocol.overlap", True, sentence.text)
    given = re.search(
        rf"\b(?:inputs?|features?|regressors?)\b.*?((?:\w+ ){{1,4}}the (?:same|target|forecast) {UNIT})", low
    )
    if given and not _DENIED.search(low):
        claims.add("data.features", [given[1]], sentence.text)
    if re.search(
        r"resampl|(?:last|first|mean|average) (?:\w+ ){0,3}of (?:the|each|every) (?:week|month|hour)|stamped", low
    ):
        claims.add("protocol.resampling", " ".join(sentence.text.split())[:200], sentence.text)


_SCALED = (
    r"divided by (?:their|its|the) (?:own )?(?:\w+ )?(?:mean|average|standard "
    r"deviation|maximum)|standardi[sz]|normali[sz]|rescal|\bscal(?:ed|ing|er)|"
    r"min-?max|z-scor|unit variance|zero mean"
)


def _scaling(sentence: Sentence, claims: Claims) -> None:
    """Claim by which rows values are scaled: none, all, or those of training."""
    low = sentence.low
    if re.search(
        (
            rf"(?:no|not|without|neither|never|nor|n't)\W+(?:\w+\W+){{0,4}}?(?:{_SCALED})|"
            rf"unscaled|unstandardi|as (?:they|it) (?:are|is)\b.*no "
        ),
        low,
    ):
        claims.add("protocol.scaling", "none", sentence.text)
    elif re.search(_SCALED, low):
        if re.search(
            (
                r"full sample|entire|whole|all (?:the )?(?:data|rows|days|observations|sample)|"
                r"complete|(?:train\w*|both) and (?:the )?test"
            ),
            low,
        ):
            claims.add("protocol.scaling", "all", sentence.text)
        elif re.search(rf"{_TRAIN}|first block|earlier block", low):
            claims.add("protocol.scaling", "train", sentence.text)
