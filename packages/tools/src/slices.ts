import { setImmediate } from 'node:timers/promises';

/** Maximum time of a slice, in milliseconds. */
const sliceMs = 2;

/**
 * Divides long work into slices, so that other work of the process runs between them. Call the returned function
 * after each step. At the end of a slice it returns a promise, and the caller must await it.
 *
 * @example
 * const nextSlice = slices();
 * for (const name of names) {
 *   const pause = nextSlice();
 *   if (pause !== undefined) await pause;
 *   check(name);
 * }
 */
export function slices(): () => Promise<void> | undefined {
  let start = performance.now();
  const pause = async () => {
    await setImmediate();
    start = performance.now();
  };
  return () => (performance.now() - start < sliceMs ? undefined : pause());
}

/** Runs all steps of some work at once. */
export function runAtOnce<Result>(steps: Generator<undefined, Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** Runs all steps of some work, and lets other work of the process run between its slices. */
export async function runInSlices<Result>(steps: Generator<undefined, Result>): Promise<Result> {
  const nextSlice = slices();
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    const pause = nextSlice();
    if (pause !== undefined) await pause;
  }
}
