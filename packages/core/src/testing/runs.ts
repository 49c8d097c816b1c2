/** Whether properties run with their full counts. Fewer runs do not reach every rare outcome. */
export const isFull: boolean = !['quick', 'rest'].includes(process.env['MILLRACE_TEST'] ?? 'quick');

/**
 * The number of runs of a property. `npm run test:full` runs each property `full` times. `npm test` and
 * `npm run test:rest` run a tenth of that, but at least 10, so that every law is checked in a few
 * minutes. Each time has a new seed.
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
