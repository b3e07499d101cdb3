"""A user's file of questions as a suite, with the tools of another suite or none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from openfingym.answers import Part, Reference
from openfingym.answers.packing import pack
from openfingym.data.dataset import DatasetInfo
from openfingym.digests import sha256_of_text
from openfingym.errors import DataError, UsageError
from openfingym.files.whole import store_errors, whole_file
from openfingym.store import ELSEWHERE, TRUTH_FILE, TRUTH_FOLDER, home
from openfingym.suites.registry import find_suite
from openfingym.suites.suite import (
    AnswerForm,
    Lookup,
    Observation,
    QuestionSet,
    Scalar,
    Suite,
    SuiteQuestion,
    SuiteTool,
)
from openfingym.suites.text_answers import text_form
from openfingym.task.exposure import Exposure
from openfingym_suites.imported.formats import ImportedQuestion, read_questions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from openfingym.vault import Vault

NO_TOOLS = "none"
WIDTH = 1500
"""Numbers of an answer and of a reference, of four bytes each: published references are in words, and may be long."""
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
EXAMPLES = (
    ("What is 12.5 % of 200 million USD, in million USD, rounded to one decimal place?",
     Reference((Part("result", "number", 25.0, "million USD", decimals=1),))),
    ("On which day did the year 2000 begin?", Reference((Part("day", "date", "2000-01-01"),))),
    ("Is a basis point a hundredth of a percentage point?", Reference((Part("answer", "yes_no", True),))),
)  # fmt: skip
"""Questions with references to train and to practise on, so that all questions of the file count."""


class ImportedSuite(Suite):
    """Questions of a user's own file, asked with the tools of another suite or with none."""

    name = "imported"
    of_the_past = True

    def options(self, given: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
        """The options ``questions``, name of an import, and ``tools``, the suite that lends its tools, or ``none``."""
        chosen: dict[str, Scalar] = {"questions": "", "tools": NO_TOOLS}
        if unknown := given.keys() - chosen.keys():
            raise ValueError(f"options: no option {', '.join(sorted(unknown))}; there are {', '.join(chosen)}")
        chosen |= given
        if not NAME.fullmatch(str(chosen["questions"])):
            raise ValueError(f"options.questions is {chosen['questions']!r}; expected the name of an import")
        if chosen["tools"] != NO_TOOLS:
            try:
                find_suite(str(chosen["tools"]))
            except UsageError as error:
                raise ValueError(f"options.tools: {error}") from error
        return chosen

    def require(self, name: str, tools: str) -> None:
        """Make sure that there can be an import of a name with the tools of a suite.

        Args:
            name: name of the import.
            tools: name of the suite whose tools are lent, or ``none``.

        Raises:
            UsageError: the name is none that an import can have, or there is no such suite.
        """
        try:
            self.options({"questions": name, "tools": tools})
        except ValueError as error:
            raise UsageError(str(error)) from error

    def source_key(self, dataset: str, options: Mapping[str, Scalar]) -> str:
        """The digest of the questions, and the key of the suite that lends its tools."""
        own = sha256_of_text(_stored(options).read_text(encoding="utf-8"))
        lender = _lender(options)
        return own if lender is None else own + lender.source_key(dataset, lender.options({}))

    def simulated(self, dataset: str) -> bool:  # noqa: ARG002 - nothing is known of a user's own
        """Whether the world is made up: no, since a user's questions are taken to be about the real one."""
        return False

    def questions(self, dataset: str, options: Mapping[str, Scalar]) -> QuestionSet:
        """All questions of the import, which count, and three plain ones to train and to practise on."""
        imported = read_questions(_stored(options))
        examples = [
            ImportedQuestion(f"example-{number}", text, reference, imported[0].as_of)
            for number, (text, reference) in enumerate(EXAMPLES, 1)
        ]
        every = [*examples, *imported]
        lender = _lender(options)
        snapshot = lender.questions(dataset, lender.options({})).snapshot if lender else "none"
        asked = tuple(map(_asked, every))
        truths = np.stack([_packed(question) for question in every])
        return QuestionSet(_info(str(options["questions"]), truths), snapshot, asked[:2], asked[2:3], asked[3:], truths)

    def serves(self, options: Mapping[str, Scalar]) -> tuple[str, ...]:
        """Those of the suite that lends its tools."""
        lender = _lender(options)
        return () if lender is None else lender.serves(lender.options({}))

    def exposure(self, dataset: str, options: Mapping[str, Scalar]) -> Exposure:
        """What the lent tools show as of the last question; a question without a date is shown everything."""
        if (lender := _lender(options)) is None:
            return Exposure({}, {})
        last = read_questions(_stored(options))[-1].as_of[:10]
        lent = lender.exposure(dataset, lender.options({}))
        return Exposure({name: ((days[0][0], last),) for name, days in lent.shows.items()}, {})

    def form(self, options: Mapping[str, Scalar]) -> AnswerForm:  # noqa: ARG002 - one for all
        """An answer in words."""
        return text_form(width=WIDTH)

    def question_form(self, question: SuiteQuestion, options: Mapping[str, Scalar]) -> AnswerForm:
        """An answer in words, in the form of its reference."""
        form = self.form(options)
        # The question has it with it: whoever asks may not have the file with the references.
        expected = str(question.query.get("expected") or form.expected)
        return AnswerForm(form.labels, expected, form.read, form.write)

    def tools(self, options: Mapping[str, Scalar]) -> tuple[SuiteTool, ...]:
        """The tools that are lent."""
        lender = _lender(options)
        return () if lender is None else lender.tools(lender.options({}))

    def vault(self, snapshot: str) -> Vault | None:  # noqa: D102 - of the suite that lends
        if snapshot == "none":
            return None
        from openfingym.suites.registry import known_suites

        # A snapshot's digest does not say which suite it is of: each is asked whether it has it.
        for name in known_suites():
            if name == self.name:
                continue
            try:
                return find_suite(name).vault(snapshot)
            except (DataError, UsageError):
                continue
        raise DataError(f"the vault {snapshot[:12]} of the tools is not on this machine; build the task here")

    def lookup(self, vault: Vault | None, question: SuiteQuestion, options: Mapping[str, Scalar]) -> Lookup:
        """The lent tools, as of the question's time."""
        lender = _lender(options)
        if lender is None:
            return lambda name, _arguments: Observation(f"There is no tool {name[:60]!r}; there are none.", valid=False)
        return lender.lookup(vault, question, lender.options({}))

    def prior(self, truths: NDArray[np.float64], rows: int) -> NDArray[np.float64]:  # noqa: ARG002 - it knows nothing
        """An answer that is right for no question: nothing is known of what a user asks."""
        return np.repeat(pack("unknown", WIDTH)[None], rows, axis=0)

    def skillless(
        self,
        truths: NDArray[np.float64],  # noqa: ARG002 - it knows nothing
        rows: int,
        generator: np.random.Generator,
    ) -> Mapping[str, NDArray[np.float64]]:
        """Constants, a range around everything, and numbers drawn blindly."""
        texts = {"zero": "0", "one": "1", "yes": "yes", "no": "no", "everything": "-1e12 to 1e12"}
        answers = {name: np.repeat(pack(text, WIDTH)[None], rows, axis=0) for name, text in texts.items()}
        answers["drawn"] = np.stack([pack(f"{value:.2f}", WIDTH) for value in generator.lognormal(4.0, 2.0, rows)])
        return answers


def stored_file(name: str) -> Path:
    """The file in the store with the questions of an import.

    Args:
        name: name of the import.

    Raises:
        UsageError: an import cannot have this name.
    """
    # The name becomes a part of a path, so it must not leave the folder.
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name an import; expected lower case letters, digits and dashes")
    return home() / "imported" / f"{name}.jsonl"


def name_of(file: Path) -> str:
    """A name for an import, made from that of its file."""
    plain = re.sub(r"[^a-z0-9]+", "-", file.stem.casefold()).strip("-")
    return plain[:60] or "questions"


def keep(name: str, questions: tuple[ImportedQuestion, ...]) -> Path:
    """Store questions as an import, in the place of those that had its name.

    Args:
        name: name of the import.
        questions: the questions that are stored, in order.

    Raises:
        DataError: a reference is too long for a row.
        StoreError: the store cannot be written.
        UsageError: an import cannot have this name.
    """
    # All are packed before anything is written, so that an import that cannot be asked replaces none that can.
    for question in questions:
        _packed(question)
    path = stored_file(name)
    with store_errors(path, ELSEWHERE):
        path.parent.mkdir(parents=True, exist_ok=True, mode=TRUTH_FOLDER)
        with whole_file(path, mode=TRUTH_FILE) as stream:
            stream.writelines(question.to_json() + "\n" for question in questions)
    return path


def _asked(question: ImportedQuestion) -> SuiteQuestion:
    """A question as it is put to an agent: without its reference, but with the form of an answer."""
    expected = text_form(question.reference.schema(), language=question.language).expected
    query = {"language": question.language, "expected": expected}
    return SuiteQuestion(question.id, question.text, question.as_of, query, question.tags)


def _stored(options: Mapping[str, Scalar]) -> Path:
    """The file of the import that a task asks.

    Raises:
        DataError: it is not on this machine.
    """
    path = stored_file(str(options["questions"]))
    if not path.is_file():
        raise DataError(
            f"no questions {options['questions']!r} are imported here; run `openfingym questions import FILE`"
        )
    return path


def _lender(options: Mapping[str, Scalar]) -> Suite | None:
    """The suite whose tools are lent; None if none are."""
    return None if options["tools"] == NO_TOOLS else find_suite(str(options["tools"]))


def _packed(question: ImportedQuestion) -> NDArray[np.float64]:
    """The reference of a question as a row of numbers.

    Raises:
        DataError: it is too long.
    """
    try:
        return pack(question.reference.to_json(), WIDTH)
    except UsageError as error:
        raise DataError(f"the reference of {question.id}: {error}") from error


def _info(name: str, truths: NDArray[np.float64]) -> DatasetInfo:
    from openfingym.digests import sha256_of

    return DatasetInfo(
        name=f"imported-{name}",
        title=f"Imported questions {name}",
        kind="real",
        source="a user's own file",
        provenance="read by `openfingym questions import`; references are as the file states them",
        licence="not stated: that of the file",
        frequency="none",
        measure="mixed",
        unit="packed text",
        calendar="none",
        corporate_actions="none: questions in words",
        first=None,
        last=None,
        rows=len(truths),
        channels=("text",),
        missing=0,
        sha256=sha256_of(np.ascontiguousarray(truths).tobytes()),
    )


SUITE = ImportedSuite()
