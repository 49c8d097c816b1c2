import { type Agent, type AgentOptions, createAgent, defineTool, subAgent } from '@millrace/agent';
import { type JsonObject, type Part, type SessionId, sessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { FoldedChat } from '../../testing/folded-chat.ts';
import { currentActivity } from '../render/activity-line.ts';
import { sessionUsage } from './usage-stats.ts';

const session = sessionId('s');
let log: Log;
beforeEach(() => {
  log = memoryLog();
});
afterEach(() => log.close());

function agentOf(script: readonly Scripted[], options: Partial<AgentOptions> = {}): Agent {
  const provider = scriptedProvider(script, { pieces: 'token' });
  const retry = { baseDelayMs: 0 };
  return createAgent({ provider, log, retry, tools, ...options });
}

const read = defineTool({
  name: 'read',
  description: 'Reads',
  input: z.object({ path: z.string() }),
  effects: 'none',
  summarize: ({ path }) => `Read ${path}`,
  execute: async ({ path }) => `the contents of ${path}`,
});
const shout = defineTool({
  ...{ name: 'shout', description: 'Prints', input: z.object({ lines: z.number() }) },
  async *execute({ lines }) {
    for (let line = 1; line <= lines; line++) yield `line ${line}\n`;
    throw new Error('it is hoarse');
  },
});
const tools = [read, shout];

const call = (id: string, name: string, input: JsonObject): Part => ({
  ...({ kind: 'tool_call', toolCallId: toolCallId(id), name } as const),
  arguments: JSON.stringify(input),
});

const toldOf = (which: SessionId = session) => new FoldedChat(which).readAll(log, which);

test('what was said, thought, done and answered is printed once, in order, and then nothing is open', async () => {
  const thought = { kind: 'reasoning', text: 'Look first.', form: 'full' } as const;
  const asks = [
    thought,
    'I look.',
    call('c1', 'read', { path: 'a.ts' }),
    call('c2', 'read', { path: 'b.ts' }),
  ];
  const agent = agentOf([{ content: { parts: asks } }, 'One.\n\nTwo.\n\nThree.']);
  await agent.run('Look around', { session }).result;
  const told = await toldOf();
  expect(told.printed).toEqual([
    '> Look around',
    'thought: Look first.',
    'answer: I look.',
    'call: read done: the contents of a.ts',
    'call: read done: the contents of b.ts',
    'answer: One.',
    'answer: Two.',
    'answer: Three.',
  ]);
  expect(told.state).toMatchObject({ entries: [], approvals: [], run: undefined, queued: [] });
  expect(told.state.items.size + told.state.printed.size).toBe(0);
});

test('a finished stretch is printed while the rest of the answer still streams', async () => {
  await agentOf(['First.\n\nSecond']).run('Go', { session }).result;
  const told = await toldOf();
  const step = told.steps.find(({ state }) => {
    const [entry] = state.entries;
    return entry?.kind === 'text' && state.printed.size > 0;
  });
  expect(step?.event.type).toBe('assistant_text_delta');
});

test('what an attempt had said is dropped where it was not printed, and said not to count where it was', async () => {
  const cut = (text: string, after: number): Scripted => ({
    content: { parts: [text] },
    fault: { type: 'cut', after },
  });
  await agentOf([cut('Half an ans', 2), 'All of it.']).run('Go', { session }).result;
  expect((await toldOf()).printed).toEqual([
    '> Go',
    'note: ↻ the answer broke off',
    'answer: All of it.',
  ]);
  const other = sessionId('other');
  await agentOf([cut('Said.\n\nand half', 4), 'All of it.']).run('Go', { session: other }).result;
  expect((await toldOf(other)).printed).toEqual([
    '> Go',
    'answer: Said.',
    'note: ↻ the answer broke off. What it had said above does not count',
    'answer: All of it.',
  ]);
});

test('an attempt that is stopped keeps what it had said, before the word that it was stopped', async () => {
  const stalls: Scripted = {
    content: { parts: ['Said so far'] },
    fault: { type: 'stall', after: 3 },
  };
  const run = agentOf([stalls]).run('Go', { session });
  for await (const event of run.events)
    if (event.type === 'assistant_text_delta' && event.text.includes('far')) break;
  await run.abort();
  await run.result;
  expect((await toldOf()).printed).toEqual(['> Go', 'answer: Said so far', 'note: ■ stopped']);
});

test('a call shows its arguments as they come, then what it prints, then how it ended', async () => {
  const parts = [call('c1', 'shout', { lines: 3 })];
  await agentOf([{ content: { parts } }, 'Well.']).run('Shout', { session }).result;
  const told = await toldOf();
  const cards = told.steps.flatMap(({ state }) =>
    state.entries.flatMap((entry) => (entry.kind === 'call' ? [entry.card] : [])),
  );
  expect(new Set(cards.map(({ phase }) => phase))).toEqual(
    new Set(['writing', 'ready', 'running']),
  );
  expect(cards.findLast(({ phase }) => phase === 'writing')?.draft.head).toBe('{"lines":3}');
  expect(cards.at(-1)?.output.text).toBe('line 1\nline 2\nline 3\n');
  expect(told.printed[1]).toMatch(/^call: shout failed: .*it is hoarse/);
});

test('calls that may not run say why', async () => {
  const parts = [call('c1', 'none', {}), call('c2', 'shout', { lines: 'x' })];
  await agentOf([{ content: { parts } }, 'Well.']).run('Shout', { session }).result;
  const { printed } = await toldOf();
  expect(printed.slice(1, 3).map((line) => line.slice(0, 22))).toEqual([
    'call: none rejected: T',
    'call: shout rejected: ',
  ]);
});

describe('approvals', () => {
  const asking = { approve: () => ({ decision: 'ask', reason: 'it is loud', rule: 'r' }) as const };
  const script = [{ content: { parts: [call('c1', 'read', { path: 'a' })] } }, 'Done.'];

  test('are pending from the question to the answer, with the input that they are about', async () => {
    const run = agentOf(script, asking).run('Go', { session });
    for await (const event of run.events) if (event.type === 'approval_asked') break;
    const told = await toldOf();
    expect(told.state.approvals).toEqual([
      {
        ...{ session, id: 'c1', name: 'read', input: { path: 'a' } },
        ...{ reason: 'it is loud', rule: 'r', isAnswered: false },
      },
    ]);
    expect(currentActivity(told.state)).toEqual({ type: 'approval' });
    await run.approve(toolCallId('c1'), { input: { path: 'b' } });
    await run.result;
    const after = await toldOf();
    expect(after.state.approvals).toEqual([]);
    expect(after.printed).toContain('call: read done: the contents of b');
  });

  test('that are denied leave a call that was not run', async () => {
    const run = agentOf(script, asking).run('Go', { session });
    for await (const event of run.events) if (event.type === 'approval_asked') break;
    await run.deny(toolCallId('c1'), { reason: 'not now' });
    await run.result;
    expect((await toldOf()).printed[1]).toContain('not now');
  });

  test('go away with the run that asked', async () => {
    const run = agentOf(script, asking).run('Go', { session });
    for await (const event of run.events) if (event.type === 'approval_asked') break;
    await run.abort();
    await run.result;
    expect((await toldOf()).state.approvals).toEqual([]);
  });
});

test('what is said meanwhile is queued, and printed where it is heard', async () => {
  const asking: Partial<AgentOptions> = { approve: () => 'ask' };
  const script = [{ content: { parts: [call('c1', 'read', { path: 'a' })] } }, 'One.', 'Two.'];
  const run = agentOf(script, asking).run('Go', { session });
  for await (const event of run.events) if (event.type === 'approval_asked') break;
  await run.steer('this way');
  await run.followUp('and then that');
  expect((await toldOf()).state.queued).toMatchObject([
    { when: 'steer', text: 'this way' },
    { when: 'follow_up', text: 'and then that' },
  ]);
  await run.approve(toolCallId('c1'));
  await run.result;
  expect((await toldOf()).printed.slice(2)).toEqual([
    '> this way',
    'answer: One.',
    '> and then that',
    'answer: Two.',
  ]);
});

test('a sub-agent’s session is known by its call, and folds by itself', async () => {
  const worker = agentOf(['I did it.']);
  const task = subAgent({ name: 'worker', description: 'Works', agent: worker });
  const parts = [call('c1', 'worker', { task: 'Work' })];
  const agent = agentOf([{ content: { parts } }, 'Good.'], { tools: [task] });
  await agent.run('Go', { session }).result;
  const told = await toldOf();
  const children = told.steps.flatMap(({ state }) =>
    state.entries.flatMap((entry) => (entry.kind === 'call' ? (entry.card.child ?? []) : [])),
  );
  const child = children[0];
  expect(child).toBeDefined();
  if (child !== undefined)
    expect((await toldOf(child)).printed).toEqual(['> Work', 'answer: I did it.']);
});

test('the stats are those of all attempts, and of the last answer', async () => {
  const usage = { input: 100, output: 20 };
  const script: Scripted[] = [
    { content: { parts: ['x'] }, usage, fault: { type: 'error', after: 1, error: 'server' } },
    {
      content: { parts: ['Done.'] },
      usage: { ...usage, costs: [{ amount: '0.5', currency: 'USD' }] },
    },
  ];
  await agentOf(script).run('Go', { session }).result;
  const { stats } = (await toldOf()).state;
  expect(sessionUsage(stats)).toMatchObject({ input: 200, output: 40 });
  expect(sessionUsage(stats).costs).toEqual([{ amount: '0.5', currency: 'USD' }]);
  expect(stats).toMatchObject({ contextTokens: 120, model: 'script' });
  expect(stats.firstTokenMs).toBeGreaterThanOrEqual(0);
});

test('a turn that was settled is printed like one that streamed', async () => {
  const parts = ['I look.', call('c1', 'read', { path: 'a.ts' })];
  await agentOf([{ content: { parts } }, 'Done.\n\nReally.']).run('Go', { session }).result;
  const before = (await toldOf()).printed;
  for (const turn of [1, 2]) expect(await log.settle(session, turn)).toBe(true);
  expect((await toldOf()).printed).toEqual(before);
});

test('an error that stays is told once', async () => {
  const fault = { type: 'error', after: 0, error: 'auth' } as const;
  await agentOf([{ content: { parts: ['x'] }, fault }]).run('Go', { session }).result;
  const { printed } = await toldOf();
  expect(printed).toHaveLength(2);
  expect(printed[1]).toMatch(/^note: ✗ /);
});

test('a session whose process died shows what was said as cut short, when somebody goes on with it', async () => {
  const stalls: Scripted = { content: { parts: ['Said'] }, fault: { type: 'stall', after: 1 } };
  const dying = agentOf([stalls]).run('Go', { session });
  for await (const event of dying.events) if (event.type === 'assistant_text_delta') break;
  const thief = await log.open(session, { takeOver: true });
  await dying.result;
  await thief.release();
  const open = await toldOf();
  expect(open.printed).toEqual(['> Go']);
  expect(open.state.entries).toMatchObject([{ kind: 'text', text: 'Said' }]);
  await agentOf(['And on.']).run('Go on', { session }).result;
  expect((await toldOf()).printed).toEqual([
    '> Go',
    'answer: Said',
    'note: ■ cut short: the program that ran this ended',
    '> Go on',
    'answer: And on.',
  ]);
});

test('what is open stays small, however much streams', async () => {
  const text = Array.from({ length: 500 }, (_, line) => `Paragraph ${line}.`).join('\n\n');
  await agentOf([text]).run('Go', { session }).result;
  const told = await toldOf();
  const lengths = told.steps.map(({ state }) => {
    const [entry] = state.entries;
    return state.entries.length + (entry?.kind === 'text' ? entry.ready.length : 0);
  });
  expect(Math.max(...lengths)).toBeLessThanOrEqual(2);
});

test('many calls that were not run because somebody stopped it are one line', async () => {
  const gate = Promise.withResolvers<void>();
  const wait = defineTool({
    ...{ name: 'wait', description: 'Waits', input: z.object({}) },
    execute: async (_, { signal }) => {
      gate.resolve();
      return new Promise<string>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    },
  });
  const note = defineTool({
    ...{ name: 'note', description: 'Notes', input: z.object({}) },
    execute: async () => 'noted',
  });
  const asked = Array.from({ length: 28 }, (_, at) => call(`n${at}`, 'note', {}));
  const agent = agentOf([{ content: { parts: [call('w', 'wait', {}), ...asked] } }], {
    tools: [wait, note],
    approve: ({ call: { name } }) => (name === 'wait' ? 'allow' : 'ask'),
  });
  const run = agent.run('Go', { session });
  await gate.promise;
  for await (const event of run.events) if (event.type === 'approval_asked') break;
  await run.abort();
  await run.result;
  const { printed } = await toldOf();
  expect(printed).toEqual([
    '> Go',
    expect.stringMatching(/^call: wait stopped/),
    'note: ✗ 28 calls were not run',
    'note: ■ stopped',
  ]);
});

test('an answer without a word is told', async () => {
  await agentOf(['']).run('Go', { session }).result;
  expect((await toldOf()).printed).toEqual(['> Go', 'note: (the model said nothing)']);
});

test('a request that is too long, and cannot be made shorter, is told at the end', async () => {
  const fault = { type: 'error', after: 0, error: 'context_overflow' } as const;
  await agentOf([{ content: { parts: ['x'] }, fault }]).run('Go', { session }).result;
  const { printed, steps } = await toldOf();
  expect(printed.filter((line) => line.startsWith('note: ✗'))).toHaveLength(1);
  const held = steps.filter(({ state }) => state.overflowError !== undefined);
  expect(held.length).toBeGreaterThan(0);
  for (const { state } of held) expect(state.run).toBeDefined();
});
