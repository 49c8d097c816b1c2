import { type Fact, type LogRecord, noUsage, recordVersion, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { appendBatches } from '../testing/recorded-run.ts';
import { digestCacheFor, digestReply, emptyDigest, foldDigest } from './task-digest.ts';

type FactInput = readonly [fact: object, turn?: number, attempt?: number];

function digestOf(...facts: readonly FactInput[]) {
  const records = facts.map(([fact, turn = 1, attempt = 1], index) => ({
    ...{ v: recordVersion, offset: index + 1, time: 1000 + index, turn, attempt, producer: 'test' },
    fact: fact as Fact,
  }));
  return digestReply(foldDigest(emptyDigest, records as readonly LogRecord[]));
}

const started = { type: 'run_started', runId: 'r' };
const ended = (reason: string) => ({ type: 'run_finished', runId: 'r', stop: { reason } });
const call = { toolCallId: 'c', name: 'bash' };
const model = (name: string) => ({
  type: 'response_started',
  itemId: 'i',
  provider: 'p',
  model: name,
});
const usage = (output: number, amount: string) => ({
  ...{ type: 'usage_reported' },
  usage: { ...noUsage, output, costs: [{ amount, currency: 'USD' }] },
});

describe('the digest of a session', () => {
  test('states whether a run is active, waits, or is over, and why', () => {
    expect(digestOf()).toMatchObject({ state: 'idle', stop: null, running_since: null });
    expect(digestOf([started])).toMatchObject({ state: 'running', running_since: 1000 });
    const pendingApprovals: FactInput = [{ type: 'approval_asked', ...call }];
    expect(digestOf([started], pendingApprovals)).toMatchObject({ state: 'waiting' });
    const answered: FactInput = [{ type: 'approval_answered', ...call, decision: 'allow' }];
    expect(digestOf([started], pendingApprovals, answered)).toMatchObject({ state: 'running' });
    const error = { code: 'auth', message: 'No key' };
    const over = digestOf([started], [{ type: 'error_reported', error }], [ended('error')]);
    expect(over).toMatchObject({ state: 'idle', stop: { reason: 'error' }, error });
  });

  test('forgets the last stop when the next run starts', () => {
    const again = digestOf([started], [ended('error')], [started]);
    expect(again).toMatchObject({ state: 'running', stop: null, error: null });
  });

  test('sums usage by model: the last report of each attempt, including superseded ones', () => {
    const digest = digestOf(
      [model('a')],
      [usage(1, '0.5')],
      [usage(2, '0.1')],
      [{ type: 'attempt_superseded', reason: 'cut' }],
      [model('a'), 1, 2],
      [usage(3, '0.2'), 1, 2],
      [model('b'), 2, 1],
      [usage(4, '1'), 2, 1],
    );
    expect(digest.usage).toMatchObject([
      { model: 'a', attempts: 2, usage: { output: 5, costs: [{ amount: '0.3' }] } },
      { model: 'b', attempts: 1, usage: { output: 4, costs: [{ amount: '1' }] } },
    ]);
  });
});

describe('digests of a log', () => {
  test('read only new records, with the same result', async () => {
    const log = memoryLog();
    const session = sessionId('task');
    const reads: number[] = [];
    const counting = {
      ...log,
      info: log.info.bind(log),
      read: async (...given: Parameters<typeof log.read>) => {
        reads.push(given[1]?.from ?? 0);
        return log.read(...given);
      },
    } as typeof log;
    const digests = digestCacheFor(counting);
    expect(await digests.read(session)).toMatchObject({ state: { through: 0 }, isWhole: true });
    await appendBatches(log, session, [[{ turn: 0, attempt: 0, fact: started as Fact }]]);
    const first = await digests.read(session);
    expect(first.state.runSince).toBeTypeOf('number');
    await digests.read(session);
    await appendBatches(log, session, [[{ turn: 0, attempt: 0, fact: ended('stop') as Fact }]]);
    const last = await digests.read(session);
    expect(last.state.stop).toEqual({ reason: 'stop' });
    expect(reads).toEqual([0, first.state.through]);
    expect(await digestCacheFor(log).read(session)).toEqual(last);
    await log.close();
  });
});
