"""Raw rows a second from 15-minute archives to final tables, against pandas doing the same, in one run.

    python benchmarks/mirai_pull.py [days]

Rows are as wide as GDELT's (61 columns, some 440 bytes). Unzipping is in both, downloading in neither. The peer reads
with ``pandas.read_csv`` and its C parser, only the columns that are needed.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from size import sized

from openfingym import machine
from openfingym_suites.mirai.gdelt.export import COLUMNS
from openfingym_suites.mirai.gdelt.reducing import Reducers
from openfingym_suites.mirai.tables import connection, final_tables, quoted
from openfingym_suites.mirai.taxonomy import actor_codes, countries, relations

FILES, ROWS = 96, sized(1_600, 20)
MOST = sized(25, 2_500)  # mentions of a row: few rows need many, or no event has enough
"""Files of a day, and rows of a file: somewhat more than GDELT has on most days."""
NEEDED = ["GLOBALEVENTID", "SQLDATE", "Actor1CountryCode", "Actor2CountryCode", "EventCode", "EventBaseCode",
          "NumMentions", "DATEADDED", "SOURCEURL"]  # fmt: skip


def make(folder: Path, days: int) -> list[list[Path]]:
    """Archives of some days, as wide as real ones."""
    rng = np.random.default_rng(0)
    cameo = [found.cameo for found in countries() if found.cameo]
    # Half of the actors of a side have no country, and a few countries are most of the rest, as in GDELT.
    actors = [*cameo[:20] * 8, *cameo, "EUR", *[""] * 400]
    codes = ["040", "042", "010", "051", "036", "190", "173", "111"] * 40
    codes += [*[found.code for found in relations(2)], "0211", "1121", "--"]
    place = "4\tKyiv, Kyyiv, Misto, Ukraine\tUP\tUP12\t\t50.4333\t30.5167\t-1044367"
    found: list[list[Path]] = []
    number = 0
    for day in range(days):
        found.append([])
        for quarter in range(FILES):
            moment = datetime(2023, 1, 1, tzinfo=UTC) + timedelta(days=day, minutes=15 * quarter)
            stamp, lines = f"{moment:%Y%m%d%H%M%S}", []
            for one, two, code, mentions, old in zip(
                rng.integers(len(actors), size=ROWS), rng.integers(len(actors), size=ROWS),
                rng.integers(len(codes), size=ROWS), rng.integers(1, MOST, size=ROWS), rng.random(ROWS) < 0.1,
                strict=True,
            ):  # fmt: skip
                number += 1
                date = f"{moment - timedelta(days=30):%Y%m%d}" if old else stamp[:8]
                code_text = codes[code]
                actor_one = f"{actors[one]}GOV\tPRIME MINISTER\t{actors[one]}\t\t\t\t\tGOV\t\t"
                actor_two = f"{actors[two]}\tUNITED STATES\t{actors[two]}\t\t\t\t\t\t\t"
                lines.append(
                    f"{number}\t{date}\t{date[:6]}\t{date[:4]}\t2023.0027\t{actor_one}\t{actor_two}\t1\t{code_text}\t"
                    f"{code_text[:3]}\t{code_text[:2]}\t1\t1.9\t{mentions}\t1\t{mentions}\t-2.3809523809524\t"
                    f"{place}\t{place}\t{place}\t{stamp}\t"
                    f"https://www.news-of-the-day.example/{stamp}/leaders-meet-for-talks-{number // 3}.html"
                )
            path = folder / f"{stamp}.export.CSV.zip"
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(f"{stamp}.export.CSV", "\n".join(lines) + "\n")
            found[-1].append(path)
    return found


def ours(days: list[list[Path]], scratch: Path) -> tuple[int, int]:
    """(raw rows, events) by the pipeline's own steps."""

    def made(number: int) -> tuple[Path, int]:
        folder = scratch / str(number)
        folder.mkdir()
        return folder / "records.parquet", reduce(days[number], folder).counts.rows

    with Reducers(machine.cores()) as reduce, ThreadPoolExecutor(machine.cores()) as pool:
        done = list(pool.map(made, range(len(days))))
    records, rows = [path for path, _ in done], sum(count for _, count in done)
    everything, wanted, texts = (scratch / f"{name}.parquet" for name in ("records", "wanted", "texts"))
    with connection(scratch) as database:
        listed = ", ".join(quoted(path) for path in records)
        database.execute(f"COPY (FROM read_parquet([{listed}])) TO {quoted(everything)} (FORMAT parquet)")
        database.execute(
            f"COPY (SELECT DISTINCT url FROM read_parquet([{listed}])) TO {quoted(wanted)} (FORMAT parquet)"
        )
        database.execute(
            f"COPY (SELECT url, '' AS title, '' AS text FROM read_parquet({quoted(wanted)})) TO {quoted(texts)} "
            "(FORMAT parquet)"
        )
    tables = final_tables(everything, texts, scratch)
    with connection(scratch) as database:
        return rows, database.execute(f"SELECT count(*) FROM read_parquet({quoted(tables['events'])})").fetchall()[0][0]


