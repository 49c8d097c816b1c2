import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { watchFile } from './watch-file.ts';

let path: string;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'watch-'));
  path = join(folder, 'file');
  appendFileSync(path, 'first');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Watches until the first notification. */
async function notifiedAfter(versionOf: () => number, write: () => void): Promise<void> {
  const notified = Promise.withResolvers<void>();
  const stop = watchFile(path, versionOf, notified.resolve);
  write();
  await notified.promise;
  stop();
}

test('a version that changes some time after the file was written is detected', async () => {
  // Without the regular check, which would detect the change anyway.
  vi.useFakeTimers({ toFake: ['setInterval'] });
  let looks = 0;
  // The file is written but not committed yet, as during a disk sync.
  const versionOf = () => (++looks > 3 ? 2 : 1);
  await notifiedAfter(versionOf, () => appendFileSync(path, 'more'));
  expect(looks).toBe(4);
  vi.useRealTimers();
});

test('if the version cannot be read, the listener is called', async () => {
  let isBroken = false;
  const versionOf = () => {
    if (isBroken) throw new Error('The disk is gone');
    return 1;
  };
  await notifiedAfter(versionOf, () => {
    isBroken = true;
    appendFileSync(path, 'more');
  });
});
