import type { ItemId, LogRecord, SessionId } from '@millrace/core';
import type { Log, SessionInfo } from '@millrace/log';
import { AgentError } from '../contract/agent-error.ts';

interface ForkOptions {
  readonly into: SessionId;
  /** The fork ends before this item. Default: the first answer to the last user input. */
  readonly item?: ItemId | undefined;
}

/** Forks a session before an item, or before the turn that contains the item. */
export async function forkBefore(
  log: Log,
  session: SessionId,
  { into, item }: ForkOptions,
): Promise<SessionInfo> {
  const records = await readRecords(log, session);
  const at = item === undefined ? lastAnswer(records) : startOf(records, item);
  if (at === undefined) throw noSuchItem(session, item);
  const through = records[cutBefore(records, at) - 1]?.offset ?? 0;
  return log.fork(session, { into, through });
}

function startOf(records: readonly LogRecord[], item: ItemId): number | undefined {
  const at = records.findIndex(({ fact }) => fact?.type === 'item_started' && fact.itemId === item);
  return at === -1 ? undefined : at;
}

function lastAnswer(records: readonly LogRecord[]): number | undefined {
  const isKind = ({ fact }: LogRecord, kind: string) =>
    fact?.type === 'item_started' && fact.kind === kind;
  const lastInput = records.findLastIndex((record) => isKind(record, 'user'));
  const at = records.findIndex((record, index) => index > lastInput && isKind(record, 'assistant'));
  return at === -1 ? undefined : at;
}

/** Returns the index of the first record that the fork does not copy. */
function cutBefore(records: readonly LogRecord[], start: number): number {
  const turn = records[start]?.turn ?? 0;
  if (turn > 0)
    return records.findIndex(({ fact, turn: of }) => of === turn && fact?.type === 'turn_started');
  // The fork also omits the records that introduced the item, which are the consumed command and the start of
  // its run.
  let at = start;
  while (isOpening(records[at - 1])) at--;
  return at;
}

function isOpening(record: LogRecord | undefined): boolean {
  const type = record?.fact?.type;
  return type === 'command_consumed' || type === 'run_started';
}

function noSuchItem(session: SessionId, item: ItemId | undefined): AgentError {
  const what = item === undefined ? 'an answer' : `item ${item}`;
  const message = `Cannot fork session ${session} before ${what}: there is no such item`;
  return new AgentError('no_such_item', message, { session, item });
}

/** Reads all records of a session, in order. */
export async function readRecords(log: Log, session: SessionId): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for (let from = 0; ; ) {
    const batch = await log.read(session, { from });
    for (const record of batch.records) records.push(record);
    if (batch.through <= from) return records;
    from = batch.through;
  }
}
