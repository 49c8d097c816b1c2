/** A table that queries can read. */
export interface QueryTable {
  readonly name: string;
  readonly about: string;
  /** The meaning of each column, by its name. */
  readonly columns: Readonly<Record<string, string>>;
}

const place = {
  session: 'Id of the session',
  span: 'Id of the span. It is unique in its session',
} as const;

const times = {
  started_at: 'Start, in milliseconds since 1970',
  ended_at: 'End, in milliseconds since 1970. NULL while the work continues',
  duration_ms: 'Duration in milliseconds. NULL while the work continues',
} as const;

const outcome = {
  status: '`ok`, `error`, `discarded` or `waiting`. Open work without a problem is `ok`',
  error_code: 'Code of the error. NULL if there was none',
  error_message: 'Message of the error. NULL if there was none',
} as const;

const offsets = {
  first_offset: 'Offset of the first record',
  last_offset: 'Offset of the last record. NULL while the work continues',
} as const;

const usage = {
  input_tokens: 'Tokens sent, including cached tokens. NULL if the provider reported no usage',
  output_tokens: 'Tokens generated, including reasoning',
  cache_read_tokens: 'Tokens of the input that came from the cache of the provider',
  cache_write_tokens: 'Tokens of the input that were written to the cache of the provider',
  reasoning_tokens: 'Tokens of the output that were reasoning',
  is_estimated: '1 if some of these numbers are estimates',
  cost: 'Cost in `currency`, as a floating-point number. NULL if the price is unknown',
  currency: 'ISO 4217 code of `cost`, for example `USD`',
} as const;

/** All tables that queries can read. The documentation and `millrace sql` print this list. */
export const queryTables: readonly QueryTable[] = [
  {
    name: 'sessions',
    about: 'One row for each session, also for sessions of sub-agents',
    columns: {
      session: place.session,
      created_at: 'Time of creation, in milliseconds since 1970',
      changed_at: 'Time of the last change, in milliseconds since 1970',
      last_offset: 'Offset of the last record',
      has_work: '1 if a run or a turn is open, or a command is queued',
      is_closed: '1 if no more records can be added',
      is_damaged: '1 if the stored session is corrupt. It has then no rows in other tables',
      driver: 'Name of the process that drives the session. NULL if there is none',
      forked_from: 'Session that this session was forked from. NULL if it is not a fork',
      forked_at: 'Last offset that the fork copied. NULL if it is not a fork',
    },
  },
  {
    name: 'runs',
    about: 'One row for each run. A fork does not repeat the runs that it copied',
    columns: {
      ...place,
      run_id: 'Id of the run',
      ...times,
      queued_at: 'Time at which the first message of the run was queued',
      ...outcome,
      stop_reason: 'Reason for the end, for example `stop`, `error`, `aborted` or `parked`',
      ...offsets,
      trace_id: 'Id of the trace. NULL if the run belongs to none',
    },
  },
  {
    name: 'turns',
    about: 'One row for each turn: a model response and the calls that it made',
    columns: {
      ...place,
      run: 'Span of the run',
      turn: 'Number of the turn in its session',
      ...times,
      ...outcome,
      stop_reason: 'Reason for the end',
      ...offsets,
    },
  },
  {
    name: 'attempts',
    about: 'One row for each request to a model. A retry is another attempt of the same turn',
    columns: {
      ...place,
      turn: 'Number of the turn in its session',
      attempt: 'Number of the attempt in its turn',
      provider: 'Name of the provider',
      model: 'Name of the model',
      agent_version: 'Version of the agent. NULL if the agent has no version',
      ...times,
      first_token_ms: 'Time to the first content in milliseconds. NULL for settled turns',
      ...outcome,
      stop_reason: 'Reason for the end of the response',
      ...usage,
      ...offsets,
    },
  },
  {
    name: 'child_usage',
    about:
      'Usage of sub-agents as their caller recorded it. `attempts` also has these requests, while the session of the sub-agent exists',
    columns: {
      ...place,
      child_session: 'Session of the sub-agent',
      provider: 'Name of the provider',
      model: 'Name of the model',
      agent_version: 'Version of the agent. NULL if the agent has no version',
      ...usage,
    },
  },
  {
    name: 'calls',
    about: 'One row for each execution of a tool, and for each call that was rejected',
    columns: {
      ...place,
      turn: 'Number of the turn in its session',
      tool: 'Name of the tool',
      tool_call_id: 'Id of the call',
      summary: 'One line about the call, or the reason why it has no result',
      child_session: 'Session of the sub-agent that the call ran. NULL for other tools',
      ...times,
      ...outcome,
      ...offsets,
    },
  },
  {
    name: 'approvals',
    about: 'One row for each question about a call',
    columns: {
      ...place,
      turn: 'Number of the turn in its session',
      tool_call_id: 'Id of the call',
      name: 'Text of the question',
      ...times,
      answer: '`allowed` or `denied`. Otherwise the reason for the question',
    },
  },
  {
    name: 'retries',
    about: 'One row for each retry of a request that failed',
    columns: {
      ...place,
      turn: 'Number of the turn in its session',
      started_at: times.started_at,
      delay_ms: 'Delay before the retry in milliseconds',
      error_code: outcome.error_code,
      error_message: outcome.error_message,
    },
  },
  {
    name: 'items',
    about: 'One row for each message, answer and tool result. A fork does not repeat copied items',
    columns: {
      session: place.session,
      item: 'Id of the item',
      kind: 'Kind of the item, for example `user`, `assistant` or `tool`',
      author: 'Name of the author. NULL if the item has none',
      turn: 'Number of the turn. 0 outside of any turn',
      started_at: 'Time at which the item started, in milliseconds since 1970',
      is_redacted: '1 if the content was removed',
      text: 'Texts, reasoning, arguments and results of the item, at most 1,000,000 characters',
    },
  },
  {
    name: 'search',
    about:
      'Full-text search (SQLite FTS5) in the text of items: SELECT session, snippet(search, 3, …) FROM search WHERE search MATCH …',
    columns: {
      session: place.session,
      item: 'Id of the item',
      kind: 'Kind of the item',
      text: 'Text of the item',
    },
  },
];

