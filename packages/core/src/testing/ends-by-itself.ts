import { runInNewContext } from 'node:vm';

/**
 * The time after which a function counts as one that never ends. The functions under test need some
 * milliseconds. With a search of quadratic or cubic time, they need minutes or hours.
 */
const neverMs = 20_000;

/** Calls a function that must not keep the process busy for ever. Throws if the function does not end. */
export function endsByItself<Result>(work: () => Result): Result {
  return runInNewContext('work()', { work }, { timeout: neverMs }) as Result;
}
