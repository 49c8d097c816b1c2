import {
  decodeRecord,
  encodeRecord,
  type ItemId,
  type JsonObject,
  type JsonValue,
  type LogRecord,
  type PartId,
} from '@millrace/core';
import { Choices } from '../../../core/src/testing/choices.ts';
import type { DiffCause } from '../diff/session-diff.ts';

/** Another run with the same content, up to a planted record. */
export interface PlantedLog {
  readonly records: readonly LogRecord[];
  /** The planted record in both logs. Undefined if nothing was planted. */
  readonly planted:
    | { readonly a: number; readonly b: number; readonly cause: DiffCause }
    | undefined;
}

interface Mutation {
  readonly cause: DiffCause;
  readonly change: (record: JsonObject) => JsonObject;
  /** The offset from which the record has an effect. A queued message has none before it is consumed. */
  readonly effectAt?: number;
}

/**
 * Returns a log with other ids, times and pieces than the given log. If `isPlanted` is true, one record
 * differs, and random later records differ too, like the consequences of the first one.
 */
export function plantDivergence(
  records: readonly LogRecord[],
  numbers: readonly number[],
  isPlanted: boolean,
): PlantedLog {
  const choices = new Choices(numbers);
  const mutations = mutationsOf(records);
  const offsets = [...mutations.keys()];
  const offset = isPlanted ? choices.oneOf(offsets) : undefined;
  const first = offset === undefined ? undefined : mutations.get(offset);
  const effectAt = first?.effectAt ?? offset ?? Number.POSITIVE_INFINITY;
  const plantedTurn = records.find((record) => record.offset === offset)?.turn;
  const changed = records.map((record) => {
    const mutation = mutations.get(record.offset);
    const isPlant = record.offset === offset;
    // A request with another number of tokens explains the answer to it, so it is not a consequence.
    const isEarlierCause = mutation?.cause === 'request' && record.turn === plantedTurn;
    const isLater = record.offset > effectAt && !isEarlierCause && choices.below(6) === 0;
    const json = JSON.parse(encodeRecord(record)) as JsonObject;
    const isChanged = mutation !== undefined && (isPlant || isLater);
    return { record: isChanged ? mutation.change(json) : json, isPlant };
  });
  const pieces = rechunked(changed, choices);
  const planted = pieces.findIndex(({ isPlant }) => isPlant) + 1;
  const renamed = pieces.map(({ record }, at) => ({
    ...(renameIds(record) as JsonObject),
    offset: at + 1,
    time: Number(record['time']) + 5000 + 3 * at,
    producer: `other ${String(record['producer'])}`,
  }));
  return {
    records: renamed.map((record) => decodeRecord(JSON.stringify(record))),
    planted:
      first === undefined || offset === undefined
        ? undefined
        : { a: offset, b: planted, cause: first.cause },
  };
}

/** Gives each response a number of input tokens that the provider counted. */
export function withCountedRequests(records: readonly LogRecord[]): readonly LogRecord[] {
  return records.map((record): LogRecord => {
    const { fact } = record;
    if (fact?.type !== 'response_finished') return record;
    const usage = { ...fact.usage, input: 100 * record.turn, estimated: false };
    return { ...record, delta: undefined, fact: { ...fact, usage } };
  });
}

