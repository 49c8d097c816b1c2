import { type Ids, type JsonObject, type Part, toolCallPart } from '@millrace/core';
import type { ToolDefinition } from '@millrace/providers';

/** The values from which the demo builds an answer. */
export interface DemoContext {
  readonly ids: Pick<Ids, 'toolCall'>;
  /** The name of the folder. Answers mention it. */
  readonly folder: string;
  /** The names of the available tools. */
  readonly tools: ReadonlySet<string>;
}

export function toolNames(tools: readonly ToolDefinition[] | undefined): ReadonlySet<string> {
  return new Set((tools ?? []).map(({ name }) => name));
}

export function reasoningPart(text: string): Part {
  return { kind: 'reasoning', form: 'full', text };
}

/** Returns a list with one tool call. The list is empty if the tool is not available. */
export function callPart(
  { ids, tools }: DemoContext,
  name: string,
  input: JsonObject,
): readonly Part[] {
  return tools.has(name) ? [toolCallPart(ids.toolCall(), name, input)] : [];
}

/** Returns the user's text in quotes, shortened to one line. */
export function quoted(text: string): string {
  const line = text.trim().replaceAll(/\s+/g, ' ');
  return `“${line.length > 60 ? `${line.slice(0, 59).toWellFormed()}…` : line}”`;
}

/** Returns `no files`, `1 file` or `2 files`. */
export function countText(number: number, thing: string): string {
  return `${number === 0 ? 'no' : number} ${thing}${number === 1 ? '' : 's'}`;
}
