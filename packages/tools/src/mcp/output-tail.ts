import { stripVTControlCharacters } from 'node:util';
import type { Redact } from './secrets.ts';

// What is kept is more than what is told, so that a secret at the edge is still whole when it is looked for.
const keptBytes = 16_384;
const toldLength = 2_000;

/** The last of what a program wrote. */
export class OutputTail {
  #bytes: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): void {
    const all = Buffer.concat([this.#bytes, chunk]);
    this.#bytes = all.subarray(Math.max(0, all.length - keptBytes));
  }

  text(redact: Redact): string {
    const plain = redact(stripVTControlCharacters(this.#bytes.toString('utf8')));
    return plain.slice(-toldLength).toWellFormed().trim();
  }
}
