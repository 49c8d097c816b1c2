import { parseJson } from '@millrace/core';
import { ServerError } from '../../contract/server-error.ts';
import type { HttpLimits } from '../../http/http-limits.ts';
import { jsonLimits } from '../../http/request-input.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Returns the messages of a JSON body. An array has one message per element. The messages keep their text,
 * because a number such as 12345678901234567890 would otherwise lose digits.
 */
export function readMessages(bytes: Uint8Array, limits: HttpLimits): readonly string[] {
  const text = decodeText(bytes);
  if (text === undefined) throw notJson('it is not UTF-8');
  const result = parseJson(text, jsonLimits(limits));
  if (!result.ok) throw notJson(result.failure.message);
  return Array.isArray(result.value) ? splitArray(text.trim()) : [text.trim()];
}

function notJson(why: string): ServerError {
  return new ServerError('bad_request', `Cannot append this body: it is not valid JSON. ${why}`);
}

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Returns the texts of the elements of a valid JSON array. */
function splitArray(text: string): readonly string[] {
  const elements: string[] = [];
  let depth = 0;
  let start = 1;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else if (character === '[' || character === '{') depth++;
    else if (character === ']' || character === '}') depth--;
    const isEnd = depth === 0 || (depth === 1 && character === ',');
    if (!isEnd) continue;
    elements.push(text.slice(start, at).trim());
    start = at + 1;
  }
  // An empty array has one empty text.
  return elements.filter((element) => element !== '');
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
