import type { JsonObject, JsonValue } from '@millrace/core';
import type { ExpectedUsage } from './expected.ts';
import { entriesOf, fieldsOf, isObject, numberOf } from './json-access.ts';

/** The last that was said, wherever a server says it. */
export function chatUsage(events: readonly JsonObject[]): ExpectedUsage | undefined {
  const said = events.flatMap((event) => [
    ...entriesOf(event['choices']).map((choice) => fieldsOf(choice)['usage']),
    fieldsOf(event['x_groq'])['usage'],
    event['usage'],
  ]);
  const last = said.findLast((usage) => isObject(usage));
  return last === undefined ? undefined : normalised(fieldsOf(last));
}

function normalised(usage: JsonObject): ExpectedUsage {
  const prompt = numberOf(usage['prompt_tokens']);
  const completion = numberOf(usage['completion_tokens']);
  const cacheRead = cachedOf(usage);
  const reasoning = numberOf(fieldsOf(usage['completion_tokens_details'])['reasoning_tokens']);
  // Some leave reasoning out of the completion: then it is what the total has besides.
  const isLeftOut = numberOf(usage['total_tokens']) === prompt + completion + reasoning;
  return {
    // What is cached is a part of the input; more than all of it was left out.
    input: cacheRead > prompt ? prompt + cacheRead : prompt,
    output: isLeftOut ? completion + reasoning : completion,
    cacheRead,
    cacheWrite: 0,
    reasoning,
  };
}

function cachedOf(usage: JsonObject): number {
  const places: readonly (JsonValue | undefined)[] = [
    fieldsOf(usage['prompt_tokens_details'])['cached_tokens'],
    fieldsOf(usage['prompt_token_details'])['cached_tokens'],
    usage['prompt_cache_hit_tokens'],
    usage['num_cached_tokens'],
  ];
  return numberOf(places.find((place) => typeof place === 'number'));
}
