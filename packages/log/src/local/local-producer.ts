import type { DraftRecord, SessionId } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import type { Acknowledged, Admission, Producer } from '../contract/producer.ts';
import { assertAdmitted, isNext, opened } from '../rules/produce.ts';
import { readableDrafts } from '../rules/readable-draft.ts';
import type { ProducerRow } from '../shelf/rows.ts';
import type { ShelfWriter } from '../shelf/shelf.ts';
import { addRecords } from './add-records.ts';
import type { Store } from './store.ts';

/** Opens an admission: fences whoever opened it before, whose try at a request leaves the stage. */
export async function openProducer(store: Store, admission: Admission): Promise<Producer> {
  const { producer } = await store.commits.run((shelf) => reopen(store, shelf, admission), {
    tell: ({ added }) => added && store.feeds.push(added.row, added.records),
  });
  return new LocalProducer(store, admission, producer);
}

function reopen({ clock }: Store, shelf: ShelfWriter, admission: Admission) {
  const { session, producer: name } = admission;
  const row = shelf.session(session);
  const known = shelf.producer(session, name);
  assertAdmitted(row, known, admission);
  const producer = opened(known);
  shelf.putProducer(producer);
  const { turn, attempt } = known;
  if (row === undefined || !known.isRequest || known.epoch === 0)
    return { producer, added: undefined };
  const fact = { type: 'attempt_superseded', reason: 'opened again' } as const;
  const added = addRecords(shelf, row, [{ turn, attempt, fact }], 'store', clock.now());
  return { producer, added };
}

class LocalProducer implements Producer {
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
