import { afterEach, beforeEach, expect } from 'vitest';

/** Fails each following test of the file if it causes an unhandled promise rejection. */
export function watchRejections(): void {
  const rejected: unknown[] = [];
  const note = (reason: unknown) => rejected.push(reason);
  beforeEach(() => {
    process.on('unhandledRejection', note);
  });
  afterEach(async () => {
    // Node reports rejections after the microtasks have run.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(rejected.splice(0)).toEqual([]);
  });
}
