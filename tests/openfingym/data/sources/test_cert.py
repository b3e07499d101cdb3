"""The insider threat archives: events to features and edges, read as a stream."""

import io
import tarfile

import pytest

from openfingym.data.sources import SourceRequest, silent
from openfingym.data.sources.cert import FEATURES, Cert
from openfingym.errors import DataError

EMAIL = """id,date,user,pc,to,cc,bcc,from,size,attachments,content
{1},01/04/2010 08:00:00,AAA0001,PC-1,Bob.B@dtaa.com;out@gmail.com,,,Ann.A@dtaa.com,100,0,"hello, ""you""
and more"
{2},01/04/2010 20:00:00,AAA0001,PC-1,friend@aol.com,,,ann.private@aol.com,100,0,x
{3},01/05/2010 09:00:00,BBB0002,PC-2,Bob.B@dtaa.com,Cid.C@dtaa.com,,Bob.B@dtaa.com,100,1,x
{4},01/05/2010 09:00:00,CCC0003,PC-3,out@gmail.com,,Ann.A@dtaa.com,Cid.C@dtaa.com,100,1,x
"""
LOGON = """id,date,user,pc,activity
{1},01/04/2010 06:59:59,AAA0001,PC-1,Logon
{2},01/04/2010 07:00:00,AAA0001,PC-1,Logoff
{3},01/04/2010 18:59:59,BBB0002,PC-1,Logon
{4},01/04/2010 19:00:00,BBB0002,PC-1,Logoff
{5},01/09/2010 12:00:00,DDD0004,PC-1,Logon
"""
FILE = """id,date,user,pc,filename,content
{1},01/04/2010 12:00:00,CCC0003,PC-3,A.doc,x
"""
INSIDERS = "dataset,scenario,details,user,start,end\n2,1,r2.csv,ZZZ9999,x,y\n4.2,1,r4.2-1-DDD0004.csv,DDD0004,x,y\n"


def archive(**members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:bz2") as tar:
        for name, text in members.items():
            body = text.encode()
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return file.getvalue()


EVENTS = {"r4.2/http.csv": "id,date\n" * 1000, "r4.2/email.csv": EMAIL, "r4.2/logon.csv": LOGON, "r4.2/file.csv": FILE}


@pytest.fixture
def fetch(site, client, cache):
    def fetch(events=EVENTS, answers=INSIDERS, sizes=()):
        source = Cert(base_url=site.url, sizes=sizes)
        site.on(f"/{source.events_path}", events if isinstance(events, bytes) else archive(**events))
        site.on(f"/{source.answers_path}", archive(**{"answers/insiders.csv": answers}))
        return source.fetch(SourceRequest(refresh=True), client, cache, silent)

    return fetch


def test_another_release_is_refused(fetch):
    message = r"cert: the file has 4 nodes, 6 features, 1 anomalies.*has 1,000 nodes, 6 features, 70 anomalies\."
    with pytest.raises(DataError, match=message):
        fetch(sizes=Cert().sizes)


def test_events_become_a_graph(fetch):
    published = fetch()
    graph = published.graph
    assert graph.nodes == 4
    # Ann mailed Bob; Bob himself and Cid; Cid Ann, hidden in bcc.
    assert graph.edges.tolist() == [[0, 0, 1], [1, 2, 2]]
    assert len(FEATURES) == 6
    assert graph.features.tolist() == [
        [2.0, 0.5, 2.0, 0.5, 0.0, 0.0],
        [1.0, 0.0, 2.0, 0.5, 0.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0, 1.0, 0.0, 0.0],
    ]
    assert graph.labels.tolist() == [0, 0, 0, 1]
    assert len(published.provenance.files) == 2


@pytest.mark.parametrize(
    ("events", "answers", "message"),
    [
        (
            {key: value for key, value in EVENTS.items() if "file" not in key},
            INSIDERS,
            "file.csv is not in the archive",
        ),
        (
            {**EVENTS, "r4.2/logon.csv": LOGON.replace("user", "who", 1)},
            INSIDERS,
            "logon.csv: no column user among id, date, who",
        ),
        (
            {**EVENTS, "r4.2/logon.csv": LOGON.replace("01/04/2010", "2010-01-04")},
            INSIDERS,
            "is not a time of the form MM/DD/YYYY",
        ),
        ({**EVENTS, "r4.2/file.csv": FILE + "{2},01/0"}, INSIDERS, "file.csv, line 3: fewer cells"),
        (EVENTS, INSIDERS.replace("4.2,1", "5.2,1"), "insiders of release 4.2 expected"),
        (EVENTS, INSIDERS.replace("DDD0004,x", "EEE0005,x"), "not found: EEE0005"),
        (archive(**EVENTS)[:-60], INSIDERS, "archive is damaged"),
        (b"<html><title>Login</title>", INSIDERS, "web page titled 'Login'"),
    ],
)
def test_damaged_archives(fetch, events, answers, message):
    with pytest.raises(DataError, match=message):
        fetch(events, answers)
