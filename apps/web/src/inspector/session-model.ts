import type { FactRecord, LogRecord, SessionId } from '@millrace/core';
import { Checkpoints, countUpTo } from './checkpoints.ts';
import { Figures } from './figures.ts';
import { TimeAxis } from './time-axis.ts';
import { Waterfall } from './waterfall.ts';

/** All that the inspector shows of a session, made of its records as they come. */
export class SessionModel {
  readonly checkpoints: Checkpoints;
  readonly axis = new TimeAxis();
  readonly waterfall = new Waterfall();
  readonly figures = new Figures();
  readonly #facts: FactRecord[] = [];

  constructor(session: SessionId) {
    this.checkpoints = new Checkpoints(session);
  }

  get records(): readonly LogRecord[] {
    return this.checkpoints.records;
  }

  /** What had happened by then, besides what was said. */
  factsUpTo(offset: number): readonly FactRecord[] {
    return this.#facts.slice(0, countUpTo(this.#facts, offset));
  }

  add(records: readonly LogRecord[]): void {
    for (const record of records) {
      this.checkpoints.add(record);
      if (record.fact !== undefined) this.#facts.push(record);
      this.axis.add(record.time);
      this.waterfall.add(record);
      this.figures.add(record);
    }
  }
}
