"""Reading a task author's own CSV: what is good round-trips, what is bad is named by line and column."""

import gzip
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from openfingym.data.csvfile import canonical_csv, channel_positions, parse_csv, read_csv_panel, repeated
from openfingym.errors import DataError
from openfingym.task.dataset import Dataset

GOOD = "date,a,b\n2024-01-01,1.5,2\n2024-01-02,1.25,3\n2024-01-03,1e0,4\n"


def read(path, text, *, measure="price", channels=None):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_csv_panel(
        path, measure=measure, kind="real", source="a desk", licence="CC0-1.0", channels=channels, name="own"
    )


def test_a_good_file(tmp_path):
    panel = read(tmp_path / "own.csv", GOOD)
    assert panel.values.tolist() == [[1.5, 2.0], [1.25, 3.0], [1.0, 4.0]]
    assert panel.times.tolist() == np.array(["2024-01-01", "2024-01-02", "2024-01-03"], dtype="datetime64[ns]").tolist()
    assert (panel.channels, panel.info.channels) == (("a", "b"), ("a", "b"))
    assert (panel.info.rows, panel.info.frequency, panel.info.measure) == (3, "daily", "price")
    assert (panel.info.first.isoformat(), panel.info.last.isoformat()) == ("2024-01-01", "2024-01-03")
    assert panel.info.sha256 == panel.digest
    assert not panel.values.flags.writeable


def test_gzip_byte_order_mark_line_ends_quotes_and_blank_lines_do_not_matter(tmp_path):
    plain = read(tmp_path / "own.csv", GOOD)
    packed = read(tmp_path / "own.csv.gz", gzip.compress(GOOD.encode()))
    windows = read(tmp_path / "windows.csv", b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode() + b"\r\n\r\n")
    quoted = read(tmp_path / "quoted.csv", GOOD.replace("1.5", '"1.5"').replace("a,b", " a , b "))
    assert plain.digest == packed.digest == windows.digest == quoted.digest


def test_channels_are_chosen_in_the_order_asked(tmp_path):
    panel = read(tmp_path / "own.csv", GOOD, channels=["b", "a"])
    assert panel.channels == ("b", "a")
    assert panel.values[0].tolist() == [2.0, 1.5]
    assert read(tmp_path / "own.csv", GOOD, channels=["b"]).digest != panel.digest


def test_a_column_that_is_not_used_may_hold_anything(tmp_path):
    assert read(tmp_path / "own.csv", GOOD.replace("1.25,3", "1.25,n/a"), channels=["a"]).values.shape == (3, 1)


def test_times_with_an_offset_become_utc(tmp_path):
    panel = read(tmp_path / "own.csv", "t,a\n2024-01-01T00:00:00+02:00,1\n2024-01-01 00:30,2\n2024-01-01T01:00:00Z,3\n")
    assert np.datetime_as_string(panel.times, unit="m").tolist() == [
        "2023-12-31T22:00",
        "2024-01-01T00:30",
        "2024-01-01T01:00",
    ]


@pytest.mark.parametrize(
    ("times", "frequency"),
    [
        (["2024-01-01T00:00", "2024-01-01T00:05"], "intraday"),
        (["2024-01-01T00:00", "2024-01-01T01:00"], "hourly"),
        (["2024-01-05", "2024-01-08"], "daily"),
        (["2024-01-01", "2024-01-08"], "weekly"),
        (["2024-01-31", "2024-02-29"], "monthly"),
        (["2024-01-31"], "none"),
    ],
)
def test_frequency_by_spacing(tmp_path, times, frequency):
    text = "t,a\n" + "".join(f"{time},1\n" for time in times)
    assert read(tmp_path / "own.csv", text).info.frequency == frequency


