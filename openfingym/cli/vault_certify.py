"""``openfingym vault certify``: checking that tools showed nothing that became known after the times of their
questions.
"""

from __future__ import annotations

from pathlib import Path

import click

from openfingym.cli.options import json_option
from openfingym.cli.printable import say
from openfingym.cli.render import print_json

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("certify")
@click.argument("run", type=_FOLDER)
@json_option("a list, an object a rollout")
@click.pass_context
def certify_command(ctx: click.Context, run: Path, as_json: bool) -> None:
    """Repeat the lookups of RUN on vaults from which everything later was deleted.

    RUN is the folder of a rollout, or one with folders of rollouts. For each time that was asked about, a copy of the
    vault is written without what became known later, which takes seconds each. The exit status is 1 where an answer
    differs, or where a rollout was made with hindsight.
    """
    from openfingym.reports.certificate import certify, rollouts_in

    certificates = []
    for folder in rollouts_in(run):
        certificate = certify(folder, lambda text: say(f"  {text}", err=True))
        certificates.append(certificate)
        if certificate.hindsight and not as_json:
            say(
                f"{certificate.rollout} ({certificate.task}): made WITH HINDSIGHT, an experiment whose tools showed "
                "what was to come; there is nothing to certify"
            )
        elif not as_json:
            said = "every answer was the same" if certificate.holds else f"{len(certificate.differences)} differ"
            said = said if certificate.calls else "no lookup is in its record, so that there was nothing to repeat"
            say(
                f"{certificate.rollout} ({certificate.task}): {certificate.calls} calls in {certificate.questions} "
                f"questions on the vault {certificate.snapshot[:12]}, and without what came later: {said}"
            )
            for difference in certificate.differences:
                say(f"  {difference.question}: {difference.tool} {difference.arguments}")
    if as_json:
        print_json([certificate.to_dict() for certificate in certificates])
    if not all(certificate.holds for certificate in certificates):
        ctx.exit(1)
