import {
  type Attempt,
  DeltaWriter,
  type DraftRecord,
  type FilePart,
  type GuardrailFact,
  type GuardrailVerdict,
  type Ids,
  type Item,
  type ItemId,
  type ItemState,
  type JsonValue,
  type MediaPart,
  type Part,
  partId,
  type ToolResultPart,
  toArray,
  toolCallPart,
} from '@millrace/core';
import type { BlobStore } from '@millrace/log';
import { textOfAttachment } from '@millrace/providers';
import { isFullOutput } from '../calls/clipped-result.ts';
import type { prepareCall } from '../calls/prepare-call.ts';
import { isCopied, isFromClient } from '../calls/tool-result.ts';
import {
  resultTexts,
  summaryItem,
  withBytes,
  withChangedInputs,
  withoutOptions,
  withResultTexts,
} from '../context/changed-items.ts';
import { clipText } from '../context/clip-item.ts';
import { AgentError } from '../contract/agent-error.ts';
import type { CheckedOutput } from '../contract/guardrail.ts';
import { getLayered, verdictKey } from '../contract/loop-state.ts';
import type { RunContext } from '../contract/run-context.ts';
import type { CallerOptions } from '../contract/settings.ts';
import { structuredValue } from '../run/output.ts';
import { joinText } from '../views/run-views.ts';
import { changeProblem, inputParts, jsonOf, outputParts } from './judge.ts';
import { hasClientText } from './withheld-items.ts';

/** Returns the argument that an output guardrail gets for an answer. */
export function checkedOutput(item: Item): CheckedOutput {
  const { parts } = item;
  const value = structuredValue(item);
  const values = parts.flatMap((part) =>
    part.kind === 'structured' ? [JSON.stringify(part.value)] : [],
  );
  // A model can write a text before the value.
  const text = [joinText(parts), ...values].filter((one) => one !== '').join('\n');
  const hasCalls = parts.some(({ kind }) => kind === 'tool_call');
  // A summary is a `context` item. The run continues after it.
  const isFinal = !hasCalls && item.kind !== 'context';
  return { text, item, isFinal, ...(value !== undefined && { value }) };
}

/**
 * Returns the inputs that arrived after the last answer of the agent, in order. After a hand-off, these are all
 * inputs that requests of the new agent contain. Answers and results that a client wrote outside of turns are inputs
 * too. Items that the loop wrote are inputs only if they have results with texts of a client. An input
 * that arrived before a guardrail changed the last answer is also an input, although it stands before this answer.
 */
function newInputs({ journal }: RunContext): readonly ItemState[] {
  const { handedAtTurn, compacted, inputs } = journal.loop;
  const found: ItemState[] = [];
  let isAnswered = false;
  for (const item of toArray(journal.state.items).toReversed()) {
    const { id, kind, turn, parts } = item;
    isAnswered ||= kind === 'assistant' && turn > handedAtTurn;
    if (isAnswered && inputs.late.length === 0) break;
    if (compacted.covered.has(id) || (isAnswered && !getLayered(inputs.late, id))) continue;
    // The agent reads only inputs that its guardrails have passed, so they do not check its copies again.
    const isKnown =
      turn > handedAtTurn && parts.every(({ part }) => isCopied(part) || !isFromClient(part));
    if (hasClientText(item) && !isKnown) found.push(item);
  }
  const { summary } = compacted;
  // The summary repeats inputs that only the guardrails of the earlier agents have checked.
  if (handedAtTurn > 0 && !isAnswered && summary !== undefined) found.push(summaryState(summary));
  return found.reverse();
}

/** Returns a summary in the form of an input. */
function summaryState(summary: string): ItemState {
  const { id, kind, parts } = summaryItem(summary);
  const nothing = { author: undefined, metadata: undefined, run: undefined, stop: undefined };
  const never = { startedAt: undefined, finished: undefined, finishedAt: undefined };
  const slots = parts.map((part) => ({ id: partId(0, 0, 'summary'), part }));
  return { ...nothing, ...never, id, kind, turn: 0, attempt: 0, parts: slots, redacted: false };
}