def test_yields_may_be_zero_or_negative(tmp_path):
    panel = read(tmp_path / "own.csv", "t,a\n2024-01-01,0\n2024-01-02,-0.5\n", measure="yield")
    assert panel.values.ravel().tolist() == [0.0, -0.5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("date,a\n", "no row below"),
        ("date\n2024-01-01\n", "at least one channel"),
        ("date,a,a\n2024-01-01,1,2\n", "line 1: every column needs a name of its own; twice: a"),
        ("date,a,\n2024-01-01,1,2\n", "line 1: every column needs a name"),
        ("date,a,b\n2024-01-01,1\n", "line 2: 2 cells, but the header has 3"),
        ("date,a\n2024-01-02,1\n2024-01-01,1\n", "line 3, column 'date': '2024-01-01' is earlier than the row above"),
        ("date,a\n2024-01-02,1\n2024-01-02,1\n", "line 3, column 'date': '2024-01-02' occurs twice"),
        ("date,a\n2024-01-02T00:00Z,1\n2024-01-02T01:00+01:00,1\n", "occurs twice"),
        ("date,a\n01/02/2024,1\n", "line 2, column 'date': '01/02/2024' is not an ISO date"),
        ("date,a\n2024-02-30,1\n", "is not an ISO date"),
        ("date,a\n1500-01-01,1\n", "outside the years"),
        ("date,a\n2024-01-01,\n", "line 2, column 'a': the value is missing"),
        ("date,a\n2024-01-01,1\n2024-01-02,NaN\n", "line 3, column 'a': the value is missing"),
        ("date,a\n2024-01-01,1.2.3\n", "line 2, column 'a': '1.2.3' is not a number"),
        ("date,a\n2024-01-01,1_000\n", "'1_000' is not a number"),
        ('date,a\n2024-01-01,"1,000"\n', "'1,000' is not a number"),
        ("date,a\n2024-01-01,inf\n", "'inf' is not finite"),
        ("date,a\n2024-01-01,1e999\n", "'1e999' is not finite"),
        ("date,a\n2024-01-01,0\n", "'0' is not a positive price"),
        ("date,a,b\n2024-01-01,1,1\n\n2024-01-02,1,-3\n", "line 4, column 'b': '-3' is not a positive price"),
        ('date,a\n2024-01-01,"1\n', "line 2"),
        (b"date,a\n2024-01-01,\xff\n", "not UTF-8"),
    ],
)
def test_bad_files_are_refused_with_the_place(tmp_path, text, words):
    with pytest.raises(DataError, match=words.replace("(", r"\(")) as caught:
        read(tmp_path / "own.csv", text)
    assert "own.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("channels", "words"),
    [
        (["a", "bb"], "no channel 'bb'; did you mean 'b'"),
        (["zzz"], "known: a, b"),
        ([], "different names"),
        (["a", "a"], "different"),
        ("ab", "different"),
    ],
)
def test_channels_that_are_not_there(tmp_path, channels, words):
    with pytest.raises(DataError, match=words):
        read(tmp_path / "own.csv", GOOD, channels=channels)


def test_files_that_cannot_be_read(tmp_path):
    options = {"measure": "price", "kind": "real", "source": "s", "licence": "l", "name": "own"}
    with pytest.raises(DataError, match="no such file"):
        read_csv_panel(tmp_path / "absent.csv", **options)
    with pytest.raises(DataError, match="cannot be read"):
        read_csv_panel(tmp_path, **options)
    for damaged in (b"not gzip", gzip.compress(GOOD.encode())[:-9], gzip.compress(GOOD.encode())[:10] + b"\xff" * 20):
        (tmp_path / "own.csv.gz").write_bytes(damaged)
        with pytest.raises(DataError, match="cannot be read"):
            read_csv_panel(tmp_path / "own.csv.gz", **options)


FINITE = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.lists(
    st.text("abc,\"' é", min_size=1).filter(lambda name: name == name.strip()), min_size=1, max_size=3, unique=True
)


@given(st.data())
def test_canonical_text_reads_back_to_the_last_bit(data):
    names = data.draw(NAMES)
    unit = data.draw(st.sampled_from(["D", "h", "us"]))
    stamps = data.draw(st.lists(st.integers(0, 10_000), min_size=1, max_size=5, unique=True).map(sorted))
    times = np.array(stamps, dtype=f"datetime64[{unit}]").astype("datetime64[ns]")
    values = np.array(
        data.draw(
            st.lists(
                st.lists(FINITE, min_size=len(names), max_size=len(names)), min_size=len(times), max_size=len(times)
            )
        )
    )
    text = canonical_csv(times, names, values).decode()
    channels, times_again, values_again = parse_csv(text, "text", measure="yield")
    assert list(channels) == names
    assert times_again.tolist() == times.tolist()
    assert values_again.tobytes() == values.tobytes()
    assert canonical_csv(times_again, channels, values_again).decode() == text


def test_canonical_text_uses_the_shortest_decimals():
    times = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]")
    assert canonical_csv(times, ["a", "b"], np.array([[0.1, 7.0], [1 / 3, 1e-7]])) == (
        b"time,a,b\n2024-01-01,0.1,7.0\n2024-01-02,0.3333333333333333,1e-07\n"
    )
    hours = np.array(["2024-01-01T00", "2024-01-01T01"], dtype="datetime64[ns]")
    assert canonical_csv(hours, ["a"], np.array([[1.0], [math.pi]])).startswith(b"time,a\n2024-01-01T00:00:00Z,1.0\n")


def test_repeated_names_of_very_many_are_found_at_once() -> None:
    names = [str(number) for number in range(40_000)]
    begun = time.process_time()
    assert repeated(names) == []
    assert repeated(["b", *names, "7", "b", "a"]) == ["7", "b"]
    assert len(channel_positions(names, names[::-1], "x")) == len(names)
    with pytest.raises(ValidationError, match="channels named more than once: 7"):
        Dataset.model_validate({"name": "x", "channels": [*names, "7"]})
    # Comparing every name with every other one takes more than ten times as long.
    assert time.process_time() - begun < 2.0
