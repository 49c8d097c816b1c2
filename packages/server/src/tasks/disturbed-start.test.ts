import { createAgent } from '@millrace/agent';
import { type Log, LogError, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, onTestFinished, test } from 'vitest';
import { withMethods } from '../../../agent/src/testing/test-doubles.ts';
import type { LoopAgent } from '../contract/served-agent.ts';
import { createServer } from '../create-server.ts';
import { createToken } from '../http/access/token-store.ts';
import { createTaskHarness } from '../testing/servers/task-harness.ts';

const looping = (log: Log): readonly LoopAgent[] => [
  { type: 'loop', name: 'looper', agent: createAgent({ provider: scriptedProvider([]), log }) },
];

/** The log methods before or after which a restored backup removes the session of the check. */
const moments = {
  'before the session is closed': (stored: Log, restore: (session: string) => Promise<void>) => ({
    open: async (...given: Parameters<Log['open']>) => {
      const driver = await stored.open(...given);
      await restore(driver.session);
      return driver;
    },
  }),
  'before the agent reads the session': (
    stored: Log,
    restore: (session: string) => Promise<void>,
  ) => ({
    info: async (...given: Parameters<Log['info']>) => {
      await restore(given[0]);
      return stored.info(...given);
    },
  }),
};

/** A log that loses the sessions of the first `count` checks. */
function rewoundLog(moment: keyof typeof moments, count: number) {
  const stored = memoryLog();
  const lost = new Set<string>();
  const restore = async (session: string) => {
    if (lost.has(session) || lost.size === count) return;
    lost.add(session);
    for (const { session: known } of await stored.list()) await stored.delete(known);
  };
  return { stored, lost, log: withMethods(stored, moments[moment](stored, restore)) };
}

describe.each(Object.keys(moments) as (keyof typeof moments)[])(
  '21: a backup that is restored during the start, %s',
  (moment) => {
    test('21: does not make the server refuse its agents', async () => {
      const { log, lost, stored } = rewoundLog(moment, 1);
      const harness = await createTaskHarness(looping(log), { log });
      expect(lost.size).toBe(1);
      expect(await stored.list()).toEqual([]);
      expect(await harness.newTask('looper')).toMatchObject({ status: 'RUNNING' });
    });

    test('21: is answered with `unavailable` if it never ends', async () => {
      const { log, lost } = rewoundLog(moment, Number.POSITIVE_INFINITY);
      const started = createTaskHarness(looping(log), { log });
      await expect(started).rejects.toMatchObject({ code: 'unavailable' });
      expect(lost.size).toBeLessThan(10);
    });
  },
);

test('21: a log that fails during the start is not reported as another log', async () => {
  const stored = memoryLog();
  const failure = new LogError('storage', 'Cannot read: the disk fails');
  const log = withMethods(stored, { info: () => Promise.reject(failure) });
  await expect(createTaskHarness(looping(log), { log })).rejects.toBe(failure);
  expect(await stored.list()).toEqual([]);
});

test('21: requests to a server that cannot start get 503 and a hint to retry, until it can', async () => {
  const stored = memoryLog();
  let isBroken = true;
  const secret = 'a session of another user';
  const list: Log['list'] = (...given) =>
    isBroken ? Promise.reject(new LogError('no_session', secret)) : stored.list(...given);
  const log = withMethods(stored, { list });
  const diagnostics: string[] = [];
  const token = createToken();
  const server = createServer({
    ...{ tokens: [token], agents: looping(log), log },
    onDiagnostic: (problem) => diagnostics.push(problem),
  });
  onTestFinished(() => server.close());
  const headers = { authorization: `Bearer ${token}` };
  const get = (path: string) => server.fetch(new Request(`http://localhost${path}`, { headers }));
  const refused = await Promise.all([get('/tasks/order'), get('/tasks/order/stream')]);
  for (const response of refused) {
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'unavailable' } });
    expect(text).not.toContain(secret);
  }
  expect(diagnostics).toEqual([`Cannot start the server: ${secret}`]);
  isBroken = false;
  expect((await get('/tasks/order')).status).toBe(404);
  expect((await get('/healthz')).status).toBe(200);
});
