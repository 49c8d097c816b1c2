import { createAgent } from '@millrace/agent';
import { sessionId, transcript } from '@millrace/core';
import { type Log, snapshot, systemClock } from '@millrace/log';
import { postgresLog } from '@millrace/log/postgres';
import { createProvider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { describeOnPostgres, usePostgres } from '../../../log/src/testing/start-postgres.ts';
import { createServer } from '../create-server.ts';
import { postgresRows } from '../rows/postgres/postgres-rows.ts';
import { userText } from '../testing/servers/task-harness.ts';

const schemas = ['full_log', 'full_rows'];

/** Every insert and update fails, with the error that Postgres reports for a full disk. */
const fillDisk = `
  CREATE FUNCTION public.disk_full() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
  DO $$ DECLARE t record; BEGIN
    FOR t IN SELECT * FROM pg_tables WHERE schemaname IN ('full_log', 'full_rows') LOOP
      EXECUTE format('CREATE TRIGGER disk_full BEFORE INSERT OR UPDATE ON %I.%I EXECUTE FUNCTION public.disk_full()', t.schemaname, t.tablename);
    END LOOP;
  END $$;`;
const makeRoom = 'DROP FUNCTION public.disk_full() CASCADE';

interface RpcReply {
  readonly result: { readonly id: string };
  readonly error: { readonly message: string } | null;
}

const answering = (log: Log) => {
  const provider = createProvider('short', 'short', (request, context) =>
    scriptedProvider(['It is sunny.']).stream(request, context),
  );
  return createAgent({ provider, log });
};

describeOnPostgres()('on Postgres', () => {
  const postgres = usePostgres();

  test('21.H: a full disk is reported as one, and everything continues when there is room', async () => {
    const { url: database } = postgres();
    const [log, rows] = [
      postgresLog({ url: database, schema: 'full_log' }),
      await postgresRows({ url: database, schema: 'full_rows' }),
    ];
    const lines: string[] = [];
    let skippedMs = 0;
    const server = createServer({
      ...{ tokens: 'none', log, rows },
      agents: [{ type: 'loop', name: 'agent', agent: answering(log) }],
      clock: { ...systemClock, now: () => Date.now() + skippedMs },
      onDiagnostic: (line) => lines.push(line),
    });
    const { url } = await server.listen({ port: 0 });
    const admin = new Client({ connectionString: database });
    await admin.connect();
    onTestFinished(async () => {
      await server.close();
      await Promise.all([log.close(), rows.close(), admin.end()]);
      for (const schema of schemas) await postgres().dropSchema(schema);
    });
    const rpc = async (method: string, params: object) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body };
      const response = await fetch(`${url}/agents/name/agent/rpc`, init);
      return (await response.json()) as RpcReply;
    };
    const isReady = async () => (await fetch(`${url}/readyz`)).status;
    const { result: task } = await rpc('task/create', { name: 'work' });
    const send = () => rpc('message/send', { task_id: task.id, content: userText('Weather?') });
    expect([(await send()).error, await isReady()]).toEqual([null, 200]);
    const before = transcript(await snapshot(log, sessionId(task.id)));

    await admin.query(fillDisk);
    const refused = await send();
    expect(refused.error).toMatchObject({
      ...{
        data: { code: 'storage_full' },
        message: expect.stringContaining('Nothing of this write'),
      },
    });
    expect(await isReady()).toBe(503);
    expect(lines.join('\n')).toContain('its storage is full');

    await admin.query(makeRoom);
    skippedMs += 5000;
    expect(await isReady()).toBe(200);
    expect((await send()).error).toBeNull();
    const after = transcript(await snapshot(log, sessionId(task.id)));
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after).toHaveLength(2 * before.length);
  });
});
