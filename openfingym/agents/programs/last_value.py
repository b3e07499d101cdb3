"""What is published next is what was published last; of an event, what most events of training came to.

It looks each figure up by the tool ``history`` and answers with the newest value, in its unit.
"""

import interface

env = interface.make()
found = 0
while env.episodes_left:
    observation, info = env.reset()
    query = observation["query"]
    if query["track"] != "recurrent":
        env.step({"answer": interface.contract["prior"]})
        continue
    about = {"subject": query["subject"], "periods": 1}
    if query["level"] == "corporate":
        about["measure"] = query["measure"]
    told, *_ = env.step({"tool": "history", "arguments": about})
    rows = told["value"]["rows"] if told["value"] else []
    env.step({"answer": rows[-1][1] if rows else interface.contract["prior"]})
    found += bool(rows)
print(f"{found} figures with a history")
