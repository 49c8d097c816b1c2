import { type LogRecord, sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, onTestFinished, test } from 'vitest';
import type { Guardrail } from '../contract/guardrail.ts';
import { createAgent } from '../create-agent.ts';
import { outputGuardrail } from '../guardrails/define-guardrail.ts';
import { forkSession } from '../history/fork-before.ts';
import { handOff } from '../tool/agent-tools.ts';
import { branchSession } from './branch-session.ts';

// A user branches a session inside of an answer that a guardrail stopped or changed. The user wants the answer
// back, in the conversation or in the next request to the model.

type Check = Parameters<typeof outputGuardrail>[0]['check'];

/** An agent whose first answer contains `EVIL`. Further answers are harmless. */
function guardedAgent(check: Check, options: Partial<Parameters<typeof createAgent>[0]> = {}) {
  const log = memoryLog();
  onTestFinished(() => log.close());
  const answers = Array.from({ length: 200 }, () => 'Fine.');
  const provider = scriptedProvider(['one two EVIL three four', ...answers], { pieces: 'token' });
  const guardrails = [outputGuardrail({ name: 'calm', check })];
  const agent = createAgent({ log, provider, guardrails, ...options });
  const isShown = async (session: string) =>
    JSON.stringify(transcript(await snapshot(log, session))).includes('EVIL');
  const isSent = (from = 0) =>
    JSON.stringify(provider.requests.slice(from).map(({ request }) => request.items)).includes(
      'EVIL',
    );
  const recordsOf = async (session: string): Promise<readonly LogRecord[]> =>
    (await log.read(session)).records;
  /** Returns the offset of the record that completes the text of the answer. */
  const endOfText = async () => {
    const records = await recordsOf('talk');
    return (
      records.find(({ delta, turn }) => delta?.type === 'commit_part' && turn === 1)?.offset ?? 0
    );
  };
  /** Branches at each record of the first turn, and returns the branches in which the answer is back. */
  const restored = async (session: string, prefix: string) => {
    const found: string[] = [];
    for (const { offset, delta, fact } of await recordsOf(session)) {
      const into = `${prefix}${offset}`;
      const from = provider.requests.length;
      const branch = { at: offset, into, input: 'Go on' };
      const { reason } = await branchSession(agent, session, branch).result;
      if ((await isShown(into)) || isSent(from))
        found.push(`${offset} ${(delta ?? fact).type} ${reason}`);
      if (fact?.type === 'turn_finished') break;
    }
    return found;
  };
  /** Like `restored`, for copies that get a new message. */
  const restoredByCopies = async () => {
    const found: string[] = [];
    for (const { offset, delta, fact } of await recordsOf('talk')) {
      const into = sessionId(`copy${offset}`);
      const from = provider.requests.length;
      const copied = await forkSession(log, sessionId('talk'), { into, through: offset }).catch(
        () => undefined,
      );
      if (copied === undefined) continue;
      const wasShown = await isShown(into);
      await agent.run('Go on', { session: into }).result;
      if (wasShown || (await isShown(into)) || isSent(from))
        found.push(`${offset} ${(delta ?? fact).type}`);
    }
    return found;
  };
  return { agent, log, endOfText, isShown, isSent, restored, restoredByCopies };
}

const stops: Check = ({ text }) =>
  text.includes('EVIL') ? { verdict: 'stop', reason: 'evil' } : 'pass';
const changes: Check = ({ text }) =>
  text.includes('EVIL') ? { verdict: 'change', to: 'calm' } : 'pass';
const fails: Check = ({ text }) => {
  if (text.includes('EVIL')) throw new Error('no connection');
  return 'pass';
};

test.each([
  ['stopped', stops],
  ['changed', changes],
  ['could not check', fails],
])(
  '18.395: attack: a branch inside of an answer that a guardrail %s does not bring it back',
  async (_, check) => {
    const { agent, restored } = guardedAgent(check);
    await agent.run('Talk', { session: 'talk' }).result;
    expect(await restored('talk', 'b')).toEqual([]);
  },
);

