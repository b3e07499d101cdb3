"""What there is to learn in the simulated world of MIRAI: F1 of simple forecasters on its four test sets.

    python benchmarks/mirai_world.py

``news`` reads articles as of the question's time that name the day asked about beside the pair, learns from those of
earlier months which relations follow such wording, and falls back on the last week where there is none.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date, timedelta

import numpy as np
from size import sized
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from openfingym_suites.mirai.simulated import simulated_vault
from openfingym_suites.mirai.splits import HORIZONS, PAPER_MONTHS, relation_queries
from openfingym_suites.mirai.taxonomy import country
from openfingym_suites.mirai.world import SimulationSize

EVER = "9000-01-01T00:00:00+00:00"
FIRST_TEST, LONGEST = date(2023, 11, 1), 90
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
LIKELY = 0.35
"""Chance from which a relation is named."""
Pair = tuple[str, str]


def f1(predicted: set[str], answer: set[str]) -> float:
    hits = len(predicted & answer)
    return 2 * hits / (len(predicted) + len(answer)) if hits else 0.0


class World:
    """The events and the announcements of the world, by pair."""

    def __init__(self) -> None:
        self.vault = simulated_vault(sized(None, SimulationSize(first_day=date(2023, 8, 1), days=122)))
        view = self.vault.as_of(EVER)
        self.past: dict[Pair, list[tuple[date, str]]] = defaultdict(list)
        overall: Counter[str] = Counter()
        for row in view.rows("events", columns=("date", "head", "relation", "tail")):
            self.past[row["head"], row["tail"]].append((row["date"], row["relation"]))
            overall[row["relation"]] += row["date"] < FIRST_TEST
        self.often = {code for code, _ in overall.most_common(4)}
        pairs: dict[str, set[Pair]] = defaultdict(set)
        for row in view.rows("event_articles", columns=("head", "tail", "article")):
            pairs[row["article"]].add((row["head"], row["tail"]))
        # (pair, day that is named) to (day of the article, the sentence that names it).
        self.named: dict[tuple[Pair, date], list[tuple[date, str]]] = defaultdict(list)
        for row in list(view.rows("articles", columns=("id", "date", "text")))[:: sized(1, 25)]:
            for sentence in re.split(r"(?<=[.!?])\s+", row["text"]):
                for day in days_in(sentence, row["date"]):
                    for pair in pairs[row["id"]]:
                        self.named[pair, day].append((row["date"], bare(sentence, pair)))

    def announced(self, pair: Pair, day: date, cut: date) -> list[str]:
        """Sentences up to a day that name another beside a pair."""
        return [text for when, text in self.named.get((pair, day), ()) if when <= cut]


def days_in(sentence: str, today: date) -> Iterable[date]:
    """Days to come that a sentence names by the date, or as so many days ahead."""
    month = "|".join(MONTHS)
    for found in re.finditer(rf"\b(\d{{1,2}}) ({month})\b|\b({month}) (\d{{1,2}})\b|\bin (\d+) days\b", sentence):
        if found[5]:
            yield today + timedelta(days=int(found[5]))
            continue
        number, name = int(found[1] or found[4]), found[2] or found[3]
        for year in (today.year, today.year + 1):
            day = date(year, MONTHS.index(name) + 1, min(number, 28) if name == "February" else min(number, 30))
            if day > today:
                yield day
                break


def bare(sentence: str, pair: Pair) -> str:
    """A sentence without the names of the two, which say who acts: those become ``head`` and ``tail``."""
    for word, code in zip(("head", "tail"), pair, strict=True):
        for name in sorted((country(code).name, *country(code).other_names), key=len, reverse=True):
            sentence = sentence.replace(name, word)
    return re.sub(r"\d+|" + "|".join(MONTHS), "", sentence)


class Reader:
    """Relations that follow announcements in such words, learnt from the months before the test sets."""

    def __init__(self, world: World) -> None:
        texts, answers = [], []
        for (pair, day), found in world.named.items():
            if day < FIRST_TEST:
                texts.append(" ".join(text for _, text in found))
                answers.append({code for when, code in world.past[pair] if when == day})
        self._words = CountVectorizer(binary=True, min_df=5, ngram_range=(1, 2))
        table = self._words.fit_transform(texts)
        counts = Counter(code for answer in answers for code in answer)
        self._models = {
            code: LogisticRegression(C=0.5, max_iter=300).fit(table, np.array([code in answer for answer in answers]))
            for code, count in counts.items()
            if count >= sized(30, 10)
        }

    def read(self, texts: list[str]) -> set[str]:
        """Relations that are likely after such sentences."""
        row = self._words.transform([" ".join(texts)])
        chances = {code: model.predict_proba(row)[0, 1] for code, model in self._models.items()}
        return {code for code, chance in chances.items() if chance > LIKELY}


def main() -> None:
    world = World()
    reader = Reader(world)
    queries = [query for month in PAPER_MONTHS[: sized(None, 1)] for query in relation_queries(world.vault, month)][
        : sized(None, 10)
    ]
    size = np.mean([len(query.answers) for query in queries])
    print(f"{len(queries)} queries, {size:.1f} second-level relations each")
    print("| forecaster | " + " | ".join(f"l = {horizon}" for horizon in HORIZONS) + " |")
    rows: dict[str, list[str]] = defaultdict(list)
    for horizon in HORIZONS:
        scores: dict[str, list[tuple[float, float]]] = defaultdict(list)
        told = 0
        for query in queries:
            pair, cut = (query.head, query.tail), query.date - timedelta(days=horizon)
            past = [(day, code) for day, code in world.past[pair] if day <= cut]
            counts = Counter(code for _, code in past)
            often = {code for code, _ in counts.most_common(5)}
            week = {code for day, code in past if (cut - day).days < 7} or often
            announced = world.announced(pair, query.date, cut)
            told += bool(announced)
            predictions = {
                "all pairs' 4 commonest": world.often,
                "recurrency: all of the pair": set(counts),
                "frequency: 5 commonest of the pair": often,
                "last week of the pair": week,
                "news, else last week": (reader.read(announced) if announced else set()) or week,
            }
            answer = set(query.answers)
            for name, predicted in predictions.items():
                roots = f1({code[:2] for code in predicted}, {code[:2] for code in answer})
                scores[name].append((roots, f1(predicted, answer)))
                if announced and name in {"last week of the pair", "news, else last week"}:
                    scores[f"{name}; where the day was announced"].append(scores[name][-1])
        for name, found in scores.items():
            first, second = 100 * np.mean(found, axis=0)
            rows[name].append(f"{first:.1f} / {second:.1f}")
        rows["queries whose day was announced"].append(f"{100 * told / len(queries):.0f} %")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
