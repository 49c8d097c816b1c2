import type { ContentLimits } from '../limits.ts';
import { defaultMaxValues } from './json-value.ts';

type JsonLimits = Pick<ContentLimits, 'maxDepth' | 'maxTextLength'>;

/**
 * Checks that a value stays the same when it is converted to JSON text and back. Returns undefined if it
 * stays the same. Otherwise, returns the reason and the path of the first problem, such as `$.a[0]`. Two
 * small differences are allowed: -0 becomes 0, and an object without a prototype gets a prototype. The check
 * ignores symbols, hidden fields and named fields of arrays, as JSON does.
 */
export function checkJson(value: unknown, limits: JsonLimits): JsonProblem | undefined {
  const budget = { left: limits.maxTextLength, values: defaultMaxValues };
  const found = inspect(value, limits.maxDepth, budget);
  return found && { code: found.code, path: `$${found.steps.reverse().join('')}`, why: found.why };
}

/** A place at which a value is not JSON, and the reason. */
export interface JsonProblem {
  /**
   * `too_large`: the value exceeds a limit, or refers to itself. `not_json`: JSON cannot express
   * the value.
   */
  readonly code: 'too_large' | 'not_json';
  readonly path: string;
  readonly why: string;
}

/**
 * The number of characters and values that the check still accepts. An object that occurs several times is
 * counted each time. Without this rule, a small value that contains the same object twice at each level could
 * become a huge text.
 */
interface Budget {
  left: number;
  values: number;
}

interface Found {
  readonly code: JsonProblem['code'];
  readonly why: string;
  /**
   * The steps of the path, from the inside to the outside. Each level adds its step only after a problem was
   * found, so a valid value needs no path.
   */
  readonly steps: string[];
}

const found = (why: string): Found => ({ code: 'not_json', why, steps: [] });
const tooLarge = (why: string): Found => ({ code: 'too_large', why, steps: [] });

function inspect(value: unknown, depth: number, budget: Budget): Found | undefined {
  budget.left -= typeof value === 'string' ? 1 + value.length : 1;
  if (budget.left < 0 || --budget.values < 0) return tooLarge('there is too much of it');
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : found(`${value} is no JSON number`);
    case 'object':
      return value === null ? undefined : inspectContainer(value, depth, budget);
    default:
      return found(`JSON has no ${typeof value}`);
  }
}

function inspectContainer(value: object, depth: number, budget: Budget): Found | undefined {
  if (depth <= 0) return tooLarge('it is nested too deeply');
  if ('toJSON' in value && typeof value.toJSON === 'function') return found('it has a toJSON');
  return Array.isArray(value)
    ? inspectArray(value, depth - 1, budget)
    : inspectObject(value, depth - 1, budget);
}

function inspectArray(
  values: readonly unknown[],
  depth: number,
  budget: Budget,
): Found | undefined {
  for (let index = 0; index < values.length; index++) {
    const problem = inspect(values[index], depth, budget);
    if (problem !== undefined) return within(`[${index}]`, problem);
  }
  return undefined;
}

function inspectObject(object: object, depth: number, budget: Budget): Found | undefined {
  if (!isPlain(object)) return found('it is not a plain object');
  // Object.entries would create an array for each key, and needs three times as long for a large object.
  for (const key of Object.keys(object)) {
    budget.left -= key.length;
    const problem = inspect((object as Record<string, unknown>)[key], depth, budget);
    if (problem !== undefined) return within(`.${key}`, problem);
  }
  return undefined;
}

function within(step: string, problem: Found): Found {
  problem.steps.push(step);
  return problem;
}

/**
 * Returns whether an object is a plain object, from this realm or from another realm. Each realm has its own
 * `Object.prototype`. The check recognizes such an `Object.prototype`: it has no prototype itself, and it has
 * its own property `isPrototypeOf`.
 */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype === null || prototype === Object.prototype) return true;
  const isRoot = typeof prototype === 'object' && Object.getPrototypeOf(prototype) === null;
  return isRoot && Object.hasOwn(prototype, 'isPrototypeOf');
}
