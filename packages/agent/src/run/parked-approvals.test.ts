import { setImmediate } from 'node:timers/promises';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { SessionCommand } from '../contract/command.ts';
import { createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { call } from '../testing/model-script.ts';
import { withMethods } from '../testing/test-doubles.ts';
import { defineTool } from '../tool/define-tool.ts';

const session = 's';

/** A session that waits for the approval of two refunds. Commands arrive late, as from a database. */
async function parkedSession() {
  const refunded: string[] = [];
  const problems: string[] = [];
  const refund = defineTool({
    name: 'refund_order',
    description: 'Refunds an order',
    input: z.object({ order: z.string() }),
    execute: async ({ order }) => {
      refunded.push(order);
      return { order };
    },
  });
  const inner = memoryLog();
  const log = withMethods(inner, {
    submit: async (...command) => {
      for (let round = 0; round < 20; round++) await setImmediate();
      return inner.submit(...command);
    },
  });
  const calls = ['17', '18'].map((order) => call(`c${order}`, 'refund_order', { order }));
  const provider = scriptedProvider([{ content: { parts: calls } }, 'Both are refunded.']);
  const agent = createAgent({
    ...{ provider, log, tools: [refund], whileAsking: 'park' },
    approve: () => ({ decision: 'ask', reason: 'money', rule: 'refunds' }),
    onDiagnostic: (problem) => void problems.push(problem),
  });
  const parked = await agent.run('Refund orders 17 and 18', { session }).result;
  return { agent, log: inner, parked, problems, refunded };
}

describe('20.7: a parked run', () => {
  test('20.7: continues if its calls are approved right after it is resumed', async () => {
    const { agent, refunded } = await parkedSession();
    const run = agent.resume(session);
    await Promise.all([run.approve('c17'), run.approve('c18')]);
    const { reason, text } = await run.result;
    expect([reason, text]).toEqual(['stop', 'Both are refunded.']);
    expect(refunded).toEqual(['17', '18']);
  });

  test('20.7: runs the approved call and parks for the other one', async () => {
    const { agent, refunded } = await parkedSession();
    const run = agent.resume(session);
    await run.deny('c17', { reason: 'too old' });
    const { reason, pendingApprovals, toolCalls } = await run.result;
    expect([reason, refunded]).toEqual(['parked', []]);
    expect(pendingApprovals.map(({ toolCallId }) => toolCallId)).toEqual(['c18']);
    expect(toolCalls).toMatchObject([{ ok: false, toolCallId: 'c17', input: { order: '17' } }]);
  });

  test('20.7: stops if it is aborted right after it is resumed', async () => {
    const { agent, refunded } = await parkedSession();
    const run = agent.resume(session);
    await run.abort('enough');
    expect([(await run.result).reason, refunded]).toEqual(['aborted', []]);
  });

  test('22.7: an abort that was stored while no run was open ends the turn', async () => {
    const { agent, log, refunded } = await parkedSession();
    await submitCommand(log, session, { type: 'abort', reason: 'enough' });
    const { reason, pendingApprovals } = await agent.resume(session).result;
    expect([reason, pendingApprovals, refunded]).toEqual(['aborted', [], []]);
  });

  test('22.7: new input after such an abort gets an answer in a run of its own', async () => {
    const { agent, log, refunded } = await parkedSession();
    await submitCommand(log, session, { type: 'abort' });
    const run = agent.run('What happened?', { session });
    const { reason, text, pendingApprovals } = await run.result;
    expect([reason, text, pendingApprovals]).toEqual(['stop', 'Both are refunded.', []]);
    expect(refunded).toEqual([]);
    const { records } = await log.read(sessionId(session));
    const runs = records.flatMap(({ fact }) => (fact?.type === 'run_started' ? fact.runId : []));
    expect(new Set(runs).size).toBe(3);
    expect(runs.at(-1)).toBe(run.id);
  });

  test('20.7: says what waits, and continues after agent.approve and agent.deny', async () => {
    const { agent, parked, refunded } = await parkedSession();
    expect(parked.pendingApprovals).toEqual([
      ...['17', '18'].map((order) => ({
        ...{ toolCallId: `c${order}`, name: 'refund_order', input: { order } },
        ...{ reason: 'money', rule: 'refunds' },
      })),
    ]);
    const [first, second] = parked.pendingApprovals;
    if (first === undefined || second === undefined) return expect.fail('two calls wait');
    await agent.approve(session, first, { by: 'Ada', input: { order: '170' } });
    await agent.deny(session, second.toolCallId, { reason: 'too old' });
    const result = await agent.resume(session).result;
    expect([result.reason, refunded]).toEqual(['stop', ['170']]);
    expect(result.pendingApprovals).toEqual([]);
    expect(result.toolCalls).toMatchObject([
      { ok: true, toolCallId: 'c17', value: { order: '170' } },
      { ok: false, toolCallId: 'c18', text: 'It was not allowed: too old' },
    ]);
  });

  test('20.7: a run that has parked says how to decide', async () => {
    const { agent } = await parkedSession();
    const run = agent.resume(session);
    await run.result;
    const refused = { code: 'run_over', message: expect.stringContaining('agent.approve') };
    await expect(run.approve('c17')).rejects.toMatchObject(refused);
  });

  test('20.7: a decision on a call that does not wait is refused with the calls that do', async () => {
    const { agent } = await parkedSession();
    const waiting = expect.stringContaining('These calls wait: c17, c18');
    const refused = { code: 'no_such_call', message: waiting };
    await expect(agent.approve(session, 'c19')).rejects.toMatchObject(refused);
    await expect(agent.resume(session).deny('c19')).rejects.toMatchObject(refused);
    await expect(agent.approve('nowhere', 'c17')).rejects.toMatchObject({
      code: 'no_such_session',
    });
    for (const odd of [undefined, null, {}, ''])
      await expect(agent.approve(session, odd as never)).rejects.toMatchObject({
        code: 'bad_option',
      });
    await expect(agent.approve(session, 'c17', { until: 'sesion' as never })).rejects.toMatchObject(
      {
        ...{ code: 'bad_option', place: { option: 'until' } },
      },
    );
    const misspelt = agent.approve(session, 'c17', { inputs: {} } as never);
    await expect(misspelt).rejects.toMatchObject({
      message: expect.stringContaining('Did you mean input?'),
    });
  });
});

test('a changed input that does not fit the tool is refused, and the question stays open', async () => {
  const { agent, refunded } = await parkedSession();
  const input = { order: 17 } as never;
  await expect(agent.approve(session, 'c17', { input })).rejects.toMatchObject({
    ...{
      code: 'bad_input',
      message: expect.stringContaining('does not fit the tool refund_order'),
    },
  });
  const run = agent.resume(session);
  await expect(run.approve('c17', { input })).rejects.toMatchObject({ code: 'bad_input' });
  await run.result;
  expect((await agent.pendingApprovals(session)).map((one) => one.toolCallId)).toEqual([
    'c17',
    'c18',
  ]);
  await agent.approve(session, 'c17', { input: { order: '170' } });
  await agent.deny(session, 'c18');
  await agent.resume(session).result;
  expect(refunded).toEqual(['170']);
});

test('pending approvals can be read by any process, and reading changes nothing', async () => {
  const { agent, log, parked } = await parkedSession();
  const before = (await log.info(session))?.through;
  expect(await agent.pendingApprovals(session)).toEqual(parked.pendingApprovals);
  expect((await log.info(session))?.through).toBe(before);
  await expect(agent.pendingApprovals('nobody')).rejects.toMatchObject({ code: 'no_such_session' });
});

describe('20.7: a command', () => {
  test('20.7: of an unknown type is refused with the nearest type', async () => {
    const { log } = await parkedSession();
    const command = { type: 'aprove', toolCallId: 'c17' };
    await expect(submitCommand(log, session, command as never)).rejects.toMatchObject({
      ...{ name: 'AgentError', code: 'bad_command' },
      message: expect.stringContaining('"aprove". Did you mean approve?'),
    });
  });

  test.each<[string, unknown, string]>([
    ['nothing', null, 'Known types: message, abort'],
    ['no type', {}, 'Known types: message, abort'],
    ['an unknown field', { type: 'abort', reasn: 'x' }, 'Did you mean reason?'],
    ['a missing key', { type: 'withdraw' }, 'needs the field key'],
    ['a missing rule', { type: 'revoke', rule: '' }, 'needs the field rule'],
    ['an unknown time', { type: 'message', input: 'x', when: 'later' }, 'steer or follow_up'],
    ['a foreign message', { type: 'message', input: { role: 'user' } }, 'Pass a text, or items'],
    ['no call', { type: 'approve' }, 'result.pendingApprovals'],
  ])(
    '20.7: with %s is refused, and the message says what is right',
    async (_what, command, hint) => {
      const { log } = await parkedSession();
      const before = (await log.info(session))?.through;
      const submitted = submitCommand(log, session, command as never);
      await expect(submitted).rejects.toThrow(hint);
      expect((await log.info(session))?.through).toBe(before);
    },
  );

  test('20.7: that is valid reaches the session once per key', async () => {
    const { agent, log, refunded } = await parkedSession();
    const approval = { type: 'approve', toolCallId: 'c17' } as const;
    const first = await submitCommand(log, session, approval, { key: 'k' });
    expect(await submitCommand(log, session, approval, { key: 'k' })).toEqual({
      ...{ ...first, isRepeat: true, key: 'k' },
    });
    await submitCommand(log, session, { type: 'deny', toolCallId: 'c18', by: 'Ada' });
    await submitCommand(log, session, { type: 'message', input: 'And hurry' });
    expect((await agent.resume(session).result).items.length).toBeGreaterThan(0);
    expect(refunded).toEqual(['17']);
  });

  test('20.7: of an unknown type that is on the log already is reported', async () => {
    const { agent, log, problems } = await parkedSession();
    await log.submit(session, { type: 'aprove', toolCallId: 'c17' }, 'k');
    expect((await agent.resume(session).result).reason).toBe('parked');
    expect(problems).toEqual([expect.stringContaining('"aprove". Did you mean approve?')]);
  });

  test('21.L: of an unknown type that is on the log already is consumed, and the log names it', async () => {
    const { agent, log } = await parkedSession();
    await log.submit(session, { type: 'teleport', to: 'mars' }, 'k');
    expect((await agent.resume(session).result).reason).toBe('parked');
    const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    const consumed = records.flatMap(({ fact }) =>
      fact?.type === 'command_consumed' && fact.key === 'k' ? fact.error : [],
    );
    const message = expect.stringContaining('no command of the type "teleport"');
    expect(consumed).toEqual([{ code: 'unknown_command', message }]);
    await agent.approve(session, 'c17');
    await agent.approve(session, 'c18');
    expect((await agent.resume(session).result).reason).toBe('stop');
    expect((await log.info(session))?.hasWork).toBe(false);
  });
});

describe('21.N: a late decision', () => {
  const allowed = { code: 'already_decided', place: { decision: 'allow', by: 'Ada' } };
  const messageOf = (promise: Promise<unknown>) =>
    promise.then(
      () => expect.fail('it was accepted'),
      (error: Error) => error.message,
    );

  test('21.N: on a call that was answered is refused and says what was decided', async () => {
    const { agent, refunded } = await parkedSession();
    await agent.approve(session, 'c17', { by: 'Ada' });
    await agent.deny(session, 'c18', { reason: 'too old', by: 'Bob' });
    await agent.resume(session).result;
    await expect(agent.deny(session, 'c17')).rejects.toMatchObject(allowed);
    expect(await messageOf(agent.approve(session, 'c17'))).toContain('it was allowed by Ada');
    const denied = await messageOf(agent.approve(session, 'c18'));
    expect(denied).toContain('it was denied by Bob (too old)');
    expect(refunded).toEqual(['17']);
  });

  test('21.N: on a call of a run that was aborted is refused', async () => {
    const { agent, refunded } = await parkedSession();
    const run = agent.resume(session);
    await run.abort();
    await run.result;
    const ended = { code: 'already_decided', place: { decision: 'ended' } };
    await expect(agent.approve(session, 'c17')).rejects.toMatchObject(ended);
    expect(refunded).toEqual([]);
  });

  test('21.N: in the run itself is refused too, and the first one of another process wins', async () => {
    const { agent, log, refunded } = await parkedSession();
    const run = agent.resume(session);
    await run.approve('c17', { by: 'Ada' });
    await expect(run.deny('c17')).rejects.toMatchObject(allowed);
    await log.submit(session, { type: 'deny', toolCallId: 'c17' }, 'late');
    await run.deny('c18');
    await run.result;
    await agent.resume(session).result;
    const { records } = await log.read(session, { maxBytes: Number.POSITIVE_INFINITY });
    const errors = records.flatMap(({ fact }) =>
      fact?.type === 'command_consumed' ? (fact.error?.code ?? []) : [],
    );
    expect([errors.length, refunded]).toEqual([1, ['17']]);
  });
});

describe('20: an answer that waits for the next run', () => {
  const allowed = { code: 'already_decided', place: { decision: 'allow', by: 'Ada' } };

  test('20: refuses another answer while the session is parked', async () => {
    const { agent, refunded } = await parkedSession();
    await agent.approve(session, 'c17', { by: 'Ada' });
    await expect(agent.deny(session, 'c17')).rejects.toMatchObject(allowed);
    const changed = agent.approve(session, 'c17', { input: { order: '99' } });
    await expect(changed).rejects.toMatchObject(allowed);
    await agent.deny(session, 'c18', { reason: 'too old', by: 'Bob' });
    const denied = { place: { decision: 'deny', by: 'Bob' } };
    await expect(agent.approve(session, 'c18')).rejects.toMatchObject(denied);
    expect((await agent.resume(session).result).reason).toBe('stop');
    expect(refunded).toEqual(['17']);
  });

  test('20: may be sent again', async () => {
    const { agent, log, refunded } = await parkedSession();
    await agent.approve(session, 'c17', { input: { order: '170' }, by: 'Ada' });
    const before = (await log.info(session))?.through;
    await agent.approve(session, 'c17', { input: { order: '170' }, by: 'Bob' });
    expect((await log.info(session))?.through).toBe(before);
    await agent.deny(session, 'c18', { reason: 'too old' });
    await agent.deny(session, 'c18');
    await agent.resume(session).result;
    expect(refunded).toEqual(['170']);
  });

  test('20: takes its call off the pending approvals', async () => {
    const { agent, log } = await parkedSession();
    await agent.approve(session, 'c17');
    await submitCommand(log, session, { type: 'deny', toolCallId: 'c18' });
    expect(await agent.pendingApprovals(session)).toEqual([]);
  });
});

test.each<SessionCommand>([
  { type: 'abort' },
  { type: 'compact' },
  { type: 'approve', toolCallId: 'c1' },
])('20: $type for a session that does not exist is refused', async (command) => {
  const log = memoryLog();
  const refused = { code: 'no_such_session', place: { session: 'nobody' } };
  await expect(submitCommand(log, 'nobody', command)).rejects.toMatchObject(refused);
  expect(await log.info('nobody')).toBeUndefined();
});

test('20: a message creates its session', async () => {
  const log = memoryLog();
  await submitCommand(log, 'new', { type: 'message', input: 'Hello' });
  expect(await log.info('new')).toBeDefined();
});
