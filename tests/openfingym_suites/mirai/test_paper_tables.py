"""The paper's tables, read back as programs for them do."""

from __future__ import annotations

import ast
from pathlib import Path

import pandas as pd

from openfingym.vault import Vault
from openfingym_suites.mirai.paper_tables import write_paper_tables
from openfingym_suites.mirai.splits import relation_queries

EVER = "9000-01-01T00:00:00+00:00"


def test_tables_hold_every_event_article_and_query(simulated_world: Vault, tmp_path: Path) -> None:
    write_paper_tables(simulated_world, tmp_path / "paper", months=["2023-07"])
    view = simulated_world.as_of(EVER)
    kg = pd.read_csv(tmp_path / "paper" / "data_kg.csv", sep="\t", dtype={"EventBaseCode": str}, keep_default_na=False)
    news = pd.read_csv(tmp_path / "paper" / "data_news.csv", sep="\t", keep_default_na=False)
    assert len(news) == view.count("articles")
    assert len(kg) == view.count("event_articles")
    quadruple = ["DateStr", "Actor1CountryCode", "EventBaseCode", "Actor2CountryCode"]
    assert kg.groupby(quadruple).ngroups == view.count("events")
    assert set(kg["Docid"]) == set(news["Docid"])
    queries = pd.read_csv(tmp_path / "paper" / "test" / "2023-07" / "relation_query.csv", sep="\t")
    expected = [list(query.answers) for query in relation_queries(simulated_world, "2023-07")]
    assert [ast.literal_eval(text) for text in queries["AnswerList"]] == expected
