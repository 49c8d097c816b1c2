import { isJsonObject, type JsonValue, type Part, parseJson } from '@millrace/core';

/**
 * Returns the agent that took over in a hand-off call of the OpenAI Agents SDK. Returns undefined
 * for all other calls.
 */
export function handoffTarget(name: string, result: Part | undefined): string | undefined {
  if (!name.startsWith('transfer_to_') || result?.kind !== 'tool_result' || result.isError) return;
  const parsed = parseJson(result.text);
  return parsed.ok ? exactTexts(parsed.value, ['assistant'])?.[0] : undefined;
}

/**
 * Returns the names of both agents of a hand-off that was reported without a tool call. Returns
 * undefined for other values.
 */
export function parseHandoff(value: JsonValue): readonly string[] | undefined {
  if (!isJsonObject(value) || Object.keys(value).length !== 1) return undefined;
  return exactTexts(value['handoff'], ['from', 'to']);
}

/**
 * Returns the texts of these fields. Returns undefined if the object has an additional field,
 * because the page would not show that field.
 */
function exactTexts(
  value: JsonValue | undefined,
  names: readonly string[],
): readonly string[] | undefined {
  if (!isJsonObject(value) || Object.keys(value).length !== names.length) return undefined;
  const texts = names.map((name) => value[name]).filter((text) => typeof text === 'string');
  return texts.length === names.length ? texts : undefined;
}
