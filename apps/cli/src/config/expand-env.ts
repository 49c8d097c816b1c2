import type { Env } from '../models/env.ts';

export interface Expanded<Value> {
  readonly value: Value;
  /** Variables that are named and not set. */
  readonly missing: readonly string[];
}

const form = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Puts variables of the environment in their places in all texts of a value: `${NAME}`, or
 * `${NAME:-default}`. So no key has to be in a file.
 */
export function expandEnv<Value>(value: Value, env: Env): Expanded<Value> {
  const missing: string[] = [];
  const expandText = (text: string) =>
    text.replace(form, (_, name: string, otherwise: string | undefined) => {
      const found = (Object.hasOwn(env, name) && env[name]) || otherwise;
      if (found === undefined) missing.push(name);
      return found ?? '';
    });
  const expand = (part: unknown): unknown => {
    if (typeof part === 'string') return expandText(part);
    if (Array.isArray(part)) return part.map(expand);
    if (typeof part !== 'object' || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([name, each]) => [name, expand(each)]));
  };
  return { value: expand(value) as Value, missing: [...new Set(missing)] };
}
