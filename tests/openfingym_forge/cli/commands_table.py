"""What each command of the forge must call, for each of its options: the table of ``test_forge_forwarding``."""

from __future__ import annotations

from collections.abc import Mapping

from tests.openfingym.cli.commands_table import Command

COMMANDS: Mapping[str, Command] = {
    "forge bench": Command(
        "forge bench --model m",
        {
            "--model zzmodels": (
                "openfingym_forge.folder.ForgeSettings model='zzmodels'",
                "openfingym_forge.folder.ForgeSettings reviewer='zzmodels'",
            ),
            "--out folder": ("openfingym_forge.bench.running.run_bench root=folder/m",),
            "--reviewer zzreviewer": ("openfingym_forge.folder.ForgeSettings reviewer='zzreviewer'",),
            "--base-url zzbaseurl": ("openfingym_forge.folder.ForgeSettings base_url='zzbaseurl'",),
            "--budget 0.375": ("openfingym_forge.folder.ForgeSettings budget_usd=0.375",),
            "--max-tokens 7": ("openfingym_forge.folder.ForgeSettings budget_tokens=7",),
            "--backend inline": ("openfingym_forge.folder.ForgeSettings backend='inline'",),
            "--local-host zzlocalhosts": ("openfingym_forge.folder.ForgeSettings local_hosts=('zzlocalhosts',)",),
            "--jobs 7": ("openfingym_forge.bench.running.run_bench jobs=7",),
            "--upto prove": ("openfingym_forge.bench.running.run_bench upto='prove'",),
            "--json": ("cli.render.print_json value=[<openfingym_forge.bench.running.run_bench.as_json>]",),
        },
        {
            "forge bench --model m --key file.jsonl": {
                "--corpus folder": (
                    "openfingym_forge.bench.running.BenchCorpus papers=folder",
                    "openfingym_forge.bench.running.run_bench settings=<openfingym_forge.folder.ForgeSettings>",
                ),
            },
            "forge bench --model m --corpus folder": {
                "--key file.jsonl": ("openfingym_forge.bench.running.BenchCorpus key=file.jsonl",),
            },
        },
    ),
    "forge graph": Command(
        "forge graph folder",
        {
            "--only zzonly": ("openfingym_forge.knowledge.graph.shared_graph only='zzonly'",),
            "--form json": ("cli.printable.say text=<openfingym_forge.knowledge.graph.shared_graph.json>",),
        },
    ),
    "forge mark": Command(
        "forge mark folder --key file.jsonl",
        {
            "--key token": ("openfingym_forge.bench.key.read_key path=token",),
            "--json": ("cli.render.print_json value=[<openfingym_forge.bench.marking.mark_forge.as_json>]",),
        },
    ),
    "forge review": Command(
        "forge review folder p accept",
        {
            "--html file.jsonl": ("openfingym_forge.review.page.write_pages path=file.jsonl",),
            "--who zzwho": ("openfingym_forge.review.decisions.accept who='zzwho'",),
        },
    ),
    "forge run": Command(
        "forge run file.jsonl --out made --model m",
        {
            "--out folder": ("openfingym_forge.folder.ForgeFolder.begin root=folder",),
            "--model zzmodel": (
                "openfingym_forge.folder.ForgeSettings model='zzmodel'",
                "openfingym_forge.folder.ForgeSettings reviewer='zzmodel'",
            ),
            "--reviewer zzreviewer": ("openfingym_forge.folder.ForgeSettings reviewer='zzreviewer'",),
            "--base-url zzbaseurl": ("openfingym_forge.folder.ForgeSettings base_url='zzbaseurl'",),
            "--budget 0.375": ("openfingym_forge.folder.ForgeSettings budget_usd=0.375",),
            "--max-tokens 7": ("openfingym_forge.folder.ForgeSettings budget_tokens=7",),
            "--backend inline": ("openfingym_forge.folder.ForgeSettings backend='inline'",),
            "--local-host zzlocalhosts": ("openfingym_forge.folder.ForgeSettings local_hosts=('zzlocalhosts',)",),
            "--jobs 7": ("openfingym_forge.running.run_forge jobs=7",),
            "--upto prove": ("openfingym_forge.running.run_forge upto='prove'",),
            "--json": ("cli.render.print_json",),
        },
    ),
    "forge search": Command(
        "forge search folder words",
        {
            "--json": ("cli.render.print_json value=[<openfingym_forge.knowledge.database.rebuild.search[]>]",),
        },
    ),
    "forge show": Command(
        "forge show folder p",
        {
            "--json": ("cli.render.print_json",),
        },
    ),
    "forge status": Command(
        "forge status folder",
        {
            "--json": ("cli.render.print_json",),
        },
    ),
}
