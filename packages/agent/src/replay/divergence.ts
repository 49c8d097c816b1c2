import type { DraftRecord, LogRecord } from '@millrace/core';

/** Where a replay would have written something else than was recorded. */
export interface Divergence {
  /** Of the record that should have come. */
  readonly offset: number;
  readonly expected: LogRecord;
  /** What the loop wanted to write instead; nothing where it waits for something that does not come. */
  readonly found: readonly DraftRecord[];
  /** What differs, in a sentence. */
  readonly message: string;
}

export function divergenceAt(expected: LogRecord, found: readonly DraftRecord[]): Divergence {
  const { offset } = expected;
  const instead = found.map(nameOf).join(', ');
  const came = found.length === 0 ? 'nothing comes' : `the loop writes ${instead}`;
  const message = `Record ${offset} is ${nameOf(expected)}, and ${came}`;
  return { offset, expected, found, message };
}

function nameOf({ delta, fact, turn, attempt }: DraftRecord | LogRecord): string {
  const type = fact?.type ?? delta?.type ?? 'nothing';
  const of = fact !== undefined && 'name' in fact ? ` of ${fact.name}` : '';
  return turn === 0 ? `${type}${of}` : `${type}${of} (turn ${turn}, attempt ${attempt})`;
}
