// This file runs in a page. It contains the conformance suite, the laws, and a log that a test controls
// from outside.
import { sessionId } from '@millrace/core';
import fc from 'fast-check';
import type { Driver } from '../../contract/log.ts';
import { IndexedDbStoreLog } from '../../indexeddb/indexeddb-log.ts';
import { marker, runStarted, wholeItem } from '../../suite/drafts.ts';
import { type LogSubject, logCases, TestClock } from '../../suite/index.ts';
import { modelRuns, resumeRuns } from '../law-runs.ts';

declare const indexedDB: { deleteDatabase(name: string): { onsuccess: () => void } };

const subject: LogSubject = {
  isDurable: true,
  async create(clock) {
    const name = `suite ${crypto.randomUUID()}`;
    const logs: IndexedDbStoreLog[] = [];
    return {
      async open() {
        // The interval is shorter than the delays that the test clock controls.
        const log = new IndexedDbStoreLog({ name, clock, commitIntervalMs: 2 });
        logs.push(log);
        return log;
      },
      remove: () =>
        new Promise<void>((resolve) => {
          indexedDB.deleteDatabase(name).onsuccess = () => resolve();
        }),
      async whenIdle() {
        for (const log of logs) await log.quiet();
      },
    };
  },
};

const cases = logCases(subject);
const session = sessionId('shared');
/** The duration of the lease. It is so long that no test waits for its end. */
const dayMs = 86_400_000;
let log: IndexedDbStoreLog | undefined;
let driver: Driver | undefined;
const seen: number[] = [];

/**
 * The functions that a test calls. All of them return plain data, because the results are sent to the
 * test's process.
 */
const page = {
  names: cases.map(({ name }) => name),
  run: (name: string) => {
    const found = cases.find((one) => one.name === name);
    if (found === undefined) throw new Error(`there is no case ${name}`);
    return found.run();
  },
  model: (numRuns: number, seed: number) => {
    fc.configureGlobal({ seed });
    return modelRuns(subject, { numRuns });
  },
  resume: (isSettled: boolean, isSplit: boolean, numRuns: number, seed: number) => {
    fc.configureGlobal({ seed });
    return resumeRuns(subject, { isSettled, isSplit, numRuns });
  },

  openLog() {
    log = new IndexedDbStoreLog({ name: 'tabs' });
  },
  /** Opens the session that all tabs share. Returns the epoch, or the code of the error. */
  async drive(takeOver: boolean): Promise<number | string> {
    try {
      driver = await log?.open(session, { takeOver, holder: 'a tab', leaseMs: dayMs });
      return driver?.epoch ?? 'no log';
    } catch (error) {
      return (error as { readonly code: string }).code;
    }
  },
  async append(text: string): Promise<number | string> {
    try {
      return (await driver?.append([marker(text)]))?.through ?? 'no driver';
    } catch (error) {
      return (error as { readonly code: string }).code;
    }
  },
  startRun: async () => (await driver?.append([runStarted]))?.through,
  follow() {
    void (async () => {
      for await (const { records } of log?.follow(session) ?? [])
        for (const { offset } of records) seen.push(offset);
    })();
  },
  seen: () => seen,
  waiting: async () => (await log?.list({ isWaiting: true }))?.length ?? 0,
  closeLog: () => log?.close(),

  /** Appends 4 MB. Returns the code and the message of the error. */
  async fill(): Promise<string> {
    const own = new IndexedDbStoreLog({ name: 'full' });
    try {
      const filling = await own.open(sessionId('large'));
      await filling.append([marker('x'.repeat(4_000_000))]);
      return 'stored';
    } catch (error) {
      const { code, message } = error as { readonly code: string; readonly message: string };
      return `${code}: ${message}`;
    } finally {
      await own.close();
    }
  },
  /** Stores two blobs and references one of them. Returns what is left after a vacuum one day later. */
  async vacuum(): Promise<unknown> {
    const clock = new TestClock();
    const own = new IndexedDbStoreLog({ name: 'vacuum', clock, commitIntervalMs: 2 });
    const [used, unused] = [
      await own.blobs.put(Uint8Array.of(1)),
      await own.blobs.put(Uint8Array.of(2)),
    ];
    const source = { type: 'blob', hash: used.hash, length: 1 } as const;
    const part = { kind: 'media', mimeType: 'image/png', source } as const;
    await (await own.open(session)).append(wholeItem('i', part));
    clock.jump(25 * 3_600_000);
    const deleted = await own.vacuum();
    const left = [await own.blobs.get(used.hash), await own.blobs.get(unused.hash)];
    await own.close();
    return [deleted, ...left.map((bytes) => bytes?.length ?? 0)];
  },
};

export type SuitePage = typeof page;
(globalThis as unknown as { page: SuitePage }).page = page;
