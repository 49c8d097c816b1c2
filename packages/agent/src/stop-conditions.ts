import type { StopCondition } from './contract/settings.ts';

/**
 * Returns a condition for `stopWhen`. It is met when the run has finished this many steps. A step is a
 * request with its tool calls.
 */
export function stepCount(count: number): StopCondition {
  return ({ steps }) => (steps >= count ? `${count} steps` : false);
}

/**
 * Returns a condition for `stopWhen`. It is met when one of these tools has returned a result in this
 * run. A call that was rejected or that failed does not count, because the model can repeat it.
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
