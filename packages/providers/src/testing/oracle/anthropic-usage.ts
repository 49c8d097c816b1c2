import type { JsonObject } from '@millrace/core';
import type { ExpectedUsage } from './expected.ts';
import { entriesOf, fieldsOf, isObject, numberOf } from './json-access.ts';

/** The last number of each field; a null or an absent one changes nothing. */
export function anthropicUsage(events: readonly JsonObject[]): ExpectedUsage | undefined {
  const said = events
    .flatMap(({ message, usage }) => [fieldsOf(message)['usage'], usage])
    .filter(isObject);
  if (said.length === 0) return undefined;
  // The top level leaves out what a compaction on the way has used.
  const compactions = said
    .flatMap((usage) => entriesOf(usage['iterations']).map(fieldsOf))
    .filter(({ type }) => type === 'compaction');
  const total = (name: string) =>
    [lastNumber(said, name), ...compactions.map((iteration) => numberOf(iteration[name]))].reduce(
      (sum, count) => sum + count,
    );
  const cacheRead = total('cache_read_input_tokens');
  const cacheWrite = total('cache_creation_input_tokens');
  return {
    input: total('input_tokens') + cacheRead + cacheWrite,
    output: total('output_tokens'),
    cacheRead,
    cacheWrite,
    reasoning: 0,
  };
}

function lastNumber(said: readonly JsonObject[], name: string): number {
  return numberOf(said.map((usage) => usage[name]).findLast((value) => typeof value === 'number'));
}
