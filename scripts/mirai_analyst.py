"""An analyst of simple habits, for the picture of a report: counts, sometimes reads, and names what is frequent."""

import random

import interface

env = interface.make()
draw = random.Random(7)


def called(name, **arguments):
    """What a tool answers, as JSON."""
    seen, *_ = env.step({"tool": name, "arguments": arguments})
    return seen["value"] or []


while env.episodes_left:
    observation, info = env.reset()
    query = observation["query"]
    pair = {"head_entities": [query["head"]], "tail_entities": [query["tail"]]}
    if draw.random() < 0.3:
        called("map_iso_to_country_name", iso_code=query["head"])
    if draw.random() < 0.1:
        called("count_events", date_range={"end_date": query["date"]}, **pair)
    counts = dict(called("get_relation_distribution", **pair))
    if draw.random() < 0.5:
        for event in called("get_events", **pair):
            counts[event[2]] = counts.get(event[2], 0) + 3
    if draw.random() < 0.4 and (titles := called("get_news_articles", **pair)):
        called("browse_news_article", date=titles[0][0], title=titles[0][1])
        if draw.random() < 0.3:
            called("get_entity_distribution", interacted_entities=[query["head"]], entity_role="tail")
    most = sorted(counts, key=lambda code: -counts[code])[:5]
    answer = {code[:2]: [other for other in most if other[:2] == code[:2]] for code in most}
    env.step({"answer": answer or interface.contract["prior"]})
