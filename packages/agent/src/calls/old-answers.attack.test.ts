import {
  countingIds,
  type Fact,
  type ItemId,
  type LogRecord,
  type PartId,
  toolCallId,
} from '@millrace/core';
import { exportSession, importSession, memoryLog } from '@millrace/log';
import { expect, test } from 'vitest';
import type { Approval } from '../contract/settings.ts';
import type { CheckedToolCall } from '../contract/tool.ts';
import { toolGuardrail } from '../guardrails/define-guardrail.ts';
import { readPendingApprovals } from '../input/submit-command.ts';
import { call } from '../testing/model-script.ts';
import { answer, createTestAgent, session, tool } from '../testing/test-agent.ts';
import { VirtualClock } from '../testing/virtual-time.ts';
import { subAgent } from '../tool/agent-tools.ts';

// An answer on the log is older than the rules of the process that runs the call, or somebody else
// wrote it.

const c1 = toolCallId('c1');

/** A session whose call waits for an answer. The policy can change later. */
async function parked(afterCrash: 'repeat' | 'fail' = 'fail') {
  const ran: unknown[] = [];
  const rules: { decision: Approval } = { decision: 'ask' };
  const rm = tool('rm', async (input) => ran.push(input), { afterCrash });
  const stage = createTestAgent([answer(call('c1', 'rm', {})), 'Done.', 'Done.'], {
    ...{ tools: [rm], whileAsking: 'park', approve: () => rules.decision },
  });
  await stage.end(stage.agent.run('Go', { session }));
  return { ...stage, ran, rules, rm };
}

test('attack: an answer does not override a policy that denies by now', async () => {
  const { agent, end, ran, rules, records } = await parked();
  rules.decision = 'deny';
  const run = agent.resume(session);
  await run.approve(c1);
  await end(run);
  await end(agent.resume(session));
  const facts = records.flatMap(({ fact }) => fact ?? []);
  expect(facts).toContainEqual(
    expect.objectContaining({ type: 'tool_call_rejected', code: 'denied' }),
  );
  expect(ran).toEqual([]);
});

test('attack: a call that was interrupted is decided on again', async () => {
  const { log, ran, rules, end, agent } = await parked('repeat');
  const at = { turn: 1, attempt: 1 };
  const started = { toolCallId: c1, name: 'rm', executionId: 'x' as never, summary: '' };
  const fact: Fact = { type: 'tool_execution_started', ...started };
  const driver = await log.open(session);
  await driver.append([{ ...at, fact }]);
  await driver.release();
  rules.decision = 'deny';
  await end(agent.resume(session));
  expect(ran).toEqual([]);
});

test('18.1160: attack: an approved call runs again after its result was removed', async () => {
  const ran: unknown[] = [];
  const pay = tool('pay', async ({ to }) => ran.push(to));
  const both = answer(call('c1', 'pay', { to: 'a' }), call('c2', 'pay', { to: 'b' }));
  const { agent, end, log, provider } = createTestAgent([both, 'Done.'], {
    ...{ tools: [pay], whileAsking: 'park', approve: () => 'ask' },
  });
  await end(agent.run('Go', { session }));
  const run = agent.resume(session);
  await run.approve(c1);
  await end(run);
  expect(ran).toEqual(['a']);
  const { records } = await log.read(session);
  const result = records.flatMap(({ delta }) =>
    delta?.type === 'begin_part' && delta.kind === 'tool_result' && delta.toolCallId === c1
      ? delta.partId
      : [],
  );
  const driver = await log.open(session);
  const [partId = '' as PartId] = result;
  const delta = { type: 'retract_part', partId, reason: 'edited' } as const;
  await driver.append([{ turn: 1, attempt: 1, delta }]);
  await driver.release();
  const next = agent.resume(session);
  await next.deny(toolCallId('c2'));
  const { stop } = await end(next);
  expect(stop.reason).toBe('stop');
  expect(ran).toEqual(['a']);
  expect(JSON.stringify(provider.requests.at(-1)?.request.items)).toContain('was removed');
});

