import {
  type BeginPart,
  type DraftRecord,
  emptyState,
  type Fact,
  findItem,
  foldBatch,
  type ItemId,
  type JsonObject,
  type JsonValue,
  type LogRecord,
  type Part,
  type PartId,
  type SessionId,
  type Snapshot,
  type ToolCallId,
} from '@millrace/core';
import { provideChain } from '../chain/load-chain.ts';
import { rewriteChain } from '../chain/rewrite-chain.ts';
import { createChainCode } from '../chain/seal.ts';
import { LogError } from '../contract/log-error.ts';
import { addRecords } from '../engine/append-records.ts';
import { assertReason } from '../engine/check-rare-options.ts';
import { type LogContext, requireSession } from '../engine/log-context.ts';
import { readableDrafts } from '../engine/readable-draft.ts';
import type { ChainHead, SessionRow } from '../storage/rows.ts';

/** Removes the content of an item from all records of a session, in one transaction. */
export async function redact(
  context: LogContext,
  session: SessionId,
  item: ItemId,
  reason?: string,
): Promise<void> {
  assertReason(reason, session);
  const redacted = (itemId: ItemId): DraftRecord => {
    const why = reason === undefined ? {} : { reason };
    return { turn: 0, attempt: 0, fact: { type: 'item_redacted', itemId, ...why } };
  };
  // Throws if readers could not decode the reason. This check must run before any change.
  readableDrafts([redacted(item)], session);
  await context.commits.run(
    (tx) => {
      const row = requireSession(tx, session);
      const records = context.recordsOf(tx, row);
      const standing = itemStatus(session, records, item);
      if (standing === 'unknown') throw unknownItem(session, item);
      if (standing === 'open') throw unfinishedItem(session, item);
      const blobs = tx.blobsOf(session);
      const all = [item, ...replacementsOf(records, item)];
      const drafts = readableDrafts(all.map(redacted), session);
      const left = all.reduce<readonly LogRecord[]>(withoutItemContent, records);
      const { records: kept, chain } = chainedRewrite(row, records, left, item);
      tx.replace(session, 1, row.through, kept);
      // Readers have already removed the items of a superseded attempt, so they could not fold a fact about
      // such an item.
      const redactionFacts = standing === 'superseded' ? [] : drafts;
      const rewritten = { ...row, rewrites: row.rewrites + 1, ...(chain && { chain }) };
      const added = addRecords(tx, rewritten, redactionFacts, 'store', context.clock.now());
      // Deletes the stored snapshots of the session, because they may contain the item.
      tx.putSnapshotParts?.(session, 0, []);
      tx.deleteUnusedBlobs(blobs);
      return added.row;
    },
    { onCommitted: (row) => context.feeds.redacted(row) },
  );
}

/** Adds a link for the redaction, if the session has a chain. */
function chainedRewrite(
  { chain }: SessionRow,
  records: readonly LogRecord[],
  left: readonly LogRecord[],
  item: ItemId,
): { readonly records: readonly LogRecord[]; readonly chain?: ChainHead } {
  if (chain === undefined) return { records: left };
  provideChain(createChainCode());
  const sealed = rewriteChain(chain, records, left, `redact ${encodeURIComponent(item)}`);
  return { ...sealed, chain: { ...sealed.chain, isWide: true } };
}

function unknownItem(session: SessionId, item: ItemId): LogError {
  const message = `Cannot redact item ${item} of session ${session}: the item does not exist`;
  return new LogError('bad_option', message, { session, item });
}

function unfinishedItem(session: SessionId, item: ItemId): LogError {
  const message = `Cannot redact item ${item} of session ${session}: the item or its turn is not finished. Stop the run first`;
  return new LogError('bad_records', message, { session, item });
}

/** Returns the items that requests contain instead of this item, because a guardrail replaced it. */
function replacementsOf(records: readonly LogRecord[], item: ItemId): readonly ItemId[] {
  return records.flatMap(({ fact }) =>
    fact?.type === 'guardrail_applied' && fact.itemId === item ? (fact.replacedBy ?? []) : [],
  );
}

