import fc from 'fast-check';

/** Whether properties run with their full counts. Fewer runs do not reach every rare outcome. */
export const isFull: boolean = !['quick', 'rest', 'job'].includes(
  process.env['MILLRACE_TEST'] ?? 'quick',
);

/**
 * The number of runs of a property. `npm run test:full` runs each property `full` times. `npm test` and
 * `npm run test:rest` run a tenth of that, but at least 10, so that every law is checked in a few
 * minutes. Each time has a new seed.
 */
export function runs(full: number): number {
  return isFull ? full : Math.max(Math.min(full, 10), Math.ceil(full / 10));
}

/**
 * The cases of a law that enumerates them instead of drawing random ones. `npm run test:full` checks
 * all. `npm test` and `npm run test:rest` draw a tenth, but at least 10, and keep their order.
 */
export function someOf<T>(cases: readonly T[]): readonly T[] {
  const count = runs(cases.length);
  if (count === cases.length) return cases;
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
