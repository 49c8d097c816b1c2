import { refuseChunk } from '../codec/check-content.ts';
import type { Limits } from '../limits.ts';
import type { BeginPart } from '../protocol/delta.ts';
import { AnyPartWriter, type Outlet } from './any-part-writer.ts';
import type { TextWriter } from './part-writer.ts';

export class TextPartWriter<Kind extends TextWriter['kind']>
  extends AnyPartWriter<Kind>
  implements TextWriter
{
  #length: number;
  /** A high surrogate whose partner has not come yet: half a pair is never on the log. */
  #held = '';

  constructor(
    begin: BeginPart & { readonly kind: Kind },
    limits: Limits,
    outlet: Outlet,
    length = 0,
  ) {
    super(begin, limits, outlet);
    this.#length = length;
  }

  get length(): number {
    return this.#length;
  }

  append(chunk: string): void {
    this.assertOpen('append to a part');
    const refusal = refuseChunk(chunk, 'text', this.#length + this.#held.length, this.limits);
    this.assert(refusal, 'append to a part');
    if (this.#held === '' && chunk.isWellFormed()) this.#write(chunk);
    else this.#writePaired(this.#held + chunk);
  }

  protected override finish(): number {
    if (this.#held !== '') this.#write('\uFFFD');
    this.#held = '';
    return this.#length;
  }

  #writePaired(text: string): void {
    const cut = endsInHalf(text) ? text.length - 1 : text.length;
    this.#held = text.slice(cut);
    const whole = text.slice(0, cut).toWellFormed();
    // With the half that was held back a chunk may be one longer than chunks are.
    const split = whole.length > this.limits.maxChunkLength ? 2 : 0;
    this.#write(whole.slice(0, split));
    this.#write(whole.slice(split));
  }

  #write(chunk: string): void {
    if (chunk === '') return;
    const at = this.#length;
    this.#length += chunk.length;
    this.emit({ type: 'append_text', partId: this.partId, at, chunk });
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
