import type { SessionId } from '@millrace/core';
import {
  type FetchedRows,
  type FetchedSession,
  keepRecords,
  type RequestOf,
  type RowRequest,
} from '../../prefetch/fetched-rows.ts';
import { ChunkReader, type ChunkRow } from '../../storage/chunk-rows.ts';
import type { CommandRow, ProducerRow } from '../../storage/rows.ts';
import { fromColumns } from '../../storage/session-row.ts';
import type { Query } from '../database/database.ts';
import type { FoundSession, Statements } from '../database/statements.ts';

/** Fetches all requested rows, with one query per kind. */
export async function fetchRequests(
  ask: Query,
  statements: Statements,
  fetched: FetchedRows,
  requests: readonly RowRequest[],
): Promise<void> {
  const of = <What extends RowRequest['what']>(what: What) =>
    requests.filter((request): request is RequestOf<What> => request.what === what);
  await Promise.all([
    // Also fetches one epoch per new session, because most new sessions get a driver immediately. An unused
    // epoch only leaves a gap in the numbers.
    fetchEpochs(ask, statements.nextEpochs, of('epoch').length + of('made').length, fetched),
    fetchMade(ask, statements.nextMade, of('made').length, fetched),
    fetchProducers(ask, statements.producers, fetched, of('producer')),
    fetchCommands(ask, statements.commands, fetched, of('command')),
    ...of('records').map((request) => fetchRecords(ask, statements.chunksAfter, fetched, request)),
    ...of('blobs').map((request) => fetchBlobs(ask, statements.usesOf, fetched, request)),
  ]);
}

/** Fetches the rows of sessions that the transaction has locked. */
export async function fetchSessions(
  ask: Query,
  statements: Statements,
  fetched: FetchedRows,
  sessions: readonly SessionId[],
): Promise<void> {
  const found = await ask<FoundSession>(statements.sessionsById, [sessions]);
  for (const session of sessions) fetched.putSession(session, undefined);
  for (const fields of found)
    fetched.putSession(fields.id as SessionId, fromColumns(fields, fields.incarnation));
}

async function fetchEpochs(
  ask: Query,
  sql: string,
  count: number,
  fetched: FetchedRows,
): Promise<void> {
  if (count === 0) return;
  for (const { number } of await ask<{ number: number }>(sql, [count])) fetched.epochs.push(number);
}

async function fetchMade(
  ask: Query,
  sql: string,
  count: number,
  fetched: FetchedRows,
): Promise<void> {
  if (count === 0) return;
  for (const { number, incarnation } of await ask<{ number: number; incarnation: number }>(sql, [
    count,
  ])) {
    fetched.made.push(number);
    fetched.incarnation = incarnation;
  }
}

async function fetchProducers(
  ask: Query,
  sql: string,
  fetched: FetchedRows,
  requests: readonly RequestOf<'producer'>[],
): Promise<void> {
  if (requests.length === 0) return;
  const owners = withOwners(fetched, requests);
  const found = await ask<{ made: number; producer: string; state: string }>(
    sql,
    queryValues(owners),
  );
  const rows = new Map(found.map((row) => [`${row.made} ${row.producer}`, row]));
  for (const { owner, name } of owners) {
    const row = rows.get(`${owner.row.made} ${JSON.stringify(name)}`);
    owner.producers.set(name, row && (JSON.parse(row.state) as ProducerRow));
  }
}

async function fetchCommands(
  ask: Query,
  sql: string,
  fetched: FetchedRows,
  requests: readonly RequestOf<'command'>[],
): Promise<void> {
  if (requests.length === 0) return;
  const owners = withOwners(fetched, requests);
  type Found = { made: number; key: string; at_offset: number; is_consumed: boolean };
  const found = await ask<Found>(sql, queryValues(owners));
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
  ask: Query,
  sql: string,
  fetched: FetchedRows,
  { session, after }: RequestOf<'records'>,
): Promise<void> {
  const owner = fetched.sessions.get(session);
  if (owner === undefined) return;
  const { made, through } = owner.row;
  const ranges = await ask<ChunkRow>(sql, [made, after]);
  const reader = new ChunkReader(session, after);
  // Whole rows are decoded, because a change of a part of a row writes the whole row again.
  for (const chunk of ranges) reader.add(chunk, true);
  if (reader.end < through) throw reader.missing();
  const start = Math.min(after, (ranges[0]?.first ?? after + 1) - 1);
  keepRecords(owner, { after: start, records: reader.records, places: ranges });
}

async function fetchBlobs(
  ask: Query,
  sql: string,
  fetched: FetchedRows,
  { session }: RequestOf<'blobs'>,
): Promise<void> {
  const owner = fetched.sessions.get(session);
  if (owner === undefined) return;
  const rows = await ask<{ hash: string; count: number }>(sql, [owner.row.made]);
  owner.blobs = new Map(rows.map(({ hash, count }) => [hash, count]));
}

interface OwnedRequest {
  readonly owner: FetchedSession;
  readonly name: string;
}

function withOwners(
  fetched: FetchedRows,
  requests: readonly { readonly session: SessionId; readonly name: string }[],
): readonly OwnedRequest[] {
  return requests.flatMap(({ session, name }) => {
    const owner = fetched.sessions.get(session);
    return owner === undefined ? [] : [{ owner, name }];
  });
}

function queryValues(owners: readonly OwnedRequest[]): readonly unknown[] {
  return [
    owners.map(({ owner }) => owner.row.made),
    owners.map(({ name }) => JSON.stringify(name)),
  ];
}
