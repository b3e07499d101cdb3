"""Tables of questions, forecasts and resolutions, version 7 of the ledger."""

from __future__ import annotations

NEVER = 2**63 - 1
"""Time at which a question is due that is never asked about again: the largest integer of SQLite."""

SCHEMA = """
CREATE TABLE clocks (name TEXT PRIMARY KEY, now_ns INTEGER NOT NULL);
CREATE TABLE questions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    content TEXT NOT NULL,
    provider TEXT NOT NULL,
    form TEXT NOT NULL,
    category TEXT NOT NULL,
    market TEXT NOT NULL,
    round TEXT NOT NULL,
    clock TEXT NOT NULL,
    generated_ns INTEGER NOT NULL,
    deadline_ns INTEGER NOT NULL,
    evaluation_ns INTEGER NOT NULL,
    simulated INTEGER NOT NULL CHECK (simulated IN (0, 1)),
    state TEXT NOT NULL CHECK (state IN ('pending', 'resolvable', 'resolved', 'scored', 'void', 'error')),
    due_ns INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    reason TEXT NOT NULL DEFAULT '',
    log_row INTEGER
);
CREATE INDEX questions_due ON questions (clock, state, due_ns);
CREATE INDEX questions_round ON questions (round);
CREATE TABLE forecasters (
    id INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    agent TEXT NOT NULL,
    version TEXT NOT NULL,
    UNIQUE (principal, agent, version)
);
CREATE TABLE forecasts (
    id INTEGER PRIMARY KEY,
    question INTEGER NOT NULL REFERENCES questions (id),
    forecaster INTEGER NOT NULL REFERENCES forecasters (id),
    rollout_id TEXT REFERENCES rollouts (id),
    received_ns INTEGER NOT NULL,
    answer TEXT NOT NULL,
    salt TEXT NOT NULL,
    digest TEXT NOT NULL,
    idempotency_key TEXT,
    reference TEXT,
    counts INTEGER NOT NULL DEFAULT 1 CHECK (counts IN (0, 1)),
    p REAL,
    loss REAL,
    naive_loss REAL,
    market_loss REAL,
    correct INTEGER,
    log_row INTEGER,
    score_row INTEGER
);
CREATE INDEX forecasts_counting ON forecasts (question, forecaster) WHERE counts = 1;
CREATE INDEX forecasts_rollout ON forecasts (rollout_id) WHERE rollout_id IS NOT NULL;
CREATE UNIQUE INDEX forecasts_key ON forecasts (forecaster, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE TABLE resolutions (
    id INTEGER PRIMARY KEY,
    question INTEGER NOT NULL REFERENCES questions (id),
    n INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('resolved', 'void', 'vintage', 'correction')),
    truth TEXT,
    value REAL,
    source TEXT NOT NULL,
    evidence TEXT NOT NULL,
    vintage TEXT NOT NULL,
    provider_ns INTEGER,
    fetched_ns INTEGER NOT NULL,
    log_row INTEGER,
    UNIQUE (question, n)
);
CREATE TABLE recordings (
    question INTEGER PRIMARY KEY REFERENCES questions (id),
    content TEXT NOT NULL,
    salt TEXT NOT NULL
);
CREATE TRIGGER forecasts_latest AFTER INSERT ON forecasts BEGIN UPDATE forecasts SET counts = 0
    WHERE question = NEW.question AND forecaster = NEW.forecaster AND counts = 1 AND rollout_id IS NEW.rollout_id
    AND id < NEW.id; END;
CREATE TRIGGER questions_fixed BEFORE UPDATE OF id, name, content, provider, form, category, market, round, clock,
    generated_ns, deadline_ns, evaluation_ns, simulated, log_row ON questions
BEGIN SELECT RAISE(ABORT, 'a question does not change'); END;
CREATE TRIGGER forecasts_fixed BEFORE UPDATE OF id, question, forecaster, rollout_id, received_ns, answer, salt, digest,
    idempotency_key, p, log_row ON forecasts
BEGIN SELECT RAISE(ABORT, 'a forecast does not change'); END;
CREATE TRIGGER resolutions_fixed BEFORE UPDATE ON resolutions
BEGIN SELECT RAISE(ABORT, 'a resolution does not change'); END;
CREATE TRIGGER recordings_fixed BEFORE UPDATE ON recordings
BEGIN SELECT RAISE(ABORT, 'a recorded truth does not change'); END;
CREATE TRIGGER questions_kept BEFORE DELETE ON questions BEGIN SELECT RAISE(ABORT, 'questions are kept'); END;
CREATE TRIGGER forecasts_kept BEFORE DELETE ON forecasts BEGIN SELECT RAISE(ABORT, 'forecasts are kept'); END;
CREATE TRIGGER resolutions_kept BEFORE DELETE ON resolutions BEGIN SELECT RAISE(ABORT, 'resolutions are kept'); END;
"""
# Of a question, `content` is Question.to_dict as canonical JSON, and `due_ns` is when the resolver asks next, by the
# question's clock. Of a forecast, `digest` is SHA-256 of salt and answer, since few answers are likely and could be
# guessed from a log without one; `counts` is 0 where a later forecast took its place, or where it came after the truth;
# `p` is the probability or the number, and NULL of other forms. Of a resolution, n = 1 decides; later ones are kept
# beside it. `log_row` is the number of a row's entry in the log, and `score_row` that of a forecast's score.
# `recordings` holds truths of past seasons until the clock of their replay has come to them.
