import type { Names, Skeleton } from './skeleton.ts';

/** Returns the skeleton of a synchronous store for a log, and the conformance suite. */
export function storeSkeleton(names: Names): Skeleton {
  const folder = `packages/log/src/${names.kebab}`;
  return {
    folder,
    test: folder,
    guide: 'docs/extend/store.md',
    files: {
      [`${folder}/${names.kebab}-log.ts`]: logFile(names),
      [`${folder}/${names.kebab}-store.ts`]: storeFile(names),
      [`${folder}/${names.kebab}-log.test.ts`]: testFile(names),
    },
    steps: [
      `${names.kebab}-store.ts: the reads, then the writes; memory/memory-log.ts shows the meaning of each`,
      `${names.kebab}-log.test.ts: isDurable, if a second log on the same store sees the records`,
      `packages/log/src/index.ts, or an entry in packages/log/package.json: export ${names.camel}Log`,
    ],
  };
}

const logFile = ({ kebab, camel, pascal }: Names) => `import type { Log } from '../contract/log.ts';
import { LocalLog, type LocalLogOptions } from '../engine/local-log.ts';
import { ${pascal}Store } from './${kebab}-store.ts';

/** Options of \`${camel}Log\`. */
export type ${pascal}LogOptions = Pick<LocalLogOptions, 'clock' | 'bus'>;

/**
 * Creates a log on ${kebab}.
 *
 * @example const log = ${camel}Log(); const driver = await log.open(sessionId('demo'));
 */
export function ${camel}Log({ clock, bus }: ${pascal}LogOptions = {}): Log {
  return new LocalLog(new ${pascal}Store(), { clock, bus });
}
`;

const storeFile = ({
  kebab,
  pascal,
}: Names) => `import type { LogRecord, SessionId } from '@millrace/core';
import type {
  NewSessionNumbers,
  RecordStore,
  SessionRowFilter,
  StoreTransaction,
} from '../storage/record-store.ts';
import type { CommandRow, ProducerRow, SessionRow } from '../storage/rows.ts';

/** Stores rows and records in ${kebab}. \`storage/record-store.ts\` describes each method. */
export class ${pascal}Store implements RecordStore, StoreTransaction {
  /** Runs the work in a transaction. If the work throws, nothing of it may be stored. */
  transact<T>(work: (tx: StoreTransaction) => T): T {
    return work(this);
  }

  /**
   * Calls the listener when another process may have written. This store has no other processes.
   */
  watch(): () => void {
    return () => {};
  }

  close(): void {}

  session(_session: SessionId): SessionRow | undefined {
    throw notWritten('session');
  }

  sessions(_filter: SessionRowFilter): Iterable<SessionRow> {
    throw notWritten('sessions');
  }

  producer(_session: SessionId, _producer: string): ProducerRow | undefined {
    throw notWritten('producer');
  }

  command(_session: SessionId, _key: string): CommandRow | undefined {
    throw notWritten('command');
  }

  records(_session: SessionId, _after: number, _maxBytes: number): readonly LogRecord[] {
    throw notWritten('records');
  }

  blob(_hash: string): Uint8Array | undefined {
    throw notWritten('blob');
  }

  blobSlice(_hash: string, _start: number, _end: number): Uint8Array | undefined {
    throw notWritten('blobSlice');
  }

  blobsOf(_session: SessionId): readonly string[] {
    throw notWritten('blobsOf');
  }

  nextEpoch(): number {
    throw notWritten('nextEpoch');
  }

  nextSession(): NewSessionNumbers {
    throw notWritten('nextSession');
  }

  putSession(_row: SessionRow): void {
    throw notWritten('putSession');
  }

  putProducer(_row: ProducerRow): void {
    throw notWritten('putProducer');
  }

  putCommand(_session: SessionId, _key: string, _row: CommandRow): void {
    throw notWritten('putCommand');
  }

  insert(_session: SessionId, _records: readonly LogRecord[]): void {
    throw notWritten('insert');
  }

  replace(
    _session: SessionId,
    _first: number,
    _last: number,
    _records: readonly LogRecord[],
  ): void {
    throw notWritten('replace');
  }

  deleteSession(_session: SessionId): void {
    throw notWritten('deleteSession');
  }

  putBlob(_hash: string, _bytes: Uint8Array, _now: number): void {
    throw notWritten('putBlob');
  }

  deleteUnusedBlobs(_hashes: readonly string[]): void {
    throw notWritten('deleteUnusedBlobs');
  }
}

function notWritten(method: string): Error {
  return new Error(\`Not written yet: \${method}\`);
}
`;

const testFile = ({ kebab, camel }: Names) => `import { describe, test } from 'vitest';
import { type LogSubject, logCases } from '../suite/index.ts';
import { ${camel}Log } from './${kebab}-log.ts';

const subject: LogSubject = {
  isDurable: false,
  create: async (clock) => ({ open: async () => ${camel}Log({ clock }), remove: async () => {} }),
};

describe('the log on ${kebab} passes the conformance suite', () => {
  for (const { name, run } of logCases(subject)) test(name, run);
});
`;
