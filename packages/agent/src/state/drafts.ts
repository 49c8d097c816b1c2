import {
  type Attempt,
  attemptOf,
  DeltaWriter,
  type DraftRecord,
  type ErrorInfo,
  type FoldState,
  type Ids,
  type Item,
  type ItemId,
  isCut,
  type OpenPart,
  type PartId,
  type ResponseDetails,
  type RetractReason,
  type RunId,
  type Stop,
  type ToolCallPart,
  type TraceContext,
  type Usage,
  usedItemIds,
} from '@millrace/core';
import type { Decision, QueuedCommand } from '../contract/command.ts';

export function runStarted(runId: RunId, trace: TraceContext | undefined): DraftRecord {
  const fact = { type: 'run_started', runId, ...(trace && { trace }) } as const;
  return { turn: 0, attempt: 0, fact };
}

/** Returns the record that ends a response. */
export function responseFinished(
  { turn, attempt }: Attempt,
  itemId: ItemId,
  stop: Stop,
  usage: Usage,
  details?: ResponseDetails,
): DraftRecord {
  const reported = details === undefined ? {} : { details };
  return { turn, attempt, fact: { type: 'response_finished', itemId, stop, usage, ...reported } };
}

/** Returns the record for a decision on a call. */
export function approvalAnswered(
  { turn, attempt }: Attempt,
  { toolCallId, name }: Pick<ToolCallPart, 'toolCallId' | 'name'>,
  decision: Decision,
): DraftRecord {
  const by = decision.by === undefined ? {} : { by: decision.by };
  const about = { type: 'approval_answered', toolCallId, name, ...by } as const;
  if (decision.type === 'deny') {
    const reason = decision.reason === undefined ? {} : { reason: decision.reason };
    return { turn, attempt, fact: { ...about, decision: 'deny', ...reason } };
  }
  const input = decision.input === undefined ? {} : { input: decision.input };
  const basis = decision.basis === undefined ? {} : { basis: decision.basis };
  const until = decision.until === undefined ? {} : { until: decision.until };
  return { turn, attempt, fact: { ...about, decision: 'allow', ...input, ...basis, ...until } };
}

/** Returns the records for an abort. */
export function abortDrafts({ key, command }: QueuedCommand, turn: number): readonly DraftRecord[] {
  const at = { turn, attempt: 0 };
  const reason = command.type === 'abort' ? command.reason : undefined;
  const aborted = { type: 'aborted', ...(reason !== undefined && { reason }) } as const;
  return [
    { ...at, fact: { type: 'command_consumed', key } },
    { ...at, fact: aborted },
  ];
}

/**
 * Returns the record that removes a command from the queue. `error` is the reason if the command had no
 * effect.
 */
export function commandConsumed(key: string, error?: ErrorInfo): DraftRecord {
  const why = error === undefined ? {} : { error };
  return { turn: 0, attempt: 0, fact: { type: 'command_consumed', key, ...why } };
}

/** The minimum length of random ids. Random ids are never used twice. */
const randomIdLength = 16;

/**
 * Returns true if an older item that is not loaded may have the same id. A long id is assumed to be random
 * and therefore unique.
 */
export function mayBeUsedBefore(id: string, { items }: Pick<FoldState, 'items'>): boolean {
  return id.length < randomIdLength && isCut(items);
}

/** Returns the items. An item gets a new id if the session may already use its id. */
export function withFreshIds(items: readonly Item[], state: FoldState, ids: Ids): readonly Item[] {
  const used = new Set(usedItemIds(state, idsOf(items)));
  return items.map((item) => {
    const isUsed = used.has(item.id) || mayBeUsedBefore(item.id, state);
    const id = isUsed ? ids.item() : item.id;
    used.add(id);
    return id === item.id ? item : { ...item, id };
  });
}

/**
 * Returns the first item id that is already used, either in the session or by an earlier item of the list.
 */
export function findUsedId(items: readonly Item[], state: FoldState): ItemId | undefined {
  const used = new Set(usedItemIds(state, idsOf(items)));
  return items.find(({ id }) => used.has(id) || !used.add(id))?.id;
}

function idsOf(items: readonly Item[]): ReadonlySet<ItemId> {
  return new Set(items.map(({ id }) => id));
}

/** Returns the records for complete items that belong to no turn. */
export function itemDrafts(items: readonly Item[], ids: Pick<Ids, 'part'>): readonly DraftRecord[] {
  return items.flatMap((item) => draftsOf(item, ids));
}

function draftsOf(item: Item, ids: Pick<Ids, 'part'>): readonly DraftRecord[] {
  const { id: itemId, kind, author, metadata, stop, parts } = item;
  const at = { turn: 0, attempt: 0 };
  const writer = new DeltaWriter({ itemId, ...at, ids });
  for (const part of parts) writer.whole(part);
  const known = { ...(author && { author }), ...(metadata && { metadata }) };
  return [
    { ...at, fact: { type: 'item_started', itemId, kind, ...known } },
    ...writer.take().map((delta): DraftRecord => ({ ...at, delta })),
    { ...at, fact: { type: 'item_finished', itemId, ...(stop && { stop }) } },
  ];
}

/** The stop of a response that was interrupted because its process died. */
export const interruptedStop = { reason: 'aborted', cause: 'interrupted' } as const;

/**
 * Returns the records that close open parts. Text and reasoning are committed as partial parts. All other
 * parts are retracted.
 */
export function closeOpenParts({ open }: FoldState, why: RetractReason): readonly DraftRecord[] {
  return open.map((part) => closePart(part, why));
}

function closePart({ id, begin, text }: OpenPart, why: RetractReason): DraftRecord {
  if (begin.kind !== 'text' && begin.kind !== 'reasoning') return retractPart(id, why);
  const length = { length: text.length, partial: true } as const;
  return { ...attemptOf(id), delta: { type: 'commit_part', partId: id, ...length } };
}

/**
 * Returns the records that end the items of clients whose parts are still open. No later delta can then change
 * these items.
 */
export function closeClientItems({ open }: FoldState): readonly DraftRecord[] {
  const parts = open.filter(({ id }) => attemptOf(id).turn === 0);
  const owners = new Set(parts.map(({ begin }) => begin.itemId));
  return [
    ...parts.map((part) => closePart(part, 'interrupted')),
    ...[...owners].map((itemId): DraftRecord => {
      return { turn: 0, attempt: 0, fact: { type: 'item_finished', itemId } };
    }),
  ];
}

export function retractPart(partId: PartId, reason: RetractReason): DraftRecord {
  return { ...attemptOf(partId), delta: { type: 'retract_part', partId, reason } };
}

/** Returns the record that removes an answer that a guardrail changed, stopped or has not checked. */
export function answerRetracted({ turn, attempt }: Attempt): DraftRecord {
  return { turn, attempt, fact: { type: 'attempt_superseded', reason: 'guardrail' } };
}
