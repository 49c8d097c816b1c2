import { type JsonObject, parseJson } from '@millrace/core';
import { isObject, objectIn, objectsIn, textIn } from '../json/fields.ts';

const wrapperNames: ReadonlySet<string> = new Set(['parallel', 'multi_tool_use.parallel']);

/** A tool that models call by habit, although nobody has it: it stands for several calls at once. */
export function isParallelWrapper(name: string, isDeclared: (name: string) => boolean): boolean {
  return wrapperNames.has(name) && !isDeclared(name);
}

export interface WrappedCall {
  readonly name: string;
  readonly arguments: string;
}

/** The calls inside; undefined where it is not that tool after all. */
export function unwrapCalls(wrapper: string): readonly WrappedCall[] | undefined {
  const parsed = parseJson(wrapper);
  const uses = parsed.ok && isObject(parsed.value) ? objectsIn(parsed.value, 'tool_uses') : [];
  const calls = uses.flatMap((use) => unwrap(use) ?? []);
  return calls.length > 0 && calls.length === uses.length ? calls : undefined;
}

function unwrap(use: JsonObject): WrappedCall | undefined {
  const name = textIn(use, 'recipient_name')?.replace(/^functions\./, '');
  if (name === undefined || name === '') return undefined;
  return { name, arguments: JSON.stringify(objectIn(use, 'parameters') ?? {}) };
}
