import type { LogRecord, SessionId } from '@millrace/core';
import type { CommandRow, ProducerRow, SessionRow } from '../../storage/rows.ts';
import { type SessionFields, sessionOf } from '../../storage/session-row.ts';
import { type Chunk, ChunkReader } from '../chunk-rows.ts';
import type { Ask } from '../database/database.ts';
import type { Statements } from '../database/statements.ts';

/** What a transaction has read of a session, which is locked: so it is true until the commit. */
export interface FetchedSession {
  readonly row: SessionRow;
  readonly producers: Map<string, ProducerRow | undefined>;
  readonly commands: Map<string, CommandRow | undefined>;
  /** From the offset after `after` to the last. */
  records: FetchedRecords | undefined;
  /** How many of its records name each blob. */
  blobs: ReadonlyMap<string, number> | undefined;
}

interface FetchedRecords {
  readonly after: number;
  readonly records: readonly LogRecord[];
  /** The rows that they are stored in. */
  readonly places: readonly { readonly first: number; readonly last: number }[];
}

/** All that a transaction has read. What is done in it is done on drafts of this. */
export class Fetched {
  readonly sessions: Map<SessionId, FetchedSession | undefined> = new Map();
  /** Numbers that are to be had, in order. */
  readonly epochs: number[] = [];
  readonly made: number[] = [];

  putSession(session: SessionId, row: SessionRow | undefined): void {
    const none = { producers: new Map(), commands: new Map() };
    const found = row && { row, ...none, records: undefined, blobs: undefined };
    this.sessions.set(session, found);
  }
}

/** What work needs to know and was not fetched. */
export type Want =
  | { readonly what: 'session'; readonly session: SessionId }
  | { readonly what: 'producer'; readonly session: SessionId; readonly name: string }
  | { readonly what: 'command'; readonly session: SessionId; readonly name: string }
  /** All records after an offset, and those that are stored in one row with them. */
  | { readonly what: 'records'; readonly session: SessionId; readonly after: number }
  | { readonly what: 'blobs'; readonly session: SessionId }
  | { readonly what: 'epoch' }
  | { readonly what: 'made' };

/** Thrown through work that has to be done again once the want is there. No error that anybody is told. */
export class Missing extends Error {
  readonly want: Want;

  constructor(want: Want) {
    super(`the ${want.what} was not fetched`);
    this.want = want;
  }
}

type WantOf<What extends Want['what']> = Extract<Want, { what: What }>;

/** Brings what work missed, as few questions as there are kinds of it. */
export async function fetchWants(
  ask: Ask,
  statements: Statements,
  fetched: Fetched,
  wants: readonly Want[],
): Promise<void> {
  const of = <What extends Want['what']>(what: What) =>
    wants.filter((want): want is WantOf<What> => want.what === what);
  await Promise.all([
    fetchNumbers(ask, statements.nextEpochs, of('epoch').length, fetched.epochs),
    fetchNumbers(ask, statements.nextMade, of('made').length, fetched.made),
    fetchProducers(ask, statements.producers, fetched, of('producer')),
    fetchCommands(ask, statements.commands, fetched, of('command')),
    ...of('records').map((want) => fetchRecords(ask, statements.chunksAfter, fetched, want)),
    ...of('blobs').map((want) => fetchBlobs(ask, statements.usesOf, fetched, want)),
  ]);
}

/** Of sessions that are locked. */
export async function fetchSessions(
  ask: Ask,
  statements: Statements,
  fetched: Fetched,
  sessions: readonly SessionId[],
): Promise<void> {
  const found = await ask<SessionFields>(statements.sessionsById, [sessions]);
  for (const session of sessions) fetched.putSession(session, undefined);
  for (const fields of found) fetched.putSession(fields.id as SessionId, sessionOf(fields));
}

async function fetchNumbers(ask: Ask, sql: string, count: number, into: number[]): Promise<void> {
  if (count === 0) return;
  for (const { number } of await ask<{ number: number }>(sql, [count])) into.push(number);
}

async function fetchProducers(
  ask: Ask,
  sql: string,
  fetched: Fetched,
  wants: readonly WantOf<'producer'>[],
): Promise<void> {
  if (wants.length === 0) return;
  const owners = ownersOf(fetched, wants);
  const found = await ask<{ made: number; producer: string; state: string }>(sql, asked(owners));
  const rows = new Map(found.map((row) => [`${row.made} ${row.producer}`, row]));
  for (const { owner, name } of owners) {
    const row = rows.get(`${owner.row.made} ${JSON.stringify(name)}`);
    owner.producers.set(name, row && (JSON.parse(row.state) as ProducerRow));
  }
}

async function fetchCommands(
  ask: Ask,
  sql: string,
  fetched: Fetched,
  wants: readonly WantOf<'command'>[],
): Promise<void> {
  if (wants.length === 0) return;
  const owners = ownersOf(fetched, wants);
  type Found = { made: number; key: string; at_offset: number; is_consumed: boolean };
  const found = await ask<Found>(sql, asked(owners));
  const rows = new Map(found.map((row) => [`${row.made} ${row.key}`, row]));
  for (const { owner, name } of owners) {
    const row = rows.get(`${owner.row.made} ${JSON.stringify(name)}`);
    const command: CommandRow | undefined = row && {
      offset: row.at_offset,
      isConsumed: row.is_consumed,
    };
    owner.commands.set(name, command);
  }
}

async function fetchRecords(
  ask: Ask,
  sql: string,
  fetched: Fetched,
  { session, after }: WantOf<'records'>,
): Promise<void> {
  const owner = fetched.sessions.get(session);
  if (owner === undefined) return;
  const { made, through } = owner.row;
  const places = await ask<Chunk>(sql, [made, after]);
  const reader = new ChunkReader(session, after);
  // All of each row: who replaces some of it has to write the rest again.
  for (const chunk of places) reader.add(chunk, true);
  if (reader.end < through) throw reader.missing();
  const start = Math.min(after, (places[0]?.first ?? after + 1) - 1);
  const before = owner.records;
  // Several may want more or less of it.
  if (before === undefined || before.after > start)
    owner.records = { after: start, records: reader.records, places };
}

async function fetchBlobs(
  ask: Ask,
  sql: string,
  fetched: Fetched,
  { session }: WantOf<'blobs'>,
): Promise<void> {
  const owner = fetched.sessions.get(session);
  if (owner === undefined) return;
  const rows = await ask<{ hash: string; count: number }>(sql, [owner.row.made]);
  owner.blobs = new Map(rows.map(({ hash, count }) => [hash, count]));
}

interface Owned {
  readonly owner: FetchedSession;
  readonly name: string;
}

function ownersOf(
  fetched: Fetched,
  wants: readonly { readonly session: SessionId; readonly name: string }[],
): readonly Owned[] {
  return wants.flatMap(({ session, name }) => {
    const owner = fetched.sessions.get(session);
    return owner === undefined ? [] : [{ owner, name }];
  });
}

function asked(owners: readonly Owned[]): readonly unknown[] {
  return [
    owners.map(({ owner }) => owner.row.made),
    owners.map(({ name }) => JSON.stringify(name)),
  ];
}
