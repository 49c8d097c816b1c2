import { createAgent } from '@millrace/agent';
import type { JsonValue } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { appendResults, manyResults, runSmallExperiment } from '../../testing/experiment-logs.ts';
import { asUser, ScopeServer, userOfCookie } from '../../testing/scope-requests.ts';
import { testToken } from '../../testing/servers/test-server.ts';

const operator = testToken('operator');
const paths = ['/experiments/sums', '/experiments/sums/cases', '/tasks/eval%2Fsums'];

test('25.4: tokens for an agent or a task, and users, see no experiment of others', async () => {
  const log = memoryLog();
  await using server = await ScopeServer.start({ log, authorize: userOfCookie });
  await runSmallExperiment(log);
  const own = await server.createData('own');
  const callers = [
    await server.createToken({ agent_id: own.agent_id }),
    await server.createToken({ task_id: own.task_id }),
    asUser('ada'),
  ];
  for (const caller of callers) {
    const { status, text } = await server.ask(caller, 'GET', '/experiments');
    expect([status, JSON.parse(text)]).toEqual([200, { data: [], next: null }]);
    for (const path of paths) {
      const answer = await server.ask(caller, 'GET', path);
      expect([path, answer.status]).toEqual([path, 404]);
      expect(answer.text).not.toMatch(/old|correct|1\+1/);
    }
  }
});

test('25.4: a token for one experiment reads it, and neither another one nor its runs', async () => {
  const log = memoryLog();
  await using server = await ScopeServer.start({ log });
  for (const name of ['sums', 'secret']) await runSmallExperiment(log, name);
  const caller = await server.createToken({ task_id: 'eval/sums', read_only: true });
  const { text } = await server.ask(caller, 'GET', '/experiments');
  expect(JSON.parse(text).data.map(({ name }: { name: string }) => name)).toEqual(['sums']);
  for (const path of paths) expect((await server.ask(caller, 'GET', path)).status).toBe(200);
  const run = JSON.parse((await server.ask(caller, 'GET', '/experiments/sums/cases')).text).data[0]
    .b.runs[0].session_id;
  for (const path of [
    ...['/experiments/secret', '/experiments/secret/cases'],
    '/experiments/sums/cases?other_experiment=secret',
    ...[`/tasks/${encodeURIComponent(run)}`, `/tasks/${encodeURIComponent(run)}/records`],
  ])
    expect([path, (await server.ask(caller, 'GET', path)).status]).toEqual([path, 404]);
});

test('25.4: nobody writes to the sessions of an experiment through the server', async () => {
  const log = memoryLog();
  const loop = createAgent({ log, provider: scriptedProvider(['no']) });
  await using server = await ScopeServer.start({
    log,
    agents: [{ type: 'loop', name: 'loop', agent: loop }],
  });
  await runSmallExperiment(log);
  const { data } = await server.asOperator('GET', '/experiments/sums/cases');
  const before = (await log.list()).map(({ session, through }) => [session, through]);
  for (const session of ['eval/sums', data[0].b.runs[0].session_id]) {
    const path = `/tasks/${encodeURIComponent(session)}`;
    const message = { type: 'message', content: { type: 'text', author: 'user', content: 'hi' } };
    for (const [method, place, body] of [
      ['POST', `${path}/commands`, message],
      ['POST', `${path}/fork`, {}],
      ['PUT', path, { task_metadata: { a: 1 } }],
      ['DELETE', path, undefined],
      ['POST', `${path}/cancel`, {}],
    ] as const)
      expect([place, (await server.ask(operator, method, place, body)).status]).toEqual([
        place,
        404,
      ]);
  }
  expect((await log.list()).map(({ session, through }) => [session, through])).toEqual(before);
});

test('25.4: hostile names and results give an error or are ignored, and never a link elsewhere', async () => {
  const log = memoryLog();
  await using server = await ScopeServer.start({ log });
  const [run, score] = manyResults('sums') as readonly Record<string, JsonValue>[];
  const planned = run?.['planned'] ?? '';
  const vote = { session: 'private', value: 1, reason: 'x' };
  const scored = { value: 1, details: { votes: [null, 7, vote, { session: `${planned}/q/h/1` }] } };
  await appendResults(log, 'eval/sums', [
    ...[{ ...run }, { ...score, score: scored }],
    { ...run, variant: 'v9', planned: 'private', session: 'private' },
    { ...run, variant: 'v8', planned: `${planned}x`, session: 'private' },
    { ...run, variant: '<img src=x>', planned: 'p2' },
    { ...run, repeat: -1, planned: 'p3' },
    { ...score, scorer: '__proto__', score: { value: 1, reason: 'a'.repeat(1e6) } },
    { ...score, scorer: 'constructor' },
    { ...score, score: { value: Number.MAX_VALUE } },
    { type: 'plan', hash: 'x' },
    ...[null, [], 'plan', 7],
  ]);
  const info = await server.asOperator('GET', '/experiments/sums');
  expect(info.variants.map(({ name }: { name: string }) => name)).toEqual(['v1', 'v8']);
  expect(info.scorers).toEqual(['quality', '__proto__', 'constructor']);
  for (const scorer of info.scorers) {
    const query = `variant=v1&other=v8&scorer=${scorer}`;
    const { text } = await server.ask(operator, 'GET', `/experiments/sums/cases?${query}`);
    expect(text.length).toBeLessThan(5000);
    expect(text).not.toContain('private"');
  }
  const names = [
    '..',
    '%2e%2e',
    'a%2Fb',
    'a%00',
    '%F0%9F%98%80',
    'x'.repeat(65),
    'none',
    'sums%2Fv1',
  ];
  for (const name of names)
    for (const path of [`/experiments/${name}`, `/experiments/${name}/cases`]) {
      const { status } = await server.ask(operator, 'GET', path);
      expect([path, [400, 404, 422].includes(status)]).toEqual([path, true]);
    }
});
