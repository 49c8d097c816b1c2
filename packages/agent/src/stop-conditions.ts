import type { StopCondition } from './contract/settings.ts';

/**
 * Returns a condition for `stopWhen` that ends the run after this many steps. A step is a request with its
 * tool calls.
 */
export function stepCount(count: number): StopCondition {
  return ({ steps }) => (steps >= count ? `${count} steps` : false);
}

/**
 * Returns a condition for `stopWhen` that ends the run after one of these tools has returned a result. A
 * rejected or failed call does not end the run, because the model can repeat the call.
 */
export function toolCalled(...names: readonly string[]): StopCondition {
  return ({ items }) => {
    for (const { parts } of items)
      for (const part of parts)
        if (part.kind === 'tool_result' && !part.isError && names.includes(part.name))
          return `tool ${part.name} was called`;
    return false;
  };
}
