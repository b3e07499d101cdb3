"""``openfingym data pull`` and ``data list``, through the real entry point, against a server on a real socket."""

import contextlib
import io
import json

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from openfingym.cli import main
from openfingym.data.dataset import datasets
from openfingym.data.graphs import attributed_graphs
from openfingym.data.listing import listings, pullable
from openfingym.data.loaded_graphs import PUBLISHED, load_graph
from openfingym.data.processes import process_sets
from openfingym.data.pulled import pulled_panel
from openfingym.data.questions import QUESTION_SETS
from openfingym.data.sources import SOURCES, Cache
from openfingym.data.sources.catalog import PULLABLE, last_pull
from openfingym.errors import DataError

PATH = "/resource-center/data-chart-center/interest-rates/daily-treasury-rates.csv"
RATES = b'Date,"1 Mo","10 Yr"\n01/03/2024,5.54,3.91\n01/02/2024,,3.95\n'
OLDER = b'Date,"1 Mo","10 Yr"\n12/29/2023,5.60,3.88\n'


@pytest.fixture
def run(site, client, tmp_path, monkeypatch, capsys):
    """Run a command in a store of its own; the client does not really wait between attempts."""
    monkeypatch.setenv("OPENFINGYM_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("openfingym.data.sources.catalog.borrowed", lambda _: contextlib.nullcontext(client))

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["openfingym", "data", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            main()
        captured = capsys.readouterr()
        return int(exit_info.value.code or 0), captured.out, captured.err

    return run


@pytest.fixture
def treasury(site, run):
    site.on(f"{PATH}/2023/all", OLDER)
    site.on(f"{PATH}/2024/all", RATES)

    def treasury(*more):
        return run("pull", "treasury", "--start", "2023-12-01", "--end", "2024-12-31", "--mirror", site.url, *more)

    return treasury


def test_a_pull_says_what_came_and_under_which_terms(treasury):
    status, out, err = treasury()
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "treasury: 3 rows x 2 columns, 2023-12-29 to 2024-01-03, 1 cells missing"
    assert f"{len(RATES) + len(OLDER)} bytes in 2 files" in out
    assert out.splitlines()[-1] == "terms: work of the United States government, public domain"
    assert pulled_panel("treasury", ["10y"]).values.ravel().tolist() == [3.88, 3.95, 3.91]


def test_json_is_the_whole_record(site, treasury):
    status, out, _ = treasury("--symbols", "10y", "--json")
    record = json.loads(out)
    assert status == 0
    assert (record["source"], record["symbols"], record["rows"], record["missing"]) == ("treasury", ["10y"], 3, 0)
    assert record["base_url"] == site.url
    assert [len(file["sha256"]) for file in record["files"]] == [64, 64]


@pytest.mark.parametrize("arguments", [("--refresh",), ("--refresh", "--json")])
def test_a_refresh_that_fails_half_way_leaves_what_was_pulled(site, reply, treasury, arguments):
    treasury()
    before = pulled_panel("treasury")
    changed = OLDER.replace(b"3.88", b"9.88")
    site.on(f"{PATH}/2023/all", changed)
    site.on(f"{PATH}/2024/all", reply(RATES.replace(b"3.9", b"9.9"), send=40))
    status, out, err = treasury(*arguments)
    assert status == 6
    assert "gave up after 3 attempts" in err
    assert "is kept and untouched" in err
    if "--json" in arguments:
        assert json.loads(out)["error"]["type"] == "UnavailableError"
    # The first file was replaced before the second broke off, and still the data is that of the last whole pull.
    after = pulled_panel("treasury")
    assert (after.digest, after.info) == (before.digest, before.info)
    site.on(f"{PATH}/2024/all", RATES)
    assert treasury("--refresh")[0] == 0
    assert pulled_panel("treasury", ["10y"]).values.ravel().tolist() == [9.88, 3.95, 3.91]


def test_no_network(run):
    status, out, err = run("pull", "treasury-par-yields", "--mirror", "http://127.0.0.1:1", "--json")
    assert status == 6
    assert json.loads(out)["error"]["type"] == "OfflineError"
    assert "cannot reach 127.0.0.1:1" in err
    assert "the bundled datasets need no network" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("treasuri",), 6, "did you mean 'treasury'"),
        (("yahoo",), 2, "at least one symbol"),
        (("yahoo", "--symbols", "XOM,XOM"), 2, "tuple of different names"),
        (("yahoo-futures", "--symbols", "XOM"), 2, "has its own symbols"),
        (("ecb", "--interval", "1h"), 2, "ecb has no interval"),
        (("binance-archive", "--symbols", "BTCUSDT"), 2, "needs a start day"),
        (("treasury", "--start", "yesterday"), 2, "is not a day of the form YYYY-MM-DD"),
        ((), 2, "name a dataset or a source, or give --list"),
    ],
)
def test_wrong_use(site, run, arguments, status, message):
    found, _, err = run("pull", *arguments, *(("--mirror", site.url) if arguments else ()))
    assert (found, site.asked) == (status, [])
    assert message in err


