import { defaultContentLimits, hasEscapedKey, type JsonValue, parseJson } from '@millrace/core';

/**
 * A text up to this length is parsed without checks. Even if it is deeply nested, it is too short to exhaust
 * the stack.
 */
const harmlessLength = 2 ** 16;

/**
 * The limits of the checked parser. The transport already limits the length, so there is no length limit
 * here.
 */
const limits = { ...defaultContentLimits, maxTextLength: Infinity };

/**
 * Parses a message of a provider. Returns undefined for invalid JSON. The checked parser is slow. It is used
 * only for long texts, and for texts with an escaped key.
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
