"""The module of programs, in a process of its own, against the tools themselves."""

import importlib.util
import json
import subprocess
import sys

import pytest

from openfingym_suites.mirai.client import client_source
from openfingym_suites.mirai.functions import FUNCTIONS
from openfingym_suites.mirai.tools import Tools

TIME = "2023-03-15T23:59:59.999999+00:00"
PROGRAM = """
import json, sys
import mirai
from mirai import *

def transport(name, arguments):
    print(json.dumps([name, arguments]), file=sys.stdout, flush=True)
    return sys.stdin.readline()

connect(transport)
day = DateRange(Date("2023-02-01"), Date("2023-03-01"))
answers = [
    count_events(day, [ISOCode("USA")]),
    get_events(day, [ISOCode("USA")], relations=[CAMEOCode(str(n).zfill(2)) for n in range(1, 21)]),
    get_relation_distribution(head_entities=[ISOCode("USA")], tail_entities=[ISOCode("CHN")]),
    get_entity_distribution(interacted_entities=[map_country_name_to_iso("Iran")[0]]),
    get_news_articles(day, text_description="trade talks"),
    map_cameo_to_relation(get_child_relations(CAMEOCode("04"))[2]),
    browse_news_article(*get_news_articles(day)[0]),
]
try:
    count_events(DateRange(end_date=Date("2023-03-16")))
except IllegalCallError as error:
    answers.append(str(error))
try:
    count_events(head_entities=[object()])
except ValueError as error:
    answers.append(str(error))
print(json.dumps(["done", repr(answers)]))
"""


@pytest.fixture(scope="module")
def tools(world):
    return Tools(world.vault.as_of(TIME))


def test_a_program_gets_the_same_as_tools(tools, tmp_path):
    (tmp_path / "mirai.py").write_text(client_source(), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{PROGRAM}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin
        assert process.stdout
        for line in process.stdout:
            name, arguments = json.loads(line)
            if name == "done":
                break
            process.stdin.write(tools.exchange(name, arguments) + "\n")
            process.stdin.flush()
    assert process.returncode == 0
    day = {"start_date": "2023-02-01", "end_date": "2023-03-01"}
    first = tools.reply("get_news_articles", {"date_range": day}).value[0]
    every = [f"{root:02}" for root in range(1, 21)]
    texts = [
        tools.call("count_events", {"date_range": day, "head_entities": ["USA"]}),
        tools.call("get_events", {"date_range": day, "head_entities": ["USA"], "relations": every}),
        tools.call("get_relation_distribution", {"head_entities": ["USA"], "tail_entities": ["CHN"]}),
        tools.call("get_entity_distribution", {"interacted_entities": ["IRN"]}),
        tools.call("get_news_articles", {"date_range": day, "text_description": "trade talks"}),
        tools.call("map_cameo_to_relation", {"cameo_code": "042"}),
        repr(tools.call("browse_news_article", {"date": first[0], "title": first[1]})),
        repr("Date must be on or before the current date 2023-03-15, but received: 2023-03-16."),
        repr("the arguments of count_events are not of the API: Object of type object is not JSON serializable"),
    ]
    assert arguments == f"[{', '.join(texts)}]"


@pytest.mark.parametrize(
    ("subset", "count", "lacking"), [("events", 11, "get_news_articles"), ("news", 10, "get_events")]
)
def test_the_module_has_the_functions_of_its_subset_alone(subset, count, lacking, tmp_path):
    source = client_source(subset)
    assert "import openfingym" not in source
    (tmp_path / "mirai_part.py").write_text(source, encoding="utf-8")
    specification = importlib.util.spec_from_file_location("mirai_part", tmp_path / "mirai_part.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["mirai_part"] = module
    specification.loader.exec_module(module)
    assert not hasattr(module, lacking)
    assert sum(hasattr(module, name) for name in FUNCTIONS) == count
    with pytest.raises(RuntimeError, match="there is no task here"):
        module.map_iso_to_country_name(module.ISOCode("USA"))


def test_a_program_that_sends_nonsense_gets_an_error(tools):
    for name, arguments in (("count_events", "{"), ("eval", "{}"), ("count_events", '{"head_entities": 7}'), ("", "")):
        assert set(json.loads(tools.exchange(name, arguments))) == {"error"}