def fraud_file(seed=0):
    """A graph of BlogCatalog's size: 5,196 nodes, 8,189 features, 300 anomalies."""
    nodes, links = 5_196, 2_000
    pairs = np.random.default_rng(seed).integers(0, nodes, (2, links))
    file = io.BytesIO()
    parts = {
        "Network": scipy.sparse.csr_matrix((np.ones(links), pairs), shape=(nodes, nodes)),
        "Attributes": scipy.sparse.eye(nodes, 8_189, format="csc"),
        "Label": np.arange(nodes) < 300,
    }
    scipy.io.savemat(file, parts)
    return file.getvalue()


def test_a_pulled_graph_is_loaded_without_the_network(site, run):
    with pytest.raises(
        DataError,
        match=r"not been pulled\. Run this once, with a network: openfingym data pull blogcatalog-fraud-graph$",
    ):
        load_graph("blogcatalog", real=True)
    site.on(f"/{SOURCES['blogcatalog-fraud'].path}", fraud_file())
    assert run("pull", "blogcatalog-fraud-graph", "--mirror", site.url)[0] == 0
    site.close()
    loaded = load_graph("blogcatalog", real=True)
    assert loaded.info.kind == "real"
    assert (loaded.graph.nodes, loaded.graph.labels.sum(), loaded.info.rows) == (5_196, 300, 5_196)
    assert loaded.info.sha256 == loaded.graph.digest
    assert "CoLA" in loaded.info.source
    assert len(loaded.info.originals) == 1
    assert load_graph("blogcatalog").info.kind == "simulated"
    with pytest.raises(DataError, match="is a graph; load it with"):
        pulled_panel("blogcatalog-fraud")


def test_a_wrong_graph_that_was_pulled_before_sizes_were_known_is_not_loaded(site, run):
    site.on(f"/{SOURCES['blogcatalog-fraud'].path}", fraud_file())
    run("pull", "blogcatalog-fraud-graph", "--mirror", site.url)
    path = Cache().root / "pulls" / "blogcatalog-fraud-graph.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"rows": 13_752, "columns": 767}))
    with pytest.raises(DataError, match=r"has 13,752 nodes and 767 features.*pull it again: .* --refresh$"):
        load_graph("blogcatalog", real=True)


def test_a_graph_that_its_publisher_changed_is_told(site, run):
    path, arguments = f"/{SOURCES['blogcatalog-fraud'].path}", ("pull", "blogcatalog-fraud-graph", "--mirror", site.url)
    site.on(path, fraud_file())
    run(*arguments)
    before = last_pull("blogcatalog-fraud-graph")
    # The same again is no change.
    assert "changed by the publisher" not in run(*arguments, "--refresh")[1]
    site.on(path, fraud_file(seed=1))
    status, out, _ = run(*arguments, "--refresh")
    after = last_pull("blogcatalog-fraud-graph")
    assert status == 0
    assert after.digest != before.digest
    assert f"digest {before.digest[:16]} then, {after.digest[:16]} now" in out
    assert after.changes[0] in out
    assert load_graph("blogcatalog", real=True).graph.digest == after.digest


def test_rates_that_their_publisher_revised_are_told(site, treasury):
    treasury()
    # A row more is no change.
    longer = RATES.replace(b"\n", b"\n01/04/2024,5.5,4.00\n", 1)
    site.on(f"{PATH}/2024/all", longer)
    assert json.loads(treasury("--refresh", "--json")[1])["changes"] == []
    site.on(f"{PATH}/2023/all", b'Date,"1 Mo","10 Yr"\n12/28/2023,5.60,3.88\n')
    site.on(f"{PATH}/2024/all", longer.replace(b"3.91", b"3.90"))
    status, out, _ = treasury("--refresh", "--json")
    gone, revised = json.loads(out)["changes"]
    assert status == 0
    assert gone.endswith("1 rows gone, the first of 2023-12-29T00:00")
    assert revised.endswith("1 of 6 values revised, the first 10y of 2024-01-03T00:00: 3.91 then, 3.9 now")


