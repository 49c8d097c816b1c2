import { sessionId } from '@millrace/core';
import fc from 'fast-check';
import { randomLog } from '../../../core/src/testing/random-log.ts';
import { isFull, someOf } from '../../../core/src/testing/runs.ts';
import type { Log } from '../contract/log.ts';
import {
  checkModel,
  checkResume,
  type LogCase,
  type LogSubject,
  logCases,
  TestClock,
  toScript,
} from '../suite/index.ts';

export const number: fc.Arbitrary<number> = fc.nat(0xffff);
const step = fc.tuple(number, number, number);
export const steps: fc.Arbitrary<[number, number, number][]> = fc.array(step, {
  ...{ minLength: 10, maxLength: 50, size: 'max' },
});
export const draftNumbers: fc.Arbitrary<number[]> = fc.array(number, {
  ...{ minLength: 50, maxLength: 300, size: 'max' },
});

/**
 * Shrinking is off. The memory log usually finds a smaller failing example, and shrinking is slow on other
 * stores.
 */
const endOnFailure = true;

interface LawRuns {
  /** Number of random runs. Default: the number that the laws require. */
  readonly numRuns?: number;
}

/**
 * Checks laws 1, 3, 4, 5 and 9. All runs use the same store, as in production. Returns the outcomes that
 * occurred.
 */
export async function modelRuns(
  { isDurable, create }: LogSubject,
  runs: LawRuns = {},
): Promise<readonly string[]> {
  const seen = new Set<string>();
  const clock = new TestClock();
  const store = await create(clock);
  // This log stays open, because closing the last connection starts a slow clean-up.
  const first = isDurable ? await store.open() : undefined;
  let count = 0;
  await fc.assert(
    fc.asyncProperty(steps, draftNumbers, async (run, numbers) => {
      const script = toScript(randomLog(numbers));
      const options = { store, isDurable, clock, name: `run ${count++}`, script };
      await checkModel(options, run, (what) => seen.add(what));
    }),
    { endOnFailure, ...runs },
  );
  await first?.close();
  await store.remove();
  return [...seen];
}

interface ResumeRuns extends LawRuns {
  /** True if turns are settled. False if deltas are kept. */
  readonly isSettled: boolean;
  /** True if the reader uses another log of the same store than the writer. Default: false. */
  readonly isSplit?: boolean;
}

/** Checks law 5: a reader that disconnects after any batch and then resumes ends with the same state. */
export async function resumeRuns(
  { create }: LogSubject,
  { isSettled, isSplit = false, ...runs }: ResumeRuns,
): Promise<void> {
  const store = await create(new TestClock());
  const writer = await store.open();
  const reader = isSplit ? await store.open() : writer;
  const log = splitLog(writer, reader);
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      draftNumbers,
      fc.array(number, { minLength: 1 }),
      async (draftSeed, numbers) => {
        const session = sessionId(`run ${count++}`);
        const script = toScript(randomLog(draftSeed));
        await checkResume({ log, session, script, numbers, isSettled });
        await log.delete(session);
      },
    ),
    { endOnFailure, ...runs },
  );
  await Promise.all(new Set([writer, reader]).values().map((one) => one.close()));
  await store.remove();
}

/** A bus or a connection pooler changes how readers learn of commits, and how logs share a store. */
const isAboutReaders = /^(?:follow|shared store)/;

/**
 * The conformance cases of a store behind another layer: a bus or a connection pooler. The store
 * itself passes all cases in another file. `npm run test:full` runs all cases here too. The other modes
 * run those that the layer changes, and a random tenth of the others.
 */
export function casesBehindLayer(subject: LogSubject): readonly LogCase[] {
  const cases = logCases(subject);
  if (isFull) return cases;
  const others = new Set(someOf(cases.filter(({ name }) => !isAboutReaders.test(name))));
  return cases.filter((one) => isAboutReaders.test(one.name) || others.has(one));
}

const written: ReadonlySet<PropertyKey> = new Set(['open', 'settle', 'submit', 'delete']);

/** Returns a log that writes with one log and reads with another, like two processes. */
function splitLog(writer: Log, reader: Log): Log {
  return new Proxy(reader, {
    get(_, name) {
      const log = written.has(name) ? writer : reader;
      const value: unknown = Reflect.get(log, name, log);
      return typeof value === 'function' ? value.bind(log) : value;
    },
  });
}
