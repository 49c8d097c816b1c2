import type { JsonObject, JsonValue } from '@millrace/core';
import type { ExpectedCall } from './expected.ts';
import { fieldsOf, numberOf, parseArguments, parseLine, textOf } from './read-json.ts';

/** One entry of `delta.tool_calls` and the chunk that contained it. */
export interface CallPiece {
  readonly chunk: number;
  readonly entry: JsonObject;
}

interface CollectedCall {
  name: string;
  arguments: string;
  id: string;
  readonly ids: Set<string>;
  readonly index: number | undefined;
  readonly chunks: Set<number>;
}

/** Returns all calls, the chunks in which they start, and whether every call has a name. */
export function chatCalls(pieces: readonly CallPiece[]): {
  readonly calls: readonly ExpectedCall[];
  readonly starts: readonly number[];
  readonly isSound: boolean;
} {
  const collected: CollectedCall[] = [];
  for (const piece of pieces) add(collected, piece);
  const seen = new Set<string>();
  const calls = collected.map((call) => toCall(call, seen));
  const starts = collected.map(({ chunks }) => Math.min(...chunks));
  return { calls, starts, isSound: calls.every(({ name }) => name !== '') };
}

function add(calls: CollectedCall[], { chunk, entry }: CallPiece): void {
  const { name: rawName, arguments: given } = fieldsOf(entry['function']);
  const name = textOf(rawName);
  const id = textOf(entry['id']);
  const index = typeof entry['index'] === 'number' ? numberOf(entry['index']) : undefined;
  const known = resolve(calls, { chunk, id, index, name });
  const call = known ?? {
    name: '',
    arguments: '',
    id: '',
    ids: new Set(),
    index,
    chunks: new Set(),
  };
  if (known === undefined) calls.push(call);
  // A name may arrive in pieces, or several times as a whole.
  if (name !== call.name && call.arguments === '') call.name += name;
  else if (call.name === '') call.name = name;
  if (call.id === '') call.id = id;
  if (id !== '') call.ids.add(id);
  call.chunks.add(chunk);
  call.arguments += argumentText(given);
}

interface CallKey {
  readonly chunk: number;
  readonly id: string;
  readonly index: number | undefined;
  readonly name: string;
}

/** Finds the call that a piece continues. Returns undefined if the piece starts a new call. */
function resolve(calls: readonly CollectedCall[], key: CallKey): CollectedCall | undefined {
  const byId = key.id === '' ? undefined : calls.findLast(({ ids }) => ids.has(key.id));
  if (byId !== undefined) return isOtherName(byId, key) ? undefined : byId;
  const byIndex =
    key.index === undefined ? undefined : calls.findLast(({ index }) => index === key.index);
  if (byIndex !== undefined) {
    const isNewId = key.id !== '' && key.name !== '' && byIndex.id !== '';
    return isNewId || isOtherName(byIndex, key) ? undefined : byIndex;
  }
  if (key.index !== undefined) return undefined;
  const latest = calls.at(-1);
  if (key.name === '') return latest;
  // Without index and id, a piece continues only an unfinished call of the same name from an
  // earlier chunk.
  const isUnfinished = latest !== undefined && parseLine(latest.arguments) === undefined;
  const goesOn = isUnfinished && latest.name === key.name && !latest.chunks.has(key.chunk);
  return key.id === '' && goesOn ? latest : undefined;
}

function isOtherName(call: CollectedCall, { name }: CallKey): boolean {
  const hasBoth = name !== '' && call.name !== '';
  return hasBoth && name !== call.name && call.arguments !== '';
}

function argumentText(given: JsonValue | undefined): string {
  if (given === undefined || given === null) return '';
  return typeof given === 'string' ? given : JSON.stringify(given);
}

function toCall(collected: CollectedCall, seen: Set<string>): ExpectedCall {
  const text = withoutRepetition(collected.arguments).toWellFormed();
  const value = parseArguments(text);
  const isNew = collected.id !== '' && !seen.has(collected.id);
  seen.add(collected.id);
  return {
    name: collected.name,
    arguments: text,
    ...(value !== undefined && { value }),
    ...(isNew && { id: collected.id }),
    isWhole: value !== undefined,
  };
}

/**
 * Removes a leading `{}` that a proxy added, or a second copy of the arguments. The copy may be
 * encoded twice.
 */
function withoutRepetition(text: string): string {
  if (text === '' || parseLine(text) !== undefined) return text;
  if (text.startsWith('{}') && parseLine(text.slice(2)) !== undefined) return text.slice(2);
  for (let end = 1; end < text.length; end += 1) {
    const first = text.slice(0, end);
    const rest = text.slice(end);
    const isAgain = rest === first || rest === JSON.stringify(first);
    if (isAgain && parseLine(first) !== undefined) return first;
  }
  return text;
}
