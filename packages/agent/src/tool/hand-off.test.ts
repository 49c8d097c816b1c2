import {
  type Fact,
  type Item,
  type LogRecord,
  type SessionId,
  sessionId,
  toolCallId,
} from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Agent } from '../contract/agent.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { findLogProblems } from '../testing/check-log.ts';
import { call } from '../testing/model-script.ts';
import { eventsOf } from '../testing/read-log.ts';
import { useTestServer } from '../testing/test-server.ts';
import { handOff } from './agent-tools.ts';
import { defineTool } from './define-tool.ts';

const session = sessionId('s');
const calls = (...parts: readonly ReturnType<typeof call>[]): ScriptEntry => ({
  content: { parts },
});

/** An agent with a scripted model. Its requests are in `provider.requests`. */
function agentOf(
  name: string,
  script: readonly ScriptEntry[],
  options: Partial<AgentOptions> = {},
) {
  const provider = scriptedProvider(script, { id: name });
  const agent = createAgent({ name, instructions: `You are ${name}.`, ...options, provider });
  return { agent, provider };
}

const toHelp = (to: Agent) => handOff({ to, description: 'When it is about bills' });

async function recordsOf(log: Log, of: SessionId = session): Promise<readonly LogRecord[]> {
  return (await log.read(of)).records;
}

const factsOf = <T extends Fact['type']>(records: readonly LogRecord[], type: T) =>
  records.flatMap(({ fact }) => (fact?.type === type ? [fact as Extract<Fact, { type: T }>] : []));

const textOf = (item: Item | undefined) =>
  (item?.parts ?? []).map((part) => ('text' in part ? part.text : '')).join('');

