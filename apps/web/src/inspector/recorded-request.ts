import type { JsonObject, LogRecord } from '@millrace/core';

/** How far around a record its attempt's request is looked for. */
const reach = 200;

/**
 * What the provider was sent, where whoever drove the session wrote it into the log: a fact of that
 * attempt with a `request`. The protocol has none of its own, so most logs do not say.
 */
export function recordedRequest(
  records: readonly LogRecord[],
  index: number,
): JsonObject | undefined {
  const asked = records[index];
  if (asked === undefined || asked.attempt === 0) return undefined;
  for (const record of records.slice(Math.max(0, index - reach), index + reach)) {
    if (record.turn !== asked.turn || record.attempt !== asked.attempt) continue;
    if (record.fact?.type !== 'unknown') continue;
    const { request } = record.fact.raw;
    if (typeof request === 'object' && request !== null && !Array.isArray(request)) {
      return request as JsonObject;
    }
  }
  return undefined;
}
