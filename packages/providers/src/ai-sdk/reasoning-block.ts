import type { DeltaWriter, ProviderState, ReasoningWriter } from '@millrace/core';
import type { Owner } from '../history/own-parts.ts';
import type { Block } from './blocks.ts';
import { ownStateOf } from './provider-state.ts';

/** Begins at once, also where nothing readable follows: providers want it back where it stood. */
export class ReasoningBlock implements Block {
  readonly #owner: Owner;
  readonly #part: ReasoningWriter;

  constructor(writer: DeltaWriter, owner: Owner) {
    this.#owner = owner;
    this.#part = writer.reasoning();
  }

  append(chunk: string): void {
    this.#part.append(chunk);
  }

  end(state: ProviderState | undefined): void {
    if (this.#part.length > 0) {
      return this.#part.commit({ providerState: state ?? ownStateOf(this.#owner, undefined) });
    }
    if (state === undefined) return this.#part.retract('withdrawn');
    this.#part.replace({ kind: 'reasoning', text: '', form: 'redacted', providerState: state });
  }
}
