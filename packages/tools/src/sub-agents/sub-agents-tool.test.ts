import { AgentError, createAgent, defineTool, type Run } from '@millrace/agent';
import {
  type AgentEvent,
  type Item,
  type Part,
  type SessionId,
  sessionId,
  type ToolResultPart,
  toolCallId,
  transcript,
} from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runToEnd, VirtualClock } from '../../../agent/src/testing/virtual-time.ts';
import { nextRequestFaults } from '../testing/next-request.ts';
import { type SubAgentsToolOptions, subAgentsTool } from './sub-agents-tool.ts';

const session = sessionId('parent');
const scout = (agent = agentThatSays('Found.')) => ({ agent, description: 'Finds things' });
const smith = (agent = agentThatSays('Made.')) => ({ agent, description: 'Makes things' });

function agentThatSays(...script: readonly ScriptEntry[]) {
  return createAgent({ provider: scriptedProvider(script) });
}

const calls = (...inputs: readonly object[]): ScriptEntry => ({
  content: {
    parts: inputs.map((input, index) => ({
      ...{ kind: 'tool_call', toolCallId: toolCallId(`c${index}`), name: 'task' },
      arguments: JSON.stringify(input),
    })),
  },
});

/** Creates an agent that gives tasks to sub-agents, and the log of all agents. */
function createCaller(
  options: SubAgentsToolOptions,
  script: readonly ScriptEntry[],
  log = memoryLog(),
) {
  const provider = scriptedProvider([...script, 'Thank you.']);
  return { log, provider, agent: createAgent({ provider, tools: [subAgentsTool(options)], log }) };
}

const resultsIn = (items: readonly Item[]): readonly ToolResultPart[] =>
  items
    .flatMap((item): readonly Part[] => item.parts)
    .filter((part) => part.kind === 'tool_result');

async function eventsOf(run: Run): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of run.events) events.push(event);
  return events;
}

/** Returns the sessions of the sub-agents in order. */
const childrenIn = (events: readonly AgentEvent[]): readonly SessionId[] =>
  events.flatMap((event) => (event.type === 'tool_execution_started' ? (event.child ?? []) : []));

describe('the tool tells the model', () => {
  test('which agents exist and what they do, and requires a name if there are several', async () => {
    const tool = subAgentsTool({ agents: { scout: scout(), smith: smith() } });
    expect(tool.name).toBe('task');
    expect(tool.description).toMatch(/\n- scout: Finds things\n- smith: Makes things$/);
    expect(tool.inputSchema).toMatchObject({
      properties: { agent: { enum: ['scout', 'smith'] }, task: { type: 'string' } },
      required: ['agent', 'task'],
    });
    expect(await tool.validate({ task: 'Look' })).toMatchObject({ ok: false });
    expect(await tool.validate({ agent: 'smith', task: 'Look' })).toMatchObject({ ok: true });
  });

  test('that a single agent need not be named', async () => {
    const tool = subAgentsTool({ agents: { scout: scout() }, name: 'delegate' });
    expect(tool).toMatchObject({ name: 'delegate', inputSchema: { required: ['task'] } });
    expect(await tool.validate({ task: 'Look' })).toMatchObject({ ok: true });
    expect(await tool.validate({ agent: 'scout', task: 'Look' })).toMatchObject({ ok: true });
  });

  test.each([
    { agent: 'nobody', task: 'Look' },
    { agent: 'constructor', task: 'Look' },
    { agent: 'scout' },
    { agent: 'scout', task: ' \n' },
    { agent: 'scout', task: 'x'.repeat(100_001) },
  ])('what is wrong with a task: %#', async (input) => {
    const tool = subAgentsTool({ agents: { scout: scout(), smith: smith() } });
    expect(await tool.validate(input as never)).toMatchObject({ ok: false });
  });
});

test.each<[string, SubAgentsToolOptions]>([
  ['nobody', { agents: {} }],
  ['a name that is none', { agents: { 'the scout': scout() } }],
])('a tool with %s is refused', (_what, options) => {
  expect(() => subAgentsTool(options)).toThrow(AgentError);
});

