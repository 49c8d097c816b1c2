import { refuseChunk } from '../codec/check-content.ts';
import { AnyPartWriter } from './any-part-writer.ts';
import type { BytesWriter } from './part-writer.ts';

export class BytesPartWriter<Kind extends BytesWriter['kind']>
  extends AnyPartWriter<Kind>
  implements BytesWriter
{
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(chunk: Uint8Array): void {
    this.assertOpen('append to a part');
    const refusal = refuseChunk(chunk, 'bytes', this.#length, this.limits);
    this.assert(refusal, 'append to a part');
    if (chunk.length === 0) return;
    const at = this.#length;
    this.#length += chunk.length;
    this.emit({ type: 'append_bytes', partId: this.partId, at, chunk: new Uint8Array(chunk) });
  }

  protected override finish(): number {
    return this.#length;
  }
}
