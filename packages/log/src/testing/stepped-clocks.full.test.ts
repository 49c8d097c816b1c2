import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { marker } from '../suite/drafts.ts';
import { type RemoteLog, startRemoteLog } from './remote-log.ts';
import { describeOnPostgres, usePostgres } from './start-postgres.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-clocks-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const server = usePostgres();
const leaseMs = 15_000;

interface Steps {
  readonly holder: number;
  readonly other: number;
}

const steps: readonly (readonly [string, Steps])[] = [
  ['the other by +20 s', { holder: 0, other: 20_000 }],
  ['the other by +1 h', { holder: 0, other: 3_600_000 }],
  ['the holder by -20 s', { holder: -20_000, other: 0 }],
  ['the holder by -1 h', { holder: -3_600_000, other: 0 }],
];

/** Both processes have connected before their clocks are set. */
async function stepClocks(start: () => Promise<RemoteLog>, { holder, other }: Steps) {
  await using ada = await start();
  await using bob = await start();
  for (const isDetached of [false, true]) {
    const session = isDetached ? 'detached' : 'bound';
    await ada.call('stepClock', 0);
    await bob.call('stepClock', 0);
    const { driver } = await ada.call('open', session, { leaseMs, holder: 'ada', isDetached });
    await bob.call('submit', session, { type: 'message' }, 'key');
    await ada.call('stepClock', holder);
    await bob.call('stepClock', other);
    // The append renews the lease with the clock that was set.
    await ada.append(driver, [marker('one')]);
    await expect(bob.call('open', session, { leaseMs, holder: 'bob' })).rejects.toMatchObject({
      code: 'held',
      place: { holder: 'ada' },
    });
    await ada.append(driver, [marker('two')]);
    const { lease } = (await bob.call('info', session)) ?? {};
    expect(lease?.holder).toBe('ada');
    await ada.call('release', driver);
  }
}

describe('21.C: a live run is not taken when a wall clock is set', () => {
  test.each(steps)('SQLite: %s', async (name, step) => {
    await stepClocks(() => startRemoteLog(join(folder, `${name}.db`)), step);
  });
});

describeOnPostgres()('21.C: a live run is not taken when a wall clock is set', () => {
  test.each(steps)('Postgres: %s', async (name, step) => {
    const schema = `clock${name.replaceAll(/\W+/g, '_').toLowerCase()}`;
    await stepClocks(() => startRemoteLog(server().url, { schema }), step);
  });
});
