import { randomBytes } from 'node:crypto';
import { sessionId } from '@millrace/core';
import { expect, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import { marker } from '../suite/drafts.ts';
import { cuttingProxy } from '../testing/cutting-proxy.ts';
import { describeOnPostgres, usePostgres } from '../testing/start-postgres.ts';
import { postgresLog } from './postgres-log.ts';

const describe = describeOnPostgres();
const server = usePostgres();

/** The driver returns bytes as text with two characters a byte, and a text has 2^29 at most. */
const tooLongForOneText = 2 ** 28 + 1000;

describe('21.D: an error inside the driver', () => {
  test('rejects the call and does not end the process', async () => {
    const proxy = await cuttingProxy(server().port);
    const url = server().url.replace(String(server().port), String(proxy.port));
    const log = postgresLog({ url, schema: 'driver_errors' });
    const bytes = randomBytes(20 * 2 ** 18);
    const { hash } = await log.blobs.put(bytes);
    const refusal = { code: 'storage', message: expect.stringContaining('Unknown auth') as string };
    proxy.garbleAt('string_agg');
    await expect(log.blobs.get(hash)).rejects.toMatchObject(refusal);
    expect(await log.blobs.get(hash)).toEqual(new Uint8Array(bytes));
    const driver = await log.open(sessionId('s'));
    proxy.garbleAt('pg_advisory_xact_lock');
    await expect(driver.append([marker('lost')])).rejects.toMatchObject(refusal);
    expect((await log.open(sessionId('t'))).epoch).toBeGreaterThan(driver.epoch);
    await log.close();
    await proxy.close();
  });
});

describe('21.D: a blob that is too long for one answer of the database', () => {
  // It writes and reads 256 MB, which costs half a minute of CPU. `npm run test:full` runs it.
  test.runIf(isFull)('is stored, and can be read whole and in slices', async () => {
    const log = postgresLog({ url: server().url, schema: 'large_blobs' });
    const bytes = new Uint8Array(tooLongForOneText);
    const pattern = randomBytes(1_000_003);
    for (let at = 0; at < bytes.length; at += pattern.length)
      bytes.set(pattern.subarray(0, bytes.length - at), at);
    const { hash, length } = await log.blobs.put(bytes);
    expect(length).toBe(tooLongForOneText);
    const [start, end] = [tooLongForOneText - 1500, tooLongForOneText + 10];
    expect(await log.blobs.slice(hash, start, end)).toEqual(bytes.slice(start, end));
    const whole = await log.blobs.get(hash);
    expect(whole === undefined ? -1 : Buffer.compare(whole, bytes)).toBe(0);
    await log.close();
  });
});

describe('18.1098: attack: a client that uploads long files without a pause', () => {
  test('delays the appends of others only for a few of its files', async () => {
    const log = postgresLog({ url: server().url, schema: 'upload_attack' });
    const driver = await log.open(sessionId('other'));
    let stored = 0;
    const uploads = Array.from({ length: 40 }, async () => {
      await log.blobs.put(randomBytes(2 ** 20));
      stored++;
    });
    while (stored === 0) await driver.append([marker('waits for the first upload')]);
    for (let step = 0; step < 4; step++) await driver.append([marker(`step ${step}`)]);
    // Each append waits for at most two transactions with uploads, and each of these has at most two files.
    expect(stored).toBeLessThanOrEqual(24);
    await Promise.all(uploads);
    await log.close();
  });
});