/** Removes the item's deltas, its entries in snapshots, and the copies of its content in facts. */
function withoutItemContent(records: readonly LogRecord[], item: ItemId): readonly LogRecord[] {
  const parts = new Set(records.flatMap((record) => partsOf(record, item)));
  const calls = new Set(records.flatMap((record) => callsOf(record, item)));
  // Also includes questions of sub-agents that these calls started, and questions of guardrails about the
  // item.
  for (const { fact } of records)
    if (fact?.type === 'approval_asked' && fact.from)
      if (calls.has(fact.from.toolCallId) || fact.from.itemId === item) calls.add(fact.toolCallId);
  return records.flatMap((record): LogRecord | readonly LogRecord[] => {
    const { delta, fact } = record;
    if (delta !== undefined)
      return delta.type !== 'unknown' && parts.has(delta.partId) ? [] : record;
    const left =
      fact.type === 'snapshot' ? withoutItemInSnapshot(fact, item) : redactFact(fact, item, calls);
    return left === fact ? record : { ...record, fact: left };
  });
}

/**
 * Returns the status of an item. An item is `open` until it and its turn are finished, because its attempt
 * may still be superseded. An item is `superseded` if its attempt was superseded.
 */
function itemStatus(
  session: SessionId,
  records: readonly LogRecord[],
  item: ItemId,
): 'unknown' | 'open' | 'finished' | 'superseded' {
  const start = records.find(({ fact }) => fact?.type === 'item_started' && fact.itemId === item);
  if (start === undefined) return 'unknown';
  const { turn } = start;
  const isTurnOver =
    turn === 0 ||
    records.some((record) => record.fact?.type === 'turn_finished' && record.turn === turn);
  if (!isTurnOver) return 'open';
  const batch = { after: 0, through: records.at(-1)?.offset ?? 0, records };
  const found = findItem(foldBatch(emptyState(session), batch).state, item);
  if (found === undefined) return 'superseded';
  return found.finished === undefined ? 'open' : 'finished';
}

/** Returns the ids of the item's parts that a record contains, in a delta or in a snapshot. */
function partsOf({ delta, fact }: LogRecord, item: ItemId): readonly PartId[] {
  if (fact?.type === 'snapshot')
    return fact.items.flatMap(({ itemId, parts }) =>
      itemId === item ? parts.map(({ partId }) => partId) : [],
    );
  const names =
    delta?.type === 'begin_part' || (delta?.type === 'commit_part' && delta.part !== undefined);
  return names && delta.itemId === item ? [delta.partId] : [];
}

/** Returns the ids of the tool calls in this record that the item made or answered. */
function callsOf({ delta, fact }: LogRecord, item: ItemId): readonly ToolCallId[] {
  if (fact?.type === 'snapshot')
    return fact.items.flatMap(({ itemId, parts }) =>
      itemId === item ? parts.flatMap(({ part }) => callOf(part)) : [],
    );
  if (delta?.type === 'begin_part' && delta.itemId === item) return callOf(delta);
  const isOwn = delta?.type === 'commit_part' && delta.part !== undefined && delta.itemId === item;
  return isOwn ? callOf(delta.part) : [];
}

function callOf(part: Part | BeginPart): readonly ToolCallId[] {
  return part.kind === 'tool_call' || part.kind === 'tool_result' ? [part.toolCallId] : [];
}

function withoutItemInSnapshot(snapshot: Snapshot, item: ItemId): Snapshot {
  return { ...snapshot, items: snapshot.items.filter(({ itemId }) => itemId !== item) };
}

/**
 * Removes the copies of a redacted item's content from a fact. A copy can be a text about its tool calls, a
 * summary that includes the item, or the command that created the item. The fact itself stays.
 */
