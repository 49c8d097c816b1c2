import fc from 'fast-check';

/** Each mode runs one of so many runs. Modes that are not listed run all. */
const shares: Readonly<Record<string, number>> = { quick: 20, rest: 10, job: 10 };
const share = shares[process.env['MILLRACE_TEST'] ?? 'quick'] ?? 1;

/** Whether properties run with their full counts. Fewer runs do not reach every rare outcome. */
export const isFull: boolean = share === 1;

/**
 * The number of runs of a property. `npm run test:full` runs each property `full` times. `npm test` runs
 * a twentieth of that and `npm run test:rest` a tenth, but at least 10, so that every law is checked in
 * a few minutes. Each time has a new seed.
 */
export function runs(full: number): number {
  return Math.max(Math.min(full, 10), Math.ceil(full / share));
}

/**
 * The cases of a law that enumerates them instead of drawing random ones. `npm run test:full` checks
 * all. The other modes draw as many as `runs` says, and keep their order.
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
 * A timeout for something that happens soon on a quiet machine, multiplied by `MILLRACE_TEST_PATIENCE`.
 * It protects against hangs. No test asserts how fast something is.
 */
export function patientMs(ms: number): number {
  return ms * Number(process.env['MILLRACE_TEST_PATIENCE'] ?? 1);
}

/**
 * The variables of a child process that inherits no others: where programs are, and where the compiled
 * code of earlier processes of this run is, which makes a start from the sources three times as fast.
 */
export function childEnv(): Readonly<Record<string, string>> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return NODE_COMPILE_CACHE === undefined ? { PATH } : { PATH, NODE_COMPILE_CACHE };
}
