"""What happened between two countries happens again: every relation that was ever seen of the pair.

The strict recurrency of Gastinger et al. (2024), which scores a relation by its last day over the day that is asked about:
all that occurred have a score near 1, and are named.
"""

import interface

env = interface.make()
answered = 0
while env.episodes_left:
    observation, info = env.reset()
    query = observation["query"]
    pair = {"head_entities": [query["head"]], "tail_entities": [query["tail"]]}
    seen, *_ = env.step({"tool": "get_relation_distribution", "arguments": pair})
    found = {}
    for code, _ in seen["value"] or []:
        found.setdefault(code[:2], []).append(code)
    env.step({"answer": found or interface.contract["prior"]})
    answered += bool(found)
print(f"{answered} questions with a history")
