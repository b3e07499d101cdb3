"""The journal of a mirror: whole lines or none, one process at a time, and nothing secret."""

from __future__ import annotations

from decimal import Decimal

import pytest

from openfingym.errors import StoreError
from openfingym.market.brokers.journal import NAME, Journal
from openfingym.market.brokers.reports import (
    Adopted,
    BrokerExecution,
    Bust,
    OrderRefused,
    OrderReport,
    OrderState,
    ReportSource,
    Submitted,
    Unanswered,
)
from openfingym.trading.orders import OrderType, Reason, Side, TimeInForce

D = Decimal
REPORTS = [
    Submitted("c1", "AAPL", Side.BUY, D("1.50"), OrderType.LIMIT, TimeInForce.IOC, D(9), None, D(10), 5, 'a "label"\n'),
    OrderReport("o1", "c1", "AAPL", Side.SELL, D(1), D(0), None, OrderState.OPEN),
    BrokerExecution(
        "o1", "x1", "AAPL", Side.BUY, D("1E-8"), D(10), 7, ReportSource.ACTIVITY, D("0.1"), "BNB", slot="1/1"
    ),
    Bust("o1", "x1", ReportSource.STREAM),
    Adopted("ＢＴＣ", D("3.500")),
]


def test_what_is_kept_is_read_again_exactly(tmp_path):
    with Journal(tmp_path) as journal:
        for report in REPORTS:
            journal.keep(report)
    with Journal(tmp_path) as journal:
        assert journal.reports == REPORTS
        assert [str(report) for report in journal.reports] == [str(report) for report in REPORTS]
        assert isinstance(journal.reports[0][2], Side)


def test_half_a_report_is_cut_off_at_every_byte(tmp_path):
    with Journal(tmp_path) as journal:
        journal.keep(REPORTS[0])
        first = journal.path.stat().st_size
        journal.keep(REPORTS[1])
    whole = journal.path.read_bytes()
    for cut in range(first, len(whole)):
        journal.path.write_bytes(whole[:cut])
        with Journal(tmp_path) as torn:
            assert torn.reports == REPORTS[:1]
            torn.keep(REPORTS[2])
        with Journal(tmp_path) as again:
            assert again.reports == [REPORTS[0], REPORTS[2]]


def test_two_processes_cannot_trade_with_one_journal(tmp_path):
    with Journal(tmp_path), pytest.raises(StoreError, match="another process trades with this journal"):
        Journal(tmp_path)


@pytest.mark.parametrize("line", ["{}", "[]", '["Submitted","c1"]', '["os.system","x"]', '["Bust",1,2,3]', "nonsense"])
def test_a_damaged_line_is_told_with_its_number(tmp_path, line):
    with Journal(tmp_path) as journal:
        journal.keep(REPORTS[0])
    with journal.path.open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(StoreError, match="line 2: not a report"):
        Journal(tmp_path)
    with pytest.raises(StoreError, match="line 2"):  # and the lock is free again
        Journal(tmp_path)


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="choose another folder"):
        Journal(tmp_path / "file")


def test_reports_of_an_earlier_version_which_had_no_words_are_read(tmp_path):
    lines = '["OrderRefused","c1",18]\n["Unanswered","c2"]\n'
    (tmp_path / NAME).write_text(lines)
    with Journal(tmp_path) as journal:
        assert journal.reports == [OrderRefused("c1", Reason.VENUE_REFUSED), Unanswered("c2")]
