import { runId, sessionId, toArray } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { TestClock } from '@millrace/log/suite';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { createAgent } from '../create-agent.ts';
import { StepRunner } from '../testing/step-runner.ts';
import { advance, commandStep, holdStep, requestStep, submitStep } from './index.ts';

const session = sessionId('s');
const by = (owner: string, attempt: number) => ({ owner, life: '1', step: 1, attempt });

test('a session is held before a message is submitted, by one owner at a time', async () => {
  const agent = createAgent({ provider: scriptedProvider([]), log: memoryLog() });
  await holdStep(agent, { session, claim: by('one', 1) });
  const second = holdStep(agent, { session, claim: by('two', 1) });
  await expect(second).rejects.toMatchObject({ code: 'held' });
  await holdStep(agent, { session, claim: by('one', 2) });
  const zombie = holdStep(agent, { session, claim: by('one', 1) });
  await expect(zombie).rejects.toMatchObject({ code: 'fenced' });
});

test('a lease with an expiry frees the session of a dead owner, and fences it', async () => {
  const clock = new TestClock();
  const log = memoryLog({ clock });
  const agent = createAgent({ provider: scriptedProvider(['Fine.']), log });
  const claim = { ...by('one', 1), leaseMs: 1_000 };
  await holdStep(agent, { session, claim });
  await clock.advance(1_001);
  await holdStep(agent, { session, claim: by('two', 1) });
  const goesOn = { session, runId: runId('r'), claim: { ...claim, attempt: 2, isHeld: true } };
  await expect(advance(agent, goesOn)).rejects.toMatchObject({ code: 'fenced' });
});

test('a step that continues a lease renews it as long as it runs', async () => {
  const clock = new TestClock();
  const log = memoryLog({ clock });
  const stall = { type: 'stall', after: 2 } as const;
  const script = [{ content: { parts: ['Half'] }, fault: stall, pieces: 'token' } as const];
  const agent = createAgent({ provider: scriptedProvider(script), log });
  const claim = { ...by('one', 1), leaseMs: 1_000 };
  await new StepRunner(agent, session).submitMessage('Answer.');
  const { epoch } = await advance(agent, { session, runId: runId('r'), claim });
  const stops = new AbortController();
  const held = { session, epoch, leaseMs: 1_000, signal: stops.signal };
  const asked = requestStep(agent, { ...held, turn: 1 });
  for await (const { records } of log.follow(session))
    if (records.some(({ delta }) => delta?.type === 'append_text')) break;
  await clock.advance(5_000);
  const other = holdStep(agent, { session, claim: by('two', 1) });
  await expect(other).rejects.toMatchObject({ code: 'held' });
  stops.abort();
  await asked;
});

test('a finished run is reported again, even if other runs ended since', async () => {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(['One.', 'Two.']), log });
  const first = new StepRunner(agent, session, 'first');
  await first.submitMessage('One?');
  const end = await first.drive();
  const second = new StepRunner(agent, session, 'second');
  await second.submitMessage('Two?');
  await second.drive();
  const again = await first.advanced();
  expect(again.plan).toEqual({ do: 'done', ...end });
  expect(again.settled).toHaveLength(2);
});

test('redacted content is not reported again', async () => {
  const log = memoryLog();
  const agent = createAgent({ provider: scriptedProvider(['A secret.']), log });
  const hand = new StepRunner(agent, session);
  await hand.submitMessage('Tell.');
  await hand.drive();
  const [, said] = toArray((await snapshot(log, session)).items);
  if (said !== undefined) await log.redact(session, said.id);
  expect(JSON.stringify(await hand.advanced())).not.toContain('secret');
});

test('a deleted session is not created again, nor confused with another of the same id', async () => {
  const log = memoryLog({ clock: new TestClock() });
  const other = memoryLog({ clock: new TestClock(1_763_200_000_001) });
  for (const made of [log, other]) {
    const agent = createAgent({ provider: scriptedProvider([]), log: made });
    const hand = new StepRunner(agent, session);
    await hand.submitMessage('Look.');
    const { createdAt = 0, epoch } = await hand.advanced();
    expect(createdAt).toBe((await made.info(session))?.createdAt);
    if (made === log) await made.delete(session);
    const known = made === log ? createdAt : createdAt - 1;
    const gone = { code: 'no_session' };
    const command = { type: 'abort' } as const;
    const given = { session, createdAt: known };
    await expect(
      advance(agent, { ...given, claim: hand.claim(9), runId: runId('r') }),
    ).rejects.toMatchObject(gone);
    await expect(commandStep(agent, { ...given, epoch })).rejects.toMatchObject(gone);
    await expect(submitStep(agent, { ...given, command, key: 'k' })).rejects.toMatchObject(gone);
    expect((await made.info(session))?.createdAt).toBe(made === log ? undefined : createdAt);
  }
});
