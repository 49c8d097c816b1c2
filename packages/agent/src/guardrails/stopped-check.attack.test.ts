import { transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import { submitCommand } from '../input/submit-command.ts';
import { call } from '../testing/model-script.ts';
import {
  answer,
  createTestAgent,
  never,
  problemsLeftIn,
  session,
  tool,
} from '../testing/test-agent.ts';
import { outputGuardrail } from './define-guardrail.ts';

// A user wants to keep an answer that a guardrail would stop. The answer is complete and the guardrail still checks
// it, or asks a person about it. The user stops the run at this moment.

type Check = Parameters<typeof outputGuardrail>[0]['check'];

function guardedAgent(check: Check, whileAsking: 'wait' | 'park' = 'wait') {
  const ran: string[] = [];
  const act = tool('act', () => void ran.push('act'));
  const test = createTestAgent(
    [answer('one two EVIL three', call('c1', 'act', {})), 'Fine.', 'Fine.', 'Fine.'],
    { guardrails: [outputGuardrail({ name: 'calm', check })], tools: [act], whileAsking },
  );
  const { log, provider } = test;
  const isShown = async () =>
    JSON.stringify(transcript(await snapshot(log, session))).includes('EVIL');
  const isSent = () =>
    JSON.stringify(provider.requests.map(({ request }) => request.items)).includes('EVIL');
  return { ...test, ran, isShown, isSent };
}

/** A check that passes every answer except the first, and never ends for that one. */
const endless: Check = ({ text }) => (text.includes('EVIL') ? never() : 'pass');
const asks: Check = ({ text }) => (text.includes('EVIL') ? { verdict: 'ask' } : 'pass');

test.each([
  ['checks it', endless, 'response_finished', 'wait'],
  ['asks about it', asks, 'approval_asked', 'wait'],
  ['has parked the run to ask about it', asks, 'run_finished', 'park'],
] as const)(
  '18.431: attack: a stop while a guardrail %s does not keep a complete answer',
  async (_, check, moment, whileAsking) => {
    const { agent, end, until, log, ran, isShown, isSent } = guardedAgent(check, whileAsking);
    const run = agent.run('Talk', { session });
    await until(moment);
    if (whileAsking === 'park') {
      await end(run);
      await submitCommand(log, session, { type: 'abort', reason: 'enough' });
      await end(agent.resume(session));
    } else {
      await run.abort('enough');
      const result = await end(run);
      expect([result.reason, result.text]).toEqual(['aborted', '']);
    }
    expect(await isShown()).toBe(false);
    expect((await end(agent.run('Go on', { session }))).text).toBe('Fine.');
    expect(isSent()).toBe(false);
    expect(ran).toEqual([]);
    expect(await problemsLeftIn(log)).toEqual([]);
    expect((await agent.replay(session)).divergence).toBeUndefined();
  },
);
