import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { assertOptionNames } from '@millrace/core';
import { readPages } from '../any-log/read-session.ts';
import { sessionStates } from '../any-log/session-states.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionInfo } from '../contract/session-info.ts';
import { querySchema } from './schema.ts';
import {
  itemColumns,
  itemRow,
  lastItems,
  SessionCollector,
  type SqlValue,
  spanColumns,
  spanRow,
} from './session-rows.ts';

/** Options of `openLogIndex`. */
export interface LogIndexOptions {
  /** Only sessions that changed at or after this time, in milliseconds since 1970. Default: all sessions. */
  readonly since?: number | undefined;
  /** Stops a refresh. Default: a refresh runs to its end. */
  readonly signal?: AbortSignal | undefined;
}

/** A row of a result: values by the names of the columns. */
export type QueryRow = Readonly<Record<string, string | number | bigint | Uint8Array | null>>;

/** The result of a query. */
export interface QueryResult {
  readonly columns: readonly string[];
  readonly rows: readonly QueryRow[];
}

/** Values for the `?` or the `:name` of a query. */
export type QueryParameters =
  | readonly (string | number | bigint | null)[]
  | Readonly<Record<string, string | number | bigint | null>>;

/**
 * Reads the sessions of a log into tables, and returns an index that answers SQL queries. `queryTables` describes
 * the tables. They are the same for every store. The index is a temporary database of this process: it changes
 * nothing in the log, and it disappears when it is closed.
 *
 * @example
 * const index = await openLogIndex(log);
 * index.query('SELECT model, sum(output_tokens) AS tokens FROM attempts GROUP BY model');
 */
export async function openLogIndex(log: Log, options: LogIndexOptions = {}): Promise<LogIndex> {
  const index = new LogIndex(log, options);
  try {
    await index.refresh();
    return index;
  } catch (error) {
    index.close();
    throw error;
  }
}

/** What is known about an indexed session. */
interface IndexedSession {
  readonly incarnation: string;
  readonly through: number;
  /** The offset after which the next refresh reads. No work was open there. */
  readonly resume: number;
}

const sessionsPerPage = 500;
const sessionColumns = [
  ...['session', 'created_at', 'changed_at', 'last_offset', 'has_work', 'is_closed'],
  ...['is_damaged', 'driver', 'forked_from', 'forked_at'],
] as const;

/** Answers SQL queries about the sessions of a log. Use `openLogIndex` to create it. */
export class LogIndex {
  readonly #log: Log;
  readonly #options: LogIndexOptions;
  /** SQLite keeps this database in memory and moves large parts of it to a temporary file. */
  readonly #database = new DatabaseSync('');
  readonly #indexed = new Map<string, IndexedSession>();
  readonly #insertSession: StatementSync;
  readonly #insertSpan: StatementSync;
  readonly #insertItem: StatementSync;
  readonly #deleteItem: StatementSync;
  /** The refresh that runs now, or the last one. */
  #refreshing: Promise<void> = Promise.resolve();

  constructor(log: Log, options: LogIndexOptions = {}) {
    assertOptionNames('openLogIndex', options, { since: true, signal: true }, badOption);
    this.#log = log;
    this.#options = options;
    this.#database.exec(querySchema);
    this.#insertSession = this.#insertInto('sessions', sessionColumns);
    this.#insertSpan = this.#insertInto('spans', spanColumns);
    this.#insertItem = this.#insertInto('items', itemColumns);
    this.#deleteItem = this.#database.prepare('DELETE FROM items WHERE session = ? AND item = ?');
    this.#database.exec('PRAGMA query_only = ON');
  }

  /**
   * Reads what changed in the log since the last refresh. The cost depends on the number of sessions and on the
   * new records, not on the length of the sessions.
   */
  refresh(): Promise<void> {
    const next = this.#refreshing.catch(() => {}).then(() => this.#refresh());
    this.#refreshing = next;
    return next;
  }

  /**
   * Runs one SELECT statement. The result is complete in memory, so use LIMIT for large tables. Throws `bad_query`
   * if SQLite refuses the statement, or if the text has several statements.
   *
   * @example index.query('SELECT * FROM calls WHERE tool = ? AND status = ?', ['bash', 'error']).rows;
   */
  query(sql: string, parameters: QueryParameters = []): QueryResult {
    if (!startsQuery.test(sql.replaceAll(spaceAndComments, '')))
      throw badQuery('a query starts with SELECT, WITH, VALUES or EXPLAIN');
    try {
      const statement = this.#database.prepare(sql);
      assertOneStatement(sql, statement);
      const rows = Array.isArray(parameters)
        ? statement.all(...(parameters as readonly SQLInputValue[]))
        : statement.all(parameters as Record<string, SQLInputValue>);
      const columns = statement.columns().map(({ name }) => name);
      // SQLite returns objects without a prototype, which print badly.
      return { columns, rows: rows.map((row) => ({ ...row })) };
    } catch (error) {
      if (error instanceof LogError) throw error;
      throw badQuery(error instanceof Error ? error.message : String(error), error);
    }
  }

