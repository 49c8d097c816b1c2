import type { Limits } from '../limits.ts';
import { defaultMaxValues } from './json-value.ts';

type JsonLimits = Pick<Limits, 'maxDepth' | 'maxTextLength'>;

/**
 * Where a value stops being JSON, as a path such as `$.a[0]`, and why; undefined if it is JSON, which
 * means that it comes back from JSON text as it was. Two things that come back a little changed are
 * JSON all the same: -0, which is 0 then, and an object without a prototype, which then has one. What
 * JSON does not look at is not looked at: symbols, hidden fields, names that an array has.
 */
export function checkJson(value: unknown, limits: JsonLimits): JsonProblem | undefined {
  const budget = { left: limits.maxTextLength, values: defaultMaxValues };
  const found = inspect(value, limits.maxDepth, budget);
  return found && { code: found.code, path: `$${found.steps.reverse().join('')}`, why: found.why };
}

export interface JsonProblem {
  /** It is over a limit (as a cycle is), or has something in it that JSON cannot say. */
  readonly code: 'too_large' | 'not_json';
  readonly path: string;
  readonly why: string;
}

/**
 * The values and characters that may yet come: no more than the text would have. They are counted as
 * often as they are met, because a small object that refers to itself twice at each level is huge.
 */
interface Budget {
  left: number;
  values: number;
}

interface Found {
  readonly code: JsonProblem['code'];
  readonly why: string;
  /** From the inside out: those on the way out add theirs, so that a sound value costs no paths. */
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
  for (const [key, value] of Object.entries(object)) {
    budget.left -= key.length;
    const problem = inspect(value, depth, budget);
    if (problem !== undefined) return within(`.${key}`, problem);
  }
  return undefined;
}

function within(step: string, problem: Found): Found {
  problem.steps.push(step);
  return problem;
}

/** Another realm's plain object has another Object.prototype, which is told by what only it has. */
function isPlain(object: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype === null || prototype === Object.prototype) return true;
  const isRoot = typeof prototype === 'object' && Object.getPrototypeOf(prototype) === null;
  return isRoot && Object.hasOwn(prototype, 'isPrototypeOf');
}