/** Returns how each record can be changed so that the run differs from there on. */
function mutationsOf(records: readonly LogRecord[]): ReadonlyMap<number, Mutation> {
  const kinds = new Map<ItemId, string>();
  const items = new Map<PartId, ItemId>();
  const replaced = new Set<PartId>();
  const commands = new Map<string, number>();
  const consumed = new Map<number, number>();
  const brought = new Set<string>();
  for (const { fact, delta, offset } of records) {
    if (fact?.type === 'item_started') kinds.set(fact.itemId, fact.kind);
    if (fact?.type === 'command_queued') {
      commands.set(fact.key, offset);
      for (const id of idsOf(fact.command)) brought.add(id);
    }
    const queuedAt = fact?.type === 'command_consumed' ? commands.get(fact.key) : undefined;
    if (queuedAt !== undefined) consumed.set(queuedAt, offset);
    if (delta?.type === 'begin_part') items.set(delta.partId, delta.itemId);
    if (delta?.type === 'commit_part' && delta.part !== undefined) {
      if (items.has(delta.partId)) replaced.add(delta.partId);
      items.set(delta.partId, delta.itemId);
    }
  }
  const mutations = new Map<number, Mutation>();
  for (const { offset, delta, fact } of records) {
    const item = delta !== undefined && 'partId' in delta ? items.get(delta.partId) : undefined;
    const kind = item === undefined ? undefined : kinds.get(item);
    if (delta?.type === 'append_text' && kind === 'assistant' && !replaced.has(delta.partId))
      mutations.set(offset, { cause: 'answer', change: inDelta('chunk', otherText) });
    if (delta?.type === 'commit_part' && delta.part?.kind === 'tool_result')
      mutations.set(offset, { cause: 'tool_result', change: inPart });
    if (delta?.type === 'commit_part' && kind === 'user' && !brought.has(String(item)))
      mutations.set(offset, { cause: 'command', change: inPart });
    const effectAt = consumed.get(offset);
    if (fact?.type === 'command_queued' && fact.command['type'] === 'abort')
      if (effectAt !== undefined)
        mutations.set(offset, { cause: 'command', change: inCommand, effectAt });
    if (fact?.type === 'approval_answered')
      mutations.set(offset, { cause: 'command', change: inFact('reason', otherText) });
    if (fact?.type === 'approval_asked')
      mutations.set(offset, { cause: 'setting', change: inFact('rule', otherText) });
    if (fact?.type === 'response_started')
      mutations.set(offset, { cause: 'setting', change: inFact('model', otherText) });
    if (fact?.type === 'turn_finished')
      mutations.set(offset, {
        cause: 'setting',
        change: inFact('stop', () => ({ reason: 'limit' })),
      });
    if (fact?.type === 'tool_execution_finished')
      mutations.set(offset, { cause: 'tool_result', change: inFact('isError', (was) => !was) });
    if (fact?.type === 'retry_scheduled')
      mutations.set(offset, {
        cause: 'answer',
        change: inFact('error', () => ({ code: 'other', message: '' })),
      });
    if (fact?.type === 'response_finished')
      mutations.set(offset, {
        cause: 'request',
        change: inFact('usage', (usage) => ({ ...(usage as JsonObject), input: 7 })),
      });
  }
  return mutations;
}

function idsOf({ items }: JsonObject): readonly string[] {
  return Array.isArray(items) ? items.map((item) => String((item as JsonObject)['id'])) : [];
}

type Change = (was: JsonValue | undefined) => JsonValue;

const otherText: Change = (was) => `${String(was ?? '').slice(0, -1)}\u2260`;

function inFact(field: string, change: Change): Mutation['change'] {
  return (record) => {
    const fact = record['fact'] as JsonObject;
    return { ...record, fact: { ...fact, [field]: change(fact[field]) } };
  };
}

function inDelta(field: string, change: Change): Mutation['change'] {
  return (record) => {
    const delta = record['delta'] as JsonObject;
    return { ...record, delta: { ...delta, [field]: change(delta[field]) } };
  };
}

const inPart = inDelta('part', (part) => {
  const { text, ...rest } = part as JsonObject;
  return { ...rest, text: otherText(text) };
});

const inCommand = inFact('command', (command) => ({ ...(command as JsonObject), reason: 'other' }));

interface Line {
  readonly record: JsonObject;
  readonly isPlant: boolean;
}

/** Merges and splits appends, so that both logs have different records for the same text. */
function rechunked(lines: readonly Line[], choices: Choices): readonly Line[] {
  const result: Line[] = [];
  for (const line of lines) {
    const { record, isPlant } = line;
    const delta = record['delta'] as JsonObject | undefined;
    const last = result.at(-1);
    const before = last?.record['delta'] as JsonObject | undefined;
    if (delta?.['type'] !== 'append_text' || isPlant) {
      result.push(line);
      continue;
    }
    const chunk = String(delta['chunk']);
    const continues = before?.['type'] === 'append_text' && before['partId'] === delta['partId'];
    if (last !== undefined && continues && !last.isPlant && choices.below(3) === 0) {
      const merged = { ...before, chunk: String(before['chunk']) + chunk };
      result[result.length - 1] = { isPlant, record: { ...record, delta: merged } };
    } else if (chunk.length > 1 && choices.below(3) === 0) {
      const cut = 1 + choices.below(chunk.length - 1);
      const rest = { ...delta, at: Number(delta['at']) + cut, chunk: chunk.slice(cut) };
      result.push({
        isPlant,
        record: { ...record, delta: { ...delta, chunk: chunk.slice(0, cut) } },
      });
      result.push({ isPlant, record: { ...record, delta: rest } });
    } else result.push(line);
  }
  return result;
}

const idFields: ReadonlySet<string> = new Set([
  ...['itemId', 'toolCallId', 'executionId', 'runId', 'key', 'partId', 'id', 'replacedBy'],
]);

/** Gives all ids of a record other values. */
function renameIds(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(renameIds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      idFields.has(name) && typeof field === 'string' ? `${field}x` : renameIds(field),
    ]),
  );
}
