import type { ToolCallId } from '@millrace/core';
import type { PartContent } from './content.ts';
import type { SessionDifference } from './session-diff.ts';
import type { HistoryItem, Step, TurnHistory } from './turn-history.ts';

/**
 * A turn as lists that are compared separately. Records of different lists arrive in a random order: two
 * tools run at the same time, or a model writes two calls at the same time.
 */
export interface TurnLanes {
  /** The items that are not from the model or from tools. */
  readonly inputs: readonly HistoryItem[];
  /** The parts of the answers, by attempt. */
  readonly answers: ReadonlyMap<number, readonly PartContent[]>;
  /** The calls in the order of the answer. */
  readonly calls: readonly CallLane[];
}

/** The history of one call. */
interface CallLane {
  /** The name of the tool. It is empty if the answer does not have the call. */
  readonly name: string;
  readonly steps: readonly Step[];
  /** True if a branch replaced the result, so that the call has no execution. */
  readonly isGiven: boolean;
  readonly results: readonly PartContent[];
}

interface LaneOptions {
  /** True if one of the two turns is settled. Only content that settling keeps is then compared. */
  readonly isSettled: boolean;
  /** True if an item of the turn is redacted. The content of the turn is then not compared. */
  readonly hasRedaction: boolean;
}

/** Divides a turn into lists. */
export function turnLanes(
  turn: TurnHistory | undefined,
  { isSettled, hasRedaction }: LaneOptions,
): TurnLanes {
  if (turn === undefined || hasRedaction) return { inputs: [], answers: new Map(), calls: [] };
  const isKept = ({ retracted, attempt }: PartContent) =>
    !isSettled || (retracted === undefined && !turn.superseded.has(attempt));
  const inputs: HistoryItem[] = [];
  const answers = new Map<number, PartContent[]>();
  const results = new Map<ToolCallId | undefined, PartContent[]>();
  for (const item of turn.items.values()) {
    const parts = item.parts.filter(isKept);
    if (item.kind === 'assistant')
      for (const part of parts) listOf(answers, part.attempt).push(part);
    else if (item.kind === 'tool')
      for (const part of parts) listOf(results, part.toolCallId).push(part);
    else inputs.push(item);
  }
  const names = new Map<ToolCallId, string>();
  for (const attempt of [...answers.keys()].sort((a, b) => a - b))
    for (const { toolCallId, head } of answers.get(attempt) ?? [])
      if (head['kind'] === 'tool_call' && toolCallId !== undefined && !names.has(toolCallId))
        names.set(toolCallId, String(head['name']));
  // Calls that no answer has are in the order of their first records.
  const firsts = [...turn.calls].map(([id, steps]) => ({ id, offset: steps[0]?.offset ?? 0 }));
  for (const [id, parts] of results)
    if (id !== undefined) firsts.push({ id, offset: parts[0]?.first.offset ?? 0 });
  for (const { id } of firsts.sort((a, b) => a.offset - b.offset))
    if (!names.has(id)) names.set(id, '');
  const calls = [...names].flatMap(([id, name]): CallLane | readonly CallLane[] => {
    const steps = turn.calls.get(id) ?? [];
    // The call of a superseded attempt is missing in a settled turn.
    const isGone = isSettled && steps.some(({ attempt }) => turn.superseded.has(attempt));
    const isGiven = turn.givenResults.has(id);
    return isGone ? [] : { name, steps, isGiven, results: results.get(id) ?? [] };
  });
  return { inputs, answers, calls };
}

function listOf<Key, T>(lists: Map<Key, T[]>, key: Key): T[] {
  const known = lists.get(key);
  if (known !== undefined) return known;
  const list: T[] = [];
  lists.set(key, list);
  return list;
}

type Ordered = Pick<SessionDifference, 'a' | 'b' | 'cause'>;

/**
 * Orders differences of one turn. A cause is before its consequences in each log that has both, so the
 * records of the same log are compared if possible.
 */
export function laneOrder(one: Ordered, other: Ordered): number {
  if (one.b && other.b && one.b.offset !== other.b.offset) return one.b.offset - other.b.offset;
  if (one.a && other.a) return one.a.offset - other.a.offset;
  if (one.b && other.b) return 0;
  // The two differences have no log in common, so their offsets cannot be compared. A command comes first,
  // because it is more likely the cause than a missing record.
  return Number(other.cause === 'command') - Number(one.cause === 'command');
}