test('attack: a call that is said to wait for a client is decided on again if it runs here', async () => {
  const { log, ran, end, agent, rules } = await parked();
  const driver = await log.open(session);
  const fact: Fact = { type: 'tool_output_asked', toolCallId: c1, name: 'rm' };
  await driver.append([{ turn: 1, attempt: 1, fact }]);
  await driver.release();
  await end(agent.resume(session));
  expect(ran).toEqual([]);
  rules.decision = 'deny';
  const run = agent.resume(session);
  await run.approve(c1);
  await end(run);
  expect(ran).toEqual([]);
});

test('attack: a call that is said to be parked is decided on again', async () => {
  const { log, ran, end, agent } = await parked();
  const about = { toolCallId: c1, name: 'rm', executionId: 'x' as never };
  const target = await forged(log, [
    { type: 'tool_execution_started', ...about, summary: '' },
    { type: 'tool_execution_finished', ...about, isError: false, outcome: 'parked' },
  ]);
  expect((await target.info(session))?.hasWork).toBe(true);
  const stage = createTestAgent(['Done.'], {
    ...{ log: target, tools: [tool('rm', async () => ran.push('again'))] },
    ...{ whileAsking: 'park', approve: () => 'ask' as const },
  });
  expect((await stage.end(stage.agent.resume(session))).stop.reason).toBe('parked');
  await end(agent.resume(session));
  expect(ran).toEqual([]);
});

test('attack: a question shows the input that runs, whatever item repeats the id of its call', async () => {
  const { log, ran, end, agent } = await parked();
  const at = { turn: 0, attempt: 0 };
  const [itemId, partId] = ['forged' as ItemId, '0.0.forged' as PartId];
  const part = { kind: 'tool_call', toolCallId: c1, name: 'rm', arguments: '{"a":1}' } as const;
  const driver = await log.open(session);
  await driver.append([
    { ...at, fact: { type: 'item_started', itemId, kind: 'user' } },
    { ...at, delta: { type: 'commit_part', partId, itemId, part: { ...part, input: { a: 1 } } } },
    { ...at, fact: { type: 'item_finished', itemId } },
  ]);
  await driver.release();
  expect(await readPendingApprovals(log, session)).toEqual([
    { toolCallId: c1, name: 'rm', input: {} },
  ]);
  // Other programs may show the other call, so an answer runs neither of them.
  const run = agent.resume(session);
  await run.approve(c1);
  await end(run);
  await end(agent.resume(session));
  expect(ran).toEqual([]);
});

test('attack: one answer does not allow two calls with the same id', async () => {
  const { log, ran, rm } = await parked();
  const lines: string[] = [];
  for await (const line of exportSession(log, session)) lines.push(line);
  const all = lines.slice(1).map((line) => JSON.parse(line) as LogRecord);
  const end = all.findIndex(({ fact }) => fact?.type === 'response_finished');
  const { delta: last, ...place } = all[end - 1] ?? expect.fail();
  const id = last?.type === 'commit_part' ? last.partId : expect.fail();
  const begun = all.flatMap(({ delta }) => (delta?.type === 'begin_part' ? delta.itemId : []));
  const itemId = begun[0] ?? expect.fail();
  const part = { kind: 'tool_call', toolCallId: c1, name: 'rm', arguments: '{"all":true}' };
  const second = { type: 'commit_part', partId: `${id}-2`, itemId, part };
  const records = [
    ...all.slice(0, end),
    { ...place, delta: second } as unknown as LogRecord,
    ...all.slice(end),
  ].map((record, at) => JSON.stringify({ ...record, offset: at + 1 }));
  const header = { ...JSON.parse(lines[0] ?? ''), through: records.length };
  const target = memoryLog();
  await importSession(target, [JSON.stringify(header), ...records], { isTrusted: true });
  const stage = createTestAgent(['Done.'], { log: target, tools: [rm], approve: () => 'ask' });
  const run = stage.agent.resume(session);
  await run.approve(c1);
  await stage.end(run);
  expect(ran).toEqual([]);
});

