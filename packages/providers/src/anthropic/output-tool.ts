import type { ModelRequest } from '../contract/model-request.ts';
import type { AnthropicOptions } from './anthropic-options.ts';
import { traitsOf } from './model-traits.ts';

/** So that a number fits behind it. */
const maxNameLength = 60;

/**
 * The name of the tool whose input is the output that was asked for; undefined where none is needed.
 * It is not that of any other tool, so that the reader can tell its call from theirs.
 */
export function outputToolName(
  { output, tools = [] }: ModelRequest,
  { model, structuredOutput }: AnthropicOptions,
): string | undefined {
  if (output === undefined) return undefined;
  if ((structuredOutput ?? traitsOf(model).structuredOutput) === 'format') return undefined;
  const taken = new Set(tools.map(({ name }) => name));
  const fitting = output.name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, maxNameLength) || 'output';
  // One name more than there are tools: one of them is free.
  const names = [fitting, ...[...taken].map((_, again) => `${fitting}_${again + 1}`)];
  return names.find((name) => !taken.has(name)) ?? fitting;
}
