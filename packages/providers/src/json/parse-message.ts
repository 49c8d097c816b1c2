import { defaultContentLimits, hasEscapedKey, type JsonValue, parseJson } from '@millrace/core';

/** A shorter text can do no harm, however deeply it is nested. */
const harmlessLength = 2 ** 16;

/** The transport limits the length already, and allows longer texts than the default limits. */
const limits = { ...defaultContentLimits, maxTextLength: Infinity };

/**
 * Parses a message. Returns undefined for invalid JSON. The slow, checked parser is used only for
 * texts that can be dangerous.
 */
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
