import {
  type FoldState,
  type Item,
  type ItemState,
  type JsonValue,
  type Part,
  type Source,
  toArray,
} from '@millrace/core';
import type { BlobStore } from '@millrace/log';
import { isForModel } from '../calls/clipped-result.ts';
import { type Compacted, getLayered, type LoopState, summaryId } from '../contract/loop-state.ts';
import { joinText } from '../views/run-views.ts';
import { clipItem } from './clip-item.ts';

/**
 * Returns the context items of a request. They are the transcript after the changes of guardrails and
 * compactions.
 */
export function changedContext(
  transcript: readonly Item[],
  { inputs, compacted }: Pick<LoopState, 'inputs' | 'compacted'>,
): readonly Item[] {
  const summary = summaryText(transcript, { inputs, compacted });
  return applyCompaction(guardedItems(transcript, inputs), { ...compacted, summary });
}

/** Returns the summary after the changes of the guardrails of an agent that took over. */
function summaryText(
  transcript: readonly Item[],
  { inputs, compacted }: Pick<LoopState, 'inputs' | 'compacted'>,
): string | undefined {
  if (compacted.summary === undefined || inputs.withheld.has(summaryId)) return undefined;
  const replacement = getLayered(inputs.replaced, summaryId);
  if (replacement === undefined) return compacted.summary;
  const parts = transcript.find(({ id }) => id === replacement)?.parts ?? [];
  return joinText(parts);
}

/**
 * Returns the context items in the form that the provider gets. Blobs are replaced by their bytes, and each
 * result whose call ran with changed arguments gets a note.
 */
export function sentItems(items: readonly Item[], blobs: BlobStore): Promise<readonly Item[]> {
  return Promise.all(items.map((item) => withBytes(withChangedInputs(item), blobs)));
}

/**
 * Returns the items after the changes of the guardrails. Changed inputs are replaced. An input is removed if
 * a guardrail stopped the run because of it.
 */
function guardedItems(
  items: readonly Item[],
  { replaced, withheld }: Pick<LoopState['inputs'], 'replaced' | 'withheld'>,
): readonly Item[] {
  if (!items.some((item) => isReplacement(item) || withheld.has(item.id))) return items;
  const changes = new Map(items.filter(isReplacement).map((item) => [item.id, item]));
  return items.flatMap((item) => {
    if (isReplacement(item) || withheld.has(item.id)) return [];
    const change = changes.get(getLayered(replaced, item.id) ?? item.id);
    if (change === undefined || item.redacted) return item;
    const texts = resultTexts(change);
    if (texts !== undefined) return withResultTexts(item, texts);
    const changed = { ...item, parts: change.parts };
    return change.metadata?.['keepsOptions'] === true ? changed : withoutOptions(changed);
  });
}

/**
 * Returns the new texts of changed tool results, by the ids of their calls. Returns undefined if the
 * replacement is not about results. A replacement has texts and no results, because each call has exactly one
 * result on the log.
 */
export function resultTexts({ parts, metadata }: Item): ReadonlyMap<string, string> | undefined {
  const ids = metadata?.['results'];
  if (!Array.isArray(ids)) return undefined;
  return new Map(parts.map((part, at) => [String(ids[at]), part.kind === 'text' ? part.text : '']));
}

/** Replaces the content of tool results by these texts. The note about changed arguments is removed too. */
export function withResultTexts(item: Item, texts: ReadonlyMap<string, string>): Item {
  const parts = item.parts.map((part) => {
    const text = part.kind === 'tool_result' ? texts.get(part.toolCallId) : undefined;
    if (part.kind !== 'tool_result' || text === undefined) return part;
    const { value: _value, attachments: _files, ...result } = part;
    const { changedInput: _input, changedBy: _guardrail, ...metadata } = part.metadata ?? {};
    return { ...result, text, metadata };
  });
  return { ...item, parts };
}

/** Removes the options of a caller, because a guardrail changed an input that contains them. */
export function withoutOptions(item: Item): Item {
  if (item.metadata?.['caller'] === undefined) return item;
  const { caller: _options, ...metadata } = item.metadata;
  return { ...item, metadata };
}

/**
 * Changes each item that a client wrote to the form that an input guardrail reads. The guardrail reads neighbouring
 * texts as one text, so the model must not read them separately. The guardrail does not read the data for a
 * provider, which can contain texts, so the model does not get it.
 */
export function asChecked(items: readonly Item[], state: FoldState): readonly Item[] {
  const written = toArray(state.items).filter(({ turn }) => turn === 0);
  const ofClients = new Set(written.map(({ id }) => id));
  return items.map((item) =>
    ofClients.has(item.id)
      ? { ...item, parts: item.parts.map(withoutState).reduce(addJoined, []) }
      : item,
  );
}

