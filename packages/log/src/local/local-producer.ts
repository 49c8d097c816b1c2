import type { DraftRecord, SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import type { Acknowledged, Admission, Producer } from '../contract/producer.ts';
import { assertAdmitted, isNext } from '../rules/produce.ts';
import { readableDrafts } from '../rules/readable-draft.ts';
import type { ProducerRow } from '../shelf/rows.ts';
import type { ShelfWriter } from '../shelf/shelf.ts';
import { addRecords } from './add-records.ts';
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
    const ready = readableDrafts(drafts, this.session);
    if (!ready.every(isOwn)) throw this.#foreign();
    const { through, added } = await this.#store.commits.run(
      (shelf) => this.#insert(shelf, ready, sequence),
      { tell: ({ added: stored }) => stored && this.#store.feeds.push(stored.row, stored.records) },
    );
    return { through, isRepeat: added === undefined };
  }

  #insert(shelf: ShelfWriter, drafts: readonly DraftRecord[], sequence: number) {
    const { session } = this;
    const row = shelf.session(session);
    const producer = shelf.producer(session, this.#admission.producer);
    assertAdmitted(row, producer, this.#admission, this.epoch);
    if (row === undefined || !isNext(producer, sequence))
      return { through: producer.through, added: undefined };
    const added = addRecords(shelf, row, drafts, producer.producer, this.#store.clock.now());
    const { through } = added.row;
    shelf.putProducer({ ...producer, sequence, through });
    return { through, added };
  }

  #foreign(): LogError {
    const { turn, attempt, session } = this;
    const message = `Cannot write for another attempt than ${turn}.${attempt} of session ${session}`;
    return new LogError('bad_records', message, { session, turn, attempt });
  }
}