def test_a_record_of_before_changes_were_kept_is_still_read(site, treasury):
    treasury()
    (path,) = (Cache().root / "pulls").glob("treasury.*.json")
    stated = json.loads(path.read_text())
    del stated["changes"]
    path.write_text(json.dumps(stated))
    assert pulled_panel("treasury", ["10y"]).values.ravel().tolist() == [3.88, 3.95, 3.91]


def test_a_damaged_graph_is_not_loaded_and_pulling_again_repairs_it(site, run):
    site.on(f"/{SOURCES['blogcatalog-fraud'].path}", fraud_file())
    arguments = ("pull", "blogcatalog-fraud-graph", "--mirror", site.url)
    run(*arguments)
    digest = last_pull("blogcatalog-fraud-graph").digest
    folder = Cache().root / "graphs" / digest
    np.save(folder / "labels.npy", 1 - np.load(folder / "labels.npy"))
    message = "not the graph that was pulled at .*pull it again: openfingym data pull blogcatalog-fraud-graph$"
    with pytest.raises(DataError, match=message):
        load_graph("blogcatalog", real=True)
    assert run(*arguments)[0] == 0
    assert load_graph("blogcatalog", real=True).graph.digest == digest
    (folder / "edges.npy").unlink()
    with pytest.raises(DataError, match=message):
        load_graph("blogcatalog", real=True)
    run(*arguments)
    assert load_graph("blogcatalog", real=True).graph.digest == digest
    assert [path.name for path in folder.parent.iterdir()] == [digest]


def test_every_graph_names_a_dataset_that_can_be_pulled():
    assert set(PUBLISHED) == {spec.name for spec in attributed_graphs()}
    for dataset in PUBLISHED.values():
        assert SOURCES[PULLABLE[dataset].source].frequency == "none"


# ---- the list


def test_the_list_has_everything_once_and_says_what_it_is(run):
    status, out, _ = run("list", "--json")
    rows = json.loads(out)
    assert status == 0
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names)
    expected = (
        {info.name for info in datasets()}
        | {known.name for known in process_sets()}
        | {spec.name for spec in attributed_graphs()}
    )
    expected |= {"ba2motifs", "sim-eiopa-curves", "sim-us-characteristics", *QUESTION_SETS, *PULLABLE}
    expected |= {name for name, source in SOURCES.items() if source.frequency != "none"}
    assert set(names) == expected
    for row in rows:
        assert row["kind"] in {"real", "simulated", "specified"}
        assert all(row[field] for field in ("form", "title", "source", "licence", "frequency", "here"))
        if row["here"] != "not pulled":
            assert row["rows"] > 0
            assert row["columns"] > 0
            assert row["missing"] == 0
    by_name = {row["name"]: row for row in rows}
    assert by_name["ust-par-yields"]["details"]["channels"][0] == "1m"
    assert by_name["yelpchi"] == by_name["yelpchi"] | {
        "kind": "simulated",
        "rows": 23_831,
        "columns": 32,
        "form": "graph",
    }
    assert by_name["yelpchi-fraud-graph"] == by_name["yelpchi-fraud-graph"] | {
        "kind": "real",
        "here": "not pulled",
        "rows": None,
    }
    assert by_name["ba2motifs"]["kind"] == by_name["ou"]["kind"] == "specified"
    assert by_name["ou"]["details"]["parameters"]


def test_the_list_knows_what_was_pulled(site, run, treasury):
    treasury()
    site.on("/stats/eurofxref/eurofxref-hist.zip", b"<html><title>Down</title>")
    run("pull", "ecb-reference-rates", "--mirror", site.url)
    rows = {row["name"]: row for row in json.loads(run("pull", "--list", "--json")[1])}
    assert set(PULLABLE) < set(rows)
    assert rows["treasury"]["here"].startswith("pulled 2")
    assert (rows["treasury"]["first"], rows["treasury"]["rows"], rows["treasury"]["missing"]) == ("2023-12-29", 3, 1)
    assert rows["treasury"]["details"]["base_url"] == site.url
    assert rows["ecb-reference-rates"]["here"] == "not pulled"
    table = run("pull", "--list")[1]
    assert "2023-12-29" in table
    assert "binance-hourly" in table


def test_the_list_is_for_people_too(run):
    status, out, _ = run("list")
    assert status == 0
    for row in listings():
        assert f" {row.name} " in out
    assert [row.name for row in pullable()] == [row.name for row in listings()][-len(pullable()) :]
