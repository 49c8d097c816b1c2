import { afterEach, beforeEach, expect } from 'vitest';

/** In each test of the file from here on: no promise is rejected that nobody looks at. */
export function watchRejections(): void {
  const rejected: unknown[] = [];
  const note = (reason: unknown) => rejected.push(reason);
  beforeEach(() => {
    process.on('unhandledRejection', note);
  });
  afterEach(async () => {
    // Node tells of them after the microtasks are done.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(rejected.splice(0)).toEqual([]);
  });
}
