import { randomInt } from 'node:crypto';
import { postgresLog } from '@millrace/log/postgres';
import { expect, onTestFinished, test } from 'vitest';
import { describeOnPostgres, usePostgres } from '../../../log/src/testing/start-postgres.ts';
import { createServer } from '../create-server.ts';
import { postgresRows } from '../rows/postgres/postgres-rows.ts';

/** Returns a text of 1024 random characters of three bytes, which a database cannot compress. */
const longText = () =>
  Array.from({ length: 1024 }, () => String.fromCharCode(randomInt(0x4e00, 0x9fff))).join('');

describeOnPostgres()('on Postgres', () => {
  const postgres = usePostgres();

  test('18.677: attack: an id that is too long for an index makes the server not ready', async () => {
    const { url: database } = postgres();
    const log = postgresLog({ url: database, schema: 'long_log' });
    const rows = await postgresRows({ url: database, schema: 'long_rows' });
    const lines: string[] = [];
    const server = createServer({
      ...{ tokens: 'none', log, rows, onDiagnostic: (line) => lines.push(line) },
      agents: [],
    });
    const { url } = await server.listen({ port: 0 });
    onTestFinished(async () => {
      await server.close();
      await Promise.all([log.close(), rows.close()]);
      for (const schema of ['long_log', 'long_rows']) await postgres().dropSchema(schema);
    });
    const send = async (method: string, path: string, body?: object) => {
      const headers = { 'content-type': 'application/json' };
      const init = { method, headers, body: body === undefined ? null : JSON.stringify(body) };
      const response = await fetch(`${url}${path}`, init);
      return { status: response.status, text: await response.text() };
    };
    const span = (fields: object) =>
      send('POST', '/spans', {
        ...{ trace_id: 'trace', name: 'work', start_time: '2026-01-01T00:00:00Z', ...fields },
      });
    for (const fields of [{ id: longText() }, { trace_id: longText() }]) {
      const refused = await span(fields);
      expect(refused.status).toBe(422);
      expect(refused.text).toContain('too long for its indexes');
      expect(refused.text).not.toMatch(/btree|long_rows|127/);
    }
    // The path of a stream is no key of the database.
    const stream = await send('PUT', `/streams/${encodeURIComponent(longText())}`);
    expect(stream.status).toBeGreaterThanOrEqual(400);
    expect(stream.status).toBeLessThan(500);
    expect(lines.filter((line) => line.includes('not ready'))).toEqual([]);
    expect((await send('GET', '/readyz')).status).toBe(200);
    expect((await span({ id: 'short' })).status).toBe(200);
  });
});
