import type { Limits } from '../limits.ts';

type JsonLimits = Pick<Limits, 'maxDepth' | 'maxTextLength'>;

/** Where a value stops being JSON, as a path such as `$.a[0]`, and why; undefined if it is JSON. */
export function checkJson(value: unknown, limits: JsonLimits): JsonProblem | undefined {
  return inspect(value, '$', limits.maxDepth, { left: limits.maxTextLength });
}

export interface JsonProblem {
  readonly path: string;
  readonly why: string;
}

/** Counts the values seen: a small object that refers to itself twice at each level has 2^depth of them. */
interface Budget {
  left: number;
}

function inspect(
  value: unknown,
  path: string,
  depth: number,
  budget: Budget,
): JsonProblem | undefined {
  if (--budget.left < 0) return { path, why: 'there are too many values' };
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : { path, why: `${value} is no JSON number` };
    case 'object':
      if (value === null) return undefined;
      if (depth === 0) return { path, why: 'it is nested too deeply' };
      if (Array.isArray(value)) return inspectArray(value, path, depth - 1, budget);
      return inspectObject(value, path, depth - 1, budget);
    default:
      return { path, why: `JSON has no ${typeof value}` };
  }
}

function inspectArray(
  values: readonly unknown[],
  path: string,
  depth: number,
  budget: Budget,
): JsonProblem | undefined {
  for (let index = 0; index < values.length; index++) {
    const problem = inspect(values[index], `${path}[${index}]`, depth, budget);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function inspectObject(
  object: object,
  path: string,
  depth: number,
  budget: Budget,
): JsonProblem | undefined {
  const prototype: unknown = Object.getPrototypeOf(object);
  // Another realm's plain object has another Object.prototype, but that too has no prototype above it.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    return { path, why: 'it is not a plain object' };
  }
  for (const [key, value] of Object.entries(object)) {
    const problem = inspect(value, `${path}.${key}`, depth, budget);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
