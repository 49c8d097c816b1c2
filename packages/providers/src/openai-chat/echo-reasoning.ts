import type { JsonObject } from '@millrace/core';
import type { AssistantPart } from '../history/message.ts';
import { isObject, objectsIn, textIn } from '../json/fields.ts';
import type { EchoStyle } from './dialect.ts';

const defaultField = 'reasoning_content';

/** The reasoning of a message, in the form in which its server wants it back. */
export function reasoningFields(
  parts: readonly AssistantPart[],
  style: EchoStyle,
  isSinceUser: boolean,
): JsonObject {
  switch (style) {
    case 'none':
      return {};
    case 'details':
      return detailsOf(parts);
    case 'field_since_user':
      return isSinceUser ? fieldOf(parts) : {};
    case 'field_always':
      return { [defaultField]: '', ...fieldOf(parts) };
    case 'field':
      return fieldOf(parts);
  }
}

/** One text, under the field that it came in. */
function fieldOf(parts: readonly AssistantPart[]): JsonObject {
  const reasoning = parts.flatMap((part) => (part.kind === 'reasoning' ? part : []));
  const data = reasoning[0]?.providerState?.data;
  if (data === undefined) return {};
  const field = textIn(isObject(data) ? data : undefined, 'field') ?? defaultField;
  return { [field]: reasoning.map(({ text }) => text).join('') };
}

function detailsOf(parts: readonly AssistantPart[]): JsonObject {
  const details = parts.flatMap((part) => {
    const data = part.kind === 'reasoning' ? part.providerState?.data : undefined;
    return isObject(data) ? objectsIn(data, 'details') : [];
  });
  return details.length === 0 ? fieldOf(parts) : { reasoning_details: details };
}
