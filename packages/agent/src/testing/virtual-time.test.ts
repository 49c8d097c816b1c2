import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runToEnd, VirtualClock } from './virtual-time.ts';

test('virtual time waits for a module that is loaded on demand, however long that takes', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'virtual-time-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'slow.mjs');
  writeFileSync(file, 'await new Promise((resolve) => setTimeout(resolve, 300));');
  const clock = new VirtualClock();
  let isLate = false;
  clock.after(20_000, () => {
    isLate = true;
  });
  await runToEnd(clock, import(file));
  expect(isLate).toBe(false);
});
