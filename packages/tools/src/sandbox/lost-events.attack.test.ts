import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { type NameWatch, watchNames } from './watch-names.ts';

// The kernel reports new names in a queue, by default of 16,384 events. A command can fill the queue with
// changes of other files. Then it creates a name for which no event arrives.

/** More events than the queue can hold. Equal consecutive events count as one. */
const events = 100_000;

function flood(folder: string): void {
  const files = ['a', 'b'].map((name) => openSync(join(folder, name), 'w'));
  for (let at = 0; at < events; at++) writeSync(files[at % 2] ?? 0, 'x');
  for (const file of files) closeSync(file);
}

function watchName(path: string): NameWatch {
  const watch = watchNames([{ path, link: undefined }]);
  onTestFinished(() => void watch.finish());
  return watch;
}

/** Returns true if the watch stops the command within a second, long before the command ends. */
async function isBlocked({ blocked }: NameWatch): Promise<boolean> {
  for (let waited = 0; waited < 1000 && !blocked.aborted; waited += 10) await setTimeout(10);
  return blocked.aborted;
}

test('attack: a name appears while the queue of events is full', async () => {
  const folder = temporaryFolder();
  const name = join(folder, 'commondir');
  const watch = watchName(name);
  flood(folder);
  writeFileSync(name, '../evil');
  expect(await isBlocked(watch)).toBe(true);
  expect(existsSync(name)).toBe(false);
  expect(readdirSync(folder).join()).toContain('commondir.blocked-by-sandbox-');
});

test('attack: a name appears after the queue was full', async () => {
  const folder = temporaryFolder();
  const name = join(folder, 'commondir');
  const watch = watchName(name);
  flood(folder);
  await setTimeout(100);
  expect(watch.blocked.aborted).toBe(false);
  writeFileSync(name, '../evil');
  expect(await isBlocked(watch)).toBe(true);
});

test('attack: a name appears in a folder that the system cannot watch', async () => {
  const folder = join(temporaryFolder(), 'inner');
  const watch = watchName(join(folder, '.git'));
  mkdirSync(join(folder, '.git'), { recursive: true });
  expect(await isBlocked(watch)).toBe(true);
});

test.each(['a'.repeat(240), '漢'.repeat(80)])(
  '18.180: attack: a protected name is as long as a name can be: %s…',
  (start) => {
    const folder = temporaryFolder();
    const isProtected = (name: string) => name.endsWith('.code-workspace');
    const watch = watchNames([], [], new Map(), { folder, isProtected });
    const name = join(folder, `${start}.code-workspace`);
    writeFileSync(name, '{}');
    expect(watch.finish().join()).toContain('The sandbox renamed');
    expect(existsSync(name)).toBe(false);
    expect(readdirSync(folder).join()).toContain('.blocked-by-sandbox-');
  },
);
