import {
  type Attempt,
  type Delta,
  type DraftRecord,
  Folder,
  type ItemId,
  isMillraceError,
  recordVersion,
  sessionId,
  validate,
} from '@millrace/core';
import { ProviderError } from '@millrace/providers';

/**
 * Holds what a provider streams against the protocol before it is on the log: one that builds its
 * deltas by hand must not make a session unreadable.
 */
export class CheckedDeltas {
  readonly #at: Attempt;
  readonly #folder = new Folder(sessionId('check'));

  constructor(itemId: ItemId, at: Attempt) {
    this.#at = at;
    this.#fold({ ...at, fact: { type: 'item_started', itemId, kind: 'assistant' } });
  }

  get hasOpenParts(): boolean {
    return this.#folder.state.open.length > 0;
  }

  /** What is to be appended. Throws where it does not follow what came before it. */
  draft(delta: Delta): DraftRecord | undefined {
    try {
      const draft = validate(this.#folder.state, { ...this.#at, delta });
      if (draft !== undefined) this.#fold(draft);
      return draft;
    } catch (cause) {
      if (!isMillraceError(cause)) throw cause;
      throw brokenStream(`a delta does not follow those before it (${cause.code})`, cause);
    }
  }

  #fold(draft: DraftRecord): void {
    const offset = this.#folder.state.through + 1;
    const head = { v: recordVersion, offset, time: 0, producer: 'check' } as const;
    this.#folder.add({ ...head, ...draft });
  }
}

export function brokenStream(why: string, cause?: unknown): ProviderError {
  const message = `Cannot send the provider's stream on: ${why}. Mend the provider or what changes its steps`;
  return new ProviderError('protocol_error', message, { provider: 'unknown', cause });
}
