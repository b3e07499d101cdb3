"""The relations that a pair of countries had most often, as many as answers have on average."""

import interface

labels = interface.LABELS
questions, answers = interface.load_train()
lengths = answers[:, [i for i, code in enumerate(labels) if len(code) == 3]].sum(axis=1)
most = max(1, round(float(lengths.mean())))

env = interface.make()
while env.episodes_left:
    observation, info = env.reset()
    query = observation["query"]
    pair = {"head_entities": [query["head"]], "tail_entities": [query["tail"]]}
    seen, *_ = env.step({"tool": "get_relation_distribution", "arguments": pair})
    found = {}
    for code, _ in (seen["value"] or [])[:most]:
        found.setdefault(code[:2], []).append(code)
    env.step({"answer": found or interface.contract["prior"]})
print(f"{most} relations a question")
