import type { JsonObject, JsonValue, Part } from '@millrace/core';

/**
 * The fields of a part for which the SDK's items have no place, such as signatures, provider state and
 * metadata. They are stored in `providerData`. With them, the next request can contain the original part,
 * even if the item comes from a stored history.
 */
interface PreservedPart {
  readonly kind: Part['kind'];
  readonly [field: string]: JsonValue;
}

const key = 'millrace';

/** The names of fields that the SDK's item itself contains. */
const itemFields: ReadonlySet<string> = new Set([
  ...['text', 'arguments', 'input', 'toolCallId', 'source', 'isError', 'attachments'],
]);

/**
 * Returns the fields for an item's `providerData`. Returns no fields if the item itself contains everything.
 */
export function preservePart(part: Part): { readonly providerData?: Record<string, JsonValue> } {
  const rest = Object.entries(part).filter(
    ([name, value]) => value !== undefined && !itemFields.has(name) && !isItemField(part, name),
  );
  if (rest.length === 1 && (part.kind === 'text' || part.kind === 'tool_call')) return {};
  return { providerData: { [key]: Object.fromEntries(rest) as JsonObject } };
}

/**
 * True if the SDK's item itself contains the field. An item contains the name of a call and the value of an
 * output. It does not contain the name and the value of a custom part.
 */
function isItemField({ kind }: Part, name: string): boolean {
  if (name === 'name') return kind === 'tool_call' || kind === 'tool_result';
  return name === 'value' && (kind === 'structured' || kind === 'tool_result');
}

/** Returns the fields that `preservePart` stored. Undefined if the item did not come from Millrace. */
export function preservedPart(item: {
  readonly providerData?: Readonly<Record<string, unknown>> | undefined;
}): PreservedPart | undefined {
  const preserved = item.providerData?.[key];
  const isPreserved = typeof preserved === 'object' && preserved !== null && 'kind' in preserved;
  return isPreserved ? (preserved as PreservedPart) : undefined;
}
