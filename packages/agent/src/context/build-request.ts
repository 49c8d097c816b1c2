import {
  type FoldState,
  type Item,
  type ItemId,
  itemId,
  type JsonValue,
  type Part,
  type Source,
  toArray,
  toItem,
} from '@millrace/core';
import type { BlobStore } from '@millrace/log';
import type { ModelRequest, ToolDefinition } from '@millrace/providers';
import { isFullOutput } from '../calls/tool-result.ts';
import type { Compacted, LoopState } from '../contract/loop-state.ts';
import type { ResolvedStep, Settings } from '../contract/settings.ts';
import type { StepInfo, Tool } from '../contract/tool.ts';
import { cacheHints } from './cache-hints.ts';

/** The part of the loop state that requests depend on. */
type RequestState = Pick<LoopState, 'compacted' | 'rejectedReasoning' | 'inputs'>;

/** Returns the context items of a request, before `prepareStep` changes them. */
export async function contextItems(
  { contextFilters }: Settings,
  state: FoldState,
  { compacted, rejectedReasoning, inputs }: RequestState,
): Promise<readonly Item[]> {
  const accepted = guardedItems(withoutReasoning(state, rejectedReasoning), inputs);
  // The code loads on demand, because items are clipped only if the context was too long.
  const clip = compacted.clipped.size > 0 ? (await import('./clip-item.ts')).clipItem : undefined;
  const context = applyCompaction(accepted, compacted, clip);
  return contextFilters.reduce((items, filter) => filter(items), context);
}

/**
 * Returns the changes that `prepareStep` makes to the request. Empty if the agent has no `prepareStep`.
 */
export async function prepareRequest(
  settings: Settings,
  state: FoldState,
  loop: LoopState,
  step: StepInfo,
): Promise<ResolvedStep> {
  if (settings.prepareStep === undefined) return {};
  const items = await contextItems(settings, state, loop);
  const finished = loop.run?.finishedTurns ?? 0;
  return settings.prepareStep({ ...step, step: finished, items }, settings);
}

/** Builds the request for a model from the instructions, the context items and the tools. */
export async function buildRequest(
  settings: Settings,
  state: FoldState,
  loop: RequestState,
  step: StepInfo,
  prepared: ResolvedStep = {},
): Promise<ModelRequest> {
  const { output, log } = settings;
  const tools = offeredTools(settings.tools, prepared.tools);
  const request = { ...settings.request, ...prepared.request };
  const instructions = prepared.instructions ?? settings.instructions;
  const filtered = prepared.items ?? (await contextItems(settings, state, loop));
  const prompt =
    typeof instructions === 'function' ? await instructions(filtered, step) : instructions;
  const items = await Promise.all(
    filtered.map((item) => withBytes(withChangedInputs(item), log.blobs)),
  );
  const definitions = [...tools.values()].flatMap(toolDefinition);
  const sent = prompt === undefined ? items : [systemItem(prompt), ...items];
  const cache = request.cache ?? cacheHints(sent, settings.cache, state.session);
  return {
    ...request,
    items: sent,
    ...(cache && { cache }),
    ...(definitions.length > 0 && { tools: definitions }),
    ...(output && { output: { name: 'answer', schema: output.schema } }),
  };
}

/** Returns the tools that a step offers, in the order of the agent. `names` undefined means all tools. */
export function offeredTools(
  tools: Settings['tools'],
  names: readonly string[] | undefined,
): Settings['tools'] {
  if (names === undefined) return tools;
  return new Map([...tools].filter(([name]) => names.includes(name)));
}

/**
 * Returns the definition of a tool for the request. The tool that answers MCP approvals has none, because
 * the provider asks for these approvals by itself.
 */
function toolDefinition(tool: Tool): readonly ToolDefinition[] {
  const { name, description, inputSchema, strict, answers, providerOptions } = tool;
  if (answers === 'openai.mcp_approval') return [];
  return [
    {
      name,
      description,
      inputSchema,
      ...(strict !== undefined && { strict }),
      ...(answers !== undefined && { answers }),
      ...(providerOptions !== undefined && { providerOptions }),
    },
  ];
}

/**
 * Returns the transcript without the reasoning of the turns before `beforeTurn`. A provider has rejected
 * that reasoning. Later requests omit it too, so that their prefix does not change again.
 */
function withoutReasoning(state: FoldState, beforeTurn: number): readonly Item[] {
  return toArray(state.items).map((itemState) => {
    const item = toItem(itemState);
    if (itemState.turn >= beforeTurn || item.kind !== 'assistant') return item;
    return { ...item, parts: item.parts.filter(({ kind }) => kind !== 'reasoning') };
  });
}

/**
 * Returns the items as the guardrails changed them. Changed inputs are replaced, and inputs for which a
 * guardrail stopped the run are removed.
 */
export function guardedItems(
  items: readonly Item[],
  { replaced, withheld }: Pick<LoopState['inputs'], 'replaced' | 'withheld'>,
): readonly Item[] {
  if (!items.some((item) => isReplacement(item) || withheld.has(item.id))) return items;
  const changes = new Map(items.filter(isReplacement).map((item) => [item.id, item]));
  return items.flatMap((item) => {
    if (isReplacement(item) || withheld.has(item.id)) return [];
    const change = changes.get(replaced.get(item.id) ?? item.id);
    return change === undefined || item.redacted ? item : { ...item, parts: change.parts };
  });
}

/** True for an item that only holds the new content of another item. */
function isReplacement({ kind, metadata }: Item): boolean {
  return kind === 'context' && metadata?.['guardrail'] === true;
}

/**
 * Adds a note to each result whose call ran with changed arguments. The call itself keeps the model's
 * arguments, because providers sign calls, store them, or compare them with their own answer.
 */
function withChangedInputs(item: Item): Item {
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

function systemItem(text: string): Item {
  return { id: itemId('instructions'), kind: 'system', parts: [{ kind: 'text', text }] };
}

/**
 * Loads the bytes of blobs into the item, because providers accept only bytes. Full outputs of clipped
 * results are not loaded.
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
    const sent = part.attachments.filter((one) => !isFullOutput(one, part));
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

/**
 * Returns the context items: the transcript without the items that the summary covers, plus the summary.
 * `clip` shortens the items that were too long.
 */
export function applyCompaction(
  items: readonly Item[],
  { covered, summary, clipped }: Compacted,
  clip: ((item: Item, maxLength: number) => Item) | undefined,
): readonly Item[] {
  const kept = items.filter(({ id, parts }) => parts.length > 0 && !covered.has(id));
  const remaining =
    clip === undefined
      ? kept
      : kept
          .map((item) => clip(item, clipped.get(item.id) ?? Number.POSITIVE_INFINITY))
          .filter(({ parts }) => parts.length > 0);
  return summary === undefined ? remaining : [summaryItem(summary), ...remaining];
}

export const summaryId: ItemId = itemId('summary');

/** The default prompt for a summary. */
export const summaryPrompt: string =
  'Summarise the conversation so far for yourself: what was asked, what was decided and why, what was ' +
  'done and found (names, paths, figures), and what is still to do. Leave nothing out that you will need.';

function summaryItem(text: string): Item {
  return { id: summaryId, kind: 'context', parts: [{ kind: 'text', text }] };
}