const asks: Check = ({ text }) =>
  text.includes('EVIL') ? { verdict: 'ask', reason: 'evil' } : 'pass';

test('18.435: attack: a branch does not bring an answer back that a person refused', async () => {
  const { agent, restored } = guardedAgent(asks, { whileAsking: 'park' });
  const { pendingApprovals } = await agent.run('Talk', { session: 'talk' }).result;
  await agent.deny('talk', pendingApprovals[0]?.toolCallId ?? '');
  await agent.resume('talk').result;
  expect(await restored('talk', 'b')).toEqual([]);
});

test('18.435: attack: a branch does not keep an answer about which a guardrail still asks', async () => {
  const { agent, isSent, restored } = guardedAgent(asks, { whileAsking: 'park' });
  await agent.run('Talk', { session: 'talk' }).result;
  // Otherwise one person could allow in the branch what another person refuses in the session.
  expect(await restored('talk', 'b')).toEqual([]);
  expect(isSent()).toBe(false);
});

test('18.806: attack: a copy ends with an answer about which a guardrail asks', async () => {
  const { agent, log, isShown } = guardedAgent(asks, { whileAsking: 'park' });
  const { pendingApprovals } = await agent.run('Talk', { session: 'talk' }).result;
  await agent.deny('talk', pendingApprovals[0]?.toolCallId ?? '');
  await agent.resume('talk').result;
  const session = sessionId('talk');
  const { records } = await log.read(session);
  const asked = records.findIndex(({ fact }) => fact?.type === 'approval_asked');
  const answered = records.findIndex(({ fact }) => fact?.type === 'approval_answered');
  for (const { offset } of records.slice(asked, answered)) {
    const copy = forkSession(log, session, { into: sessionId(`c${offset}`), through: offset });
    await expect(copy).rejects.toThrow('a guardrail asks about the answer there');
  }
  // The copy of the denial retracts the answer.
  const through = records[answered]?.offset ?? 0;
  await forkSession(log, session, { into: sessionId('denied'), through });
  await agent.resume('denied').result;
  expect(await isShown('denied')).toBe(false);
});

test.each([
  ['stopped', 'run', stops],
  ['changed', 'run', changes],
  ['could not check', 'run', fails],
  ['asked a person about', 'deny', asks],
] as const)(
  '18.1032: attack: a second check passes an answer that a guardrail %s',
  async (_, end, check) => {
    // A guardrail that asks a model can decide differently on the same answer.
    let isStrict = true;
    const wrapped: Check = (checked, step) => (isStrict ? check(checked, step) : 'pass');
    const { agent, restored, restoredByCopies } = guardedAgent(wrapped, { whileAsking: 'park' });
    const { pendingApprovals } = await agent.run('Talk', { session: 'talk' }).result;
    if (end === 'deny') await agent.deny('talk', pendingApprovals[0]?.toolCallId ?? '');
    if (end === 'deny') await agent.resume('talk').result;
    isStrict = false;
    expect(await restored('talk', 'b')).toEqual([]);
    expect(await restoredByCopies()).toEqual([]);
  },
);

test('18.1033: attack: a branch or a copy has a complete answer that is still checked', async () => {
  const isChecking = Promise.withResolvers<void>();
  const verdict = Promise.withResolvers<void>();
  let checks = 0;
  const { agent, restored, restoredByCopies } = guardedAgent(async () => {
    if (checks++ > 0) return 'pass';
    isChecking.resolve();
    await verdict.promise;
    return { verdict: 'stop', reason: 'evil' };
  });
  const run = agent.run('Talk', { session: 'talk' });
  await isChecking.promise;
  expect(await restored('talk', 'b')).toEqual([]);
  expect(await restoredByCopies()).toEqual([]);
  verdict.resolve();
  await run.result;
});

test('18.1033: a copy keeps the start of an answer that the guardrails passed', async () => {
  const { agent, endOfText, isShown, log } = guardedAgent(() => 'pass');
  await agent.run('Talk', { session: 'talk' }).result;
  const through = await endOfText();
  await forkSession(log, sessionId('talk'), { into: sessionId('copy'), through });
  expect(await isShown('copy')).toBe(true);
});

