"""Reading what is asked, and what the market shows; the share of training, or the width of its moves, without one."""

import interface
import numpy as np

contract = interface.contract
for question in interface.questions()[-3:]:
    print(question["text"], question["known"], "until", question["deadline"])
known, outcomes = interface.load_train()
test = interface.load_test_inputs()
if contract["form"] == "probability":
    answer = test[:, 0] if contract["market_implied"] else np.full(len(test), outcomes.mean())
elif contract["form"] == "value":
    answer = np.zeros(len(test))
else:
    # Moves grow with the square root of the time, which is the second thing known.
    outside = (1.0 - (contract["coverage"] or 0.0)) / 2.0
    quantiles = np.quantile(outcomes / np.sqrt(known[:, 1]), contract["levels"] or [outside, 1.0 - outside])
    answer = np.sqrt(test[:, 1:2]) * quantiles
answer = np.clip(answer.reshape(interface.SUBMISSION_SHAPE), contract["low"], contract["high"])