describe('a hand-off', () => {
  test('gives the session to the other agent: instructions, tools and model, from the next turn on', async () => {
    const look = defineTool({
      ...{ name: 'look', description: 'Looks', input: z.object({}) },
      execute: async () => 'a bill',
    });
    const billing = agentOf('billing', [calls(call('l', 'look', {})), 'You owe nothing.'], {
      tools: [look],
      request: { temperature: 0.5 },
    });
    const log = memoryLog();
    const transfer = call('t', 'transfer_to_billing', { reason: 'it is about a bill' });
    const front = agentOf('front', [calls(transfer)], { log, tools: [toHelp(billing.agent)] });
    const { text, stop } = await front.agent.run('What do I owe?', { session }).result;
    expect([text, stop.reason]).toEqual(['You owe nothing.', 'stop']);
    front.provider.assertUsedUp();
    billing.provider.assertUsedUp();
    const [asked, again] = billing.provider.requests.map(({ request }) => request);
    expect(asked?.items.map(({ kind }) => kind)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(textOf(asked?.items[0])).toBe('You are billing.');
    expect(asked?.tools?.map(({ name }) => name)).toEqual(['look']);
    expect(asked?.temperature).toBe(0.5);
    expect(textOf(again?.items.at(-1))).toBe('a bill');
    const first = front.provider.requests[0]?.request;
    expect(first?.tools).toMatchObject([
      { name: 'transfer_to_billing', description: 'When it is about bills' },
    ]);
    expect(findLogProblems(session, await recordsOf(log))).toEqual([]);
  });

  test('is a fact of its turn, is published, and its call has a result', async () => {
    const billing = agentOf('billing', ['Hello.']);
    const log = memoryLog();
    const script = [calls(call('t', 'transfer_to_billing', { reason: 'bills' }))];
    const front = agentOf('front', script, { log, tools: [toHelp(billing.agent)] });
    const run = front.agent.run('Hi', { session });
    const { items } = await run.result;
    expect(items.map(({ kind }) => kind)).toEqual(['assistant', 'tool', 'assistant']);
    expect(items[1]?.parts).toMatchObject([
      { kind: 'tool_result', toolCallId: 't', isError: false },
    ]);
    const records = await recordsOf(log);
    const handed = records.filter(({ fact }) => fact?.type === 'handed_off');
    expect(handed).toMatchObject([{ turn: 1, fact: { to: 'billing', reason: 'bills' } }]);
    const told = (await eventsOf(run)).filter(({ type }) => type === 'handed_off');
    expect(told).toMatchObject([{ turn: 1, to: 'billing', reason: 'bills' }]);
    const [{ summary } = {}] = factsOf(records, 'tool_execution_started');
    expect(summary).toBe('hand over to billing');
  });

  test('needs no reason, and ignores one that is not text', async () => {
    const billing = agentOf('billing', ['Hello.']);
    const log = memoryLog();
    const script = [
      calls(call('t', 'transfer_to_billing', { reason: 5 })),
      calls(call('u', 'transfer_to_billing', {})),
    ];
    const front = agentOf('front', script, { log, tools: [toHelp(billing.agent)] });
    await front.agent.run('Hi', { session }).result;
    const records = await recordsOf(log);
    expect(factsOf(records, 'tool_call_rejected')).toMatchObject([
      { toolCallId: 't', code: 'invalid' },
    ]);
    expect(factsOf(records, 'handed_off')).toEqual([{ type: 'handed_off', to: 'billing' }]);
    front.provider.assertUsedUp();
  });

  test('that is denied leaves the session with its agent', async () => {
    const billing = agentOf('billing', []);
    const log = memoryLog();
    const front = agentOf('front', [calls(call('t', 'transfer_to_billing', {})), 'I stay.'], {
      log,
      tools: [toHelp(billing.agent)],
      approve: () => ({ decision: 'deny', reason: 'not now' }),
    });
    const { text } = await front.agent.run('Hi', { session }).result;
    expect(text).toBe('I stay.');
    expect(factsOf(await recordsOf(log), 'handed_off')).toEqual([]);
    expect(billing.provider.requests).toEqual([]);
  });

  test('can go both ways, with a function that returns the other agent', async () => {
    const b = (): Agent => two.agent;
    const one = agentOf('one', [calls(call('t1', 'to_two', {})), 'I am one again.'], {
      tools: [handOff({ to: b, name: 'to_two', description: 'To two' })],
    });
    const two = agentOf('two', [calls(call('t2', 'transfer_to_one', {}))], {
      tools: [handOff({ to: one.agent, description: 'To one' })],
    });
    const { text, stop } = await one.agent.run('Hi').result;
    expect([text, stop.reason]).toEqual(['I am one again.', 'stop']);
    one.provider.assertUsedUp();
    two.provider.assertUsedUp();
    const back = one.provider.requests[1]?.request;
    expect(textOf(back?.items[0])).toBe('You are one.');
    expect(back?.tools?.map(({ name }) => name)).toEqual(['to_two']);
  });

  test('to an agent that is created later needs a name', () => {
    const later = () => agentOf('later', []).agent;
    const refused = expect.objectContaining({ name: 'AgentError', code: 'bad_option' });
    expect(() => handOff({ to: later, description: 'Later' })).toThrow(refused);
    expect(handOff({ to: later, description: 'Later', name: 'later' }).name).toBe('later');
    const odd = agentOf('the other one', []).agent;
    expect(() => handOff({ to: odd, description: 'No tool has such a name' })).toThrow(refused);
    expect(handOff({ to: odd, description: 'Odd', name: 'odd' }).name).toBe('odd');
  });
});

describe('of two hand-offs in one turn', () => {
  const both = calls(call('t', 'transfer_to_one', {}), call('u', 'transfer_to_two', {}));
  const cast = () => ({ one: agentOf('one', ['One.']), two: agentOf('two', ['Two.']) });

  test('the first wins, and the other one has a result like every call', async () => {
    const { one, two } = cast();
    const log = memoryLog();
    const tools = [toHelp(one.agent), toHelp(two.agent)];
    const { text, items } = await agentOf('front', [both], { log, tools }).agent.run('Hi', {
      session,
    }).result;
    expect([text, two.provider.requests.length]).toEqual(['One.', 0]);
    expect(items[1]?.parts).toHaveLength(2);
    const records = await recordsOf(log);
    expect(factsOf(records, 'handed_off').map(({ to }) => to)).toEqual(['one']);
    expect(findLogProblems(session, records)).toEqual([]);
  });

  test('the second wins if the first is denied', async () => {
    const { one, two } = cast();
    const { text } = await agentOf('front', [both], {
      tools: [toHelp(one.agent), toHelp(two.agent)],
      approve: ({ tool }) => (tool.name === 'transfer_to_one' ? 'deny' : 'allow'),
    }).agent.run('Hi').result;
    expect(text).toBe('Two.');
  });

  // Regression: only one CallRunner knew of the first hand-off, so after a resume the second one
  // won.
  test('the first wins even if the second is approved later, after a resume', async () => {
    const { one, two } = cast();
    const log = memoryLog();
    const front = agentOf('front', [both], {
      log,
      tools: [toHelp(one.agent), toHelp(two.agent)],
      approve: ({ tool }) => (tool.name === 'transfer_to_two' ? 'ask' : 'allow'),
      whileAsking: 'park',
    });
    const { stop } = await front.agent.run('Hi', { session }).result;
    expect(stop.reason).toBe('parked');
    await log.submit(session, { type: 'approve', toolCallId: 'u' }, 'k');
    const { text } = await front.agent.resume(session).result;
    expect(text).toBe('One.');
  });
});

describe('a session that was handed off', () => {
  const stage = useTestServer();

  /** The agents of one process, with the same names each time. */
  function cast(log: Log, front: readonly ScriptEntry[], billing: readonly ScriptEntry[]) {
    const helper = agentOf('billing', billing);
    const root = agentOf('front', front, { log, tools: [toHelp(helper.agent)] });
    return { root, helper };
  }

  test('continues with its new agent, in the next run and in another process', async () => {
    const [log, other] = stage.twoLogs();
    const first = cast(log, [calls(call('t', 'transfer_to_billing', {}))], ['Hello.', 'Still I.']);
    await first.root.agent.run('Hi', { session }).result;
    expect((await first.root.agent.run('And you?', { session }).result).text).toBe('Still I.');
    const second = cast(other, [], ['It is still me.']);
    const { text } = await second.root.agent.run('Who is it?', { session }).result;
    expect([text, second.root.provider.requests.length]).toEqual(['It is still me.', 0]);
    const [{ request } = {}] = second.helper.provider.requests;
    expect(textOf(request?.items[0])).toBe('You are billing.');
    expect(findLogProblems(session, await recordsOf(other))).toEqual([]);
  });

  test('survives a crash between the hand-off and the end of its turn', async () => {
    const log = memoryLog();
    const first = cast(log, [calls(call('t', 'transfer_to_billing', {}))], ['Hello.']);
    await first.root.agent.run('Hi', { session }).result;
    const at = (await recordsOf(log)).find(({ fact }) => fact?.type === 'tool_execution_finished');
    const into = sessionId('cut');
    await log.fork(session, { into, through: at?.offset ?? 0 });
    const second = cast(log, [], ['Hello again.']);
    const { text } = await second.root.agent.resume(into).result;
    expect([text, second.root.provider.requests.length]).toEqual(['Hello again.', 0]);
    expect(factsOf(await recordsOf(log, into), 'handed_off')).toHaveLength(1);
  });

  test('is refused if its agent is unknown, and is not changed', async () => {
    const log = memoryLog();
    const { root } = cast(log, [calls(call('t', 'transfer_to_billing', {}))], ['Hello.']);
    await root.agent.run('Hi', { session }).result;
    const before = await recordsOf(log);
    const alone = agentOf('front', ['No.'], { log });
    const tries = [() => alone.agent.run('Hi', { session }), () => alone.agent.resume(session)];
    for (const start of tries) {
      const { stop, error } = await start().result;
      expect(stop).toEqual({ reason: 'error', cause: 'unknown_agent' });
      expect(error?.message).toContain('billing');
    }
    expect(alone.provider.requests).toEqual([]);
    expect(await recordsOf(log)).toEqual(before);
    expect((await log.info(session))?.lease).toBeUndefined();
  });

  test('18.1206: a queued message for an unknown agent ends with the error, and the next one is answered', async () => {
    const log = memoryLog();
    const { root } = cast(log, [calls(call('t', 'transfer_to_billing', {}))], ['Hello.']);
    await root.agent.run('Hi', { session }).result;
    const alone = agentOf('front', ['No.'], { log });
    const ask = (when: 'steer' | 'follow_up') =>
      submitCommand(log, session, { type: 'message', when, input: 'And now?' });
    for (const when of ['follow_up', 'follow_up', 'steer'] as const) await ask(when);
    await submitCommand(log, session, { type: 'compact' });
    const { stop, error } = await alone.agent.resume(session).result;
    expect([stop, error?.code]).toEqual([
      { reason: 'error', cause: 'unknown_agent' },
      'unknown_agent',
    ]);
    // Nothing stays in the queue, so no further run starts for it.
    expect(await log.info(session)).toMatchObject({ hasWork: false });
    expect(alone.provider.requests).toEqual([]);
    const records = await recordsOf(log);
    expect(factsOf(records, 'run_finished').at(-1)).toMatchObject({ stop });
    expect(findLogProblems(session, records)).toEqual([]);
    await ask('follow_up');
    // The model first answers the messages of the failed run.
    const again = cast(log, [], ['You asked before.', 'Hello again.']);
    expect((await again.root.agent.resume(session).result).text).toBe('Hello again.');
  });
});

describe('two agents with the same name', () => {
  const twins = [agentOf('twin', []).agent, agentOf('twin', []).agent] as const;
  const [one, other] = twins.map((to, at) =>
    handOff({ to, description: 'To a twin', name: `to_${at}` }),
  );

  test('are an error before anything runs', async () => {
    const log = memoryLog();
    const tools = [one, other].flatMap((tool) => tool ?? []);
    const { agent, provider } = agentOf('front', ['No.'], { log, tools });
    const { stop, error } = await agent.run('Hi', { session }).result;
    expect(stop).toEqual({ reason: 'error', cause: 'name_taken' });
    expect(error?.message).toContain('twin');
    expect([provider.requests.length, (await log.info(session))?.through]).toEqual([0, 0]);
  });

  test('are an error also for the main agent and a distant one', async () => {
    const middle = agentOf('middle', [], { tools: one === undefined ? [] : [one] }).agent;
    const { agent } = agentOf('twin', ['No.'], { tools: [toHelp(middle)] });
    const { stop } = await agent.run('Hi').result;
    expect(stop.cause).toBe('name_taken');
  });

  test('are no error if it is the same agent, reached twice', async () => {
    const [twin] = twins;
    const tools = ['here', 'there'].map((name) =>
      handOff({ to: twin, description: 'To it', name }),
    );
    const { agent } = agentOf('front', ['Yes.'], { tools });
    expect((await agent.run('Hi').result).text).toBe('Yes.');
  });

  test('an agent that createAgent did not create is an error', async () => {
    const forged = { ...agentOf('forged', []).agent };
    const { agent } = agentOf('front', ['No.'], { tools: [toHelp(forged)] });
    expect((await agent.run('Hi').result).stop).toEqual({ reason: 'error', cause: 'bad_option' });
  });
});

describe('after a hand-off', () => {
  const again = (count: number) =>
    Array.from({ length: count }, (_, at) => calls(call(`n${at}`, 'nothing', { at })));
  const nothing = defineTool({
    ...{ name: 'nothing', description: 'Nothing', input: z.object({ at: z.number() }) },
    execute: async () => 'nothing',
  });

  test('the limits, log and observers are still the run’s', async () => {
    const [log, own] = [memoryLog(), memoryLog()];
    const [heard, unheard]: [LogRecord[], LogRecord[]] = [[], []];
    const helper = agentOf('helper', again(9), {
      ...{ log: own, tools: [nothing], limits: { maxTurns: 1 } },
      observers: [(record) => void unheard.push(record)],
    });
    const front = agentOf('front', [calls(call('t', 'transfer_to_helper', {}))], {
      ...{ log, tools: [toHelp(helper.agent)], limits: { maxTurns: 4 } },
      observers: [(record) => void heard.push(record)],
    });
    const { stop } = await front.agent.run('Hi', { session }).result;
    expect(stop).toEqual({ reason: 'limit', cause: '4 turns' });
    expect(helper.provider.requests).toHaveLength(3);
    expect(heard).toEqual(await recordsOf(log));
    expect([unheard, await own.list()]).toEqual([[], []]);
  });

  test('the new agent’s policy decides on its calls', async () => {
    const helper = agentOf('helper', [...again(1), 'Done.'], {
      ...{ tools: [nothing], approve: () => 'ask', whileAsking: 'park' },
    });
    const log = memoryLog();
    const front = agentOf('front', [calls(call('t', 'transfer_to_helper', {}))], {
      ...{ log, tools: [toHelp(helper.agent)] },
    });
    const { stop } = await front.agent.run('Hi', { session }).result;
    expect(stop.reason).toBe('parked');
    const run = front.agent.resume(session);
    await run.approve(toolCallId('n0'));
    expect((await run.result).text).toBe('Done.');
  });

  test('the new agent’s first provider is used, even if the other agent’s had failed', async () => {
    const dead = {
      content: { parts: ['never'] },
      fault: { type: 'error', after: 0, error: 'auth' },
    };
    const helper = agentOf('helper', ['From my first.'], {
      fallbacks: [scriptedProvider([], { id: 'second of helper' })],
    });
    const fallback = scriptedProvider([calls(call('t', 'transfer_to_helper', {}))], {
      id: 'other',
    });
    const front = agentOf('front', [dead as ScriptEntry], {
      ...{ tools: [toHelp(helper.agent)], fallbacks: [fallback] },
    });
    expect((await front.agent.run('Hi').result).text).toBe('From my first.');
    fallback.assertUsedUp();
  });

  test('input goes to the new agent', async () => {
    const helper = agentOf('helper', ['Left, then.']);
    const front = agentOf('front', [calls(call('t', 'transfer_to_helper', {}))], {
      tools: [toHelp(helper.agent)],
      observers: [
        ({ fact }) => {
          if (fact?.type === 'handed_off') run.steer('Turn left').catch(() => {});
        },
      ],
    });
    const run = front.agent.run('Hi');
    expect((await run.result).text).toBe('Left, then.');
    const said = helper.provider.requests.flatMap(({ request }) => request.items.map(textOf));
    expect(said).toContain('Turn left');
  });
});
