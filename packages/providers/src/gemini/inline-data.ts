import { fromBase64 } from '@millrace/core';
import { fault } from '../errors/wire-fault.ts';

/** The bytes of base64, be it padded or not, of either alphabet. */
export function bytesOf(base64: string): Uint8Array {
  const bytes = fromBase64(base64) ?? fromBase64(standard(base64));
  if (bytes === undefined) throw fault('protocol_error', 'the data of a part is not base64');
  return bytes;
}

function standard(base64: string): string {
  const digits = base64.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, '=');
}
