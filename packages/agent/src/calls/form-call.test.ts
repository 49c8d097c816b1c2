import { type JsonObject, sessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog, snapshot } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import type { Run } from '../contract/run.ts';
import type { FormAnswer, ToolContext } from '../contract/tool.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { call } from '../testing/model-script.ts';
import { subAgent } from '../tool/agent-tools.ts';
import { defineTool } from '../tool/define-tool.ts';

const session = sessionId('s');
const properties = { name: { type: 'string' }, age: { type: 'integer' } };
const form = {
  message: 'Who are you?',
  schema: { type: 'object', properties, required: ['name'] } as JsonObject,
};

/** A form without fields: the user only confirms. */
const confirm = { message: 'Sign up?', schema: { type: 'object', properties: {} } as JsonObject };

type Ask = (context: ToolContext) => Promise<FormAnswer | undefined>;

/** An agent whose tool asks the user, and the answers that the tool got. */
function asking(
  log: Log,
  options: Partial<AgentOptions> = {},
  ask: Ask = async (context) => context.ask?.(form),
) {
  const answers: (FormAnswer | undefined)[] = [];
  const tool = defineTool({
    ...{ name: 'sign_up', description: 'Signs somebody up', input: z.object({}) },
    afterCrash: 'repeat',
    execute: async (_input, context) => {
      const answer = await ask(context);
      answers.push(answer);
      return { ...answer };
    },
  });
  const provider = scriptedProvider([
    { content: { parts: [call('c1', 'sign_up', {})] } },
    'Welcome.',
  ]);
  const agent = createAgent({ name: 'desk', provider, log, tools: [tool], ...options });
  return { agent, answers };
}

/** Waits for the question of a session. Returns it. */
async function questionOf(log: Log, run: Run, of = session) {
  for await (const event of run.events) if (event.type === 'approval_asked') break;
  const [asked] = (await snapshot(log, of)).asked;
  return asked ?? expect.fail('Nothing is asked');
}

describe('22.forms: a tool that asks the user with a form', () => {
  test.each(['wait', 'park'] as const)('gets the content: %s', async (whileAsking) => {
    const log = memoryLog();
    const { agent, answers } = asking(log, { whileAsking });
    const run = agent.run('Sign me up', { session });
    const asked = await questionOf(log, run);
    expect(asked).toMatchObject({ name: 'sign_up', from: { toolCallId: 'c1', session, form } });
    await run.approve(asked.toolCallId, { input: { name: 'Ada', age: 36, more: 1 }, by: 'Ada' });
    expect(await run.result).toMatchObject({ reason: 'stop', text: 'Welcome.' });
    expect(answers).toEqual([{ action: 'accept', content: { name: 'Ada', age: 36 } }]);
    expect((await snapshot(log, session)).asked).toEqual([]);
  });

  test('learns whether the user declined or dismissed it', async () => {
    const results = [
      [{}, { action: 'decline' }],
      [{ reason: 'Not today' }, { action: 'decline', reason: 'Not today' }],
      [{ reason: 'dismissed' }, { action: 'cancel' }],
    ] as const;
    for (const [options, expected] of results) {
      const log = memoryLog();
      const { agent, answers } = asking(log);
      const run = agent.run('Sign me up', { session });
      await run.deny((await questionOf(log, run)).toolCallId, options);
      await run.result;
      expect(answers).toEqual([expected]);
    }
  });

  test('never gets content that does not fit', async () => {
    for (const input of [{ name: 4 }, {}, null, 'Ada', { name: 'Ada', age: 0.5 }]) {
      const log = memoryLog();
      const { agent, answers } = asking(log);
      const run = agent.run('Sign me up', { session });
      await run.approve((await questionOf(log, run)).toolCallId, { input });
      await run.result;
      expect(answers).toEqual([{ action: 'cancel' }]);
    }
  });

  test('gets a refusal without a question in a run without a user', async () => {
    const log = memoryLog();
    const { agent, answers } = asking(log, { forms: 'decline' });
    const run = agent.run('Sign me up', { session });
    expect((await run.result).reason).toBe('stop');
    expect(answers).toEqual([{ action: 'decline' }]);
    const { records } = await log.read(session, {});
    expect(records.some(({ fact }) => fact?.type === 'approval_asked')).toBe(false);
  });

  test('stops with the run', async () => {
    const log = memoryLog();
    const { agent, answers } = asking(log);
    const run = agent.run('Sign me up', { session });
    await questionOf(log, run);
    await run.abort();
    expect((await run.result).reason).toBe('aborted');
    expect(answers).toEqual([]);
    expect((await snapshot(log, session)).asked).toEqual([]);
  });

  test('asks again after a crash only if there is no answer', async () => {
    const log = memoryLog();
    const first = asking(log, {}, async (context) => {
      const answer = await context.ask?.(form);
      // The process dies after the answer.
      if (answer !== undefined) await new Promise(() => {});
      return answer;
    });
    const run = first.agent.run('Sign me up', { session });
    const { toolCallId: id } = await questionOf(log, run);
    await run.approve(id, { input: { name: 'Ada' } });
    for await (const event of run.events) if (event.type === 'approval_answered') break;
    const copied = memoryLog();
    const { records } = await log.read(session, {});
    const driver = await copied.open(session);
    for (const { turn, attempt, fact, delta } of records)
      await driver.append([{ turn, attempt, ...(fact ? { fact } : { delta }) } as never]);
    await driver.release();
    const second = asking(copied, { provider: scriptedProvider(['Welcome.']) });
    const resumed = second.agent.resume(session);
    await resumed.result;
    expect(second.answers).toEqual([{ action: 'accept', content: { name: 'Ada' } }]);
    await run.abort();
  });

  test('can ask several times, and each answer belongs to one form', async () => {
    const log = memoryLog();
    const { agent, answers } = asking(log, {}, async ({ ask }) => {
      const one = await ask?.(form);
      const two = await ask?.({ ...form, message: 'And who else?' });
      return one?.action === 'accept' && two?.action === 'accept'
        ? { action: 'accept', content: { one: one.content, two: two.content } }
        : undefined;
    });
    const run = agent.run('Sign us up', { session });
    const seen: string[] = [];
    for await (const event of run.events) {
      if (event.type !== 'approval_asked') continue;
      seen.push(event.toolCallId);
      await run.approve(event.toolCallId, { input: { name: `N${seen.length}` } });
    }
    expect(new Set(seen).size).toBe(2);
    expect(answers).toMatchObject([{ content: { one: { name: 'N1' }, two: { name: 'N2' } } }]);
  });

  test.each([
    ['before', ['other', 'own']],
    ['after', ['own', 'other']],
  ] as const)(
    '18.436: attack: the answer to a call with the id of the question is no answer to the form: %s',
    async (_, order) => {
      const log = memoryLog();
      const first = asking(log, {}, async (context) => context.ask?.(confirm));
      const run = first.agent.run('Sign me up', { session });
      const { toolCallId: id } = await questionOf(log, run);
      await run.abort();
      await run.result;

      const calls = { own: call('c1', 'sign_up', {}), other: call(id, 'look', {}) };
      const parts = order.map((name) => calls[name]);
      const look = defineTool({
        ...{ name: 'look', description: 'Looks', input: z.object({}), execute: async () => 'seen' },
      });
      const seen: (FormAnswer | undefined)[] = [];
      const signUp = defineTool({
        ...{ name: 'sign_up', description: 'Signs somebody up', input: z.object({}) },
        execute: async (_input, context) => {
          // The call with the chosen id has its answer before the form is shown.
          if (order[0] === 'other') await isAnswered.promise;
          seen.push(await context.ask?.(confirm));
          return 'signed up';
        },
      });
      const isAnswered = Promise.withResolvers<void>();
      const agent = createAgent({
        ...{ log: memoryLog(), name: 'desk', tools: [look, signUp] },
        provider: scriptedProvider([{ content: { parts } }, 'Done.']),
        approve: ({ name }) => (name === 'look' ? 'ask' : 'allow'),
      });
      const attacked = agent.run('Go', { session });
      for await (const event of attacked.events) {
        if (event.type !== 'approval_asked') continue;
        await attacked.approve(event.toolCallId);
        isAnswered.resolve();
      }
      expect((await attacked.result).reason).toBe('stop');
      expect(seen).toEqual([]);
    },
  );

  test('attack: a form outside of the limits reaches no user', async () => {
    const log = memoryLog();
    const { agent } = asking(log, {}, async ({ ask }) =>
      ask?.({ message: 'x'.repeat(9000), schema: form.schema }),
    );
    const { toolCalls } = await agent.run('Sign me up', { session }).result;
    expect(toolCalls).toMatchObject([{ ok: false }]);
    expect((await snapshot(log, session)).asked).toEqual([]);
  });
});

