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
