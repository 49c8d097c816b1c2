import { memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import { appendResults, manyResults, runSmallExperiment } from '../../testing/experiment-logs.ts';
import { ScopeServer } from '../../testing/scope-requests.ts';

test('25.4: the list and an experiment have the scores, costs and runs of each variant', async () => {
  const log = memoryLog();
  await using server = await ScopeServer.start({ log });
  expect(await server.asOperator('GET', '/experiments')).toEqual({ data: [], next: null });
  for (const name of ['sums', 'sums-2', 'a']) await runSmallExperiment(log, name);
  await log.open('eval').then((driver) => driver.release());
  await log.open('evaluation').then((driver) => driver.release());

  const first = await server.asOperator('GET', '/experiments?limit=2');
  expect(first.data.map(({ name }: { name: string }) => name)).toEqual(['a', 'sums']);
  const rest = await server.asOperator('GET', `/experiments?limit=2&cursor=${first.next}`);
  expect(rest.data.map(({ name }: { name: string }) => name)).toEqual(['sums-2']);
  expect(rest.next).toBeNull();

  const sums = await server.asOperator('GET', '/experiments/sums');
  expect(sums).toEqual(first.data[1]);
  expect(sums).toMatchObject({
    ...{ session_id: 'eval/sums', is_running: false, is_complete: true, is_whole: true },
    ...{ cases: 3, runs: 6, ended: 6, failed: 0, scorers: ['correct', 'polite'] },
    variants: [
      { name: 'old', is_baseline: true, runs: 3, failed: 0, open: 0 },
      {
        ...{ name: 'new', is_baseline: false, ended: 3 },
        scores: [
          { scorer: 'correct', cases: 3, runs: 3, difference: { mean: 0, cases: 3 } },
          { scorer: 'polite', mean: 0.75, pass_rate: 1 },
        ],
      },
    ],
  });
  const [score] = sums.variants[1].scores;
  expect(score.mean).toBeCloseTo(2 / 3);
  expect(score.interval.low).toBeLessThan(score.interval.high);
  const missing = await server.ask(undefined, 'GET', '/experiments/sums');
  expect(missing.status).toBe(401);
});

test('25.4: two variants are compared case by case, with their sessions and the votes of judges', async () => {
  const log = memoryLog();
  await using server = await ScopeServer.start({ log });
  for (const name of ['sums', 'sums2']) await runSmallExperiment(log, name);
  const cases = await server.asOperator('GET', '/experiments/sums/cases');
  expect(cases).toMatchObject({
    ...{ a: { experiment: 'sums', variant: 'old' }, b: { experiment: 'sums', variant: 'new' } },
    ...{ scorer: 'correct', counts: { worse: 1, better: 1, same: 1, unknown: 0 }, total: 3 },
    data: [
      { case: '3+3', change: 'worse', difference: -1, a: { mean: 1 }, b: { mean: 0 } },
      { case: '2+2', change: 'better', difference: 1 },
      { case: '1+1', change: 'same', difference: 0 },
    ],
  });
  const get = (query: string) => server.asOperator('GET', `/experiments/sums/cases?${query}`);
  const votes = await get('scorer=polite&limit=1&page_number=2');
  expect(votes.data).toHaveLength(1);
  const [run] = votes.data[0].b.runs;
  expect(run).toMatchObject({ score: 0.75, votes: [{ value: 0.75, reason: 'It is short.' }] });
  // The sessions of runs and votes, and their comparison, are readable like tasks.
  const one = encodeURIComponent(run.session_id);
  const other = encodeURIComponent(votes.data[0].a.runs[0].session_id);
  const vote = encodeURIComponent(run.votes[0].session_id);
  for (const path of [`/tasks/${one}`, `/tasks/${vote}`, `/tasks/${one}/diff?other=${other}`])
    expect([path, (await server.asOperator('GET', path)) !== undefined]).toEqual([path, true]);

  const { task_metadata } = await server.asOperator('GET', `/tasks/${one}`);
  expect(task_metadata.title).toMatch(/^sums: new, \d\+\d, run 1$/);

  expect((await get('change=better')).data).toHaveLength(1);
  expect(await get('other=new')).toMatchObject({
    a: null,
    difference: null,
    data: [{ a: null }, {}, {}],
  });
  const across = await get('other_experiment=sums2&variant=new');
  expect(across).toMatchObject({ a: { experiment: 'sums2', variant: 'new' }, counts: { same: 3 } });
  const across2 = await get('other_experiment=sums2&variant=new&other=old');
  expect(across2.counts).toMatchObject({ worse: 1, better: 1 });
  for (const query of ['variant=best', 'other=best', 'other_experiment=none', 'variant=%3Cb%3E']) {
    const { status } = await server.ask(
      ...(['operator-0123456789abcdefghijklmnopqrstuvwxyz', 'GET'] as const),
      `/experiments/sums/cases?${query}`,
    );
    expect([query, status]).toEqual([query, 404]);
  }
});

test('25.4: 450 runs are read page by page and once, and a running experiment grows', async () => {
  const memory = memoryLog();
  const reads: number[] = [];
  const log = new Proxy(memory, {
    get(target, key) {
      const value = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      if (key !== 'read') return value.bind(target);
      return async (session: string, options: { readonly from: number }) => {
        if (session.startsWith('eval/')) reads.push(options.from);
        return target.read(session, options);
      };
    },
  });
  await using server = await ScopeServer.start({ log });
  const results = manyResults('big');
  await appendResults(memory, 'eval/big', results.slice(0, 400));
  const driver = await memory.open('eval/big', { from: 1200 });
  const half = await server.asOperator('GET', '/experiments/big');
  expect(half).toMatchObject({ is_running: true, runs: 200, is_whole: true });
  await driver.release();
  await appendResults(memory, 'eval/big', results.slice(400));
  const big = await server.asOperator('GET', '/experiments/big');
  expect(big).toMatchObject({ is_running: false, cases: 50, runs: 450, ended: 450, failed: 5 });
  expect(big.variants.map(({ costs }: { costs: unknown }) => costs)).toEqual(
    Array(3).fill([{ amount: '1.50', currency: 'USD' }]),
  );
  const count = reads.length;
  // The second read starts after the first one.
  expect(reads.filter((from) => from > 0).length).toBeGreaterThan(0);
  const page = await server.asOperator(
    'GET',
    '/experiments/big/cases?variant=v3&other=v2&limit=10',
  );
  expect(page.data).toHaveLength(10);
  expect(page.total).toBe(50);
  expect(page.data[0].b.runs).toHaveLength(3);
  expect(reads).toHaveLength(count);
});
