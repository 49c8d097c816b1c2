import fc from 'fast-check';

interface Share {
  /** The divisor of the number of runs. */
  readonly divisor: number;
  /** The maximum number of runs. */
  readonly most: number;
}

/** The share of the runs in each test mode. Modes that are not listed run all. */
const shares: Readonly<Record<string, Share>> = {
  quick: { divisor: 20, most: 30 },
  rest: { divisor: 10, most: 50 },
  job: { divisor: 10, most: 50 },
};
const share = shares[process.env['MILLRACE_TEST'] ?? 'quick'];

/** True if properties run with their full counts. With fewer runs, some rare outcomes do not occur. */
export const isFull: boolean = share === undefined;

/**
 * Returns the number of runs of a property. `npm run test:full` runs each property `full` times.
 * `npm test` runs a twentieth of that, from 10 to 30. `npm run test:rest` runs a tenth, from 10 to 50.
 * Each test run uses a new seed.
 */
export function runs(full: number): number {
  if (share === undefined) return full;
  return Math.min(share.most, Math.max(Math.min(full, 10), Math.ceil(full / share.divisor)));
}

/**
 * Returns the cases to check of a law that lists its cases instead of drawing random values. `npm
 * run test:full` checks all cases. The other modes draw as many as `runs` allows, and keep their
 * order.
 */
export function someOf<T>(cases: readonly T[]): readonly T[] {
  return fewOf(cases, runs(cases.length));
}

/**
 * Like `someOf`, for cases that take seconds: `npm run test:full` checks all, the other modes draw
 * `count` of them.
 */
export function fewOf<T>(cases: readonly T[], count: number): readonly T[] {
  if (isFull || count >= cases.length) return cases;
  const subset = fc.subarray([...cases], { minLength: count, maxLength: count });
  return fc.sample(subset, 1)[0] ?? [];
}

/**
 * Returns a timeout for something that happens soon on a quiet machine, multiplied by
 * `MILLRACE_TEST_PATIENCE`. The timeout protects against hangs. It must not be used to check speed.
 */
export function patientMs(ms: number): number {
  return ms * Number(process.env['MILLRACE_TEST_PATIENCE'] ?? 1);
}

/**
 * Returns the environment variables for a child process that inherits no others: the search path of
 * programs, and Node's cache of compiled code. With the cache, a process that runs the sources
 * starts three times as fast.
 */
export function childEnv(): Readonly<Record<string, string>> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? { PATH } : { PATH, NODE_COMPILE_CACHE };
}
