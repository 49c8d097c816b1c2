import { defaultLimits } from '../limits.ts';
import { JsonScanner } from './json-scanner.ts';
import { JsonTree } from './json-tree.ts';
import type { JsonArray, JsonLimits, JsonObject, JsonResult, JsonValue } from './json-value.ts';
import { hasEscapedKey, isOverLimits } from './scan-json.ts';

/**
 * JSON.parse that never throws, says where a text goes wrong, and takes neither what is larger or
 * deeper than the limits nor numbers that no double can hold.
 *
 * @example
 * parseJson('{"a":[1,2]}'); // { ok: true, value: { a: [1, 2] } }
 * parseJson('{"a":[1,2}'); // { ok: false, failure: { code: 'syntax', position: 9, message: … } }
 */
export function parseJson(text: string, limits: JsonLimits = defaultLimits): JsonResult {
  const isTooMuch = text.length > limits.maxTextLength || isOverLimits(text, limits);
  const value = isTooMuch ? undefined : parseNatively(text);
  if (value !== undefined && isWithin(value, limits.maxDepth)) return { ok: true, value };
  return parseByHand(text, limits);
}

function parseNatively(text: string): JsonValue | undefined {
  if (hasEscapedKey(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // What engines say of the error differs, and some say no position: the scanner will.
    return undefined;
  }
}

/** Slower than JSON.parse by far, but knows where it stands, and stops at the limits. */
function parseByHand(text: string, limits: JsonLimits): JsonResult {
  const tree = new JsonTree();
  const scanner = new JsonScanner(tree, limits);
  scanner.scan(text);
  const failure = scanner.end();
  return failure ? { ok: false, failure } : { ok: true, value: tree.value ?? null };
}

type Container = JsonArray | JsonObject;

/**
 * Are all nesting and all numbers in range? Level by level, so that no depth fills the stack. What
 * a later duplicate of its key replaced is gone by now and not judged; of a long text isOverLimits did.
 */
function isWithin(value: JsonValue, maxDepth: number): boolean {
  let level: Container[] = [[value]];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return false;
    const deeper: Container[] = [];
    for (const container of level) if (!inspect(container, deeper)) return false;
    level = deeper;
  }
  return true;
}

/** Adds the containers within one to `deeper`; false if a number in it is infinite. */
function inspect(container: Container, deeper: Container[]): boolean {
  if (isArray(container)) {
    for (const child of container) if (!inspectChild(child, deeper)) return false;
  } else {
    // Object.values would make an array for each object, and this runs on every document.
    for (const key in container) if (!inspectChild(container[key], deeper)) return false;
  }
  return true;
}

function inspectChild(child: JsonValue | undefined, deeper: Container[]): boolean {
  if (typeof child === 'number') return Number.isFinite(child);
  if (typeof child === 'object' && child !== null) deeper.push(child);
  return true;
}

/** Array.isArray, which does not narrow a readonly array by itself. */
function isArray(container: Container): container is JsonArray {
  return Array.isArray(container);
}
