import type { Item, JsonValue } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import type { Agent } from '../contract/agent.ts';
import { createAgent } from '../create-agent.ts';
import {
  codeScorer,
  compareVariants,
  type ExperimentOptions,
  type ExperimentReport,
  experimentSessionName,
  judge,
  matchesText,
  readExperiment,
  runExperiment,
} from './index.ts';

/** An agent that answers each case with a function of its input. An empty answer is a failed request. */
function agentOf(log: Log, instructions: string, answer: (asked: string) => string): Agent {
  const provider = scriptedProvider(
    Array.from({ length: 50 }, () => ({ items }: { readonly items: readonly Item[] }) => {
      const [part] = items.findLast(({ kind }) => kind === 'user')?.parts ?? [];
      const text = answer(part?.kind === 'text' ? part.text : '');
      return text === '' ? { error: { code: 'bad_request', message: 'no' } } : text;
    }) as never,
  );
  return createAgent({ log, provider, instructions, retry: { maxAttempts: 1 } }) as Agent;
}

const right = (asked: string) => String(Number(asked[0]) * 2);

function setUp(given: Partial<ExperimentOptions> = {}) {
  const log = memoryLog();
  const options: ExperimentOptions = {
    ...{ name: 'sums', log, scorers: [matchesText({ name: 'correct' })], repeats: 2 },
    cases: ['1+1', '2+2', '3+3'].map((input) => ({ id: input, input, expected: right(input) })),
    variants: {
      old: agentOf(log, 'Add.', (asked) => (asked === '2+2' ? '5' : right(asked))),
      new: agentOf(log, 'Add well.', (asked) => (asked === '3+3' ? '7' : right(asked))),
    },
    ...given,
  };
  return { log, options };
}

/** Removes what only the process that ran the experiment has. */
function asStored({ runs, ...report }: ExperimentReport) {
  const shown = runs.map(({ isReused, error, ...run }) => JSON.parse(JSON.stringify(run)));
  return { ...JSON.parse(JSON.stringify(report)), runs: shown };
}

test('25.4: the report that is read from the log is the report of the run', async () => {
  const vote = '{"reason":"short","score":0.75}';
  const model = scriptedProvider(Array.from({ length: 20 }, () => vote));
  const polite = judge({ name: 'polite', provider: model, criteria: 'It is polite.' });
  const { log, options } = setUp({ scorers: [matchesText({ name: 'correct' }), polite] });
  const report = await runExperiment(options);
  const read = await readExperiment(log, 'sums');
  expect(read && asStored(read)).toEqual(asStored(report));
  expect(read?.isComplete).toBe(true);
  expect(read?.variants.map(({ scores }) => scores['polite']?.passRate)).toEqual([1, 1]);
  expect(await readExperiment(log, 'other')).toBeUndefined();
  expect(await readExperiment(log, '../sums')).toBeUndefined();
});

test('25.4: a changed prompt and its return select other runs of the same experiment', async () => {
  const { log, options } = setUp();
  const first = await runExperiment(options);
  const changed = agentOf(log, 'Add badly.', () => '0');
  await runExperiment({ ...options, variants: { ...options.variants, new: changed } });
  const bad = await readExperiment(log, 'sums');
  expect(bad?.variants.map(({ scores }) => scores['correct']?.mean.toFixed(2))).toEqual([
    ...['0.67', '0.00'],
  ]);
  await runExperiment(options);
  const read = await readExperiment(log, 'sums');
  expect(read && asStored(read)).toEqual(asStored(first));
});

test('25.4: a stopped experiment shows its open runs', async () => {
  const stop = new AbortController();
  const { log, options } = setUp({ concurrency: 1, signal: stop.signal });
  await runExperiment({ ...options, onRun: (_, { done }) => done === 3 && stop.abort() });
  const read = await readExperiment(log, 'sums');
  expect(read?.isComplete).toBe(false);
  expect(read?.runs.map(({ status }) => status)).toEqual([
    ...Array(3).fill('finished'),
    ...Array(9).fill('open'),
  ]);
});

