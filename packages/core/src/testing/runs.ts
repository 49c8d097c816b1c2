/** Whether properties run with their full counts. Fewer runs do not reach every rare outcome. */
export const isFull: boolean = process.env['MILLRACE_TEST'] === 'full';

/**
 * The number of runs of a property. `npm run test:full` runs each property `full` times. `npm test` runs
 * a tenth of that, but at least 10, so that every law is checked in a few minutes.
 */
export function runs(full: number): number {
  return isFull ? full : Math.max(Math.min(full, 10), Math.ceil(full / 10));
}

/**
 * A timeout for something that happens soon on a quiet machine, multiplied by `MILLRACE_TEST_PATIENCE`.
 * It protects against hangs. No test asserts how fast something is.
 */
export function patientMs(ms: number): number {
  return ms * Number(process.env['MILLRACE_TEST_PATIENCE'] ?? 1);
}
