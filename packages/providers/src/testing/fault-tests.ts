import { expect, test } from 'vitest';

type Change = (body: object) => void;

/**
 * Declares one test for each row. A row has a change that makes a valid body invalid, and the
 * faults that are expected.
 */
export function testEachFault<Rules>(
  faultsOf: (body: unknown, rules?: Rules) => readonly string[],
  good: () => object,
  rows: readonly (readonly [string, Change, string | readonly string[], Rules?])[],
): void {
  for (const [what, change, fault, rules] of rows) {
    test(`catch ${what}`, () => {
      const body = good();
      expect(faultsOf(body, rules)).toEqual([]);
      change(body);
      const faults = [fault].flat().map((text) => expect.stringContaining(text));
      expect(faultsOf(body, rules)).toEqual(faults);
    });
  }
}

/** Returns a change that sets a value at a path such as `messages.2.role`. */
export function put(path: string, value: unknown): Change {
  return (body) => {
    const { parent, key } = parentOf(body, path);
    Object.assign(parent, { [key]: value });
  };
}

/** Returns a change that removes a property or a list entry. */
export function drop(path: string): Change {
  return (body) => {
    const { parent, key } = parentOf(body, path);
    if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else Reflect.deleteProperty(parent, key);
  };
}

/** Returns a change that inserts entries into a list, before the entry at the path. */
export function insert(path: string, ...entries: readonly unknown[]): Change {
  return (body) => {
    const { parent, key } = parentOf(body, path);
    if (!Array.isArray(parent))
      throw new Error(`Cannot insert at ${path}: its parent is not a list`);
    parent.splice(Number(key), 0, ...entries);
  };
}

/** Returns a change that applies several changes in order. */
export function all(...changes: readonly Change[]): Change {
  return (body) => {
    for (const change of changes) change(body);
  };
}

function parentOf(body: object, path: string): { readonly parent: object; readonly key: string } {
  const keys = path.split('.');
  const key = keys.pop() ?? '';
  let parent = body;
  for (const step of keys) {
    const next: unknown = Reflect.get(parent, step);
    if (typeof next !== 'object' || next === null) {
      throw new Error(`Cannot change ${path}: there is nothing at ${step}`);
    }
    parent = next;
  }
  return { parent, key };
}
