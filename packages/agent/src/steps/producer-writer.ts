import type { Batch, DraftRecord, LogRecord, SessionId } from '@millrace/core';
import type { Admission, Driver, Log, Producer } from '@millrace/log';

interface Waiting {
  readonly drafts: readonly DraftRecord[];
  readonly stored: PromiseWithResolvers<Batch>;
}

/**
 * Lets a producer write through the journal, which expects a driver. Each append therefore returns all new
 * records, including the records of other writers. Records that do not belong to the producer's attempt are
 * written by the driver.
 */
export class ProducerWriter implements Pick<Driver, 'session' | 'append'> {
  readonly session: SessionId;
  readonly #log: Log;
  readonly #driver: Driver;
  #producer: Producer | undefined;
  #name: string | undefined;
  #sequence = 0;
  /** The offset of the last record that was returned to the journal. */
  #readThrough: number;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(log: Log, driver: Driver, from: number) {
    this.#log = log;
    this.#driver = driver;
    this.session = driver.session;
    this.#readThrough = from;
  }

  /** The name under which the producer writes to the log. */
  get name(): string | undefined {
    return this.#name;
  }

  /**
   * Makes all later writes use this admission. Earlier producers with the same admission are fenced: they can
   * no longer write.
   */
  async useAdmission(admission: Admission): Promise<Producer> {
    const producer = await this.#log.produce(admission);
    this.#producer = producer;
    this.#name = admission.producer;
    this.#sequence = 0;
    return producer;
  }

  append(drafts: readonly DraftRecord[]): Promise<Batch> {
    const stored = Promise.withResolvers<Batch>();
    this.#waiting.push({ drafts, stored });
    if (!this.#isWriting) void this.#writeAll();
    return stored.promise;
  }

  /** Writes all waiting appends. Appends that arrive during a write are joined into the next write. */
  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const taken = this.#waiting;
      this.#waiting = [];
      try {
        const through = await this.#store(taken.flatMap(({ drafts }) => drafts));
        const batch = await this.#readOn(through);
        const { through: at } = batch;
        const nothing = { after: at, through: at, records: [] };
        for (const [index, { stored }] of taken.entries())
          stored.resolve(index === 0 ? batch : nothing);
      } catch (error) {
        for (const { stored } of taken) stored.reject(error);
      }
    }
    this.#isWriting = false;
  }

  async #store(drafts: readonly DraftRecord[]): Promise<number> {
    const producer = this.#producer;
    if (drafts.length === 0) return 0;
    const isOwn = ({ turn, attempt }: DraftRecord) =>
      turn === producer?.turn && attempt === producer.attempt;
    if (producer === undefined || !drafts.every(isOwn))
      return (await this.#driver.append(drafts)).through;
    const { through } = await producer.append(drafts, this.#sequence + 1);
    this.#sequence += 1;
    return through;
  }

  /** Reads all new records, at least up to `through`. */
  async #readOn(through: number): Promise<Batch> {
    const after = this.#readThrough;
    const records: LogRecord[] = [];
    for (;;) {
      const page = await this.#log.read(this.session, { from: this.#readThrough });
      for (const record of page.records) records.push(record);
      const isAll = page.through <= this.#readThrough;
      this.#readThrough = Math.max(this.#readThrough, page.through);
      if (isAll || (through > 0 && this.#readThrough >= through)) break;
    }
    return { after, through: this.#readThrough, records };
  }
}
