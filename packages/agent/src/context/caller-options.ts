import { type Item, itemId, type JsonValue } from '@millrace/core';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type {
  CallerOptions,
  CallerTool,
  ResolvedStep,
  StepToPrepare,
} from '../contract/settings.ts';
import type { Tool } from '../contract/tool.ts';
import { clientTool } from '../tool/client-tool.ts';

/** Returns the tools that the caller of the current message runs. */
export function callerTools({ items }: Pick<StepToPrepare, 'items'>): readonly Tool[] {
  return (callerOptionsOf(items).tools ?? []).map(toClientTool);
}

/** Adds the options of the caller to the changes that `prepareStep` makes. */
export function withCallerOptions(
  { items }: Pick<StepToPrepare, 'items'>,
  prepared: ResolvedStep,
): ResolvedStep {
  const { instructions, request = {}, output } = callerOptionsOf(items);
  const { toolChoice, ...rest } = request;
  // A forced call applies only to the first answer. Otherwise the model could never finish.
  const isForced = toolChoice === 'required' || typeof toolChoice === 'object';
  const choice = isForced && isAnswered(items) ? undefined : toolChoice;
  const sent = prepared.items ?? items;
  return {
    ...prepared,
    ...(instructions !== undefined && { items: [instructionsItem(instructions), ...sent] }),
    request: {
      ...prepared.request,
      ...rest,
      ...(choice !== undefined && { toolChoice: choice }),
    },
    ...(output && { output }),
  };
}

/**
 * Returns the options of the last message. A message of another client has none, because that client cannot
 * run the tools of the caller.
 */
function callerOptionsOf(items: readonly Item[]): CallerOptions {
  const last = items.findLast(({ kind }) => kind === 'user') ?? items.at(-1);
  const given: JsonValue | undefined = last?.metadata?.['caller'];
  // The server validated the options before it stored them.
  return typeof given === 'object' && given !== null ? (given as CallerOptions) : {};
}

function isAnswered(items: readonly Item[]): boolean {
  const input = items.findLastIndex(({ kind }) => kind === 'user');
  return items.slice(input + 1).some(({ kind }) => kind === 'assistant');
}

function instructionsItem(text: string): Item {
  return { id: itemId('caller-instructions'), kind: 'developer', parts: [{ kind: 'text', text }] };
}

const noProperties = { type: 'object', properties: {} };

function toClientTool({ name, description = '', parameters, strict }: CallerTool): Tool {
  const inputSchema = parameters ?? noProperties;
  return clientTool({ name, description, input: anyInput, inputSchema, strict });
}

/** Accepts every input. The caller checks the input, because it has the code of the tool. */
const anyInput: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'millrace', validate: (value) => ({ value }) },
};
