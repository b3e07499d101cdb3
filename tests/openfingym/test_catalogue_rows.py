"""Every row of the source paper's catalogue: it has one task, and its sizes are said."""

from __future__ import annotations

from datetime import date

import pytest
from click.testing import CliRunner

from openfingym.catalog import load_task, task_folders
from openfingym.cli import cli
from openfingym.task.model import Split
from openfingym.task.published_sizes import published_sizes, split_beside_published

# Rows whose shares of items are far from the shares of rows here; a task that comes to differ belongs here, knowingly.
# Tasks on real series are cut by days, which tests/openfingym/checks/test_calendars.py compares.
CUT_ANEW = {
    *(f"1_commodity_variant{n}_logreturn_forecasting" for n in (2, 3, 5, 6)),
    *(f"1_crypto_variant{n}_logreturn_forecasting" for n in (4, 6)),
    *(f"1_equity_variant{n}_logreturn_forecasting" for n in (2, 4, 7)),
    *("1_treasury_variant5_forecasting", "1_global_index_volatility_forecasting", "1_lob_forecasting"),
    *("1_nifty50_multifactor_forecasting", "1_tsfm_forecasting", "1_yieldcurve_forecasting"),
    "2_timegan_stock_generation",
}
POINTS = 3
"""Percentage points within which two shares are alike, after rounding."""


def test_every_row_has_one_task() -> None:
    followed = [load_task(name).spec.provenance.catalogue_id for name in task_folders()]
    assert sorted(filter(None, followed)) == sorted(published_sizes())
    assert len(published_sizes()) == 78


def test_every_split_is_the_catalogues_or_known_to_differ_and_both_are_said() -> None:
    differ = set()
    for task in map(load_task, task_folders()):
        if task.spec.provenance.catalogue_id is None:
            continue
        row, split = str(task.spec.provenance.catalogue_id), task.spec.split
        shares = published_sizes()[row].shares
        said = split_beside_published(row, split)
        if split is None or shares is None:
            continue
        published = [round(100 * share) for share in shares]
        if split.dated:
            said_here = f"here the public rows begin on {split.public_from}, the private ones on {split.private_from}"
            assert f"({'/'.join(map(str, published))} %); {said_here}" in str(said)
            continue
        own = [round(100 * share) for share in split.shares]
        assert f"({'/'.join(map(str, published))} %); {'/'.join(map(str, own))} % of the rows here" in str(said)
        if max(abs(a - b) for a, b in zip(own, published, strict=True)) > POINTS:
            differ.add(row)
    assert differ == CUT_ANEW


@pytest.mark.parametrize(
    ("row", "split", "said"),
    [
        (
            "2_exchange_generation",
            Split(train=0.6, public=0.16, private=0.24, embargo=7),
            (
                "2,021 train, 253 validation, 253 test items in the catalogue (80/10/10 %); "
                "60/16/24 % of the rows here, by time"
            ),
        ),
        (
            "2_exchange_generation",
            Split(public_from=date(2018, 3, 1), private_from=date(2021, 9, 1), embargo=7),
            (
                "2,021 train, 253 validation, 253 test items in the catalogue (80/10/10 %); "
                "here the public rows begin on 2018-03-01, the private ones on 2021-09-01"
            ),
        ),
        ("2_ou_generation", None, "8,000 train, 1,000 validation, 1,000 test items in the catalogue (80/10/10 %)"),
        ("2_timegan_stock_generation", None, "3,661 train, 3,661 test items in the catalogue (50/0/50 %)"),
        ("3_cert_fraud", None, "1,000 test items in the catalogue, undivided"),
        ("offline_stock_trading", Split(train=0.5, public=0.2, private=0.3, embargo=5), None),
        (None, None, None),
    ],
)
def test_the_phrase_holds_what_the_catalogue_states(row: str | None, split: Split | None, said: str | None) -> None:
    assert split_beside_published(row, split) == said


def test_the_command_shows_both_splits() -> None:
    shown = CliRunner().invoke(cli, ["task", "show", "stock-return-generation"], catch_exceptions=False).output
    assert "(80/10/10 %); here the public rows begin on 2003-04-01" in " ".join(shown.split())
