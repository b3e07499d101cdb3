"""What each command of the command line must call, for each of its options: the table of ``test_forwarding``.

To add an option, add a row: how it is given on the command line, and what it then calls that it does not without it. A
call is ``module.function argument=value``, as :mod:`recording` notes it, or any part of that; with a minus before it,
one that is no longer made. A test that fails names the calls which the option makes, to choose from.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from openfingym.answers.guide import GuideFinding
from tests.openfingym.cli.recording import Does

Rows = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Command:
    """The rows of a command."""

    words: str
    """The command line to which each option is added."""
    rows: Rows = field(default_factory=dict)
    """What each option calls, by how it is given."""
    beside: Mapping[str, Rows] = field(default_factory=dict)
    """Rows of options that need others beside them, by the command line to which they are added."""
    returns: Mapping[str, object] = field(default_factory=dict)
    """What some functions of the library return, by their names, where a stand for it is not enough."""


@dataclass
class HeldResult:
    """A result that a verifier holds until its season is closed."""

    state: str = "deferred"
    task: str = "t"
    rollout_id: str = "r"
    path: Path | None = None


def _entry(number: int, part: str, tags: tuple[str, ...]) -> SimpleNamespace:
    question = SimpleNamespace(id=f"q{number}", as_of="2024-01-01", tags=tags, text="Why?")
    shown = {"number": number, "part": part, "question": question, "answer": "a", "details": {}}
    return SimpleNamespace(**shown, prove=lambda: (3, [f"fault {number}"]), program=lambda: "run it")


SUITE = {
    "suites.registry.find_suite.catalogue": lambda: [
        _entry(1, "public", ("T1", "x")),
        _entry(2, "private", ("T2", "y")),
    ]
}


def _measured(given: Mapping[str, Any]) -> list[SimpleNamespace]:
    wanted = next(value for value in given.values() if callable(value) and not isinstance(value, str))
    return [SimpleNamespace(task="t", agent=str(wanted(given["tasks"][0])), family="forecasting")]


BASELINES = {
    "catalog.task_folders": ["fx-forecast"],
    "catalog.load_task": SimpleNamespace(spec=SimpleNamespace(contract=None, family="forecasting")),
    "task.files.has_task_file": False,
    "kinds.is_live": False,
    "reports.baselines.run_baselines": Does(_measured),
}

COMMANDS: Mapping[str, Command] = {
    "tasks": Command(
        "tasks",
        {
            "--family questions": ("cli.render.print_table rows=[]",),
            "--json": ("cli.render.print_json value=[<catalog.survey[][].to_dict?>]",),
        },
    ),
    "task build": Command(
        "task build fx-forecast",
        {
            "--force": ("packages.many.build_tasks force=True",),
            "--jobs 7": ("packages.many.build_tasks jobs=7",),
            "--real": ("packages.many.build_tasks real=True",),
            "--json": ("cli.render.print_json value=[]",),
        },
        {
            "task build": {
                "--all": (
                    "packages.many.build_tasks real=False",
                    "packages.many.build_tasks force=False",
                ),
            },
        },
    ),
    "task check": Command(
        "task check fx-forecast",
        {
            "--smoke inline": ("checks.many.check_tasks backend='inline'",),
            "--adversarial": ("checks.many.check_tasks adversarial=True",),
            "--jobs 7": ("checks.many.check_tasks jobs=7",),
            "--real": ("checks.many.check_tasks real=True",),
            "--json": ("cli.render.print_json value=[]",),
        },
        {
            "task check": {
                "--all": (
                    "checks.many.check_tasks real=False",
                    "checks.many.check_tasks on_all=False",
                    "checks.many.check_tasks adversarial=False",
                ),
            },
            "task check --all": {
                "--folder folder": ("checks.many.check_tasks folders=[('folder/t')]",),
            },
            "task check fx-forecast --adversarial": {
                "--record file.jsonl": (
                    "adversarial.record.record path=file.jsonl",
                    "adversarial.record.recorded path=file.jsonl",
                ),
            },
        },
    ),
    "task list": Command(
        "task list",
        {
            "--family questions": ("cli.render.print_table rows=[]",),
            "--json": ("cli.render.print_json value=[<catalog.survey[][].to_dict?>]",),
        },
    ),
    "task new": Command(
        "task new own-task",
        {
            "--kind zzkind": ("packages.scaffold.new_task kind='zzkind'",),
            "--like zzlike": ("catalog.load_task name='zzlike'",),
            "--from new": ("kinds.start.Given files=(('new'),)",),
            "--to folder": ("packages.scaffold.new_task parent=folder",),
        },
        {
            "task new own-task --from file.jsonl": {
                "--fill drop": ("kinds.start.Given fill='drop'",),
                "--measure mixed": ("kinds.start.Given measure='mixed'",),
                "--labels token": ("kinds.start.Given labels=token",),
                "--features token": ("kinds.start.Given features=token",),
                "--target zz": ("kinds.start.Given target='zz'",),
                "--dry-run": (
                    "-packages.scaffold.new_task",
                    "cli.printable.say text='nothing was written; leave out --dry-run to write the task'",
                ),
            },
        },
    ),
    "task show": Command(
        "task show fx-forecast",
        {
            "--real": ("catalog.load_task real=True",),
            "--split validation": ("instances.building.place_of split='validation'",),
            "--instance 6": ("instances.building.place_of index=6",),
            "--html new": ("reports.task_page.write_private path=new",),
            "--json": ("cli.render.print_json",),
        },
        returns={"instances.building.place_of": None},
    ),
    "data list": Command(
        "data list",
        {
            "--json": ("cli.render.print_json value=[<data.listing.listings[]>]",),
        },
    ),
    "data pull": Command(
        "data pull us-treasury-yields",
        {
            "--list": ("data.listing.pullable",),
            "--symbols zzsymbols": ("data.sources.catalog.pull symbols=('zzsymbols',)",),
            "--interval zzinterval": ("data.sources.catalog.pull interval='zzinterval'",),
            "--start 2024-01-02": ("data.sources.catalog.pull start=datetime.date(2024, 1, 2)",),
            "--end 2024-01-02": ("data.sources.catalog.pull end=datetime.date(2024, 1, 2)",),
            "--refresh": ("data.sources.catalog.pull refresh=True",),
            "--mirror zzmirror": ("data.sources.catalog.pull base_url='zzmirror'",),
            "--json": ("cli.render.print_json value={<data.sources.catalog.pull.record.keys[]>",),
        },
    ),
    "data verify": Command(
        "data verify",
        {
            "--json": ("e>, 'rows': 1, 'channels': 1, 'digest': <data.panel.load_panel.digest>, 'ok': True}]",),
        },
    ),
    "vault build": Command(
        "vault build file.jsonl",
        {
            "--out new": ("vault.vault_toml.build folder=new",),
            "--json": ("cli.render.print_json",),
        },
    ),
    "vault certify": Command(
        "vault certify folder",
        {
            "--json": ("cli.render.print_json value=[<reports.certificate.certify.to_dict>]",),
        },
    ),
    "vault info": Command(
        "vault info finsearch",
        {
            "--json": ("cli.render.print_json",),
        },
    ),
    "vault pull": Command(
        "vault pull mirai --from 2024-01-01 --to 2024-01-08",
        {
            "--from 2024-01-02": ("suites.world.PullOrder first='2024-01-02'",),
            "--to 2024-01-09": ("suites.world.PullOrder last='2024-01-09'",),
            "--texts folder": ("suites.world.PullOrder texts=folder",),
            "--fetch-texts": ("suites.world.PullOrder fetch=True",),
            "--max-pages 7": ("suites.world.PullOrder most_pages=7",),
            "--out folder": ("suites.world.PullOrder folder=folder",),
            "--work folder": ("suites.world.PullOrder work=folder",),
            "--base-url zzbaseurl": ("suites.world.PullOrder base_url='zzbaseurl'",),
            "--threshold 6": ("suites.world.PullOrder threshold=6",),
            "--json": ("cli.render.print_json",),
        },
        returns={"suites.world.known_worlds": ("mirai",)},
    ),
    "vault simulate": Command(
        "vault simulate finsearch",
        {
            "--seed 6": ("suites.world.find_world.simulate 0=6",),
            "--days 7": ("suites.world.find_world.simulate 1=7",),
            "--out folder": ("suites.world.find_world.simulate 2=folder",),
            "--json": ("igest': <suites.world.find_world.simulate.digest>, 'simulated': True}",),
        },
        returns={"suites.world.known_worlds": ("finsearch",)},
    ),
    "vault verify": Command(
        "vault verify",
        {
            "--json": ("lder': '<vault.vault.Vault.open.folder>', 'wrong': <vault.vault.Vault.open.verify>}]",),
        },
    ),
    "questions import": Command(
        "questions import file.jsonl",
        {
            "--name zzname": (
                "openfingym_suites.imported.suite.keep name='zzname'",
                "openfingym_suites.imported.package.write_task name='zzname'",
                "openfingym_suites.imported.package.write_task folder=HOME/zzname",
            ),
            "--tools finsearch": ("openfingym_suites.imported.package.write_task lender='finsearch'",),
            "--to folder": ("openfingym_suites.imported.package.write_task folder=HOME/folder/own",),
            "--json": ("package.write_task>', 'kept': '<openfingym_suites.imported.suite.keep>'}",),
        },
        returns={"openfingym_suites.imported.suite.name_of": "own"},
    ),
    "questions judge": Command(
        "questions judge folder --model m",
        {
            "--model zzmodel": ("models.spec.ModelSpec.parse name='zzmodel'",),
            "--base-url zzbaseurl": ("models.spec.ModelSpec.parse base_url='zzbaseurl'",),
            "--repeats 7": ("judging.judge.Judge repeats=7",),
            "--sample 6": ("judging.judged_run.judge_run sample=6",),
            "--no-control": ("judging.judge.Judge control=False",),
            "--replies": ("judging.judged_run.judge_run[].to_json replies=True",),
            "--limit 7": ("judging.judged_run.judge_run limit=7",),
            "--json": ("ec.parse.name>, <judging.judged_run.summary.keys[]>: <judging.judged_run.summary[]>}",),
        },
    ),
    "questions lint": Command(
        "questions lint file.jsonl",
        {
            "--strict": ("cli.printable.say text='1 questions, 1 findings, 1 errors'",),
            "--json": ("ecords_of[][]>, 'rule': 'rule', 'severity': 'warning', 'found': 'f', 'advice': 'a'}]",),
        },
        returns={"answers.guide.lint": [GuideFinding("rule", "warning", "f", "a")]},
    ),
    "questions list": Command(
        "questions list finsearch",
        {
            "--tier T1": ("cli.render.print_table rows=[]",),
            "--tag x": ("cli.render.print_table rows=[]",),
            "--part public": ("cli.printable.say text='1 questions; T1 1, x 1'",),
            "--json": ("te', 'as_of': '2024-01-01', 'tags': ['T2', 'y'], 'question': 'Why?', 'answer': 'a'}]",),
        },
        returns=SUITE,
    ),
    "questions prove": Command(
        "questions prove finsearch",
        {
            "--tier T1": ("cli.printable.say text='0 of 0 questions proved; at most 0 calls of tools an answer'",),
            "--tag x": ("cli.printable.say text='0 of 0 questions proved; at most 0 calls of tools an answer'",),
            "--part public": ("cli.printable.say text='q1: fault 1'",),
            "--json": ("cli.render.print_json value={'proved': 0, 'faulty': {'q2': ['fault 2']}, 'most_calls': 3}",),
        },
        {
            "questions prove finsearch --part all": {
                "--every 2": ("cli.printable.say text='0 of 1 questions proved; at most 3 calls of tools an answer'",),
            },
        },
        returns=SUITE,
    ),
    "questions show": Command(
        "questions show finsearch 1",
        {
            "--with-program": ("cli.printable.say text='\\nrun it'",),
            "--json": ("lic', 'as_of': '2024-01-01', 'tags': ['T1', 'x'], 'question': 'Why?', 'answer': 'a'}",),
        },
        returns=SUITE,
    ),
    "agents": Command(
        "agents",
        {
            "--task zzname": ("catalog.load_task name='zzname'",),
            "--json": ("cli.render.print_json",),
        },
    ),
    "run": Command(
        "run fx-forecast --agent naive",
        {
            "--agent zzagent": ("agents.resolve agent='zzagent'",),
            "--no-tools": ("agents.without_tools agent='naive'",),
            "--program file.jsonl": ("agents.resolve program=file.jsonl",),
            "--command zzcommand": ("agents.resolve command=['zzcommand']",),
            "--files folder": ("agents.resolve files=folder",),
            "--mount folder": ("agents.resolve mount=folder",),
            "--model zzmodelname": ("models.spec.ModelSpec.parse name='zzmodelname'",),
            "--backend inline": ("rollouts.launcher.Launcher.for_tasks backend='inline'",),
            "--seed 7": ("rollouts.order.RolloutOrder seed=7",),
            "--out folder": ("rollouts.launcher.Launcher.for_tasks.run out=folder",),
            "--verifier zzaddress": ("rollouts.launcher.Launcher.for_tasks verifier='zzaddress'",),
            "--patience 0.375": ("rollouts.launcher.Launcher.for_tasks patience_s=0.375",),
            "--real": ("catalog.load_task real=True",),
            "--fresh": ("rollouts.order.RolloutOrder fresh=True",),
            "--split validation": (
                "instances.building.place_of split='validation'",
                "rollouts.order.RolloutOrder split='validation'",
            ),
            "--instance 6": (
                "rollouts.order.RolloutOrder instance=6",
                "instances.building.place_of index=6",
            ),
            "--duration 90s": ("market.session.terms.SessionOrder duration_s=90",),
            "--venue real": ("market.session.terms.SessionOrder venue='real'",),
            "--tape file.jsonl": ("market.session.terms.SessionOrder tape='HOME/file.jsonl'",),
            "--clock real": ("kinds.questions.asking.QuestionsOrder clock='real'",),
            "--questions zzquestions": ("kinds.question_range.QuestionRange.parse text='zzquestions'",),
            "-q": ("cli.render.TerminalProgress enabled=False",),
            "--json": ("her.Launcher.for_tasks.run.to_dict[]>, 'skill_shown': <adversarial.marks.skill_of>}]",),
        },
        {
            "run fx-forecast --agent react --model m": {
                "--base-url http://h/v1": ("models.spec.ModelSpec.parse base_url='http://h/v1'",),
                "--stream": ("models.spec.ModelSpec.parse stream=True",),
                "--tokens": ("models.spec.ModelSpec.parse tokens=True",),
                "--append-only": ("agents.with_sampling append_only=True",),
                "--temperature 0.375": ("agents.with_sampling temperature=0.375",),
                "--reply-tokens 77": ("agents.with_sampling reply_tokens=77",),
                "--text-tools": ("agents.with_sampling text_tools=True",),
                "--max-turns 7": ("models.meter.Allowance turns=7",),
                "--max-tokens 77": ("models.meter.Allowance tokens=77",),
                "--max-cost 0.375": ("models.meter.Allowance cost_usd=0.375",),
                "--max-seconds 6.5": ("models.meter.Allowance wall_s=6.5",),
                "--max-useless 7": ("models.meter.Allowance useless=7",),
                "--prices file.jsonl": ("models.prices.PriceTable.load path=file.jsonl",),
            },
        },
        returns={"instances.building.place_of": None},
    ),
    "rollout": Command(
        "rollout --tasks fx-forecast --agent naive --out made",
        {
            "--tasks zztasks": (
                "rollouts.plan.Plan.make data={'tasks': ('fx-forecast', 'zztasks'), 'agents': ('naive',)}",
            ),
            "--agent zzagents": (
                "rollouts.plan.Plan.make data={'tasks': ('fx-forecast',), 'agents': ('naive', 'zzagents')}",
            ),
            "--seeds 7": ("'seeds': 7",),
            "--attempts 7": ("'attempts': 7",),
            "--out other": ("rollouts.running.run out=other",),
            "--dry-run": (
                "rollouts.preparation.prepare again=False",
                "rollouts.preparation.prepare retry_errors=False",
            ),
            "--again": ("rollouts.running.run again=True",),
            "--retry error": ("rollouts.running.run retry_errors=True",),
            "--model zzmodelname": ("'models': ('zzmodelname',)",),
            "--budget 0.375": ("'budget': {'cost_usd': 0.375}",),
            "--budget-tokens 7": ("'budget': {'tokens': 7}",),
            "--concurrency 7": ("'concurrency': 7",),
            "--backend ray": ("rollouts.running.run ray=True",),
            "--verifier zzaddress": ("rollouts.running.run verifier='zzaddress'",),
            "--patience 0.375": ("'patience_s': 0.375",),
            "--shard zzpart": ("rollouts.running.run part='zzpart'",),
            "--log zzlog": (
                "rollouts.running.run log=('zzlog',)",
                "rollouts.loggers.load_loggers wanted=('zzlog',)",
            ),
            "--real": ("'real': True",),
            "--fresh": ("'fresh': True",),
            "--split validation": ("'split': 'validation'",),
            "--instances zzinstances": ("'instances': 'zzinstances'",),
            "--questions zzquestions": ("'questions': 'zzquestions'",),
            "--clock real": ("'clock': 'real'",),
            "-q": ("cli.rollout_progress.RunReporter quiet=True",),
            "--json": ("cli.render.print_json",),
        },
        {
            "rollout --tasks fx-forecast --agent react --model m --out made": {
                "--no-tools": (
                    "fails: UsageError: --no-tools: no agent has tools to do without; react and deep-research",
                ),
                "--base-url http://h/v1": (
                    "('fx-forecast',), 'agents': ('react',), 'models': ('m',), 'base_url': 'http://h/v1'}",
                ),
                "--stream": ("'stream': True",),
                "--tokens": ("'tokens': True",),
                "--append-only": ("'sampling': {'append_only': True}",),
                "--temperature 0.375": ("'sampling': {'temperature': 0.375}",),
                "--reply-tokens 77": ("'sampling': {'reply_tokens': 77}",),
                "--text-tools": ("'sampling': {'text_tools': True}",),
                "--max-turns 7": ("'limits': {'turns': 7}",),
                "--max-tokens 77": ("'limits': {'tokens': 77}",),
                "--max-cost 0.375": ("'limits': {'cost_usd': 0.375}",),
                "--max-seconds 6.5": ("'limits': {'wall_s': 6.5}",),
                "--max-useless 7": ("'limits': {'useless': 7}",),
                "--prices file.jsonl": ("'prices': 'file.jsonl'",),
            },
            "rollout --tasks fx-forecast --agent oneshot --model m --out made": {
                "--program file.jsonl": ("rollouts.running.run program=file.jsonl",),
            },
            "rollout --out made": {
                "--plan file.jsonl": ("rollouts.plan.Plan.read path=file.jsonl",),
            },
        },
        returns={"rollouts.running.run": []},
    ),
    "score": Command(
        "score --task fx-forecast --submission file.jsonl --truth file.jsonl",
        {
            "--task zzname": ("catalog.load_task name='zzname'",),
            "--submission new": ("verifiers.scorecard.score_files submission=new",),
            "--truth new": ("verifiers.scorecard.score_files truth=new",),
            "--real": ("catalog.load_task real=True",),
            "--json": ("cli.render.print_json value=<verifiers.scorecard.score_files.to_dict>",),
        },
    ),
    "published": Command(
        "published fx-forecast file.jsonl",
        {
            "--truth new": ("published.answers.score_answer truth=new",),
            "--metric zzonly": ("published.answers.score_answer only=('zzonly',)",),
            "--seed 6": ("published.answers.score_answer seed=6",),
            "--real": ("catalog.load_task real=True",),
            "--json": ("cli.render.print_json value=<published.answers.score_answer.to_dict>",),
        },
    ),
    "report baselines": Command(
        "report baselines",
        {
            "--run": ("kinds.is_live contract=None",),
            "--tasks none-*": ("task.files.has_task_file folder=none-*",),
            "--family questions": (
                "fails: UsageError: no results: no task of the family questions matches '*', or what matc",
            ),
            "--out file.jsonl": ("results.baselines.recorded path=file.jsonl",),
            "--markdown": ("cli.printable.say text=''",),
            "--json": (".recorded[].success>, 'stale': True, 'skill_shown': <reports.baselines.skills.get>}]",),
        },
        {
            "report baselines --run": {
                "--agents a": (
                    "reports.baselines.stale results=[namespace(task='t', agent='[]', family='forecasting')]",
                    "reports.baselines.skills results=[namespace(task='t', agent='[]', family='forecasting')]",
                ),
                "--backend inline": ("reports.baselines.run_baselines backend='inline'",),
                "--seed 7": ("reports.baselines.run_baselines seed=7",),
            },
        },
        returns=BASELINES,
    ),
    "report compare": Command(
        "report compare folder",
        {
            "--html file.jsonl": ("files.whole.store_errors path=file.jsonl",),
            "--csv file.jsonl": ("files.whole.store_errors path=file.jsonl",),
            "--by backend": ("reports.report.make_report by=('backend',)",),
            "--tasks": ("'paper', 'pass', 'cost', 'boundaries', 'replayed', 'tasks')",),
            "--latex": ("reports.report.make_report.to_latex each_task=False",),
            "--markdown": ("reports.report.make_report.to_markdown each_task=False",),
            "--key zzkey": ("fails: UsageError: zzkey: neither a public key nor a file with one",),
            "--isolated-only": ("reports.runs.find_runs isolated_only=True",),
            "--cutoff m=2023-10": ("reports.report.make_report cutoffs={'m': <models.cutoffs.require_cutoff>}",),
            "--with-hidden": ("reports.report.make_report with_hidden=True",),
            "--json": ("cli.render.print_json value=<reports.report.make_report.to_dict>",),
        },
        {
            "report compare folder --html new": {
                "--pages": ("reports.html.render pages=['new-pages/<reports.rollout.pages.page_names[]>']",),
            },
        },
    ),
    "report surface": Command(
        "report surface folder",
        {
            "--json": ("cli.render.print_json value=<reports.trading.surface.cost_delay_surface.to_dict>",),
        },
    ),
    "report tearsheet": Command(
        "report tearsheet folder",
        {
            "--out file.jsonl": ("files.whole.write_text path=HOME/file.jsonl",),
            "--benchmark zzbenchmark": ("reports.trading.benchmark.benchmark_of choice='zzbenchmark'",),
            "--trades file.jsonl": (
                "files.whole.store_errors path=file.jsonl",
                "reports.trading.sections.link_between file=file.jsonl",
            ),
            "--json": ("cli.render.print_json",),
        },
    ),
    "view": Command(
        "view folder",
        {
            "--task zztasks": (
                "fails: UsageError: folder: none of the 1 rollouts there matches the options; leave one o",
            ),
            "--agent zzagents": (
                "fails: UsageError: folder: none of the 1 rollouts there matches the options; leave one o",
            ),
            "--model zzmodels": (
                "fails: UsageError: folder: none of the 1 rollouts there matches the options; leave one o",
            ),
            "--seed 7": ("fails: UsageError: folder: none of the 1 rollouts there matches the options; leave one o",),
            "--state error": (
                "fails: UsageError: folder: none of the 1 rollouts there matches the options; leave one o",
            ),
            "--full": ("cli.view._show lines=None",),
            "--html new": (
                "reports.rollout.pages.write_page path=new",
                "reports.rollout.pages.is_file_name place=new",
            ),
            "--json": ("cli.render.print_json value=[<verifiers.backing.as_believed.to_dict??>]",),
        },
    ),
    "export minari": Command(
        "export minari folder --name a/b-v0",
        {
            "--name zzname": ("envs.offline.to_minari name='zzname'",),
            "--author zzauthor": ("envs.offline.to_minari author='zzauthor'",),
            "--lookback 7": ("envs.offline.to_minari lookback=7",),
            "--task zztask": ("results.run_folder.read_run folder=<reports.runs.run_folders[]>",),
            "--json": ("cli.render.print_json",),
        },
    ),
    "export schema": Command(
        "export schema",
        {},
    ),
    "export trajectories": Command(
        "export trajectories folder --format messages --out new",
        {
            "--format sharegpt": ("trajectory.rows.row_writer 0=<trajectory.sft.to_sharegpt>",),
            "--out other": ("trajectory.rows.row_writer path=other.held-out",),
            "--state error": ("trajectory.selection.ExportSelection states=('error',)",),
            "--task zztasks": ("trajectory.selection.ExportSelection tasks=('zztasks',)",),
            "--agent zzagents": ("trajectory.selection.ExportSelection agents=('zzagents',)",),
            "--split validation": ("trajectory.selection.ExportSelection splits=('validation',)",),
            "--min-reward 0.375": ("trajectory.selection.ExportSelection min_reward=0.375",),
            "--top-quantile 0.375": ("trajectory.selection.ExportSelection top_quantile=0.375",),
            "--distinct": ("trajectory.selection.ExportSelection distinct=True",),
            "--hold-out zzholdout": ("trajectory.selection.held_out_tasks names=('zzholdout',)",),
            "--unlearnable omit": ("trajectory.sft.to_messages unlearnable='omit'",),
            "--json": ("cli.render.print_json",),
        },
    ),
    "env serve": Command(
        "env serve fx-forecast --openenv",
        {
            "--host zzhost": ("listener.listener.Listener host='zzhost'",),
            "--port 6": ("listener.listener.Listener port=6",),
            "--split practice": ("training.openenv.served.Served splits=('practice',)",),
            "--sessions 7": ("training.openenv.serving.serve sessions=7",),
            "--places 7": ("training.openenv.served.Served places=7",),
            "--idle 1.375": ("training.openenv.serving.serve idle_s=1.375",),
            "--tools": ("training.openenv.served.Served tools=True",),
            "--agent oneshot": ("training.openenv.served.Served agent='oneshot'",),
            "--reward zzreward": ("training.openenv.served.Served reward='zzreward'",),
            "--option lookback=32": ("training.openenv.served.Served options={'lookback': 32}",),
            "--token-file file.jsonl": (
                "verifiers.registry.make_token path=file.jsonl",
                "verifiers.registry.read_token path=file.jsonl",
            ),
            "--backend inline": ("training.openenv.served.Served backend='inline'",),
            "--verifier zzaddress": ("training.openenv.served.Served verifier='zzaddress'",),
        },
        {
            "env serve fx-forecast": {
                "--openenv": ("training.openenv.served.Served tools=False",),
            },
        },
    ),
    "mcp": Command(
        "mcp fx-forecast",
        {
            "--split validation": ("training.mcp.played.PlayTerms split='validation'",),
            "--index 6": ("training.mcp.played.PlayTerms index=6",),
            "--seed 7": ("training.mcp.played.PlayTerms seed=7",),
            "--out folder": ("training.mcp.played.PlayTerms out=HOME/folder",),
            "--http": ("listener.listener.Listener port=8001",),
            "--backend inline": ("training.mcp.played.PlayTerms backend='inline'",),
            "--verifier zzaddress": ("training.mcp.played.PlayTerms verifier='zzaddress'",),
        },
        {
            "mcp fx-forecast --http": {
                "--host h": ("listener.listener.Listener host='h'",),
                "--port 6": ("listener.listener.Listener port=6",),
                "--sessions 7": ("training.mcp.streamable.serve sessions=7",),
                "--idle 1.375": ("training.mcp.streamable.serve idle_s=1.375",),
                "--token-file file.jsonl": (
                    "verifiers.registry.make_token path=file.jsonl",
                    "verifiers.registry.read_token path=file.jsonl",
                ),
            },
        },
    ),
    "rounds init": Command(
        "rounds init file.jsonl",
        {
            "--clock replayed": ("rounds.book.Book.begin clock='replayed'",),
            "--json": ("cli.render.print_json",),
        },
    ),
    "rounds prove": Command(
        "rounds prove s",
        {
            "--weeks 7": ("rounds.proving.prove_generation weeks=7",),
            "--verifier zzverifier": (
                "verifiers.address.VerifierAddress location='zzverifier'",
                "verifiers.address.token_of_environment location='zzverifier'",
            ),
            "--state-folder folder": (
                "verifiers.local.start_on state=folder",
                "verifiers.local.unsettled_packages state=folder",
            ),
            "--json": ("cli.render.print_json",),
        },
    ),
    "rounds report": Command(
        "rounds report s",
        {
            "--state-folder folder": (
                "reports.series.find_reporter ledger=folder",
                "reports.series.find_reporter.report 0=folder",
            ),
            "--html file.jsonl": ("files.whole.write_text path=file.jsonl",),
            "--isolated-only": ("reports.series.find_reporter.report isolated_only=True",),
            "--json": ("cli.render.print_json value=<reports.series.find_reporter.report.to_dict?>",),
        },
    ),
    "rounds run": Command(
        "rounds run s",
        {
            "--weeks 7": ("rounds.running.run weeks=7",),
            "--agent zzagents": ("agents.forecasting.finding.find_forecasters names=('zzagents',)",),
            "--command zzcommand": ("agents.forecasting.finding.find_forecasters command=('zzcommand',)",),
            "--model zzmodelname": ("models.spec.ModelSpec.parse name='zzmodelname'",),
            "--patience 0.375": ("agents.forecasting.finding.find_forecasters patience_s=0.375",),
            "--question-limit 0.375": ("agents.forecasting.finding.find_forecasters question_s=0.375",),
            "--week-limit 0.375": ("rounds.running.run week_limit_s=0.375",),
            "--parallel 7": ("agents.forecasting.finding.find_forecasters parallel=7",),
            "--verifier zzverifier": (
                "verifiers.address.VerifierAddress location='zzverifier'",
                "verifiers.address.token_of_environment location='zzverifier'",
            ),
            "--state-folder folder": (
                "verifiers.local.start_on state=folder",
                "verifiers.local.unsettled_packages state=folder",
            ),
            "--isolated-only": ("isolated_only=True",),
            "-q": ("cli.printable.say err=True",),
            "--json": ("cli.render.print_json",),
        },
        {
            "rounds run s --model m": {
                "--base-url http://h/v1": ("models.spec.ModelSpec.parse base_url='http://h/v1'",),
                "--stream": ("models.spec.ModelSpec.parse stream=True",),
                "--tokens": ("models.spec.ModelSpec.parse tokens=True",),
                "--append-only": ("append_only=True",),
                "--temperature 0.375": ("temperature=0.375",),
                "--reply-tokens 77": ("reply_tokens=77",),
                "--text-tools": ("text_tools=True",),
                "--max-turns 7": ("models.meter.Allowance turns=7",),
                "--max-tokens 77": ("models.meter.Allowance tokens=77",),
                "--max-cost 0.375": ("models.meter.Allowance cost_usd=0.375",),
                "--max-seconds 6.5": ("models.meter.Allowance wall_s=6.5",),
                "--max-useless 7": ("models.meter.Allowance useless=7",),
                "--prices file.jsonl": ("models.prices.PriceTable.load path=file.jsonl",),
                "--cutoff 2023-10": ("models.cutoffs.require_cutoff text='2023-10'",),
            },
        },
    ),
    "rounds status": Command(
        "rounds status s",
        {
            "--verifier zzverifier": (
                "verifiers.address.VerifierAddress location='zzverifier'",
                "verifiers.address.token_of_environment location='zzverifier'",
            ),
            "--state-folder folder": (
                "verifiers.local.start_on state=folder",
                "verifiers.local.unsettled_packages state=folder",
            ),
            "--json": ("cli.render.print_json",),
        },
    ),
    "rounds tick": Command(
        "rounds tick s",
        {
            "--now zznow": ("questions.question.moment_ns value='zznow'",),
            "--verifier zzverifier": (
                "verifiers.address.VerifierAddress location='zzverifier'",
                "verifiers.address.token_of_environment location='zzverifier'",
            ),
            "--state-folder folder": (
                "verifiers.local.start_on state=folder",
                "verifiers.local.unsettled_packages state=folder",
            ),
            "--isolated-only": ("isolated_only=True",),
            "--json": ("cli.render.print_json",),
        },
    ),
    "rounds verdicts": Command(
        "rounds verdicts s",
        {
            "--all": ("-openfingym_suites.findeepforecast.truth.verdicts.VerdictQueue.of_series.cases 0='pending'",),
            "--show zzshow": ("findeepforecast.truth.verdicts.VerdictQueue.of_series.case 0='zzshow'",),
            "--opinions 7": ("openfingym_suites.findeepforecast.truth.verdicts.VerdictQueue.of_series opinions=7",),
            "--verifier zzverifier": (
                "verifiers.address.VerifierAddress location='zzverifier'",
                "verifiers.address.token_of_environment location='zzverifier'",
            ),
            "--state-folder folder": (
                "verifiers.local.start_on state=folder",
                "verifiers.local.unsettled_packages state=folder",
            ),
            "--json": ("cli.render.print_json",),
        },
        {
            "rounds verdicts s --as YES --by ann --reason because": {
                "--decide q1": (
                    "openfingym_suites.findeepforecast.truth.verdicts.VerdictQueue.of_series.case 0='q1'",
                    "openfingym_suites.findeepforecast.truth.verdicts.VerdictQueue.of_series.give 0='q1'",
                ),
            },
            "rounds verdicts s --decide q1 --as YES --by ann --reason why": {
                "--as NO": ("openfingym_suites.findeepforecast.truth.verdicts.VerdictQueue.of_series.give 1='NO'",),
                "--by bob": ("openfingym_suites.findeepforecast.truth.verdicts.VerdictQueue.of_series.give by='bob'",),
                "--reason zz": ("findeepforecast.truth.verdicts.VerdictQueue.of_series.give reason='zz'",),
                "--final": ("openfingym_suites.findeepforecast.truth.verdicts.VerdictQueue.of_series.give final=True",),
            },
        },
    ),
    "tape replay": Command(
        "tape replay file.jsonl --agent naive",
        {
            "--agent zzagent": ("rollouts.single.run agent='zzagent'",),
            "--backend inline": ("rollouts.single.run backend='inline'",),
            "--out folder": ("rollouts.single.run out=folder",),
            "--json": ("cli.render.print_json value=<rollouts.single.run.to_dict>",),
        },
    ),
    "tape show": Command(
        "tape show file.jsonl",
        {
            "--json": ("cli.render.print_json value=<market.tape_summary.summarize.to_dict>",),
        },
    ),
    "tape verify": Command(
        "tape verify file.jsonl",
        {
            "--json": (".tape_summary.summarize.digest>, 'records': <market.tape_summary.summarize.records>}",),
        },
    ),
    "receipt open": Command(
        "receipt open fx-forecast --out out",
        {
            "--out new": ("verifiers.opened.write_opened out=new",),
            "--real": ("catalog.load_task real=True",),
        },
    ),
    "receipt show": Command(
        "receipt show file.jsonl",
        {
            "--checkpoint": ("prints <verifiers.receipt_check.read_receipt_file.checkpoint>",),
            "--key": ("prints <verifiers.receipt_check.read_receipt_file.key?>",),
            "--proof 6": ("fails: UsageError: file.jsonl: no entry 6 in this receipt; it has <verifiers.receipt_che",),
            "--json": ("cli.render.print_json",),
        },
    ),
    "receipt verify": Command(
        "receipt verify file.jsonl",
        {
            "--key zzkey": (
                "fails: UsageError: zzkey: neither a public key nor a file with one ([Errno 2] No such fi",
            ),
            "--checkpoint new": ("verifiers.log_tiles.read_note path=new",),
            "--opened new": ("file.jsonl: a score is computed again of a run's folder",),
            "--unpinned": ("cli.printable.say text='file.jsonl: the receipt holds, under its own key'",),
            "--json": ("cli.render.print_json",),
        },
        {
            "receipt verify file.jsonl --checkpoint token": {
                "--log zzlog": ("verifiers.log_tiles.require_consistent log='zzlog'",),
            },
        },
        returns={"verifiers.known_logs.pinned_key": None},
    ),
    "receipt trust": Command(
        "receipt trust token",
        {
            "--remove": (
                "verifiers.known_logs.distrust key=<receipts.keys.PublicKey.parse>",
                "-verifiers.known_logs.trust",
            ),
            "--json": ("cli.render.print_json value=[]",),
        },
        returns={"verifiers.known_logs.all_known_keys": {}},
    ),
    "verifier collect": Command(
        "verifier collect folder --verifier http://127.0.0.1:9",
        {
            "--verifier zzaddress": ("verifiers.finding.find_verifiers location='zzaddress'",),
        },
        returns={"results.run_folder.read_run": HeldResult()},
    ),
    "verifier participant add": Command(
        "verifier participant add ann --verifier http://127.0.0.1:9",
        {
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--organisation acme": ("verifiers.address.VerifierAddress.connect.add_participant 1='acme'",),
            "--json": ("={'name': 'ann', 'key': <verifiers.address.VerifierAddress.connect.add_participant>}",),
        },
    ),
    "verifier participant list": Command(
        "verifier participant list --verifier http://127.0.0.1:9",
        {
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--json": ("cli.render.print_json value=[<verifiers.address.VerifierAddress.connect.participants[]>]",),
        },
    ),
    "verifier participant revoke": Command(
        "verifier participant revoke ann --verifier http://127.0.0.1:9",
        {
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
        },
    ),
    "verifier enter": Command(
        "verifier enter r1 --verifier http://127.0.0.1:9",
        {
            "--primary": ("verifiers.address.VerifierAddress.connect.enter primary=True",),
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--json": ("cli.render.print_json value=<verifiers.address.VerifierAddress.connect.enter>",),
        },
    ),
    "verifier season board": Command(
        "verifier season board 1 --verifier http://127.0.0.1:9",
        {
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--json": ("cli.render.print_json value=<verifiers.address.VerifierAddress.connect.board>",),
        },
    ),
    "verifier season close": Command(
        "verifier season close --verifier http://127.0.0.1:9",
        {
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--json": ("cli.render.print_json value=<verifiers.address.VerifierAddress.connect.close_season>",),
        },
    ),
    "verifier season open": Command(
        "verifier season open s1 --verifier http://127.0.0.1:9",
        {
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--disclosing": ("verifiers.address.VerifierAddress.connect.open_season kind='disclosing'",),
            "--reuse tiny": ("verifiers.address.VerifierAddress.connect.open_season reuse=('tiny',)",),
            "--json": ("cli.render.print_json value=<verifiers.address.VerifierAddress.connect.open_season>",),
        },
    ),
    "verifier season show": Command(
        "verifier season show --verifier http://127.0.0.1:9",
        {
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--json": ("cli.render.print_json value=<verifiers.address.VerifierAddress.connect.season>",),
        },
    ),
    "verifier serve": Command(
        "verifier serve --admin-token-file token",
        {
            "--task zznames": ("catalog.load_task name='zznames'",),
            "--host zzhost": ("listener.listener.Listener host='zzhost'",),
            "--port 6": ("listener.listener.Listener port=6",),
            "--uds new": ("listener.listener.Listener uds=new",),
            "--state folder": ("openfingym_verifier.serving.serve state=folder",),
            "--admin-token-file file.jsonl": (
                "verifiers.registry.make_token path=file.jsonl",
                "verifiers.registry.read_token path=file.jsonl",
            ),
            "--monitor-token-file file.jsonl": (
                "verifiers.registry.make_token path=file.jsonl",
                "verifiers.registry.read_token path=file.jsonl",
            ),
            "--tls-cert file.jsonl": ("listener.tls.TlsCertificate.of file=file.jsonl",),
            "--tls-key file.jsonl": ("listener.tls.TlsCertificate.of key=file.jsonl",),
            "--behind-proxy zzproxies": ("listener.listener.Listener proxies='zzproxies'",),
            "--policy local": ("openfingym_verifier.serving.serve policy='local'",),
            "--stored-mb 1.375": ("openfingym_verifier.serving.serve stored_mb=1.375",),
            "--register file.jsonl": (
                "verifiers.registry.register path=file.jsonl",
                "verifiers.registry.unregister path=file.jsonl",
            ),
            "--fresh": ("openfingym_verifier.serving.serve tapes='fresh'",),
            "--resolve-every 1.375": ("openfingym_verifier.serving.serve resolve_every_s=1.375",),
            "--void-after 0.375": ("openfingym_verifier.serving.serve void_after_s=32400.0",),
            "--origin zzorigin": ("openfingym_verifier.serving.serve origin='zzorigin'",),
        },
        returns={"openfingym_verifier.serving.serve": Does(lambda given: given["on_ready"](["here"], None))},
    ),
    "verifier status": Command(
        "verifier status http://127.0.0.1:9",
        {
            "--json": ("cli.render.print_json",),
        },
    ),
    "ledger advance": Command(
        "ledger advance c 2024-01-01T00:00:00Z",
        {
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--state-folder folder": (
                "verifiers.local.start_on state=folder",
                "verifiers.local.unsettled_packages state=folder",
            ),
        },
    ),
    "ledger import": Command(
        "ledger import file.jsonl",
        {
            "--clock zzclock": (
                "questions.history.read_history clock='zzclock'",
                "verifiers.client.VerifierClient.questions.advance 0='zzclock'",
                "verifiers.client.VerifierClient.questions.status[].get 0='zzclock'",
            ),
            "--agent zzagent": ("questions.history.read_history agent='zzagent'",),
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--state-folder folder": (
                "verifiers.local.start_on state=folder",
                "verifiers.local.unsettled_packages state=folder",
            ),
            "--json": ("cli.render.print_json",),
        },
    ),
    "ledger list": Command(
        "ledger list",
        {
            "--state error": ("openfingym_verifier.questions.reading.questions state='error'",),
            "--round zzroundname": ("openfingym_verifier.questions.reading.questions round_name='zzroundname'",),
            "--open": ("estions.reading.clocks_of connection=<openfingym_verifier.questions.offline.reading>",),
            "--limit 7": ("openfingym_verifier.questions.reading.questions limit=7",),
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--state-folder folder": ("openfingym_verifier.questions.offline.reading state=folder",),
            "--json": ("cli.render.print_json value=<openfingym_verifier.questions.reading.questions>",),
        },
    ),
    "ledger report": Command(
        "ledger report",
        {
            "--state-folder folder": ("reports.forecasts.report.forecast_report ledger=folder",),
            "--where category=rates": ("reports.forecasts.report.forecast_report where={'category': ['rates']}",),
            "--isolated-only": ("reports.forecasts.report.forecast_report isolated_only=True",),
            "--html file.jsonl": ("files.whole.write_text path=file.jsonl",),
            "--json": ("cli.render.print_json value=<reports.forecasts.report.forecast_report.to_dict>",),
        },
    ),
    "ledger resolve": Command(
        "ledger resolve",
        {
            "--watch": ("verifiers.client.VerifierClient.questions.resolve everything=False",),
            "--void-after 0.375": ("verifiers.client.VerifierClient.questions.resolve void_after_s=32400.0",),
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--state-folder folder": (
                "verifiers.local.start_on state=folder",
                "verifiers.local.unsettled_packages state=folder",
            ),
            "--json": ("cli.printable.say text='\"<verifiers.client.VerifierClient.questions.resolve>\"'",),
        },
        {
            "ledger resolve q1 --evidence e": {
                "--outcome 1": (
                    "verifiers.client.VerifierClient.questions.decide 1=1.0",
                    "verifiers.client.VerifierClient.questions.decide 0='q1'",
                ),
                "--void zz": ("verifiers.client.VerifierClient.questions.decide reason='zz'",),
            },
            "ledger resolve q1 --outcome 1": {
                "--evidence zz": ("verifiers.client.VerifierClient.questions.decide evidence={'evidence': 'zz'}",),
            },
            "ledger resolve --watch": {
                "--every 7": ("time.sleep 0=7.0",),
            },
        },
    ),
    "ledger show": Command(
        "ledger show 1",
        {
            "--receipts folder": (
                "files.whole.store_errors path=folder",
                "verifiers.local.start_on state=<store.ledger_folder>",
                "verifiers.local.unsettled_packages state=<store.ledger_folder>",
            ),
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--state-folder folder": ("openfingym_verifier.questions.offline.reading state=folder",),
            "--json": ("reading.forecasts[][]>, 'isolation': <reports.forecasts.isolation.isolations_of_series[]>}",),
        },
    ),
    "ledger status": Command(
        "ledger status",
        {
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--state-folder folder": ("openfingym_verifier.questions.offline.reading state=folder",),
            "--json": ("cli.render.print_json value=<openfingym_verifier.questions.reading.status>",),
        },
    ),
    "ledger sync": Command(
        "ledger sync folder",
        {
            "--verifier zzaddress": (
                "verifiers.address.VerifierAddress location='zzaddress'",
                "verifiers.address.token_of_environment location='zzaddress'",
            ),
            "--state-folder folder": (
                "verifiers.local.start_on state=folder",
                "verifiers.local.unsettled_packages state=folder",
            ),
            "--json": ("<rollouts.syncing.sync[].changed>, 'state': <rollouts.syncing.sync[].result.state>}]",),
        },
    ),
    "ledger verify": Command(
        "ledger verify",
        {
            "--since file.jsonl": ("openfingym_verifier.audit.ledger.verify_ledger earlier_checkpoint=file.jsonl",),
            "--state-folder folder": ("openfingym_verifier.audit.ledger.verify_ledger path=folder",),
            "--json": (".verify_ledger.head>, 'root': <openfingym_verifier.audit.ledger.verify_ledger.root>}",),
        },
    ),
    "image build": Command(
        "image build",
        {
            "--base zzbase": ("openfingym_runtime.docker.images.ensure_agent_image base='zzbase'",),
        },
    ),
    "doctor": Command(
        "doctor",
        {
            "--venue simulated": ("market.checkup.checkup name='simulated'",),
            "--json": ("cli.render.print_json",),
        },
        {
            "doctor --venue alpaca": {
                "--real-money": ("market.checkup.checkup real_money=True",),
            },
        },
        returns={"store.staging": nullcontext(Path())},
    ),
}
