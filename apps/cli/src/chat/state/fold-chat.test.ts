import { type Agent, type AgentOptions, createAgent, defineTool, subAgent } from '@millrace/agent';
import { type JsonObject, type Part, type SessionId, sessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
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

function agentOf(script: readonly ScriptEntry[], options: Partial<AgentOptions> = {}): Agent {
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

const foldedChat = (which: SessionId = session) => new FoldedChat(which).readAll(log, which);

test('prints messages, reasoning, calls and answers once and in order, and leaves nothing open', async () => {
  const thought = { kind: 'reasoning', text: 'Look first.', form: 'full' } as const;
  const calls = [
    thought,
    'I look.',
    call('c1', 'read', { path: 'a.ts' }),
    call('c2', 'read', { path: 'b.ts' }),
  ];
  const agent = agentOf([{ content: { parts: calls } }, 'One.\n\nTwo.\n\nThree.']);
  await agent.run('Look around', { session }).result;
  const chat = await foldedChat();
  expect(chat.printed).toEqual([
    '> Look around',
    'thought: Look first.',
    'answer: I look.',
    'call: read done: the contents of a.ts',
    'call: read done: the contents of b.ts',
    'answer: One.',
    'answer: Two.',
    'answer: Three.',
  ]);
  expect(chat.state).toMatchObject({ entries: [], approvals: [], run: undefined, queued: [] });
  expect(chat.state.items.size + chat.state.printed.size).toBe(0);
});

test('prints a finished passage while the rest of the answer streams', async () => {
  await agentOf(['First.\n\nSecond']).run('Go', { session }).result;
  const chat = await foldedChat();
  const step = chat.steps.find(({ state }) => {
    const [entry] = state.entries;
    return entry?.kind === 'text' && state.printed.size > 0;
  });
  expect(step?.event.type).toBe('assistant_text_delta');
});

test('drops the unprinted text of a superseded attempt, and marks printed text as not counting', async () => {
  const cut = (text: string, after: number): ScriptEntry => ({
    content: { parts: [text] },
    fault: { type: 'cut', after },
  });
  await agentOf([cut('Half an ans', 2), 'All of it.']).run('Go', { session }).result;
  expect((await foldedChat()).printed).toEqual([
    '> Go',
    'note: ↻ the answer was cut off',
    'answer: All of it.',
  ]);
  const other = sessionId('other');
  await agentOf([cut('Said.\n\nand half', 4), 'All of it.']).run('Go', { session: other }).result;
  expect((await foldedChat(other)).printed).toEqual([
    '> Go',
    'answer: Said.',
    'note: ↻ the answer was cut off. The text above does not count',
    'answer: All of it.',
  ]);
});

test('keeps the text of a stopped attempt before the stop note', async () => {
  const stalls: ScriptEntry = {
    content: { parts: ['Said so far'] },
    fault: { type: 'stall', after: 3 },
  };
  const run = agentOf([stalls]).run('Go', { session });
  for await (const event of run.events)
    if (event.type === 'assistant_text_delta' && event.text.includes('far')) break;
  await run.abort();
  await run.result;
  expect((await foldedChat()).printed).toEqual(['> Go', 'answer: Said so far', 'note: ■ stopped']);
});

test('a call shows its streamed arguments, then its output, then its outcome', async () => {
  const parts = [call('c1', 'shout', { lines: 3 })];
  await agentOf([{ content: { parts } }, 'Well.']).run('Shout', { session }).result;
  const chat = await foldedChat();
  const cards = chat.steps.flatMap(({ state }) =>
    state.entries.flatMap((entry) => (entry.kind === 'call' ? [entry.card] : [])),
  );
  expect(new Set(cards.map(({ phase }) => phase))).toEqual(
    new Set(['writing', 'ready', 'running']),
  );
  expect(cards.findLast(({ phase }) => phase === 'writing')?.draft.head).toBe('{"lines":3}');
  expect(cards.at(-1)?.output.text).toBe('line 1\nline 2\nline 3\n');
  expect(chat.printed[1]).toMatch(/^call: shout failed: .*it is hoarse/);
});

test('rejected calls show the reason', async () => {
  const parts = [call('c1', 'none', {}), call('c2', 'shout', { lines: 'x' })];
  await agentOf([{ content: { parts } }, 'Well.']).run('Shout', { session }).result;
  const { printed } = await foldedChat();
  expect(printed.slice(1, 3).map((line) => line.slice(0, 22))).toEqual([
    'call: none rejected: T',
    'call: shout rejected: ',
  ]);
});

describe('approvals', () => {
  const asking = { approve: () => ({ decision: 'ask', reason: 'it is loud', rule: 'r' }) as const };
  const script = [{ content: { parts: [call('c1', 'read', { path: 'a' })] } }, 'Done.'];

  test('are pending until they are answered, with their input', async () => {
    const run = agentOf(script, asking).run('Go', { session });
    for await (const event of run.events) if (event.type === 'approval_asked') break;
    const chat = await foldedChat();
    expect(chat.state.approvals).toEqual([
      {
        ...{ session, id: 'c1', name: 'read', input: { path: 'a' } },
        ...{ reason: 'it is loud', rule: 'r', isAnswered: false },
      },
    ]);
    expect(currentActivity(chat.state)).toEqual({ type: 'approval' });
    await run.approve(toolCallId('c1'), { input: { path: 'b' } });
    await run.result;
    const after = await foldedChat();
    expect(after.state.approvals).toEqual([]);
    expect(after.printed).toContain('call: read done: the contents of b');
  });

  test('leave a rejected call if they are denied', async () => {
    const run = agentOf(script, asking).run('Go', { session });
    for await (const event of run.events) if (event.type === 'approval_asked') break;
    await run.deny(toolCallId('c1'), { reason: 'not now' });
    await run.result;
    expect((await foldedChat()).printed[1]).toContain('not now');
  });

  test('are removed when the run ends', async () => {
    const run = agentOf(script, asking).run('Go', { session });
    for await (const event of run.events) if (event.type === 'approval_asked') break;
    await run.abort();
    await run.result;
    expect((await foldedChat()).state.approvals).toEqual([]);
  });
});

test('a message during a run is queued, and printed where it is consumed', async () => {
  const asking: Partial<AgentOptions> = { approve: () => 'ask' };
  const script = [{ content: { parts: [call('c1', 'read', { path: 'a' })] } }, 'One.', 'Two.'];
  const run = agentOf(script, asking).run('Go', { session });
  for await (const event of run.events) if (event.type === 'approval_asked') break;
  await run.steer('this way');
  await run.followUp('and then that');
  expect((await foldedChat()).state.queued).toMatchObject([
    { when: 'steer', text: 'this way' },
    { when: 'follow_up', text: 'and then that' },
  ]);
  await run.approve(toolCallId('c1'));
  await run.result;
  expect((await foldedChat()).printed.slice(2)).toEqual([
    '> this way',
    'answer: One.',
    '> and then that',
    'answer: Two.',
  ]);
});

test('a call has the session of its sub-agent, which folds separately', async () => {
  const worker = agentOf(['I did it.']);
  const task = subAgent({ name: 'worker', description: 'Works', agent: worker });
  const parts = [call('c1', 'worker', { task: 'Work' })];
  const agent = agentOf([{ content: { parts } }, 'Good.'], { tools: [task] });
  await agent.run('Go', { session }).result;
  const chat = await foldedChat();
  const children = chat.steps.flatMap(({ state }) =>
    state.entries.flatMap((entry) => (entry.kind === 'call' ? (entry.card.child ?? []) : [])),
  );
  const child = children[0];
  expect(child).toBeDefined();
  if (child !== undefined)
    expect((await foldedChat(child)).printed).toEqual(['> Work', 'answer: I did it.']);
});

test('the stats cover all attempts and the last answer', async () => {
  const usage = { input: 100, output: 20 };
  const script: ScriptEntry[] = [
    { content: { parts: ['x'] }, usage, fault: { type: 'error', after: 1, error: 'server' } },
    {
      content: { parts: ['Done.'] },
      usage: { ...usage, costs: [{ amount: '0.5', currency: 'USD' }] },
    },
  ];
  await agentOf(script).run('Go', { session }).result;
  const { stats } = (await foldedChat()).state;
  expect(sessionUsage(stats)).toMatchObject({ input: 200, output: 40 });
  expect(sessionUsage(stats).costs).toEqual([{ amount: '0.5', currency: 'USD' }]);
  expect(stats).toMatchObject({ contextTokens: 120, model: 'script' });
  expect(stats.firstTokenMs).toBeGreaterThanOrEqual(0);
});

test('a settled turn is printed like a streamed one', async () => {
  const parts = ['I look.', call('c1', 'read', { path: 'a.ts' })];
  await agentOf([{ content: { parts } }, 'Done.\n\nReally.']).run('Go', { session }).result;
  const before = (await foldedChat()).printed;
  for (const turn of [1, 2]) expect(await log.settle(session, turn)).toBe(true);
  expect((await foldedChat()).printed).toEqual(before);
});

test('a permanent error is reported once', async () => {
  const fault = { type: 'error', after: 0, error: 'auth' } as const;
  await agentOf([{ content: { parts: ['x'] }, fault }]).run('Go', { session }).result;
  const { printed } = await foldedChat();
  expect(printed).toHaveLength(2);
  expect(printed[1]).toMatch(/^note: ✗ /);
});

test('a session whose process died shows the interrupted answer when it is resumed', async () => {
  const stalls: ScriptEntry = { content: { parts: ['Said'] }, fault: { type: 'stall', after: 1 } };
  const dying = agentOf([stalls]).run('Go', { session });
  for await (const event of dying.events) if (event.type === 'assistant_text_delta') break;
  const thief = await log.open(session, { takeOver: true });
  await dying.result;
  await thief.release();
  const open = await foldedChat();
  expect(open.printed).toEqual(['> Go']);
  expect(open.state.entries).toMatchObject([{ kind: 'text', text: 'Said' }]);
  await agentOf(['And on.']).run('Go on', { session }).result;
  expect((await foldedChat()).printed).toEqual([
    '> Go',
    'answer: Said',
    'note: ■ interrupted: the process that ran this ended',
    '> Go on',
    'answer: And on.',
  ]);
});

test('the open content stays small while much text streams', async () => {
  const text = Array.from({ length: 500 }, (_, line) => `Paragraph ${line}.`).join('\n\n');
  await agentOf([text]).run('Go', { session }).result;
  const chat = await foldedChat();
  const lengths = chat.steps.map(({ state }) => {
    const [entry] = state.entries;
    return state.entries.length + (entry?.kind === 'text' ? entry.ready.length : 0);
  });
  expect(Math.max(...lengths)).toBeLessThanOrEqual(2);
});

test('calls that did not run because of a stop are joined into one line', async () => {
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
  const noteCalls = Array.from({ length: 28 }, (_, at) => call(`n${at}`, 'note', {}));
  const agent = agentOf([{ content: { parts: [call('w', 'wait', {}), ...noteCalls] } }], {
    tools: [wait, note],
    approve: ({ call: { name } }) => (name === 'wait' ? 'allow' : 'ask'),
  });
  const run = agent.run('Go', { session });
  await gate.promise;
  for await (const event of run.events) if (event.type === 'approval_asked') break;
  await run.abort();
  await run.result;
  const { printed } = await foldedChat();
  expect(printed).toEqual([
    '> Go',
    expect.stringMatching(/^call: wait stopped/),
    'note: ✗ 28 calls were not run',
    'note: ■ stopped',
  ]);
});

test('an empty answer is reported', async () => {
  await agentOf(['']).run('Go', { session }).result;
  expect((await foldedChat()).printed).toEqual(['> Go', 'note: (the model returned no answer)']);
});

test('a summary that /compact asked for is not reported as an empty answer', async () => {
  const summaries = ['', 'They counted.'];
  const agent = agentOf(['One.', 'Two.', 'Three.', ...summaries]);
  for (const text of ['Count', 'Go on', 'And on']) await agent.run(text, { session }).result;
  for (const key of summaries) {
    await log.submit(session, { type: 'compact' }, `compact ${key}`);
    await agent.resume(session).result;
  }
  const notes = [
    'note: (the model returned no summary)',
    'note: ≡ 4 items of the conversation are now sent as a summary',
  ];
  const notesNow = async () =>
    (await foldedChat()).printed.filter((line) => line.startsWith('note:'));
  expect(await notesNow()).toEqual(notes);
  expect(await log.settle(session, 5)).toBe(true);
  expect(await notesNow()).toEqual(notes);
});

test('a session that waits for an approval is not reported as waiting after the approval', async () => {
  const script = [{ content: { parts: [call('c1', 'read', { path: 'a.ts' })] } }, 'Done.'];
  const agent = agentOf(script, { approve: () => 'ask', whileAsking: 'park' });
  await agent.run('Go', { session }).result;
  const waiting = await foldedChat();
  expect(waiting.state.entries).toMatchObject([
    { kind: 'call' },
    { kind: 'note', block: { text: '■ waiting: approval' } },
  ]);
  await log.submit(session, { type: 'approve', toolCallId: 'c1' }, 'yes');
  await agent.resume(session).result;
  expect((await foldedChat()).printed).toEqual([
    '> Go',
    'call: read done: the contents of a.ts',
    'answer: Done.',
  ]);
});

test('an overflow that compaction cannot solve is reported at the end', async () => {
  const fault = { type: 'error', after: 0, error: 'context_overflow' } as const;
  await agentOf([{ content: { parts: ['x'] }, fault }]).run('Go', { session }).result;
  const { printed, steps } = await foldedChat();
  expect(printed.filter((line) => line.startsWith('note: ✗'))).toHaveLength(1);
  const held = steps.filter(({ state }) => state.overflowError !== undefined);
  expect(held.length).toBeGreaterThan(0);
  for (const { state } of held) expect(state.run).toBeDefined();
});
