// Runs in a page: the conformance suite, the laws, and a log that a test drives from outside.
import { sessionId } from '@millrace/core';
import fc from 'fast-check';
import type { Driver } from '../../contract/log.ts';
import { IndexedDbStoreLog } from '../../indexeddb/indexeddb-log.ts';
import { marker, runStarted } from '../../suite/drafts.ts';
import { type LogSubject, logCases } from '../../suite/index.ts';
import { modelRuns, resumeRuns } from '../law-runs.ts';

declare const indexedDB: { deleteDatabase(name: string): { onsuccess: () => void } };

const subject: LogSubject = {
  isDurable: true,
  async create(clock) {
    const name = `suite ${crypto.randomUUID()}`;
    const logs: IndexedDbStoreLog[] = [];
    return {
      async open() {
        // Shorter than the delays that the test clock controls.
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
let log: IndexedDbStoreLog | undefined;
let driver: Driver | undefined;
const seen: number[] = [];

/** Everything returns plain data, because it crosses to the test. */
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
  /** Opens the shared session. Returns the epoch, or the code of the error. */
  async drive(takeOver: boolean): Promise<number | string> {
    try {
      driver = await log?.open(session, { takeOver, holder: 'a tab' });
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
};

export type SuitePage = typeof page;
(globalThis as unknown as { page: SuitePage }).page = page;
