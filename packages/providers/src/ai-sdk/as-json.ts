import { type JsonValue, parseJson, toBase64 } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';

/**
 * What a package handed over, as JSON: fields that are undefined go, addresses and dates become text,
 * bytes base64. Undefined where nothing is left. Throws a `WireFault` for what JSON cannot say.
 */
export function asJson(value: unknown): JsonValue | undefined {
  const text = stringify(value);
  if (text === undefined) return undefined;
  const parsed = parseJson(text);
  if (parsed.ok) return parsed.value;
  throw fault('protocol_error', 'a part of the answer cannot be written as JSON');
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, (_, inner) =>
      inner instanceof Uint8Array ? toBase64(inner) : inner,
    );
  } catch {
    // A circle, or a number without bound: what is returned is no JSON either.
    return '';
  }
}
