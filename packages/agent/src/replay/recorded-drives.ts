import {
  Folder,
  findItem,
  type Item,
  type ItemId,
  type LogRecord,
  type SessionId,
  sessionId,
  type TraceContext,
  toItem,
} from '@millrace/core';
import { loopMetadata } from '../run/output.ts';

/**
 * A drive: the part of a recording that one driver wrote. A driver is a process that runs the session. The part
 * has one or more runs. If the driver's process died, the last run is incomplete.
 */
export interface RecordedDrive {
  readonly producer: string;
  /**
   * The index of the driver's first record. `ownEnd` is the index after its own last record. `end` is the
   * index of the next driver's first record.
   */
  readonly first: number;
  readonly ownEnd: number;
  readonly end: number;
  /** The input of the driver's first run, in its original form before any redaction. */
  readonly input: readonly Item[];
  /** The trace of the driver's first run. */
  readonly trace: TraceContext | undefined;
  /** The decision of the driver about an answer that the previous driver left incomplete. */
  readonly onInterrupted: 'keep' | 'retry';
  readonly whileAsking: 'wait' | 'park';
  /**
   * The session whose sub-agents the driver continued. In a copy of a session, it can be the original. Undefined
   * if it is the session of the recording, or if the records do not name it.
   */
  readonly owner: SessionId | undefined;
}

function isDriver(producer: string): boolean {
  return producer.startsWith('driver ');
}

export function recordedDrives(records: readonly LogRecord[]): readonly RecordedDrive[] {
  let last = '';
  const starts = records.flatMap(({ producer }, at) => {
    if (!isDriver(producer) || producer === last) return [];
    last = producer;
    return [at];
  });
  const lastOf = new Map(records.map(({ producer }, at) => [producer, at]));
  const items = inputItemsIn(records);
  const messages = messageKeys(records);
  // The parent of the last sub-agent that an earlier driver started.
  let parent: SessionId | undefined;
  return starts.map((first, index) => {
    const end = starts[index + 1] ?? records.length;
    const producer = records[first]?.producer ?? '';
    const own = records.slice(first, end).filter((record) => record.producer === producer);
    const input = inputIds(own, messages).flatMap((id) => items.get(id) ?? []);
    const owner = ownerIn(own, parent);
    parent = own.reduce((last, record) => parentIn(record) ?? last, parent);
    const ownEnd = 1 + (lastOf.get(producer) ?? -1);
    return { producer, first, ownEnd, end, input, trace: traceIn(own), owner, ...policiesIn(own) };
  });
}

/**
 * Returns the session that the sub-agents of a driver belong to. Without a sub-agent of its own, the driver continued
 * the last one, or it marked the executions of other sessions as lost.
 */
function ownerIn(own: readonly LogRecord[], before: SessionId | undefined): SessionId | undefined {
  for (const record of own) {
    const parent = parentIn(record);
    if (parent !== undefined) return parent;
  }
  const isEnding = own.some(({ fact }) => fact?.type === 'tool_execution_finished');
  return isEnding ? undefined : before;
}

function parentIn({ fact }: LogRecord): SessionId | undefined {
  return fact?.type === 'tool_execution_started' ? fact.parent : undefined;
}

function traceIn(own: readonly LogRecord[]): TraceContext | undefined {
  for (const { fact } of own) if (fact?.type === 'run_started') return fact.trace;
  return undefined;
}

function policiesIn(
  own: readonly LogRecord[],
): Pick<RecordedDrive, 'onInterrupted' | 'whileAsking'> {
  const isRetry = own.some(
    ({ fact }) => fact?.type === 'attempt_superseded' && fact.reason === 'interrupted',
  );
  const isParked = own.some(
    ({ fact }) => fact?.type === 'run_finished' && fact.stop.reason === 'parked',
  );
  return {
    onInterrupted: isRetry ? 'retry' : 'keep',
    whileAsking: isParked ? 'park' : 'wait',
  };
}

/** Returns the items that arrived complete, in their original form. Later records may have redacted them. */
function inputItemsIn(records: readonly LogRecord[]): ReadonlyMap<string, Item> {
  const items = new Map<string, Item>();
  const folder = new Folder(sessionId('recording'));
  let after = 0;
  for (const record of records) {
    folder.addBatch({ after, through: record.offset, records: [record] });
    after = record.offset;
    const itemId = record.turn === 0 ? itemOf(record) : undefined;
    const state = itemId && findItem(folder.state, itemId);
    if (state) items.set(state.id, toItem(state));
  }
  return items;
}

/** Returns the item that a record belongs to. */
function itemOf({ fact, delta }: LogRecord): ItemId | undefined {
  if (fact?.type === 'item_started' || fact?.type === 'item_finished') return fact.itemId;
  return delta !== undefined && 'itemId' in delta ? delta.itemId : undefined;
}

/** Returns the keys of `message` commands. */
function messageKeys(records: readonly LogRecord[]): ReadonlySet<string> {
  const keys = records.flatMap(({ fact }) =>
    fact?.type === 'command_queued' && fact.command['type'] === 'message' ? fact.key : [],
  );
  return new Set(keys);
}

/**
 * Returns the ids of the run's input items. These items start before the run's first turn. Items that come
 * from `message` commands or from the loop are not input items.
 */
function inputIds(own: readonly LogRecord[], messages: ReadonlySet<string>): readonly string[] {
  const runStart = own.findIndex(({ fact }) => fact?.type === 'run_started');
  const ids: string[] = [];
  for (const { fact, turn } of own.slice(Math.max(0, runStart))) {
    if (fact?.type === 'turn_started' || fact?.type === 'run_finished') return ids;
    if (fact?.type === 'command_consumed' && messages.has(fact.key)) return ids;
    if (fact?.type !== 'item_started' || turn !== 0) continue;
    if (fact.metadata?.['by'] !== loopMetadata.by) ids.push(fact.itemId);
  }
  return ids;
}
