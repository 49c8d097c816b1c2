import { defaultContentLimits } from '../limits.ts';
import { JsonScanner } from './json-scanner.ts';
import { JsonTree } from './json-tree.ts';
import type { JsonArray, JsonLimits, JsonObject, JsonResult, JsonValue } from './json-value.ts';
import { hasEscapedKey, isOverLimits } from './scan-json.ts';

/**
 * Parses JSON without throwing. A failure contains the position of the error. Texts that exceed the
 * limits and numbers outside of the range of a double are refused.
 *
 * @example
 * parseJson('{"a":[1,2]}'); // { ok: true, value: { a: [1, 2] } }
 * parseJson('{"a":[1,2}'); // { ok: false, failure: { code: 'syntax', position: 9, message: … } }
 */
export function parseJson(text: string, limits: JsonLimits = defaultContentLimits): JsonResult {
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
    // Engines have different error messages, and some messages have no position. `parseByHand` therefore
    // finds the position.
    return undefined;
  }
}

/**
 * Parses with the scanner. It is much slower than JSON.parse, but it finds the position of an error
 * and stops at the limits.
 */
function parseByHand(text: string, limits: JsonLimits): JsonResult {
  const tree = new JsonTree();
  const scanner = new JsonScanner(tree, limits);
  scanner.scan(text);
  const failure = scanner.end();
  return failure ? { ok: false, failure } : { ok: true, value: tree.value ?? null };
}

type Container = JsonArray | JsonObject;

/**
 * Returns whether nesting and numbers are in range. It works level by level, so that a deep value cannot
 * overflow the stack. It cannot see a value that a later duplicate key replaced. In long texts,
 * `isOverLimits` has already checked these values.
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

/** Adds the containers inside `container` to `deeper`. Returns false if a number is infinite. */
function inspect(container: Container, deeper: Container[]): boolean {
  if (isArray(container)) {
    for (const child of container) if (!inspectChild(child, deeper)) return false;
  } else {
    // A `for` loop is used, because Object.values would create an array for each object, and this code runs
    // for every document.
    for (const key in container) if (!inspectChild(container[key], deeper)) return false;
  }
  return true;
}

function inspectChild(child: JsonValue | undefined, deeper: Container[]): boolean {
  if (typeof child === 'number') return Number.isFinite(child);
  if (typeof child === 'object' && child !== null) deeper.push(child);
  return true;
}

/**
 * Returns whether a container is an array. `Array.isArray` alone does not narrow the type of a
 * readonly array.
 */
function isArray(container: Container): container is JsonArray {
  return Array.isArray(container);
}
