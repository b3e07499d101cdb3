#!/bin/sh
# Ask the verifier for the private-fold result of this rollout; the score is never computed here.
# Needs, from the host: OPENFINGYM_VERIFIER_URL, OPENFINGYM_ADMIN_TOKEN, OPENFINGYM_ROLLOUT.
exec python3 - <<'PYTHON'
import json, os, pathlib, sys, urllib.request

missing = [k for k in ("OPENFINGYM_VERIFIER_URL", "OPENFINGYM_ADMIN_TOKEN", "OPENFINGYM_ROLLOUT") if not os.environ.get(k)]
if missing:
    sys.exit(f"not verified: {', '.join(missing)} not set; start the verifier with `openfingym verifier serve`")
request = urllib.request.Request(
    f"{os.environ['OPENFINGYM_VERIFIER_URL']}/v1/rollouts/{os.environ['OPENFINGYM_ROLLOUT']}/finalize",
    method="POST",
    data=b"",
    headers={"Authorization": f"Bearer {os.environ['OPENFINGYM_ADMIN_TOKEN']}"},
)
with urllib.request.urlopen(request, timeout=60) as response:
    result = json.load(response)
reward = -min(result["total"], 5.0) if result["state"] == "scored" else -6.0
folder = pathlib.Path(os.environ.get("HARBOR_VERIFIER_LOGS", "/logs/verifier"))
folder.mkdir(parents=True, exist_ok=True)
(folder / "reward.json").write_text(json.dumps({"reward": reward}))
PYTHON
