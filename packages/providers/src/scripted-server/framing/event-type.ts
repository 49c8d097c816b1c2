import { parseJson } from '@millrace/core';

/** The `type` that an event's data names, where it is a JSON object that names one. */
export function eventType(data: string): string | undefined {
  const parsed = parseJson(data);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return undefined;
  const type = 'type' in parsed.value ? parsed.value['type'] : undefined;
  return typeof type === 'string' ? type : undefined;
}