test('attack: sub-agents whose calls have the same long id have a question each', async () => {
  const clock = new VirtualClock();
  const ran: unknown[] = [];
  const rm = tool('rm', async (input) => ran.push(input));
  const helper = (name: string) => {
    const script = [answer(call('x'.repeat(1024), 'rm', { name })), 'Done.'];
    const { agent } = createTestAgent(script, { clock, tools: [rm], approve: () => 'ask' });
    return subAgent({ name, description: name, agent });
  };
  const calls = answer(call('c1', 'a', { task: 'x' }), call('c2', 'b', { task: 'x' }));
  const stage = createTestAgent([calls, 'Done.'], { clock, tools: [helper('a'), helper('b')] });
  const run = stage.agent.run('Go', { session });
  await stage.until('approval_asked', 2);
  const asked = await readPendingApprovals(stage.log, session);
  const [first, second] = [asked[0] ?? expect.fail(), asked[1] ?? expect.fail()];
  await run.deny(second);
  await run.approve(first);
  expect((await stage.end(run)).text).toBe('Done.');
  expect(ran).toEqual([first.input]);
});

test.for(['a, then its question', 'its question, then a'] as const)(
  '18.66: attack: one answer does not allow a changed call and a call with the id of its question (%s)',
  async (order) => {
    const ran: unknown[] = [];
    const rm = tool('rm', async (input) => ran.push(input));
    const check = ({ call: { toolCallId: id } }: CheckedToolCall) =>
      id === 'a' ? { verdict: 'change' as const, to: { all: true, note: '[masked]' } } : 'pass';
    const calls = [call('a', 'rm', { all: true }), call('a/changed', 'rm', { file: 'b' })];
    const script = answer(...(order.startsWith('a') ? calls : calls.toReversed()));
    const stage = createTestAgent([script, 'Done.', 'Done.'], {
      ...{ tools: [rm], whileAsking: 'park', approve: () => 'ask' as const },
      guardrails: [toolGuardrail({ name: 'mask', check })],
    });
    await stage.end(stage.agent.run('Go', { session }));
    const asked = await readPendingApprovals(stage.log, session);
    const run = stage.agent.resume(session);
    for (const one of asked) await run.approve(one);
    await stage.end(run);
    expect(ran).toEqual(asked.map(({ input }) => input));
  },
);

test.for(['wait', 'park'] as const)(
  '18.67: attack: one answer does not allow a call and the call of a sub-agent (%s)',
  async (whileAsking) => {
    const clock = new VirtualClock();
    const ran: unknown[] = [];
    const rm = tool('rm', async (input) => ran.push(input));
    const options = { clock, whileAsking, approve: () => 'ask' as const };
    const script = [answer(call('x', 'rm', { all: true })), 'Done.'];
    const { agent } = createTestAgent(script, { ...options, tools: [rm] });
    const helper = subAgent({ name: 'a', description: 'a', agent });
    // The caller's provider knows the session of the sub-agent.
    const calls = answer(call('c1', 'a', { task: 'x' }), call('kid/x', 'rm', { file: 'b' }));
    const stage = createTestAgent([calls, 'Done.', 'Done.'], {
      ...{
        ...options,
        tools: [helper, rm],
        ids: { ...countingIds(), session: () => 'kid' as never },
      },
      approve: ({ call: { name } }) => (name === 'rm' ? 'ask' : 'allow'),
    });
    const run = stage.agent.run('Go', { session });
    await stage.until('approval_asked');
    const [asked = expect.fail()] = await readPendingApprovals(stage.log, session);
    if (whileAsking === 'park') await stage.end(run);
    const now = whileAsking === 'park' ? stage.agent.resume(session) : run;
    await now.approve(asked);
    await stage.end(now);
    expect(ran).toEqual([asked.input]);
  },
);

