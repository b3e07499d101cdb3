"""The relations that a pair of countries had most often, as many as answers have on average; the countries with which
one had a relation, the most frequent first.
"""

import interface

labels = interface.LABELS
questions, answers = interface.load_train()
lengths = answers[:, [i for i, code in enumerate(labels) if len(code) == 3]].sum(axis=1)
most = max(1, round(float(lengths.mean())))

env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    query = observation["query"]
    if "relation" in query:
        about = {
            "interacted_entities": [query["head"]],
            "involved_relations": [query["relation"]],
            "entity_role": "tail",
        }
        seen, *_ = env.step({"tool": "get_entity_distribution", "arguments": about})
        env.step({"answer": [code for code, _ in seen["value"] or []] or interface.contract["prior"]})
        continue
    pair = {"head_entities": [query["head"]], "tail_entities": [query["tail"]]}
    seen, *_ = env.step({"tool": "get_relation_distribution", "arguments": pair})
    found = {}
    for code, _ in (seen["value"] or [])[:most]:
        found.setdefault(code[:2], []).append(code)
    env.step({"answer": found or interface.contract["prior"]})
print(f"{most} relations a question")
