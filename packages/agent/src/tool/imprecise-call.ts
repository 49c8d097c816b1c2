import { nearestNames } from '@millrace/core';
import type { Tool } from '../contract/tool.ts';

// This file loads on demand. It handles common mistakes of models: calls of tools that do not exist, and null
// for a property that should be omitted.

export { withoutOptionalNulls } from '@millrace/providers';

/**
 * Returns the message for the model about a tool that the agent does not have. `offered` contains the names
 * of the tools that the request offered. The agent may have lost a tool after the request.
 */
export function missingToolMessage(
  name: string,
  tools: ReadonlyMap<string, Tool>,
  offered: readonly string[],
): string {
  if (offered.includes(name))
    return `The tool ${name} is no longer available. Continue without it.`;
  const names = [...tools.keys()];
  const near = nearestNames(name, names);
  const hint = near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : '';
  const all =
    names.length > 0 ? ` There are: ${names.slice(0, 50).join(', ')}.` : ' There are none.';
  return `There is no tool ${JSON.stringify(name)}.${hint}${all}`;
}
