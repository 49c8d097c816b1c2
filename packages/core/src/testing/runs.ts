const tier = process.env['MILLRACE_TEST'] ?? 'quick';

/** The share of a property's runs, by the command that runs the tests. */
const shares: Readonly<Record<string, number>> = { quick: 0.1, rest: 0.3 };

/** Whether properties run with their full counts. Fewer runs do not reach every rare outcome. */
export const isFull: boolean = shares[tier] === undefined;

/**
 * The number of runs of a property. `npm run test:full` runs each property `full` times. `npm test`
 * runs a tenth of that, and `npm run test:rest`, which CI runs with new seeds, three tenths, but
 * both at least 10.
 */
export function runs(full: number): number {
  return Math.max(Math.min(full, 10), Math.ceil(full * (shares[tier] ?? 1)));
}

/**
 * A timeout for something that happens soon on a quiet machine, multiplied by `MILLRACE_TEST_PATIENCE`.
 * It protects against hangs. No test asserts how fast something is.
 */
export function patientMs(ms: number): number {
  return ms * Number(process.env['MILLRACE_TEST_PATIENCE'] ?? 1);
}