test('the summary shows the agent and the task in one line', () => {
  const tool = subAgentsTool({ agents: { scout: scout(), smith: smith() } });
  expect(tool.summarize({ agent: 'smith', task: '\nForge it.\nThen cool it.' })).toBe(
    'smith: Forge it.',
  );
  expect(tool.summarize({ agent: 'scout', task: 'x'.repeat(500) })).toBe(
    `scout: ${'x'.repeat(200)}…`,
  );
});

test('the chosen agent works in its own session, reports its text, and its last message is the result', async () => {
  const log = memoryLog();
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: z.object({}),
    execute: async () => 'a brook',
  });
  const looks = { kind: 'tool_call', toolCallId: toolCallId('l'), name: 'look' } as const;
  const provider = scriptedProvider([
    { content: { parts: ['I look. ', { ...looks, arguments: '{}' }] } },
    'There is a brook.',
  ]);
  const worker = scout(createAgent({ provider, tools: [look], instructions: 'You scout.', log }));
  const options = { agents: { scout: worker, smith: smith() } };
  const { agent } = createCaller(options, [calls({ agent: 'scout', task: 'Find water.' })], log);
  const run = agent.run('We need water.', { session });
  const events = await eventsOf(run);
  const { items, text, stop } = await run.result;

  expect(stop.reason).toBe('stop');
  expect(text).toBe('Thank you.');
  expect(resultsIn(items)).toEqual([
    expect.objectContaining({ name: 'task', text: 'There is a brook.', isError: false }),
  ]);
  const told = events.filter((event) => event.type === 'tool_execution_update');
  expect(told.map((event) => event.text).join('')).toBe('I look. \n\nThere is a brook.');

  const [child = session, ...others] = childrenIn(events);
  expect(others).toEqual([]);
  expect(child).not.toBe(session);
  const said = transcript(await snapshot(log, child));
  expect(said.map(({ kind, parts }) => [kind, ...parts.map((part) => part.kind)])).toEqual([
    ['user', 'text'],
    ['assistant', 'text', 'tool_call'],
    ['tool', 'tool_result'],
    ['assistant', 'text'],
  ]);
  expect(said[0]?.parts).toMatchObject([{ text: 'Find water.' }]);
  // The sub-agent must not see the conversation of its caller.
  expect(JSON.stringify(provider.requests[0]?.request)).not.toContain('We need water');
});

test('tasks of one turn run at the same time, each in its own session', async () => {
  const log = memoryLog();
  let atWork = 0;
  const both = Promise.withResolvers<void>();
  const meet = defineTool({
    name: 'meet',
    description: 'Waits for the other',
    input: z.object({}),
    execute: async () => {
      atWork++;
      if (atWork === 2) both.resolve();
      await both.promise;
    },
  });
  const meets = { kind: 'tool_call', toolCallId: toolCallId('m'), name: 'meet' } as const;
  const working = (said: string) => {
    const provider = scriptedProvider([
      { content: { parts: [{ ...meets, arguments: '{}' }] } },
      said,
    ]);
    return createAgent({ provider, tools: [meet], log });
  };
  const agents = { scout: scout(working('Found.')), smith: smith(working('Made.')) };
  const tasks = ['smith', 'scout'].map((agent) => ({ agent, task: 'Work' }));
  const run = createCaller({ agents }, [calls(...tasks)], log).agent.run('Go', { session });
  const children = childrenIn(await eventsOf(run));
  expect(new Set(children).size).toBe(2);
  expect(resultsIn((await run.result).items).map(({ text }) => text)).toEqual(['Made.', 'Found.']);
  expect((await log.list()).map((info) => info.session).toSorted()).toEqual(
    [session, ...children].toSorted(),
  );
});

