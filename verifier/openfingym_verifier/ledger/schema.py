"""The tables of the ledger, and what each version of it added."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openfingym.errors import VerifierError
from openfingym_verifier.ledger import log, tree
from openfingym_verifier.ledger import question_schema as questions

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

VERSION = 13

SCHEMA = """
CREATE TABLE rollouts (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    task_digest TEXT NOT NULL,
    agent TEXT,
    seed INTEGER,
    budget INTEGER NOT NULL,
    created_ns INTEGER NOT NULL,
    expires_ns INTEGER NOT NULL,
    accepted INTEGER NOT NULL DEFAULT 0 CHECK (accepted BETWEEN 0 AND budget),
    rejected INTEGER NOT NULL DEFAULT 0,
    last_refusal TEXT,
    bucket_tokens REAL NOT NULL,
    bucket_ns INTEGER NOT NULL,
    result TEXT
);
CREATE TABLE submissions (
    id INTEGER PRIMARY KEY,
    rollout_id TEXT NOT NULL REFERENCES rollouts (id),
    n INTEGER NOT NULL,
    received_ns INTEGER NOT NULL,
    idempotency_key TEXT,
    body_digest TEXT,
    feedback TEXT,
    UNIQUE (rollout_id, n)
);
CREATE UNIQUE INDEX submissions_key ON submissions (rollout_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE TABLE payloads (
    submission INTEGER PRIMARY KEY REFERENCES submissions (id),
    content BLOB NOT NULL
);
"""
# Payloads have a table of their own: writing a submission's feedback would rewrite its whole row.

EPISODES = """
CREATE TABLE episodes (
    id INTEGER PRIMARY KEY,
    rollout_id TEXT NOT NULL REFERENCES rollouts (id),
    n INTEGER NOT NULL,
    fold TEXT NOT NULL CHECK (fold IN ('public', 'private')),
    number INTEGER NOT NULL,
    started_ns INTEGER NOT NULL,
    idempotency_key TEXT,
    UNIQUE (rollout_id, n)
);
CREATE UNIQUE INDEX episodes_key ON episodes (rollout_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX episodes_once ON episodes (rollout_id, number) WHERE fold = 'private';
CREATE TABLE steps (
    episode INTEGER NOT NULL REFERENCES episodes (id),
    step INTEGER NOT NULL,
    action TEXT NOT NULL,
    PRIMARY KEY (episode, step)
) WITHOUT ROWID;
"""

PRINCIPALS = """
CREATE TABLE participants (
    name TEXT PRIMARY KEY,
    key_digest TEXT NOT NULL UNIQUE,
    created_ns INTEGER NOT NULL,
    revoked_ns INTEGER
);
CREATE TABLE seasons (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    opened_ns INTEGER NOT NULL,
    closed_ns INTEGER
);
ALTER TABLE rollouts ADD COLUMN principal TEXT NOT NULL DEFAULT 'local';
ALTER TABLE rollouts ADD COLUMN season TEXT NOT NULL DEFAULT '1';
ALTER TABLE rollouts ADD COLUMN policy TEXT NOT NULL DEFAULT 'local';
ALTER TABLE rollouts ADD COLUMN disclosure TEXT NOT NULL DEFAULT 'full';
CREATE INDEX rollouts_principal ON rollouts (principal, task_digest);
CREATE TABLE disclosures (
    rollout_id TEXT NOT NULL REFERENCES rollouts (id),
    fold TEXT NOT NULL CHECK (fold IN ('public', 'private')),
    n INTEGER NOT NULL,
    at_ns INTEGER NOT NULL,
    PRIMARY KEY (rollout_id, fold, n)
) WITHOUT ROWID;
ALTER TABLE rollouts ADD COLUMN tape TEXT NOT NULL DEFAULT 'given' CHECK (tape IN ('given', 'fresh', 'twin'));
ALTER TABLE rollouts ADD COLUMN tape_commitment TEXT;
"""

PROBES = """
CREATE TABLE probes (content BLOB NOT NULL);
"""
SESSIONS = """
ALTER TABLE rollouts ADD COLUMN session TEXT;
"""
DEFERRALS = """
ALTER TABLE rollouts ADD COLUMN questions TEXT;
ALTER TABLE rollouts ADD COLUMN settled TEXT;
CREATE TABLE rollout_questions (
    rollout_id TEXT NOT NULL REFERENCES rollouts (id),
    row INTEGER NOT NULL,
    question INTEGER NOT NULL REFERENCES questions (id),
    PRIMARY KEY (rollout_id, row)
) WITHOUT ROWID;
CREATE INDEX rollout_questions_question ON rollout_questions (question);
CREATE TABLE rollout_data (rollout_id TEXT PRIMARY KEY REFERENCES rollouts (id), content BLOB NOT NULL);
CREATE INDEX rollouts_unsettled ON rollouts (id) WHERE questions IS NOT NULL AND settled IS NULL;
CREATE INDEX rollouts_asked ON rollouts (task_digest, created_ns) WHERE questions IS NOT NULL;
"""
# What a rollout was asked and shown in the place of its task's private rows, and the result once that was resolved.
# Several rollouts may be asked the same question.
INSTANCES = """
ALTER TABLE rollouts ADD COLUMN split TEXT NOT NULL DEFAULT 'test' CHECK (split IN ('test', 'train', 'validation'));
ALTER TABLE rollouts ADD COLUMN instance INTEGER;
"""
QUESTION_RANGES = """
ALTER TABLE rollouts ADD COLUMN question_range TEXT;
"""
AGENTS = """
ALTER TABLE rollouts ADD COLUMN agent_digest TEXT;
CREATE TABLE agents (
    principal TEXT NOT NULL,
    digest TEXT NOT NULL,
    filed_ns INTEGER NOT NULL,
    PRIMARY KEY (principal, digest)
) WITHOUT ROWID;
"""
# When each principal's agents came into being, as far as the ledger knows: filed, or first run.
SEASONS = """
ALTER TABLE participants ADD COLUMN organisation TEXT;
ALTER TABLE seasons ADD COLUMN kind TEXT NOT NULL DEFAULT 'disclosing' CHECK (kind IN ('sealed', 'disclosing'));
ALTER TABLE seasons ADD COLUMN reused TEXT NOT NULL DEFAULT '[]';
ALTER TABLE seasons ADD COLUMN board TEXT;
CREATE TABLE entries (
    rollout_id TEXT PRIMARY KEY REFERENCES rollouts (id),
    is_primary INTEGER NOT NULL,
    filed_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE retired (
    fold TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    season TEXT NOT NULL
) WITHOUT ROWID;
"""
# Before there were kinds of seasons, every one told something while it was open.
SHOWINGS = """
ALTER TABLE rollouts ADD COLUMN hidden_digest TEXT;
ALTER TABLE rollouts ADD COLUMN instruments TEXT NOT NULL DEFAULT '[]';
ALTER TABLE entries ADD COLUMN changes INTEGER NOT NULL DEFAULT 1;
ALTER TABLE retired ADD COLUMN task_digest TEXT;
CREATE TABLE exposures (task_digest TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
"""
# Which hidden data a rollout is on, and what tasks show and hide of which instruments and days: what was told or shown
# under one name counts under every other, whether the task is still served or not. And how often a participant has
# changed its mind of an entry, each time being in the log.
STEPS = (
    SCHEMA + log.SCHEMA,
    EPISODES,
    PRINCIPALS,
    PROBES,
    SESSIONS,
    tree.SCHEMA,
    questions.SCHEMA,
    DEFERRALS,
    INSTANCES,
    QUESTION_RANGES,
    AGENTS,
    SEASONS,
    SHOWINGS,
)
"""What each version of the ledger added."""


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a ledger to this version, whole or not at all.

    Args:
        connection: a connection to the ledger that may write.
        path: file of the ledger, for messages.

    Raises:
        VerifierError: a newer version of this library wrote the ledger.
    """
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise VerifierError(
            f"{path}: written by a newer version (format {version}, this one knows {VERSION}); upgrade openfingym"
        )
    missing = STEPS[version:]
    if missing:
        # All steps and the new version in one transaction: a migration that breaks off has not begun.
        connection.executescript(f"BEGIN; {''.join(missing)} PRAGMA user_version = {VERSION};")
        # The log may be older than the tree over it.
        if version < tree.VERSION:
            tree.fill(connection)
        connection.execute("COMMIT")
