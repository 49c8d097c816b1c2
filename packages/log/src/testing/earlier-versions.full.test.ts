import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { postgresLog } from '../postgres/postgres-log.ts';
import { markers } from '../suite/drafts.ts';
import { describeOnPostgres, usePostgres } from './start-postgres.ts';
import { type LogContents, longBlob, readContents } from './version-fixture.ts';

const describe = describeOnPostgres();
const server = usePostgres();
const fixture = (name: string) =>
  readFileSync(join(import.meta.dirname, 'fixtures/version-1', name), 'utf8');

describe('a log in Postgres that version 1 wrote', () => {
  test('opens, has the same content, and can be continued', async () => {
    const client = new Client({ connectionString: server().url });
    await client.connect();
    await client.query(fixture('postgres.sql'));
    // 21.D: version 1 stored each blob in one row.
    const long = longBlob();
    await client.query('INSERT INTO millrace_log.blobs VALUES ($1, $2)', [long.hash, long.bytes]);
    await client.end();
    const log = postgresLog({ url: server().url });
    expect(await readContents(log)).toEqual(JSON.parse(fixture('postgres.json')) as LogContents);
    const driver = await log.open('chat', { takeOver: true });
    const { through } = await driver.append(markers(2));
    expect((await log.info('chat'))?.through).toBe(through);
    expect(await log.submit('chat', { type: 'abort' }, 'key 2')).toMatchObject({ isRepeat: true });
    expect(await log.blobs.get(long.hash)).toEqual(new Uint8Array(long.bytes));
    const slice = await log.blobs.slice(long.hash, 999_990, 2_000_000);
    expect(slice).toEqual(new Uint8Array(long.bytes.subarray(999_990)));
    await log.close();
  });
});