describe('22.forms: a form of a sub-agent', () => {
  const caller = (log: Log, agent: Agent) => {
    const tools = [subAgent({ name: 'help', description: 'Helps', agent })];
    const task = call('t1', 'help', { task: 'Sign them up' });
    const provider = scriptedProvider([{ content: { parts: [task] } }, 'It is done.']);
    return createAgent({ name: 'lead', provider, log, tools });
  };

  test('is answered in the session of the caller', async () => {
    const log = memoryLog();
    const { agent, answers } = asking(log);
    const run = caller(log, agent).run('Help', { session });
    const asked = await questionOf(log, run);
    expect(asked.from).toMatchObject({ agents: ['desk', 'tool sign_up'], form });
    await run.approve(asked.toolCallId, { input: { name: 'Ada' } });
    expect((await run.result).text).toBe('It is done.');
    expect(answers).toEqual([{ action: 'accept', content: { name: 'Ada' } }]);
  });

  test('is answered in its own session', async () => {
    const log = memoryLog();
    const { agent, answers } = asking(log);
    const run = caller(log, agent).run('Help', { session });
    const { from } = await questionOf(log, run);
    const child = from?.session ?? expect.fail('No sub-agent asks');
    const [own] = (await snapshot(log, child)).asked;
    const id = own?.toolCallId ?? toolCallId('none');
    const input = { name: 'Grace' };
    await submitCommand(log, child, { type: 'approve', toolCallId: id, input });
    expect((await run.result).text).toBe('It is done.');
    expect(answers).toEqual([{ action: 'accept', content: input }]);
    expect((await snapshot(log, session)).asked).toEqual([]);
  });
});

test('22.forms: a replay repeats the question and the answer', async () => {
  const log = memoryLog();
  const { agent } = asking(log);
  const run = agent.run('Sign me up', { session });
  await run.approve((await questionOf(log, run)).toolCallId, { input: { name: 'Ada' } });
  await run.result;
  const { records } = await log.read(session, {});
  const replayed = await asking(log).agent.replay(session);
  expect(replayed.records.map(({ fact, delta }) => fact?.type ?? delta?.type)).toEqual(
    records.map(({ fact, delta }) => fact?.type ?? delta?.type),
  );
});
