import {
  type DraftRecord,
  type FoldState,
  type LogRecord,
  type RunId,
  runId,
  type SessionId,
  toArray,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { loadRecentState } from '../../journal/local-journal.ts';
import { PastStates } from '../../stream/past-states.ts';
import { messageKey } from '../loops/loop-commands.ts';

// A message to a sync agent is not a command, because its answer starts at once. Its idempotency key is still
// stored as a command, which is consumed in the same transaction. The log has an index of its commands, so a
// key is found without reading the session.

/** The message that was sent with a key. */
export interface KeyedMessage {
  /** The run that answers the message. */
  readonly run: RunId;
  /** The offset before the records of the message. */
  readonly after: number;
  /** A state from before the message. It may omit items of earlier runs. */
  readonly before: FoldState;
}

/** Returns the drafts that store the key of a message and the run that answers it. */
export function keyDrafts(key: string, run: RunId): readonly DraftRecord[] {
  const [at, name] = [{ turn: 0, attempt: 0 }, messageKey(key)];
  const command = { type: 'answered', run };
  return [
    { ...at, fact: { type: 'command_queued', key: name, command } },
    { ...at, fact: { type: 'command_consumed', key: name } },
  ];
}

/** Finds the message that a sync agent received with this key. The cost does not depend on the session. */
export async function findKeyedRun(
  log: Log,
  session: SessionId,
  key: string,
): Promise<KeyedMessage | undefined> {
  const info = await log.info(session);
  if (info === undefined) return undefined;
  const found = await log.findCommand(session, messageKey(key));
  const run =
    found === undefined
      ? await findRecentRun(log, session, key)
      : runOf(await recordAt(log, session, found.offset));
  if (run === undefined) return undefined;
  const { incarnation } = info;
  // The answer needs no items of earlier runs, so the log is not read from its start.
  const after = found === undefined ? 0 : found.offset - 1;
  const before = await new PastStates({ log, session, incarnation }).before(after);
  return { run, after, before };
}

async function recordAt(
  log: Log,
  session: SessionId,
  offset: number,
): Promise<LogRecord | undefined> {
  const { records } = await log.read(session, { from: offset - 1, maxBytes: 1 });
  return records.find((record) => record.offset === offset);
}

function runOf(record: LogRecord | undefined): RunId | undefined {
  const { fact } = record ?? {};
  const run = fact?.type === 'command_queued' ? fact.command['run'] : undefined;
  return typeof run === 'string' ? runId(run) : undefined;
}

/**
 * Finds the run in the metadata of the newest items. Earlier versions stored the key of a message only there.
 */
async function findRecentRun(
  log: Log,
  session: SessionId,
  key: string,
): Promise<RunId | undefined> {
  const { items } = (await loadRecentState(log, session)).state;
  const item = toArray(items).find(({ metadata }) => metadata?.['key'] === key);
  const run = item?.metadata?.['run'];
  return typeof run === 'string' ? runId(run) : undefined;
}