test('25.4: variants are compared case by case, worse cases first', async () => {
  const { log, options } = setUp();
  const report = await runExperiment(options);
  const [a, b] = ['old', 'new'].map((variant) => ({ report, variant }));
  if (a === undefined || b === undefined) throw new Error('unreachable');
  const { cases, counts, difference } = compareVariants(a, b, 'correct');
  expect(cases.map((one) => [one.case, one.change, one.difference])).toEqual([
    ['3+3', 'worse', -1],
    ['2+2', 'better', 1],
    ['1+1', 'same', 0],
  ]);
  expect(counts).toEqual({ worse: 1, better: 1, same: 1, unknown: 0 });
  expect(difference).toMatchObject({ mean: 0, cases: 3 });
  expect(cases[0]?.b.runs.map(({ repeat, session }) => [repeat, session.split('/')[2]])).toEqual([
    [1, 'new'],
    [2, 'new'],
  ]);

  const more = [{ id: '4+4', input: '4+4', expected: '8' }];
  const other = await runExperiment({ ...options, name: 'sums2', cases: more });
  const mixed = compareVariants(a, { report: other, variant: 'new' }, 'correct');
  expect(mixed.counts).toEqual({ worse: 0, better: 0, same: 0, unknown: 4 });
  expect(mixed.difference).toBeUndefined();
  expect(compareVariants(a, b, 'constructor').counts.unknown).toBe(3);
  expect((await readExperiment(log, 'sums2'))?.runs).toHaveLength(4);
});

test('a scorer can have the name of a method of objects', async () => {
  const names = ['constructor', '__proto__', 'toString'];
  const { log, options } = setUp({ scorers: names.map((name) => codeScorer(name, () => 1)) });
  const report = await runExperiment(options);
  const read = await readExperiment(log, 'sums');
  for (const { variants } of [report, read ?? report])
    expect(Object.keys(variants[0]?.scores ?? {})).toEqual(names);
});

test('hostile results on the log do not change the report or its links', async () => {
  const { log, options } = setUp();
  const report = await runExperiment(options);
  const [run] = report.runs;
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, reasoning: 0, costs: [] };
  const end = { stop: 'stop', isFailed: false, usage, durationMs: 1 };
  const plan = { hash: 'x', baseline: 'old', scorers: [], repeats: 1000, confidence: 0.95 };
  const cases = Array.from({ length: 500 }, (_, at) => [`case ${at}`, 'x']);
  const hostile: readonly JsonValue[][] = [
    [{ type: 'run', ...end, variant: '<b>', case: 'c', repeat: 1, planned: 'p', session: 's' }],
    [{ type: 'run', ...end, variant: 'v', case: 'c\u202e', repeat: 1, planned: 'p', session: 's' }],
    [{ type: 'run', ...end, variant: 'v', case: 'c', repeat: 1e9, planned: 'p', session: 's' }],
    [{ type: 'plan', ...plan, repeats: 1e9, variants: [{ name: 'old', hash: 'x' }] }],
    [{ type: 'plan', ...plan, variants: [null] }],
    [{ type: 'score', planned: run?.session ?? '', scorer: 'correct', hash: 'x', score: null }],
  ];
  const write = async (values: readonly JsonValue[]) => {
    const parts = values.map(
      (value) => ({ kind: 'custom', name: 'millrace.eval', value }) as const,
    );
    const provider = scriptedProvider(['ok']);
    const user = { kind: 'user', parts: [{ kind: 'text', text: '1' }] } as const;
    const session = 'eval/sums';
    await createAgent({ log, provider }).run([{ kind: 'notification', parts }, user], { session })
      .result;
  };
  for (const values of hostile) await write(values);
  const read = await readExperiment(log, 'sums');
  expect(read && asStored(read)).toEqual(asStored(report));

  // The reader ignores a result whose session does not belong to the experiment.
  const forged = { ...end, variant: 'old', case: '1+1', repeat: 1, planned: run?.session ?? '' };
  await write([{ type: 'run', ...forged, session: 'private' }]);
  expect(JSON.stringify(await readExperiment(log, 'sums'))).not.toContain('private');

  // A plan with more runs than an experiment can have is ignored.
  const many = Array.from({ length: 64 }, (_, at) => ({ name: `v${at}`, hash: 'x' }));
  await write([
    { type: 'plan', ...plan, variants: many },
    { type: 'cases', cases },
  ]);
  expect((await readExperiment(log, 'sums'))?.runs.length).toBeLessThanOrEqual(12);
});

test('the sessions of an experiment have readable names', async () => {
  const vote = '{"reason":"short","score":0.75}';
  const provider = scriptedProvider(Array.from({ length: 20 }, () => vote));
  const { log, options } = setUp({
    ...{ scorers: [judge({ name: 'polite', provider, criteria: 'It is polite.' })], repeats: 1 },
    cases: [{ id: 'a/b', input: '1+1' }],
  });
  await runExperiment(options);
  const names = (await log.list()).map(({ session }) => experimentSessionName(session));
  expect(names).toEqual([
    'Experiment sums',
    ...['new', 'old'].flatMap((variant) => [
      `sums: ${variant}, a/b, run 1`,
      `sums: ${variant}, a/b, run 1, vote 1 of polite`,
    ]),
  ]);
  const others = ['eval', 'eval/', 'evaluation/x', 'a1b2', 'eval/x/y', 'eval/x/y/z/1/nohash'];
  for (const other of others) expect(experimentSessionName(other)).toBeUndefined();
});
