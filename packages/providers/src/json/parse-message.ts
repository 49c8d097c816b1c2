import { defaultLimits, hasEscapedKey, type JsonValue, parseJson } from '@millrace/core';

/** A text as long as this can do no harm, however deep it is. */
const harmlessLength = 2 ** 16;

/** The transport limits the length already, and lets longer texts through than other JSON may be. */
const limits = { ...defaultLimits, maxTextLength: Infinity };

/** The value of a message; undefined where it is no JSON. Looks for trouble only where there can be any. */
export function parseMessage(text: string): JsonValue | undefined {
  if (text.length <= harmlessLength && !hasEscapedKey(text)) return parseNatively(text);
  const parsed = parseJson(text, limits);
  return parsed.ok ? parsed.value : undefined;
}

function parseNatively(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
