import {
  type ExecutionId,
  executionId,
  type Ids,
  type ItemId,
  itemId,
  type LogRecord,
  type PartId,
  type RunId,
  randomIds,
} from '@millrace/core';
import { callKey, type RecordedExecution } from './recorded-calls.ts';
import type { RecordedDrive } from './recorded-drives.ts';

/** The records and functions from which the replay reads the ids of one drive. */
interface IdSource {
  readonly records: readonly LogRecord[];
  readonly drive: RecordedDrive;
  readonly executions: ReadonlyMap<ExecutionId, RecordedExecution>;
  /** Returns true for parts that a provider created, and for items that came from outside the loop. */
  readonly isExternal: (id: PartId | ItemId) => boolean;
  /** Returns the turn that is being replayed. */
  readonly turn: () => number;
}

/**
 * Returns a generator of the ids that a drive created, in order. If a replay needs more ids than the
 * recording has, it has already diverged.
 */
export function recordedIds({ records, drive, executions, isExternal, turn }: IdSource): Ids {
  const own = records
    .slice(drive.first, drive.end)
    .filter((one) => one.producer === drive.producer);
  const runs: RunId[] = [];
  const items: ItemId[] = [];
  const parts = new Map<string, PartId[]>();
  const calls = new Map<string, ExecutionId[]>();
  const seen = new Set<PartId>();
  for (const { fact, delta, turn: of, attempt } of own) {
    if (fact?.type === 'run_started') runs.push(fact.runId);
    if (fact?.type === 'item_started' && !isExternal(fact.itemId)) items.push(fact.itemId);
    if (fact?.type === 'tool_execution_started')
      listFor(calls, callKey(of, fact.toolCallId)).push(fact.executionId);
    const id = delta && partBegunBy(delta);
    if (id === undefined || isExternal(id) || seen.has(id)) continue;
    seen.add(id);
    listFor(parts, `${of}.${attempt}`).push(id);
  }
  const spare = randomIds((bytes) => bytes.fill(0));
  let last: ExecutionId | undefined;
  return {
    ...spare,
    run: () => runs.shift() ?? spare.run(),
    item: () => items.shift() ?? itemId('not recorded'),
    part: (of, attempt) => parts.get(`${of}.${attempt}`)?.shift() ?? spare.part(of, attempt),
    execution(call) {
      last = calls.get(callKey(turn(), call ?? ''))?.shift() ?? executionId('not recorded');
      return last;
    },
    session: () => (last && executions.get(last)?.child) ?? spare.session(),
  };
}

function partBegunBy(delta: NonNullable<LogRecord['delta']>): PartId | undefined {
  if (delta.type === 'begin_part') return delta.partId;
  return delta.type === 'commit_part' && delta.part !== undefined ? delta.partId : undefined;
}

function listFor<T>(lists: Map<string, T[]>, key: string): T[] {
  const known = lists.get(key);
  if (known !== undefined) return known;
  const list: T[] = [];
  lists.set(key, list);
  return list;
}
