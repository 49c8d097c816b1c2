import { type FoldState, type Item, itemId, type Part, toArray, toItem } from '@millrace/core';
import type { ModelRequest, ToolDefinition } from '@millrace/providers';
import type { LoopState } from '../contract/loop-state.ts';
import type { ResolvedStep, Settings } from '../contract/settings.ts';
import type { StepInfo, Tool } from '../contract/tool.ts';
import { cacheHints } from './cache-hints.ts';
import type * as ChangedItems from './changed-items.ts';

/** The fields of the loop state that requests depend on. */
type RequestState = Pick<
  LoopState,
  'compacted' | 'rejectedReasoning' | 'inputs' | 'branch' | 'agent'
>;

/** Returns the context items of a request, before `prepareStep` changes them. */
export async function contextItems(
  settings: Settings,
  state: FoldState,
  loop: RequestState,
): Promise<readonly Item[]> {
  const { covered, summary, clipped } = loop.compacted;
  const isCompacted = covered.size + clipped.size > 0 || summary !== undefined;
  const mayDiffer =
    isCompacted ||
    loop.inputs.withheld.size > 0 ||
    settings.guardrails.some(({ on }) => on === 'input') ||
    toArray(state.items).some(({ kind }) => kind === 'context');
  // The code loads on demand, because many sessions have no guardrails and no compactions.
  const changes = mayDiffer ? await import('./changed-items.ts') : undefined;
  return readContext(settings, state, loop, changes);
}

/** Does the same as `contextItems`, with the loaded code for changed items. */
export function readContext(
  { contextFilters, guardrails }: Settings,
  state: FoldState,
  { compacted, rejectedReasoning, inputs }: RequestState,
  changes: typeof ChangedItems | undefined,
): readonly Item[] {
  const transcript = withoutReasoning(state, rejectedReasoning);
  const context =
    changes?.changedContext(transcript, { compacted, inputs }) ??
    transcript.filter(({ parts }) => parts.length > 0);
  const isUnlike = guardrails.some(({ on }) => on === 'input') && context.some(mayReadOtherwise);
  const read = (isUnlike && changes?.asChecked(context, state)) || context;
  return contextFilters.reduce((items, filter) => filter(items), read);
}

/** True if a model can read an item in another way than a guardrail: divided texts, or data for a provider. */
function mayReadOtherwise({ parts }: Item): boolean {
  return parts.some(
    (part, at) =>
      part.providerState !== undefined ||
      part.kind === 'tool_result' ||
      (part.kind === 'text' && parts[at - 1]?.kind === 'text'),
  );
}

/**
 * Returns the changes that `prepareStep` makes to the request. Without `prepareStep`, there are no changes.
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
  const model = branchOf(loop)?.model;
  const prepared = { ...step, step: finished, items, ...(model !== undefined && { model }) };
  return settings.prepareStep(prepared, settings);
}

/** Returns the settings of the branch, if they apply to the agent that drives the session. */
function branchOf({ branch, agent }: Pick<LoopState, 'branch' | 'agent'>): LoopState['branch'] {
  return branch?.agent === agent ? branch : undefined;
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
  const asked = prepared.output ?? (output && { name: 'answer', schema: output.schema });
  const tools = offeredTools(settings.tools, prepared.tools);
  const request = { ...settings.request, ...prepared.request };
  const instructions =
    branchOf(loop)?.instructions ?? prepared.instructions ?? settings.instructions;
  const filtered = prepared.items ?? (await contextItems(settings, state, loop));
  const prompt =
    typeof instructions === 'function' ? await instructions(filtered, step) : instructions;
  // The code loads on demand, because most sessions have only texts and tool calls.
  const items = filtered.some(({ parts }) => parts.some(mayNeedChange))
    ? await (await import('./changed-items.ts')).sentItems(filtered, log.blobs)
    : filtered;
  const definitions = [...tools.values()].flatMap(toolDefinition);
  const sent = prompt === undefined ? items : [systemItem(prompt), ...items];
  const cache = request.cache ?? cacheHints(sent, settings.cache, state.session);
  return {
    ...request,
    items: sent,
    ...(cache && { cache }),
    ...(definitions.length > 0 && { tools: definitions }),
    ...(asked && { output: asked }),
  };
}

/** Returns true if the part may refer to a blob, or may belong to a call that ran with changed arguments. */
function mayNeedChange(part: Part): boolean {
  if (part.kind === 'media' || part.kind === 'file') return true;
  return part.kind === 'tool_result' && (part.attachments ?? part.metadata) !== undefined;
}

/**
 * Returns the tools that a step offers, in the agent's order of tools. If `names` is undefined, it returns
 * all tools.
 */
export function offeredTools(
  tools: Settings['tools'],
  names: readonly string[] | undefined,
): Settings['tools'] {
  if (names === undefined) return tools;
  return new Map([...tools].filter(([name]) => names.includes(name)));
}

/**
 * Returns the definition of a tool for the request. The tool that answers MCP approvals has no definition,
 * because the provider itself asks for these approvals.
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
 * Returns the transcript without the reasoning of the turns before `beforeTurn`, because a provider rejected
 * that reasoning. Later requests omit it too, so the prefix that the provider caches stays the same.
 */
function withoutReasoning(state: FoldState, beforeTurn: number): readonly Item[] {
  return toArray(state.items).map((itemState) => {
    const item = toItem(itemState);
    if (itemState.turn >= beforeTurn || item.kind !== 'assistant') return item;
    return { ...item, parts: item.parts.filter(({ kind }) => kind !== 'reasoning') };
  });
}

function systemItem(text: string): Item {
  return { id: itemId('instructions'), kind: 'system', parts: [{ kind: 'text', text }] };
}