/** Returns an item as a model reads it. The note about changed arguments is part of the text of a result. */
export function itemAsRead(item: Item): Item {
  const noted = withChangedInputs(item);
  if (noted === item) return item;
  const parts = noted.parts.map((part) => {
    if (part.kind !== 'tool_result') return part;
    const { changedInput: _input, changedBy: _guardrail, ...metadata } = part.metadata ?? {};
    return { ...part, metadata };
  });
  return { ...item, parts };
}

/** Returns only the results with texts of a client. */
export function onlyClientResults(item: Item): Item {
  return { ...item, parts: item.parts.filter(isFromClient) };
}

/** Returns the results with texts of a client, as a model reads them. */
function clientResults(item: Item): Item {
  return itemAsRead(onlyClientResults(item));
}

/**
 * Returns an item with the whole texts of its clipped results, because a tool can read the clipped rest for the model.
 * Throws if an output cannot be loaded.
 */
export async function withWholeResults(item: Item, blobs: BlobStore): Promise<Item> {
  const parts = await Promise.all(
    item.parts.map(async (part) => {
      const output = part.kind === 'tool_result' ? fullOutputOf(part) : undefined;
      if (output === undefined) return part;
      const bytes = await blobs.get(output);
      if (bytes === undefined) throw notLoaded('an output');
      return { ...part, text: new TextDecoder().decode(bytes) };
    }),
  );
  return { ...item, parts };
}

/**
 * Returns the hash of the full text of a clipped result, or of the text that `read_output` read for the result. The
 * ranges that the model reads can split a text that a guardrail looks for.
 */
function fullOutputOf(part: ToolResultPart): string | undefined {
  const full = part.attachments?.find((one) => isFullOutput(one, part));
  if (full?.source.type === 'blob') return full.source.hash;
  const readFrom = isFromClient(part) ? part.metadata?.['readFrom'] : undefined;
  return typeof readFrom === 'string' ? readFrom : undefined;
}

/** Returns a copy of an item that the loop wrote. In the copy, the results with texts of a client are changed. */
export function changedResults(item: Item, to: unknown): Item {
  const results = clientResults(item);
  // In a replay, `to` is the list of the new texts.
  const isList = Array.isArray(to) && to.length === results.parts.length;
  const { parts } = isList ? { parts: to as Part[] } : changedItem(results, to);
  // A guardrail reads the whole text of a clipped result, but a request contains only a part of the changed text.
  const texts = parts.map((part, at) => {
    const text = 'text' in part ? part.text : '';
    const result = results.parts[at];
    const isClipped = result?.kind === 'tool_result' && fullOutputOf(result) !== undefined;
    return isClipped ? clipText(text, result.text.length) : text;
  });
  return withResultTexts(
    item,
    new Map(callIds(results.parts).map((id, at) => [id, texts[at] ?? ''])),
  );
}

/** Returns the first new input that a guardrail still has to check. Returns undefined if there is none. */
export function openInput(context: RunContext): ItemState | undefined {
  return openInputs(context)[0];
}

/** Returns the new inputs that a guardrail still has to check. */
export function openInputs(context: RunContext): readonly ItemState[] {
  const guardrails = context.settings.guardrails.filter(({ on }) => on === 'input');
  if (guardrails.length === 0) return [];
  const { verdicts, withheld } = context.journal.loop.inputs;
  return newInputs(context).filter(
    ({ id }) =>
      !withheld.has(id) &&
      guardrails.some(({ name }) => !isFinal(getLayered(verdicts, verdictKey(id, name)))),
  );
}

export function isFinal(verdict: GuardrailVerdict | undefined): boolean {
  return verdict === 'pass' || verdict === 'change' || verdict === 'stop';
}

/**
 * Returns the text of an input, as a model reads it. Structured values are included as JSON, because
 * providers send them as JSON. Attached text files are included with their content, and the options of a
 * caller with their texts and schemas. Throws if an attachment cannot be loaded, because a later request could
 * contain it.
 */
