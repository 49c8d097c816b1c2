import type { ExecutionId, Fact, ItemId, LogRecord, PartId, SessionId } from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';
import { itemsOfParts, type RecordedAttempt, recordedAttempts } from './recorded-attempts.ts';
import {
  type RecordedDecision,
  type RecordedExecution,
  recordedDecisions,
  recordedExecutions,
  stoppedCalls,
} from './recorded-calls.ts';
import { type RecordedDrive, recordedDrives } from './recorded-drives.ts';

/** The records of a session, and those values in the records that came from outside the loop. */
export interface Recording {
  readonly session: SessionId;
  readonly records: readonly LogRecord[];
  readonly drives: readonly RecordedDrive[];
  /** The recorded attempts. The key of each is `turn.attempt`. */
  readonly attempts: ReadonlyMap<string, RecordedAttempt>;
  readonly executions: ReadonlyMap<ExecutionId, RecordedExecution>;
  /** The keys of the calls that were stopped before the loop decided about them. */
  readonly stoppedCalls: ReadonlySet<string>;
  /** The decisions of the policy, by call key. */
  readonly decisions: ReadonlyMap<string, readonly RecordedDecision[]>;
  /** The requests of each driver and its retries, in order. The key is the driver's name. */
  readonly requests: ReadonlyMap<string, readonly RecordedRequest[]>;
  /** Returns true if the part came from a provider, or the item from a user. */
  readonly isExternal: (id: PartId | ItemId) => boolean;
}

/** A request that started, or a retry that was scheduled. */
interface RecordedRequest {
  readonly fact: Extract<Fact, { readonly type: 'response_started' | 'retry_scheduled' }>;
  readonly turn: number;
  /** The name of the agent that sent the request. */
  readonly agent: string;
}

/** Reads a recording. `root` is the name of the agent whose session it is. */
export function createRecording(
  session: SessionId,
  records: readonly LogRecord[],
  root: string,
): Recording {
  assertComplete(session, records);
  const items = itemsOfParts(records);
  const attempts = recordedAttempts(records, items);
  const drives = recordedDrives(records);
  const answers = new Set([...attempts.values()].map(({ itemId }) => itemId));
  const inputs = drives.flatMap((drive) => drive.input.map(({ id }) => id));
  const external = new Set<PartId | ItemId>([...inputs, ...commandItems(records)]);
  for (const [part, item] of items) if (answers.has(item)) external.add(part);
  return {
    session,
    records,
    drives,
    attempts,
    executions: recordedExecutions(records),
    decisions: recordedDecisions(records),
    stoppedCalls: stoppedCalls(records),
    requests: recordedRequests(records, root),
    isExternal: (id) => external.has(id),
  };
}

/** Finds the requests of all drivers in one pass. A hand-off applies from the end of its turn on. */
function recordedRequests(
  records: readonly LogRecord[],
  root: string,
): ReadonlyMap<string, readonly RecordedRequest[]> {
  const requests = new Map<string, RecordedRequest[]>();
  let [agent, next] = [root, root];
  for (const { fact, producer, turn } of records) {
    if (fact?.type === 'handed_off' && next === agent) next = fact.to;
    if (fact?.type === 'turn_finished') agent = next;
    if (fact?.type !== 'response_started' && fact?.type !== 'retry_scheduled') continue;
    const known = requests.get(producer) ?? [];
    known.push({ fact, turn, agent });
    requests.set(producer, known);
  }
  return requests;
}

function commandItems(records: readonly LogRecord[]): readonly ItemId[] {
  return records.flatMap(({ fact }) => {
    const { items } = fact?.type === 'command_queued' ? fact.command : {};
    return Array.isArray(items) ? items.map((item) => (item as { readonly id: ItemId }).id) : [];
  });
}

/** Throws `not_replayable` if the session was settled or redacted, because these operations remove deltas. */
function assertComplete(session: SessionId, records: readonly LogRecord[]): void {
  const gone = records.find(
    ({ fact }) => fact?.type === 'snapshot' || fact?.type === 'item_redacted',
  );
  if (gone === undefined) return;
  const { offset, fact } = gone;
  const message = `Cannot replay session ${session}: it was settled or redacted (${fact?.type} at offset ${offset})`;
  throw new AgentError('not_replayable', message, { session, offset });
}