export function redactFact(fact: Fact, item: ItemId, calls: ReadonlySet<ToolCallId>): Fact {
  switch (fact.type) {
    case 'tool_call_rejected':
      return calls.has(fact.toolCallId) ? { ...fact, message: '' } : fact;
    case 'tool_execution_started':
      return calls.has(fact.toolCallId) ? { ...fact, summary: '' } : fact;
    case 'file_changed':
      return calls.has(fact.toolCallId) ? withoutFile(fact) : fact;
    case 'approval_asked':
    case 'approval_answered':
      return calls.has(fact.toolCallId) ? withoutApprovalReason(fact) : fact;
    case 'tool_output_asked':
      return calls.has(fact.toolCallId) ? withoutInput(fact) : fact;
    case 'compacted':
      return fact.itemIds.includes(item) ? withoutSummary(fact) : fact;
    case 'response_finished':
      return fact.itemId === item && fact.details !== undefined ? withoutOther(fact) : fact;
    case 'command_queued':
      return { ...fact, command: redactCommand(fact.command, item, calls) };
    case 'guardrail_applied':
      return fact.itemId === item || (fact.toolCallId && calls.has(fact.toolCallId))
        ? withoutVerdictContent(fact)
        : fact;
    default:
      return fact;
  }
}

type Finished = Extract<Fact, { type: 'response_finished' }>;

/** Removes the fields that come from the provider, because they can repeat text of the model. */
function withoutOther({ details, ...fact }: Finished): Fact {
  const { other: _own, stopSequence: _matched, ...rest } = details ?? {};
  return { ...fact, details: rest };
}

type Approval = Extract<Fact, { type: 'approval_asked' | 'approval_answered' }>;

function withoutApprovalReason(fact: Approval): Fact {
  if (fact.type === 'approval_asked') {
    const { reason: _said, rule: _about, judged: _path, from, ...rest } = fact;
    if (from === undefined) return rest;
    const { form: _shown, ...asking } = from;
    return { ...rest, from: { ...asking, input: null } };
  }
  const { reason: _said, input: _changed, basis: _state, ...rest } = fact;
  return rest;
}

/**
 * Removes the content of an item from a command. A command that created the item keeps only its type and the
 * item id. A command with the output of one of the calls keeps only its type and the call id. A command with
 * several items loses this item.
 */
function redactCommand(command: JsonObject, item: ItemId, calls: ReadonlySet<string>): JsonObject {
  if (command['itemId'] === item) return bareCommand(command);
  const { toolCallId } = command;
  if (command['type'] === 'tool_output' && typeof toolCallId === 'string' && calls.has(toolCallId))
    return { type: 'tool_output', toolCallId };
  const { items } = command;
  if (!Array.isArray(items)) return command;
  const isOther = (one: JsonValue) => (one as { readonly id?: JsonValue } | null)?.id !== item;
  return items.every(isOther) ? command : { ...command, items: items.filter(isOther) };
}

/** Removes the path and the references to the stored file contents. The store then deletes these contents. */
function withoutFile(fact: Extract<Fact, { type: 'file_changed' }>): Fact {
  const { before, after } = fact;
  return {
    ...{ ...fact, path: '' },
    ...(before && { before: { ...before, isStored: false } }),
    ...(after && { after: { ...after, isStored: false } }),
  };
}

function withoutInput({ input: _, ...fact }: Extract<Fact, { type: 'tool_output_asked' }>): Fact {
  return fact;
}

type Verdict = Extract<Fact, { type: 'guardrail_applied' }>;

function withoutVerdictContent({ reason: _said, input: _changed, ...fact }: Verdict): Fact {
  return fact;
}

/** Keeps only the command's type and item id. */
function bareCommand({ type, itemId }: JsonObject): JsonObject {
  return { ...(type === undefined ? {} : { type }), ...(itemId === undefined ? {} : { itemId }) };
}

function withoutSummary(fact: Extract<Fact, { type: 'compacted' }>): Fact {
  const { summary: _removed, ...rest } = fact;
  return rest;
}
