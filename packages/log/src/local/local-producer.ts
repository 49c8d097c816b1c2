import type { DraftRecord, SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import type { Acknowledged, Admission, Producer } from '../contract/producer.ts';
import { numberRecords } from '../rules/number-records.ts';
import { assertAdmitted, isNext } from '../rules/produce.ts';
import type { ProducerRow } from '../shelf/rows.ts';
import type { ShelfWriter } from '../shelf/shelf.ts';
import type { Store } from './store.ts';

export class LocalProducer implements Producer {
  readonly session: SessionId;
  readonly epoch: number;
  readonly turn: number;
  readonly attempt: number;
  readonly #store: Store;
  readonly #admission: Admission;

  constructor(store: Store, admission: Admission, { epoch, turn, attempt }: ProducerRow) {
    this.#store = store;
    this.#admission = admission;
    this.session = admission.session;
    this.epoch = epoch;
    this.turn = turn;
    this.attempt = attempt;
  }

  async append(drafts: readonly DraftRecord[], sequence: number): Promise<Acknowledged> {
    const isOwn = ({ turn, attempt }: DraftRecord) =>
      turn === this.turn && attempt === this.attempt;
    if (!drafts.every(isOwn)) throw this.#foreign();
    const { acknowledged } = await this.#store.commits.run(
      (shelf) => this.#insert(shelf, drafts, sequence),
      ({ row, own }) => row && this.#store.feeds.push(row, own),
    );
    return acknowledged;
  }

  #insert(shelf: ShelfWriter, drafts: readonly DraftRecord[], sequence: number) {
    const { session } = this;
    const row = shelf.session(session);
    const producer = shelf.producer(session, this.#admission.producer);
    assertAdmitted(row, producer, this.#admission, this.epoch);
    if (row === undefined || !isNext(producer, sequence)) {
      return {
        row: undefined,
        own: [],
        acknowledged: { through: producer.through, isRepeat: true },
      };
    }
    const now = this.#store.clock.now();
    const { row: next, records: own } = numberRecords(row, drafts, producer.producer, now);
    shelf.insert(session, own);
    shelf.putSession(next);
    shelf.putProducer({ ...producer, sequence, through: next.through });
    return { row: next, own, acknowledged: { through: next.through, isRepeat: false } };
  }

  #foreign(): LogError {
    const { turn, attempt, session } = this;
    const message = `Cannot write for another attempt than ${turn}.${attempt} of session ${session}`;
    return new LogError('bad_records', message, { session, turn, attempt });
  }
}
