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

test('18.1600: attack: a restricted caller reads the names of all experiments as cursors', async () => {
  const log = memoryLog();
  const loop = createAgent({ log, provider: scriptedProvider(['no']) });
  const agents = [{ type: 'loop', name: 'loop', agent: loop } as const];
  const names = ['acme-merger', 'layoffs', 'project-x', 'sums', 'zz'];
  for (const name of names) await runSmallExperiment(log, name);
  await using server = await ScopeServer.start({ log, agents, authorize: userOfCookie });
  const agent = await server.asOperator('GET', '/agents/name/loop');
  const { result: own } = await server.asOperator('POST', '/agents/name/loop/rpc', {
    ...{ method: 'task/create', params: {} },
  });
  const callers = {
    user: asUser('ada'),
    agent: await server.createToken({ agent_id: agent.id, read_only: true }),
    task: await server.createToken({ task_id: own.id, read_only: true }),
    sums: await server.createToken({ task_id: 'eval/sums', read_only: true }),
    operator,
  };
  const read = async (caller: string, limit: number) => {
    const seen: string[] = [];
    const cursors: string[] = [];
    for (let cursor = ''; cursors.length < 10; ) {
      const path = `/experiments?limit=${limit}&cursor=${cursor}`;
      const { data, next } = JSON.parse((await server.ask(caller, 'GET', path)).text);
      seen.push(...data.map(({ name }: { name: string }) => name));
      if (next === null) break;
      cursors.push(next);
      cursor = next;
    }
    return { seen, cursors };
  };
  for (const limit of [1, 2, 5]) {
    for (const who of ['user', 'agent', 'task'] as const)
      expect([who, await read(callers[who], limit)]).toEqual([who, { seen: [], cursors: [] }]);
    expect(await read(callers.sums, limit)).toEqual({ seen: ['sums'], cursors: [] });
    expect((await read(callers.operator, limit)).seen).toEqual(names);
  }
  const { text } = await server.ask(callers.sums, 'GET', '/experiments?cursor=sums');
  expect(JSON.parse(text)).toEqual({ data: [], next: null });
});

test('18.1600: attack: leftovers of experiments push the name of another one into a cursor', async () => {
  const log = memoryLog();
  await using server = await ScopeServer.start({ log, authorize: userOfCookie });
  await runSmallExperiment(log, 'a-secret');
  // The search skips the runs of an experiment that has no session of its own, and ends after 400 of them.
  const leftovers = Array.from({ length: 420 }, (_, n) => `eval/b${String(n).padStart(3, '0')}/v`);
  for (const session of leftovers) await log.open(session).then((driver) => driver.release());
  const { text } = await server.ask(asUser('ada'), 'GET', '/experiments');
  expect(JSON.parse(text)).toEqual({ data: [], next: null });
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