const failed = 'error_code, error_message';
const ended = 'started_at, ended_at, ended_at - started_at AS duration_ms';
const between = 'first_offset, last_offset';
const tokens =
  'input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, is_estimated, cost, currency';

/** The statements that create the tables and views. */
export const querySchema: string = `
CREATE TABLE sessions (
  session TEXT PRIMARY KEY, created_at INTEGER, changed_at INTEGER, last_offset INTEGER, has_work INTEGER,
  is_closed INTEGER, is_damaged INTEGER, driver TEXT, forked_from TEXT, forked_at INTEGER
) WITHOUT ROWID;
CREATE TABLE spans (
  session TEXT, span TEXT, parent TEXT, kind TEXT, name TEXT, detail TEXT, status TEXT, started_at INTEGER,
  ended_at INTEGER, first_content_at INTEGER, queued_at INTEGER, first_offset INTEGER, last_offset INTEGER,
  turn INTEGER, attempt INTEGER, provider TEXT, model TEXT, input_tokens INTEGER, output_tokens INTEGER,
  cache_read_tokens INTEGER, cache_write_tokens INTEGER, reasoning_tokens INTEGER, is_estimated INTEGER, cost REAL,
  currency TEXT, stop_reason TEXT, error_code TEXT, error_message TEXT, run_id TEXT, tool_call_id TEXT,
  child_session TEXT, trace_id TEXT, agent_version TEXT, PRIMARY KEY (session, span)
) WITHOUT ROWID;
CREATE INDEX spans_by_kind ON spans (kind, started_at);
CREATE TABLE items (
  id INTEGER PRIMARY KEY, session TEXT, item TEXT, kind TEXT, author TEXT, turn INTEGER, started_at INTEGER,
  is_redacted INTEGER, text TEXT, UNIQUE (session, item)
);
CREATE VIRTUAL TABLE search USING fts5(
  session UNINDEXED, item UNINDEXED, kind UNINDEXED, text, content = 'items', content_rowid = 'id'
);
CREATE TRIGGER items_added AFTER INSERT ON items BEGIN
  INSERT INTO search (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER items_removed AFTER DELETE ON items BEGIN
  INSERT INTO search (search, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE VIEW runs AS SELECT session, span, run_id, ${ended}, queued_at, status, ${failed}, stop_reason, ${between},
  trace_id FROM spans WHERE kind = 'run';
CREATE VIEW turns AS SELECT session, span, parent AS run, turn, ${ended}, status, ${failed}, stop_reason, ${between}
  FROM spans WHERE kind = 'turn';
CREATE VIEW attempts AS SELECT session, span, turn, attempt, provider, model, agent_version, ${ended},
  first_content_at - started_at AS first_token_ms, status, ${failed}, stop_reason, ${tokens}, ${between}
  FROM spans WHERE kind = 'attempt' AND child_session IS NULL;
CREATE VIEW child_usage AS SELECT session, span, child_session, provider, model, agent_version, ${tokens}
  FROM spans WHERE kind = 'attempt' AND child_session IS NOT NULL;
CREATE VIEW calls AS SELECT session, span, turn, name AS tool, tool_call_id, detail AS summary, child_session, ${ended},
  status, ${failed}, ${between} FROM spans WHERE kind IN ('call', 'agent');
CREATE VIEW approvals AS SELECT session, span, turn, tool_call_id, name, ${ended}, detail AS answer
  FROM spans WHERE kind = 'approval';
CREATE VIEW retries AS SELECT session, span, turn, started_at, ended_at - started_at AS delay_ms, ${failed}
  FROM spans WHERE kind = 'retry';
`;