def peer(days: list[list[Path]]) -> tuple[int, int]:
    """The same by pandas."""
    second = {found.code for found in relations(2)}
    actors, kept, rows = actor_codes(), [], 0
    for archives in days:
        frames = []
        for path in archives:
            with zipfile.ZipFile(path) as archive:
                content = io.BytesIO(archive.read(archive.infolist()[0]))
            frames.append(
                pd.read_csv(content, sep="\t", header=None, names=list(COLUMNS), usecols=NEEDED, dtype=str, quoting=3,
                            keep_default_na=False)
            )  # fmt: skip
        frame = pd.concat(frames)
        rows += len(frame)
        head, tail = frame["Actor1CountryCode"].map(actors), frame["Actor2CountryCode"].map(actors)
        base = frame["EventBaseCode"]
        relation = base.where(base.isin(second), frame["EventCode"].str[:3])
        sound = (frame["SQLDATE"] == frame["DATEADDED"].str[:8]) & head.notna() & tail.notna() & (head != tail)
        frame = frame.assign(head=head, tail=tail, relation=relation)[sound & relation.isin(second)]
        kept.append(frame.drop_duplicates("GLOBALEVENTID"))
    records = pd.concat(kept)
    records["mentions"] = records["NumMentions"].astype(int)
    first = records.groupby("SOURCEURL")["SQLDATE"].transform("min")
    records = records[first == records["SQLDATE"]].sort_values("DATEADDED")
    key = ["SQLDATE", "head", "relation", "tail"]
    records["so_far"] = records.groupby(key)["mentions"].cumsum()
    passed = records[records["so_far"] > 50].groupby(key)["DATEADDED"].min()
    links = records.merge(passed.rename("known_at").reset_index(), on=key).drop_duplicates([*key, "SOURCEURL"])
    links.groupby("SOURCEURL")["known_at"].min()
    return rows, len(passed)


def main() -> None:
    days = int(sys.argv[1]) if len(sys.argv) > 1 else sized(4, 1)
    with tempfile.TemporaryDirectory() as folder:
        archives = make(Path(folder), days)
        size = sum(path.stat().st_size for day in archives for path in day) >> 20
        print(f"{days} days, {days * FILES} archives of {ROWS} rows, {size} MiB zipped")
        times = {}
        for name in ("ours", "pandas"):
            with tempfile.TemporaryDirectory() as scratch:
                start, used = time.perf_counter(), sum(os.times()[:4])
                rows, events = ours(archives, Path(scratch)) if name == "ours" else peer(archives)
                times[name] = time.perf_counter() - start
                cpu = sum(os.times()[:4]) - used
            print(f"{name:8} {rows:,} rows, {events:,} events: {rows / times[name]:,.0f} rows/s, {cpu:.1f} s of CPU")
        print(f"ratio {times['pandas'] / times['ours']:.1f}")


if __name__ == "__main__":
    main()
