import type { JsonObject, JsonValue, Part } from '@millrace/core';

/**
 * What the SDK's items have no field for: signatures, provider state, metadata. It travels in their
 * `providerData`, so that the next request has the part as it was, also from a stored history.
 */
interface KeptPart {
  readonly kind: Part['kind'];
  readonly [field: string]: JsonValue;
}

const key = 'millrace';

/** The fields that the item itself says. */
const said: ReadonlySet<string> = new Set([
  ...['text', 'arguments', 'input', 'toolCallId', 'source', 'isError', 'attachments'],
]);

/** As an item's `providerData`; nothing where the item says it all. */
export function keepPart(part: Part): { readonly providerData?: Record<string, JsonValue> } {
  const rest = Object.entries(part).filter(
    ([name, value]) => value !== undefined && !said.has(name) && !isSaidAs(part, name),
  );
  if (rest.length === 1 && (part.kind === 'text' || part.kind === 'tool_call')) return {};
  return { providerData: { [key]: Object.fromEntries(rest) as JsonObject } };
}

/** The name of a call and the value of an output are in the item; those of custom parts are not. */
function isSaidAs({ kind }: Part, name: string): boolean {
  if (name === 'name') return kind === 'tool_call' || kind === 'tool_result';
  return name === 'value' && (kind === 'structured' || kind === 'tool_result');
}

/** What `keepPart` kept, where the item has it from us. */
export function keptPart(item: {
  readonly providerData?: Readonly<Record<string, unknown>> | undefined;
}): KeptPart | undefined {
  const kept = item.providerData?.[key];
  const isKept = typeof kept === 'object' && kept !== null && 'kind' in kept;
  return isKept ? (kept as KeptPart) : undefined;
}
