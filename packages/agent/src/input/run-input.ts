import { type Ids, type Item, itemId, mediumOf } from '@millrace/core';
import { AgentError } from '../contract/agent-error.ts';
import type { InputItem, RunInput } from '../contract/run.ts';
import { loopMetadata } from '../run/output.ts';

/** All kinds of items. */
const itemKinds: Readonly<Record<Item['kind'], true>> = {
  system: true,
  developer: true,
  user: true,
  assistant: true,
  tool: true,
  context: true,
  notification: true,
};

/**
 * Converts the input of a run to items. A text becomes a user item, and an item without an id gets an id.
 * Throws `bad_input` for any other value, for example the messages of a different library.
 */
export function toItems(input: RunInput, ids: Pick<Ids, 'item'>): readonly Item[] {
  if (typeof input === 'string')
    return [{ id: ids.item(), kind: 'user', parts: [{ kind: 'text', text: input }] }];
  const given: readonly InputItem[] = isList(input) ? input : [input];
  return given.map((item, index) => {
    const problem = problemOf(item);
    if (problem !== undefined) throw badInput(problem, isList(input) ? index : undefined);
    const { id } = item;
    return { ...withoutLoopMarks(item), id: id === undefined ? ids.item() : itemId(id) };
  });
}

/** Removes the marks with which the loop finds its own items. With a mark, an input would escape the guardrails. */
function withoutLoopMarks(item: InputItem): InputItem {
  const { by, guardrail, ...metadata } = item.metadata ?? {};
  const isOfLoop = by === loopMetadata.by;
  if (!isOfLoop && guardrail === undefined) return item;
  return { ...item, metadata: isOfLoop || by === undefined ? metadata : { ...metadata, by } };
}

function isList(input: InputItem | readonly InputItem[]): input is readonly InputItem[] {
  return Array.isArray(input);
}

/**
 * Returns the reason why a value is not an item, or undefined if it is an item. It checks only the shape. The
 * content of the parts is validated when they are written.
 */
function problemOf(item: unknown): string | undefined {
  if (typeof item !== 'object' || item === null)
    return `it is ${item === null ? 'null' : `a ${typeof item}`}`;
  const { kind, parts, role, id } = item as Readonly<Record<string, unknown>>;
  if (kind === undefined && role !== undefined)
    return 'it has a role, like a message of another library';
  if (typeof kind !== 'string' || !Object.hasOwn(itemKinds, kind))
    return `its kind must be one of ${Object.keys(itemKinds).join(', ')}`;
  if (id !== undefined && typeof id !== 'string') return 'its id is not a text';
  if (!Array.isArray(parts)) return 'its parts are not a list';
  return parts.every(isPart)
    ? undefined
    : `each part needs a kind: ${Object.keys(mediumOf).join(', ')}`;
}

function isPart(part: unknown): boolean {
  const { kind } = (part ?? {}) as { readonly kind?: unknown };
  return typeof kind === 'string' && Object.hasOwn(mediumOf, kind);
}

function badInput(problem: string, index: number | undefined): AgentError {
  const what = index === undefined ? 'the input' : `item ${index} of the input`;
  const way =
    "Pass a text, or items such as { kind: 'user', parts: [{ kind: 'text', text: 'Hello' }] }";
  return new AgentError('bad_input', `Cannot use ${what}: ${problem}. ${way}`, { index });
}
