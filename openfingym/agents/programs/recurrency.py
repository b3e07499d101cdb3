"""What happened between two countries happens again: every relation that was ever seen of the pair.

The strict recurrency of Gastinger et al. (2024), which scores a relation by its last day over the day that is asked
about: all that occurred have a score near 1, and are named. Where countries are asked for, they are those of the latest
events of the relation, the latest first, and then those that had it most often.
"""

import interface

env = interface.make()
answered = 0
while env.episodes_left:
    observation, info = env.reset()
    query = observation["query"]
    if "relation" in query:
        about = {"head_entities": [query["head"]], "relations": [query["relation"]]}
        seen, *_ = env.step({"tool": "get_events", "arguments": about})
        about = {
            "interacted_entities": [query["head"]],
            "involved_relations": [query["relation"]],
            "entity_role": "tail",
        }
        often, *_ = env.step({"tool": "get_entity_distribution", "arguments": about})
        found = list(
            dict.fromkeys([event[3] for event in seen["value"] or []] + [code for code, _ in often["value"] or []])
        )
        env.step({"answer": found or interface.contract["prior"]})
        answered += bool(found)
        continue
    pair = {"head_entities": [query["head"]], "tail_entities": [query["tail"]]}
    seen, *_ = env.step({"tool": "get_relation_distribution", "arguments": pair})
    found = {}
    for code, _ in seen["value"] or []:
        found.setdefault(code[:2], []).append(code)
    env.step({"answer": found or interface.contract["prior"]})
    answered += bool(found)
print(f"{answered} questions with a history")
