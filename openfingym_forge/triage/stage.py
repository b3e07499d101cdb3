"""The stage ``triage``: which kind of task serves a blueprint, and whether its protocol is sound."""

from __future__ import annotations

from openfingym_forge.blueprint import Blueprint
from openfingym_forge.blueprint_file import read_blueprint, write_blueprint
from openfingym_forge.stage import CandidateTask, RejectionReason, StageResult
from openfingym_forge.triage.filling import filled
from openfingym_forge.triage.routing import Route, route

# Field, value, code of the reason, and what is wrong with it.
_FLAWS = (
    (
        "protocol.shuffled",
        True,
        "shuffled-split",
        "rows of a time series are shuffled before they are split: expected blocks in time",
    ),
    ("protocol.scaling", "all", "scaling-on-test", "scaling is fitted on all rows: expected the training block alone"),
    (
        "protocol.overlap",
        True,
        "overlapping-windows",
        "windows of both parts share rows: expected a horizon between the blocks",
    ),
)


class TriageStage:
    """Finds the kind that serves a blueprint, refuses protocols that leak, and fills in what follows."""

    name = "triage"

    def run(self, candidate: CandidateTask) -> StageResult:
        """Route the blueprint in the candidate's folder, and write it anew."""
        path = candidate.folder / "blueprint.toml"
        blueprint = candidate.blueprint or read_blueprint(path)
        chosen = _persons_choice(blueprint) or route(blueprint, candidate.paper)
        facts: dict[str, object] = {"verdict": chosen.verdict, "kind": chosen.kind, "why": chosen.why}
        # First: a protocol that leaks is refused for that, whatever kind would serve it.
        flaws = _flaws(blueprint)
        if flaws:
            return StageResult(self.name, "refused", flaws, facts=facts)
        if not chosen.kind:
            reason = RejectionReason("no-kind", f"{chosen.verdict}: {chosen.why}", chosen.quotations)
            return StageResult(self.name, "refused", (reason,), facts=facts)
        write_blueprint(path, filled(blueprint, chosen.kind, chosen.why))
        return StageResult(self.name, "passed", facts=facts, files=("blueprint.toml",))


def _persons_choice(blueprint: Blueprint) -> Route | None:
    """The route to the kind that a person chose; None where nobody did."""
    kind = blueprint.fields.get("kind")
    if kind is None or not kind.is_a_persons:
        return None
    return Route("routed", str(kind.value), kind.assumed)


def _flaws(blueprint: Blueprint) -> tuple[RejectionReason, ...]:
    """What in the protocol would give the test part away."""
    # Rows without a time, as nodes of a graph, have no order to keep; a scaling of all of them leaks nevertheless.
    timeless = blueprint.value("frequency", "none") == "none"
    return tuple(
        RejectionReason(code, f"{name}: {text}", tuple(blueprint.fields[name].quotations))
        for name, value, code, text in _FLAWS
        if blueprint.value(name) == value and not (timeless and code != "scaling-on-test")
    )
