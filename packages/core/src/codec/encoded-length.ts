import type { Part } from '../protocol/part.ts';
import { wirePart } from './to-wire.ts';

/** How long a part is as JSON text, without writing out its bytes. */
export function encodedLength(part: Part): number {
  let bytesLength = 0;
  const wire = wirePart(part, (bytes) => {
    bytesLength += Math.ceil(bytes.length / 3) * 4;
    return '';
  });
  return JSON.stringify(wire).length + bytesLength;
}

/** Room for a record's head and whatever stands around a part in it. */
export const roomAroundParts: number = 2 ** 16;
