import type { SessionId } from '@millrace/core';
import type { Log } from '@millrace/log';
import { type DigestState, emptyDigest, foldDigest } from './digest-state.ts';

/** Of so many sessions what was read is kept, so that the next look reads only what came since. */
const maxKept = 256;
/** So much is read for one look; a longer session takes several, and says that it is not whole yet. */
const maxPages = 32;
const pageBytes = 2 ** 20;

export interface Digested {
  readonly state: DigestState;
  /** All that the log has is in it. */
  readonly isWhole: boolean;
}

/** What sessions came to, read from their logs and never stored: it cannot disagree with them. */
export class Digests {
  readonly #log: Log;
  /** The one that was looked at last is at the end. */
  readonly #kept = new Map<SessionId, DigestState>();

  constructor(log: Log) {
    this.#log = log;
  }

  async of(session: SessionId): Promise<Digested> {
    const info = await this.#log.info(session);
    const kept = this.#kept.get(session);
    // A session that was deleted and made again is shorter than what is known of it.
    const isKnown = kept !== undefined && kept.through <= (info?.through ?? 0);
    let state = isKnown ? kept : emptyDigest;
    const through = info?.through ?? 0;
    for (let pages = 0; pages < maxPages && state.through < through; pages++) {
      const page = await this.#log.read(session, { from: state.through, maxBytes: pageBytes });
      if (page.through <= state.through) break;
      state = { ...foldDigest(state, page.records), through: page.through };
    }
    this.#keep(session, state);
    return { state, isWhole: state.through >= through };
  }

  #keep(session: SessionId, state: DigestState): void {
    this.#kept.delete(session);
    this.#kept.set(session, state);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest);
  }
}

const known = new WeakMap<Log, Digests>();

/** One for each log, whoever asks. */
export function digestsOf(log: Log): Digests {
  const digests = known.get(log) ?? new Digests(log);
  known.set(log, digests);
  return digests;
}
