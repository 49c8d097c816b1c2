import type { TaskDigest, TaskSummary } from '@millrace/client';
import { noUsage, type Usage } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import { failuresOf, type OverviewTask, runningOf, totalOf, usageRows } from './overview-rows.ts';

const task = (id: string, more: Partial<TaskSummary> = {}): TaskSummary => ({
  ...{ id, name: id, status: 'RUNNING', status_reason: null, created_at: null },
  ...{ updated_at: null, cleaned_at: null, task_metadata: null },
  ...more,
});

const digest = (more: Partial<TaskDigest> = {}): TaskDigest => ({
  ...{ task_id: 't', agents: ['coder'], through: 1, is_whole: true, state: 'idle' },
  ...{ running_since: null, stop: null, error: null, usage: [] },
  ...more,
});

const used = (model: string | null, usage: Partial<Usage>, attempts = 1) => ({
  ...{ provider: 'p', model, attempts, usage: { ...noUsage, ...usage } },
});
const usd = (amount: string) => [{ amount, currency: 'USD' }];

describe('running tasks', () => {
  test('have a run or wait for an approval; waiting tasks come first; idle tasks are excluded', () => {
    const all: readonly OverviewTask[] = [
      { task: task('open'), digest: digest() },
      { task: task('runs'), digest: digest({ state: 'running' }) },
      { task: task('waits'), digest: digest({ state: 'waiting' }) },
      { task: task('unknown'), digest: undefined },
    ];
    expect(runningOf(all).map(({ task: { id } }) => id)).toEqual(['waits', 'runs']);
  });
});

describe('a failure', () => {
  test('shows the recorded reason, else the reason of the task, else a default text', () => {
    const error = { code: 'auth', message: 'The key is wrong' };
    const failed = { status: 'FAILED', status_reason: 'It broke' } as const;
    const all = [
      { task: task('a', failed), digest: digest({ error }) },
      { task: task('b', failed), digest: undefined },
      { task: task('c', { status: 'TIMED_OUT' }), digest: digest() },
      { task: task('d'), digest: digest() },
    ];
    expect(failuresOf(all).map(({ task: { id }, reason }) => [id, reason])).toEqual([
      ['a', 'The key is wrong'],
      ['b', 'It broke'],
      ['c', 'No reason was recorded'],
    ]);
  });

  test('includes a run that ended with an error, until the next run starts', () => {
    const stop = { reason: 'error' } as const;
    const error = { code: 'x', message: 'No' };
    const failureOf = (more: Partial<TaskDigest>) =>
      failuresOf([{ task: task('a'), digest: digest({ stop, error, ...more }) }]);
    expect(failureOf({})).toHaveLength(1);
    expect(failureOf({ state: 'running' })).toEqual([]);
  });
});

describe('usage', () => {
  test('is added exactly by agent and model, most expensive first', () => {
    const all = [
      {
        task: task('a'),
        digest: digest({ usage: [used('small', { output: 9, costs: usd('0.1') })] }),
      },
      {
        task: task('b'),
        digest: digest({
          usage: [
            used('small', { output: 1, costs: usd('0.2') }, 2),
            used('big', { costs: usd('5') }),
          ],
        }),
      },
      {
        task: task('c'),
        digest: digest({ agents: ['other'], usage: [used('small', { input: 3 })] }),
      },
    ];
    const rows = usageRows(all);
    expect(
      rows.map(({ agent, model, tasks, attempts, usage }) => [
        agent,
        model,
        tasks,
        attempts,
        usage.costs,
      ]),
    ).toEqual([
      ['coder', 'big', 1, 1, usd('5')],
      ['coder', 'small', 2, 3, usd('0.3')],
      ['other', 'small', 1, 1, []],
    ]);
    expect(totalOf(rows)).toMatchObject({ input: 3, output: 10, costs: usd('5.3') });
  });

  test('of an agent without a model has no model, and no usage gives no total', () => {
    const rows = usageRows([
      { task: task('a'), digest: digest({ usage: [used(null, { input: 1 })] }) },
    ]);
    expect(rows).toMatchObject([{ agent: 'coder', model: undefined }]);
    expect(totalOf([])).toBeUndefined();
  });
});
