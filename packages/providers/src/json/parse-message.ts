import { defaultContentLimits, hasEscapedKey, type JsonValue, parseJson } from '@millrace/core';

/**
 * The length up to which a text is parsed without checks. Such a text can do no harm, however
 * deeply it is nested.
 */
const harmlessLength = 2 ** 16;

/**
 * The limits of the checked parser. The transport limits the length already, so it is not limited
 * here.
 */
const limits = { ...defaultContentLimits, maxTextLength: Infinity };

/**
 * Parses a message of a provider. Returns undefined for invalid JSON. The checked parser is slow,
 * so it is used only for texts that can be dangerous.
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