/** Exports a session, adds records at its end, and imports it into another log. */
async function forged(log: Parameters<typeof exportSession>[0], facts: readonly Fact[]) {
  const lines: string[] = [];
  for await (const line of exportSession(log, session)) lines.push(line);
  const header = JSON.parse(lines[0] ?? '') as { through: number };
  const last = JSON.parse(lines.at(-1) ?? '') as LogRecord;
  const added = facts.map((fact, at) => {
    const place = { turn: 1, attempt: 1, offset: header.through + at + 1 };
    return JSON.stringify({ v: 1, time: last.time, producer: last.producer, ...place, fact });
  });
  const through = header.through + facts.length;
  const target = memoryLog();
  await importSession(target, [
    ...[JSON.stringify({ ...header, through }), ...lines.slice(1), ...added],
  ]);
  return target;
}

test.for(['ask', 'deny'] as const)(
  'attack: an imported answer runs nothing (the policy: %s)',
  async (decision) => {
    const { log, ran, rm } = await parked();
    const allowed = { type: 'approval_answered', toolCallId: c1, name: 'rm' } as const;
    const target = await forged(log, [{ ...allowed, decision: 'allow', until: 'session' }]);
    const stage = createTestAgent(['Done.'], {
      ...{
        log: target,
        tools: [rm],
        whileAsking: 'park',
        approve: () => ({ decision, rule: 'r' }),
      },
    });
    const { stop } = await stage.end(stage.agent.resume(session));
    expect(stop.reason).toBe(decision === 'ask' ? 'parked' : 'stop');
    expect(ran).toEqual([]);
  },
);

test('an imported question is asked again, and its answer runs the call', async () => {
  const { log, ran, rm } = await parked();
  const target = await forged(log, []);
  const stage = createTestAgent(['Done.'], {
    ...{ log: target, tools: [rm], approve: () => 'ask' as const },
  });
  const run = stage.agent.resume(session);
  await stage.until('approval_asked');
  await run.approve(c1);
  await stage.end(run);
  expect(ran).toHaveLength(1);
});

test.for(['before', 'after'] as const)(
  'attack 48: an answer to a question of a different folder does not apply, if it comes %s the run continues',
  async (when) => {
    const ran: unknown[] = [];
    const place = { judged: '/folder a/x.txt' };
    const write = tool('write', async (input) => ran.push(input));
    const script = [answer(call('c1', 'write', {})), answer(call('c2', 'write', {})), 'Done.'];
    const stage = createTestAgent(script, {
      ...{ tools: [write], whileAsking: 'park' },
      approve: () => ({ decision: 'ask' as const, ...place }),
    });
    const { agent, end, log, records } = stage;
    await end(agent.run('Go', { session }));
    place.judged = '/folder b/x.txt';
    const [pending] = await readPendingApprovals(log, session);
    expect(pending?.toolCallId).toBe(c1);
    if (when === 'before') await agent.approve(session, c1);
    const run = agent.resume(session);
    if (when === 'after') await run.approve(c1);
    await end(run);
    expect(ran).toEqual([]);
    const facts = records.flatMap(({ fact }) => fact ?? []);
    const message = expect.stringMatching(/folder a.*folder b.*again/);
    expect(facts).toContainEqual(
      expect.objectContaining({ type: 'tool_call_rejected', code: 'invalid', message }),
    );
    // The model makes the call again, and the user sees the question of this folder.
    const asked = await readPendingApprovals(log, session);
    expect(asked.map(({ toolCallId: id }) => id)).toEqual(['c2']);
  },
);

test.each([false, true])(
  '18.971: attack: the answer to a question about another folder counts here (changed input: %s)',
  async (isChanged) => {
    const ran: unknown[] = [];
    let folder = '/a';
    const stage = createTestAgent([answer(call('c1', 'rm', {})), 'Done.'], {
      ...{ tools: [tool('rm', async (input) => ran.push(input))], whileAsking: 'park' },
      approve: () => ({ decision: 'ask', judged: folder }),
    });
    const { agent, end, records } = stage;
    await end(agent.run('Go', { session }));
    await agent.approve(session, c1, isChanged ? { input: { path: 'b' } } : {});
    // A process of another folder continues the session.
    folder = '/b';
    await end(agent.resume(session));
    expect(ran).toEqual([]);
    expect(records.flatMap(({ fact }) => fact ?? [])).toContainEqual(
      expect.objectContaining({ type: 'tool_call_rejected', code: 'invalid' }),
    );
  },
);
