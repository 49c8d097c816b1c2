import { type JsonValue, parseJson } from '@millrace/core';
import { isObject } from '../json/fields.ts';

/** Two values may stand side by side only where a bracket was closed before. */
const mayBeSeveral = /\}\s*[{"]/;

/**
 * Some proxies send arguments twice, or `{}` before the real ones. Gives the text that is meant where
 * that is certain, and undefined where the text is fine, or no one can tell.
 */
export function singleArguments(text: string): string | undefined {
  if (!mayBeSeveral.test(text) || parseJson(text).ok) return undefined;
  const [first, ...rest] = wholeValues(text) ?? [];
  if (first === undefined || rest.length === 0) return undefined;
  const isRepeated = rest.every((other) => isSame(other, first));
  if (isRepeated) return first;
  const meant = rest[0];
  return isEmptyObject(first) && rest.length === 1 && meant !== undefined ? meant : undefined;
}

const brace = 123; // {
const quote = 34; // "

/** Could a fragment, by its look, say once more all that was said before it? */
export function mayRepeat(fragment: string, lengthBefore: number): boolean {
  const first = fragment.charCodeAt(0);
  if (first === brace) return fragment.length === lengthBefore;
  return first === quote && fragment.length >= lengthBefore + 2 && fragment.endsWith('"');
}

/** Does it, as text or as a string of JSON? Only what is whole can be repeated. */
export function isRepeat(fragment: string, before: string): boolean {
  const said = fragment.startsWith('"') ? parsedValue(fragment) : fragment;
  return said === before && parseJson(before).ok;
}

/** The values that a text is made of; undefined where it is not made of whole ones. */
function wholeValues(text: string): readonly string[] | undefined {
  const values: string[] = [];
  let rest = text.trim();
  while (rest !== '' && values.length < maxValues) {
    const parsed = parseJson(rest);
    // Where one value ends and something else begins, the parser says at which character.
    const end = parsed.ok ? rest.length : parsed.failure.position;
    const value = rest.slice(0, end).trim();
    if (end === 0 || !parseJson(value).ok) return undefined;
    values.push(value);
    rest = rest.slice(end).trim();
  }
  return rest === '' ? values : undefined;
}

const maxValues = 4;

function isSame(text: string, first: string): boolean {
  if (text === first) return true;
  const decoded = parsedValue(text);
  return typeof decoded === 'string' && decoded === first;
}

function isEmptyObject(text: string): boolean {
  const value = parsedValue(text);
  return isObject(value) && Object.keys(value).length === 0;
}

function parsedValue(text: string): JsonValue | undefined {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
}