export async function inputText(item: Item, blobs: BlobStore): Promise<string> {
  const { parts } = await withBytes(item, blobs);
  return `${textOfParts(parts)}${optionsText(item)}`;
}

function textOfParts(parts: readonly Part[]): string {
  if (parts.every(({ kind }) => kind === 'text')) return joinText(parts);
  const texts = parts.map(textOfPart).join('\n').trim();
  // Some providers join texts that other parts separate, so the joined texts are checked too.
  const said = parts.filter(({ kind }) => kind === 'text' || kind === 'structured');
  return said.length < 2 ? texts : `${texts}\n${said.map(textOfPart).join('')}`;
}

function textOfPart(part: Part): string {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return part.text;
    case 'tool_call':
      return `${part.name} ${withoutEscapes(part.arguments)}`;
    case 'tool_result':
      return [part.text, ...(part.attachments ?? []).map(attachedText)].join('\n').trim();
    case 'structured':
    case 'custom':
      return JSON.stringify(part.value);
    case 'file':
    case 'media':
      return attachedText(part);
  }
}

const controlCharacters: Readonly<Record<string, string | undefined>> = {
  ...{ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
};

/**
 * Returns a JSON text. If the text has escapes, the same text without escapes follows on a new line, because
 * some providers send the parsed value. All values of a repeated key are included.
 */
function withoutEscapes(json: string): string {
  const decoded = json.replaceAll(/\\(?:u([\da-fA-F]{4})|([^u]))/g, (_all, code, letter) =>
    code === undefined
      ? (controlCharacters[letter] ?? letter)
      : String.fromCharCode(Number.parseInt(code, 16)),
  );
  return decoded === json ? json : `${json}\n${decoded.toWellFormed()}`;
}

function attachedText(part: MediaPart | FilePart): string {
  if (part.source.type === 'blob') throw notLoaded('an attachment of the input');
  const options = part.metadata?.['providerOptions'];
  const text = textOfAttachment(part);
  return options === undefined ? text : `${text}\n${withoutEscapes(JSON.stringify(options))}`;
}

function notLoaded(what: string): AgentError {
  return new AgentError('bad_option', `${what} cannot be loaded`);
}

/**
 * Returns the texts of the caller's options that a model reads. The text is empty, or it begins with a line
 * end.
 */
function optionsText({ metadata }: Item): string {
  const { instructions, tools = [], output } = (metadata?.['caller'] ?? {}) as CallerOptions;
  const texts = [
    instructions ?? '',
    ...tools.map(({ name, description = '', parameters = {} }) =>
      [name, description, withoutEscapes(JSON.stringify(parameters))].join(' '),
    ),
    output === undefined ? '' : `${output.name} ${withoutEscapes(JSON.stringify(output.schema))}`,
  ];
  return texts.map((text) => (text === '' ? '' : `\n${text}`)).join('');
}

/**
 * Returns a changed input. The options of the caller stay only if a new text ends with the unchanged texts of
 * the options.
 */
export function changedItem(item: Item, to: unknown, keepsOptions = false): Item {
  const options = optionsText(item);
  const isKept = typeof to === 'string' && to.endsWith(options);
  const content = isKept ? to.slice(0, to.length - options.length) : to;
  const changed = { ...item, parts: changedParts(item, content) };
  return isKept || keepsOptions || options === '' ? changed : withoutOptions(changed);
}

/** Returns a changed input that is on the log. */
export function storedChange(item: Item, change: Item): Item {
  const texts = resultTexts(change);
  if (texts !== undefined) return withResultTexts(item, texts);
  const { parts, metadata } = change;
  const changed = { ...item, parts };
  return metadata?.['keepsOptions'] === true ? changed : withoutOptions(changed);
}

/**
 * Returns the parts of a changed input. Tool calls and results keep their ids, because providers require
 * them. Tool calls lose their arguments, because the text that was checked contains the arguments.
 */
function changedParts({ kind, parts }: Item, to: unknown): readonly Part[] {
  if (kind !== 'assistant' && kind !== 'tool') return inputParts(to);
  // In a replay, `to` is already the list of changed parts.
  if (Array.isArray(to) && String(callIds(to)) === String(callIds(parts))) return to;
  const [changed] = outputParts(to, [], false);
  if (kind === 'assistant') return outputParts(to, parts, false).map(withoutArguments);
  return parts.map((part) => {
    if (part.kind !== 'tool_result' || changed?.kind !== 'text') return part;
    const { value: _, attachments: __, ...rest } = part;
    const isClipped = fullOutputOf(part) !== undefined;
    return { ...rest, text: isClipped ? clipText(changed.text, part.text.length) : changed.text };
  });
}

function withoutArguments(part: Part): Part {
  return part.kind === 'tool_call' ? toolCallPart(part.toolCallId, part.name, {}) : part;
}

function callIds(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) => ('toolCallId' in part ? [part.toolCallId] : []));
}