test.each<[string, ScriptEntry, RegExp]>([
  [
    'an error',
    {
      ...{ content: { parts: ['Well', 'Then'] }, pieces: 'whole' },
      fault: { type: 'error', after: 1, error: 'invalid_request' },
    },
    /^The agent stopped before it finished \(.+\)\. Its answer so far: Well$/,
  ],
  [
    'a length',
    { content: { parts: ['And then'] }, stop: 'length' },
    /^The agent stopped before it finished \(length\)\. Its answer so far: And then$/,
  ],
])(
  'a sub-agent that ends with %s gives an error with the reason, and the caller continues',
  async (_what, script, told) => {
    const { agent } = createCaller({ agents: { scout: scout(agentThatSays(script)) } }, [
      calls({ task: 'Look' }),
    ]);
    const { items, text } = await agent.run('Go').result;
    expect(resultsIn(items)).toMatchObject([{ isError: true, text: expect.stringMatching(told) }]);
    expect(text).toBe('Thank you.');
  },
);

test('a sub-agent that takes too long is stopped with an error', async () => {
  const clock = new VirtualClock();
  const log = memoryLog({ clock });
  const stalls: ScriptEntry = { content: { parts: ['Hm'] }, fault: { type: 'stall', after: 1 } };
  const worker = createAgent({ provider: scriptedProvider([stalls], { clock }), log, clock });
  const tools = [subAgentsTool({ agents: { scout: scout(worker) }, timeoutMs: 1000 })];
  const provider = scriptedProvider([calls({ task: 'Look' }), 'Thank you.'], { clock });
  const run = createAgent({ provider, tools, log, clock }).run('Go', { session });
  const { items, text } = await runToEnd(clock, run.result);
  expect(resultsIn(items)).toMatchObject([{ isError: true }]);
  expect(text).toBe('Thank you.');
  const [child = session] = childrenIn(await runToEnd(clock, eventsOf(run)));
  const state = await runToEnd(clock, snapshot(log, child));
  expect(transcript(state).at(-1)).toMatchObject({
    kind: 'assistant',
    stop: { reason: 'aborted' },
  });
});

describe('an abort of the caller', () => {
  /** Creates a chain of two sub-agents. The tool of the last one waits until it is aborted. */
  function chain() {
    const log = memoryLog();
    const waiting = Promise.withResolvers<AbortSignal>();
    const wait = defineTool({
      name: 'wait',
      description: 'Waits',
      input: z.object({}),
      execute: async (_input, { signal }) => {
        waiting.resolve(signal);
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return 'I was told to stop';
      },
    });
    const waits = { kind: 'tool_call', toolCallId: toolCallId('w'), name: 'wait' } as const;
    const last = createAgent({
      provider: scriptedProvider([
        { content: { parts: ['I wait. ', { ...waits, arguments: '{}' }] } },
      ]),
      tools: [wait],
      log,
    });
    const tool = subAgentsTool({ agents: { smith: smith(last) } });
    const provider = scriptedProvider([calls({ task: 'Wait' })]);
    const middle = createAgent({ provider, tools: [tool], log });
    const { agent } = createCaller(
      { agents: { scout: scout(middle) } },
      [calls({ task: 'Wait' })],
      log,
    );
    return { log, agent, waiting: waiting.promise };
  }

  test('stops its sub-agents and theirs before it resolves', async () => {
    const { log, agent, waiting } = chain();
    const run = agent.run('Go', { session });
    const signal = await waiting;
    expect(signal.aborted).toBe(false);
    await run.abort('enough');
    const { stop, items } = await run.result;
    expect(signal.aborted).toBe(true);
    expect(stop.reason).toBe('aborted');
    expect(resultsIn(items)).toMatchObject([{ toolCallId: 'c0', isError: true }]);

    const sessions = await log.list();
    expect(sessions).toHaveLength(3);
    for (const info of sessions) {
      const facts = (await log.read(info.session)).records.flatMap(({ fact }) => fact ?? []);
      expect(facts.filter(({ type }) => type === 'aborted')).toHaveLength(1);
      expect(facts.at(-1)).toMatchObject({ type: 'run_finished', stop: { reason: 'aborted' } });
      expect(await nextRequestFaults(log, info.session)).toEqual([]);
    }
  });
});