  /** Closes the index and removes its data. */
  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  async #refresh(): Promise<void> {
    const found = new Map<string, SessionInfo>();
    for await (const info of this.#sessions()) {
      found.set(info.session, info);
      const known = this.#indexed.get(info.session);
      const isSame = known?.incarnation === info.incarnation && known.through === info.through;
      if (!isSame && !info.isDamaged) await this.#addRecords(info, known).catch(throwUnlessGone);
    }
    this.#write(() => {
      for (const session of this.#indexed.keys()) {
        const info = found.get(session);
        if (info === undefined || info.isDamaged) this.#remove(session);
      }
      this.#database.exec('DELETE FROM sessions');
      for (const info of found.values()) this.#insertSession.run(...sessionRow(info));
    });
  }

  async *#sessions(): AsyncGenerator<SessionInfo> {
    const { since = Number.NEGATIVE_INFINITY, signal } = this.#options;
    let after: string | undefined;
    do {
      const page: readonly SessionInfo[] = await this.#log.list({ after, limit: sessionsPerPage });
      for (const info of page) {
        signal?.throwIfAborted();
        if (info.changedAt >= since) yield info;
      }
      after = page.length < sessionsPerPage ? undefined : page.at(-1)?.session;
    } while (after !== undefined);
  }

  /** Adds the new records of a session. If the session was rewound or redacted, it is indexed again. */
  async #addRecords(info: SessionInfo, known: IndexedSession | undefined): Promise<void> {
    const { session, incarnation } = info;
    // A fork starts with a copy of another session, whose work must not count twice.
    const start = info.origin?.through ?? 0;
    const resume = known?.incarnation === incarnation ? known.resume : start;
    if (known !== undefined && resume === start) this.#write(() => this.#remove(session));
    const collector = new SessionCollector(resume);
    for await (const page of readPages(this.#log, info, resume)) {
      this.#options.signal?.throwIfAborted();
      for (const record of page.records) collector.add(record);
      if (collector.hasRedaction && resume > start)
        return this.#addRecords(info, { ...info, resume: start });
      const spans = collector.takeSpans();
      this.#write(() => {
        for (const span of spans) this.#insertSpan.run(...spanRow(session, span));
      });
    }
    const { state } = await sessionStates(this.#log).load(session);
    const items = lastItems(state, collector.itemIds);
    this.#write(() => {
      for (const id of collector.itemIds) this.#deleteItem.run(session, id);
      for (const item of items) this.#insertItem.run(...itemRow(session, item));
    });
    const { through, resume: next } = collector;
    this.#indexed.set(session, { incarnation, through, resume: next });
  }

  /** Removes the spans and the items of a session. */
  #remove(session: string): void {
    for (const table of ['spans', 'items'])
      this.#database.prepare(`DELETE FROM ${table} WHERE session = ?`).run(session);
    this.#indexed.delete(session);
  }

  #insertInto(table: string, columns: readonly string[]): StatementSync {
    const values = columns.map(() => '?').join(', ');
    return this.#database.prepare(
      `INSERT OR REPLACE INTO ${table} (${columns.join(', ')}) VALUES (${values})`,
    );
  }

  /** Runs statements that write, in one transaction. At all other times the database is read-only. */
  #write(statements: () => void): void {
    this.#database.exec('PRAGMA query_only = OFF; BEGIN');
    try {
      statements();
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    } finally {
      this.#database.exec('PRAGMA query_only = ON');
    }
  }
}

/** A session that was deleted or rewound during the refresh has no rows until the next refresh. */
function throwUnlessGone(error: unknown): void {
  const isGone =
    error instanceof LogError && (error.code === 'no_session' || error.code === 'rewound');
  if (!isGone) throw error;
}

const startsQuery = /^(?:select|with|values|explain)\b/i;

/** Spaces and comments. The flag `y` ends the matches before the first other text. */
const spaceAndComments = /\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/gy;

/** Throws if another statement follows. SQLite prepares only the first statement, and ignores the text after it. */
function assertOneStatement(sql: string, { sourceSQL }: StatementSync): void {
  const rest = sql.slice(sourceSQL.length).replaceAll(betweenStatements, '');
  if (rest !== '') throw badQuery('it has several statements. Run each statement as its own query');
}

/** Spaces, semicolons and comments. The flag `y` ends the matches before the first other text. */
const betweenStatements = /[\s;]+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/gy;

function badOption(message: string): LogError {
  return new LogError('bad_option', message);
}

function badQuery(why: string, cause?: unknown): LogError {
  const message = `Cannot run this query: ${why}. millrace sql without a query lists the tables and columns`;
  return new LogError('bad_query', message, {}, { cause });
}

function sessionRow(info: SessionInfo): readonly SqlValue[] {
  const { session, createdAt, changedAt, through, lease, origin, isDamaged } = info;
  if (isDamaged) return [session, null, null, null, null, null, 1, null, null, null];
  return [
    ...[session, createdAt, changedAt, through, Number(info.hasWork), Number(info.isClosed), 0],
    ...[lease?.holder ?? null, origin?.session ?? null, origin?.through ?? null],
  ];
}