function withoutState<P extends Part>(part: P): P {
  const { providerState: _data, ...rest } = part;
  if (part.kind !== 'tool_result' || part.attachments === undefined) return rest as P;
  return { ...rest, attachments: part.attachments.map(withoutState) } as unknown as P;
}

function addJoined(parts: Part[], part: Part): Part[] {
  const last = parts.at(-1);
  if (last?.kind === 'text' && part.kind === 'text')
    parts.splice(-1, 1, { kind: 'text', text: last.text + part.text });
  else parts.push(part);
  return parts;
}

/** Returns true for an item that only contains the new content of a changed item. */
export function isReplacement({
  kind,
  metadata,
}: Pick<Item, 'kind'> & { readonly metadata?: ItemState['metadata'] }): boolean {
  return kind === 'context' && metadata?.['guardrail'] === true;
}

/**
 * Returns the items that the summary does not cover, plus the summary. Items that are too long are clipped.
 */
function applyCompaction(
  items: readonly Item[],
  { covered, summary, clipped }: Compacted,
): readonly Item[] {
  const kept = items.filter(({ id, parts }) => parts.length > 0 && !covered.has(id));
  const remaining = kept
    .map((item) => {
      const maxLength = clipped.get(item.id);
      return maxLength === undefined ? item : clipItem(item, maxLength);
    })
    .filter(({ parts }) => parts.length > 0);
  return summary === undefined ? remaining : [summaryItem(summary), ...remaining];
}

/** The default prompt that asks the model for a summary. */
export const summaryPrompt: string =
  'Summarise the conversation so far for yourself: what was asked, what was decided and why, what was ' +
  'done and found (names, paths, figures), and what is still to do. Leave nothing out that you will need.';

/** Returns the item with which a request contains a summary. */
export function summaryItem(text: string): Item {
  return { id: summaryId, kind: 'context', parts: [{ kind: 'text', text }] };
}

/**
 * Adds a note to each result whose call ran with changed arguments. The call itself keeps the model's
 * arguments, because providers may sign calls, store them, or compare them with their own answer.
 */
export function withChangedInputs(item: Item): Item {
  if (!item.parts.some((part) => changedInputOf(part) !== undefined)) return item;
  return { ...item, parts: item.parts.map(withChangedInput) };
}

function withChangedInput(part: Part): Part {
  const input = changedInputOf(part);
  if (part.kind !== 'tool_result' || input === undefined) return part;
  const json = JSON.stringify(input);
  const shown =
    json.length > maxShownInput ? `${json.slice(0, maxShownInput)}…`.toWellFormed() : json;
  const who = part.metadata?.['changedBy'] === undefined ? 'The user' : 'A guardrail';
  const note = `${who} changed the arguments of this call to ${shown}\nThe result is for these arguments:`;
  return { ...part, text: `${note}\n${part.text}` };
}

const maxShownInput = 10_000;

function changedInputOf(part: Part): JsonValue | undefined {
  return part.kind === 'tool_result' ? part.metadata?.['changedInput'] : undefined;
}

/**
 * Replaces blob references in the item by the bytes, because providers accept only bytes. The full outputs of
 * clipped results are not loaded.
 */
export async function withBytes(item: Item, blobs: BlobStore): Promise<Item> {
  if (!item.parts.some(hasBlob)) return item;
  return { ...item, parts: await Promise.all(item.parts.map((part) => loadPart(part, blobs))) };
}

function hasBlob(part: Part): boolean {
  if (part.kind === 'tool_result') return part.attachments?.some(hasBlob) ?? false;
  return (part.kind === 'media' || part.kind === 'file') && part.source.type === 'blob';
}

async function loadPart<P extends Part>(part: P, blobs: BlobStore): Promise<P> {
  if (part.kind === 'tool_result' && part.attachments !== undefined) {
    const { attachments: _all, ...rest } = part;
    const sent = part.attachments.filter((one) => isForModel(one, part));
    const attachments = await Promise.all(sent.map((one) => loadPart(one, blobs)));
    return (sent.length > 0 ? { ...rest, attachments } : rest) as P;
  }
  if (part.kind !== 'media' && part.kind !== 'file') return part;
  return { ...part, source: await loadSource(part.source, blobs) };
}

async function loadSource(source: Source, blobs: BlobStore): Promise<Source> {
  if (source.type !== 'blob') return source;
  const bytes = await blobs.get(source.hash);
  return bytes === undefined ? source : { type: 'bytes', bytes };
}