/** Returns the item that contains the new texts of changed tool results. Views do not show items of this kind. */
export function resultsReplacement(item: Item, ids: Ids): Item {
  const { parts } = clientResults(item);
  const texts = parts.map((part) => ({
    ...{ kind: 'text' as const, text: 'text' in part ? part.text : '' },
  }));
  const metadata = { guardrail: true, replaces: item.id, results: callIds(parts) };
  return { id: ids.item(), kind: 'context', parts: texts, metadata };
}

/** Returns the item that replaces a changed input in requests. Views do not show items of this kind. */
export function replacementOf(item: Item, ids: Ids): Item {
  const hasOptions = item.metadata?.['caller'] !== undefined;
  const metadata = {
    ...{ guardrail: true, replaces: item.id },
    ...(hasOptions && { keepsOptions: true }),
  };
  return { id: ids.item(), kind: 'context', parts: item.parts, metadata };
}

/**
 * Returns the records that start an answer and write all its parts. The record that ends the answer is not
 * included.
 */
export function answerDrafts({ id, parts }: Item, at: Attempt, ids: Ids): readonly DraftRecord[] {
  const started = { type: 'item_started', itemId: id, kind: 'assistant' } as const;
  return [{ ...at, fact: started }, ...partDrafts(id, parts, at, ids)];
}

/** Returns the records that write complete parts of an item. */
export function partDrafts(
  itemId: ItemId,
  parts: readonly Part[],
  at: Attempt,
  ids: Pick<Ids, 'part'>,
): readonly DraftRecord[] {
  const writer = new DeltaWriter({ itemId, ...at, ids });
  for (const part of parts) writer.whole(part);
  return writer.take().map((delta) => ({ ...at, delta }));
}

/**
 * Returns the input with which a guardrail replaces the input of a call. Returns the reason instead if the
 * tool's schema rejects the new input.
 */
export async function changedInput(
  to: unknown,
  prepare: (input: JsonValue) => ReturnType<typeof prepareCall>,
): Promise<{ readonly input?: JsonValue; readonly problem?: string }> {
  try {
    const input = jsonOf(to);
    const ready = await prepare(input);
    return ready.ok ? { input } : { problem: `the new input cannot be used. ${ready.message}` };
  } catch (error) {
    return { problem: changeProblem(error) };
  }
}

/** Returns true if the run must end after the verdict. */
export function isHalt({ verdict }: Pick<GuardrailFact, 'verdict'>): boolean {
  return verdict === 'stop' || verdict === 'error';
}

/**
 * Returns true if guardrails check an answer that ended with this stop. They do not check an aborted or
 * failed answer, because the run ends after it.
 */
export function isCheckedStop({
  reason,
  cause,
}: {
  readonly reason: string;
  readonly cause?: string;
}): boolean {
  return (reason !== 'aborted' && reason !== 'error') || cause === 'guardrail_failed';
}