test('18.395: attack: a branch of a branch does not bring a blocked answer back', async () => {
  const { agent, endOfText, restored } = guardedAgent(stops);
  await agent.run('Talk', { session: 'talk' }).result;
  const at = await endOfText();
  await branchSession(agent, 'talk', { at, into: 'one', input: 'Go on' }).result;
  expect(await restored('one', 'two')).toEqual([]);
});

test('18.395: attack: an answer that is still checked is not kept', async () => {
  const isChecking = Promise.withResolvers<void>();
  const verdict = Promise.withResolvers<void>();
  let checks = 0;
  const { agent, endOfText, isShown, isSent } = guardedAgent(async ({ text }) => {
    if (checks++ > 0) return 'pass';
    isChecking.resolve();
    await verdict.promise;
    return text.includes('EVIL') ? { verdict: 'stop', reason: 'evil' } : 'pass';
  });
  const run = agent.run('Talk', { session: 'talk' });
  await isChecking.promise;
  const at = await endOfText();
  await branchSession(agent, 'talk', { at, into: 'one', input: 'Go on' }).result;
  expect([await isShown('one'), isSent()]).toEqual([false, false]);
  verdict.resolve();
  await run.result;
});

/** An agent that hands off to another one, whose guardrail checks the answer with `EVIL`. */
function handedOff(check: Check, first: readonly Guardrail[] = []) {
  const log = memoryLog();
  onTestFinished(() => log.close());
  const answers = Array.from({ length: 200 }, () => 'Fine.');
  const provider = scriptedProvider(['one two EVIL three four', ...answers], { pieces: 'token' });
  const guardrails = [outputGuardrail({ name: 'calm', check })];
  const second = createAgent({ name: 'second', log, provider, guardrails });
  const handing = scriptedProvider([toolCall('to_second', { reason: 'x' })]);
  const tools = [handOff({ to: second, name: 'to_second', description: 'Second' })];
  const agent = createAgent({ name: 'first', log, provider: handing, tools, guardrails: first });
  /** Branches at each record of the answer, and returns the branches in which the answer is back. */
  const restored = async () => {
    const found: string[] = [];
    const { records } = await log.read(sessionId('talk'));
    for (const { offset, delta, fact, turn } of records) {
      if (turn < 2) continue;
      const into = `b${offset}`;
      const from = provider.requests.length;
      const branch = { at: offset, into, input: 'Go on' };
      await branchSession(agent, 'talk', branch).result.catch(() => {});
      const shown = JSON.stringify(transcript(await snapshot(log, sessionId(into))));
      const sent = provider.requests.slice(from).map(({ request }) => request.items);
      if ((shown + JSON.stringify(sent)).includes('EVIL')) found.push((delta ?? fact).type);
    }
    return found;
  };
  return { agent, restored };
}

test.each([[[]], [[outputGuardrail({ name: 'other', check: () => 'pass' })]]])(
  '18.1540: attack: a branch keeps an answer after a hand-off, while a guardrail of the new agent checks it',
  async (first) => {
    const isChecking = Promise.withResolvers<void>();
    const verdict = Promise.withResolvers<void>();
    let checks = 0;
    const { agent, restored } = handedOff(async () => {
      if (checks++ > 0) return 'pass';
      isChecking.resolve();
      await verdict.promise;
      return { verdict: 'stop', reason: 'evil' };
    }, first);
    const run = agent.run('Talk', { session: 'talk' });
    await isChecking.promise;
    expect(await restored()).toEqual([]);
    verdict.resolve();
    await run.result;
    expect(await restored()).toEqual([]);
  },
);

test('18.395: a branch keeps the start of an answer that the guardrails passed', async () => {
  const { agent, endOfText, isShown } = guardedAgent(() => 'pass');
  await agent.run('Talk', { session: 'talk' }).result;
  const at = await endOfText();
  await branchSession(agent, 'talk', { at, into: 'one', input: 'Go on' }).result;
  expect(await isShown('one')).toBe(true);
});
