import { encodeEvent, encodeRecord } from '@millrace/core';
import type { Observer } from '../contract/observer.ts';
import { assertKnownOptions } from '../known-options.ts';

/** Options of `jsonlObserver`. */
export interface JsonlOptions {
  /**
   * The content of the lines. With `records`, the lines contain the complete records, from which a program
   * can rebuild the session. With `events`, they contain the events. Default: `records`.
   */
  readonly as?: 'records' | 'events' | undefined;
}

/**
 * Creates an observer that writes each record, or each event, as one line of JSON.
 *
 * @example jsonlObserver((line) => process.stdout.write(line));
 */
export function jsonlObserver(write: (line: string) => void, options: JsonlOptions = {}): Observer {
  assertKnownOptions('jsonlObserver', options, { as: true });
  const { as = 'records' } = options;
  if (as === 'records') return (record) => write(`${encodeRecord(record)}\n`);
  return (_record, events) => {
    for (const event of events) write(`${encodeEvent(event)}\n`);
  };
}
