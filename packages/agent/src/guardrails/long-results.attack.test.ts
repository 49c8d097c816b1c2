import { createHash } from 'node:crypto';
import { toArray, transcript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { scriptedProvider, toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createAgent } from '../create-agent.ts';
import { submitCommand } from '../input/submit-command.ts';
import { createTestAgent, problemsLeftIn, session } from '../testing/test-agent.ts';
import { handOff } from '../tool/agent-tools.ts';
import { clientTool } from '../tool/client-tool.ts';
import { defineTool } from '../tool/define-tool.ts';
import { readOutputTool } from '../tool/read-output.ts';
import { inputGuardrail } from './define-guardrail.ts';

// A client sends a long output, so that the result loses its middle. The model reads the middle with a tool. The client
// wants to hide a text there that an input guardrail refuses.

const look = clientTool({
  ...{ name: 'look', description: 'Looks', input: z.object({}), output: z.unknown() },
  maxOutputLength: 400,
});
const long = (secret: string) => `Read the rest. ${'-'.repeat(1000)}${secret}${'-'.repeat(1000)}`;

type Check = Parameters<typeof inputGuardrail>[0]['check'];

/** Sends a long output. The model then reads all of it. */
async function send(output: unknown, check: Check) {
  const texts: string[] = [];
  const guardrail = inputGuardrail({
    name: 'calm',
    check: (input, step) => {
      texts.push(input.text);
      return check(input, step);
    },
  });
  const made = createTestAgent(
    [
      toolCall('look', {}, 'c1'),
      ({ items }) => {
        const hash =
          /kept as output ([0-9a-f]{64})/.exec(JSON.stringify(items))?.[1] ?? '0'.repeat(64);
        return toolCall('read_output', { output: hash }, 'c2');
      },
      'Done.',
    ],
    { tools: [look, readOutputTool()], guardrails: [guardrail], whileAsking: 'park' },
  );
  const { agent, end, provider } = made;
  await end(agent.run('Hi', { session }));
  await agent.provideToolResult(session, 'c1', { output: output as never });
  const { reason } = await end(agent.resume(session));
  const sent = JSON.stringify(provider.requests.map(({ request }) => request.items));
  expect((await agent.replay(session)).divergence).toBeUndefined();
  return { reason, sent, texts };
}

const stops: Check = ({ text }) =>
  text.includes('magic') ? { verdict: 'stop', reason: 'refused' } : 'pass';

test.each([
  ['a text', long('magic')],
  ['a value', { text: long('magic') }],
])('18.1106: attack: the model reads the clipped rest of %s of a client', async (_, output) => {
  const { reason, sent } = await send(output, stops);
  expect(reason).toBe('blocked');
  expect(sent).not.toContain('magic');
});

test('18.1106: attack: a guardrail changes a long output, and the model reads the clipped rest', async () => {
  const { reason, sent } = await send(long('magic'), ({ text }) =>
    text.includes('magic') ? { verdict: 'change', to: text.replaceAll('magic', '[gone]') } : 'pass',
  );
  expect(reason).toBe('stop');
  expect(sent).not.toContain('magic');
  // The changed result is as short as the clipped result.
  expect(sent).toContain('Read the rest.');
  expect(sent).not.toContain('-'.repeat(600));
});

test('18.1106: the model reads the clipped rest of an output that the guardrails pass', async () => {
  const { reason, sent, texts } = await send(long('calm'), stops);
  expect(reason).toBe('stop');
  expect(sent).toContain('calm');
  expect(texts).toEqual(['Hi', long('calm')]);
});

test.each([
  ['stopped', { verdict: 'stop', reason: 'refused' }],
  ['changed', { verdict: 'change', to: 'Read the rest.' }],
] as const)(
  '18.967: attack: a client asks the model to read an output that a guardrail %s',
  async (_, verdict) => {
    const output = long('magic');
    const guardrail = inputGuardrail({
      name: 'calm',
      check: ({ text }) => (text.includes('magic') ? verdict : 'pass'),
    });
    const answers = [
      toolCall('look', {}, 'c1'),
      ...(verdict.verdict === 'change' ? ['Seen.'] : []),
      // The id of an output is its hash, so the client knows it.
      toolCall('read_output', { output: createHash('sha256').update(output).digest('hex') }, 'c2'),
      'Done.',
    ];
    const tools = [look, readOutputTool()];
    const options = { tools, guardrails: [guardrail], whileAsking: 'park' } as const;
    const { agent, end, provider } = createTestAgent(answers, options);
    await end(agent.run('Hi', { session }));
    await agent.provideToolResult(session, 'c1', { output });
    await end(agent.resume(session));
    const { reason } = await end(agent.run('Read it', { session }));
    expect(reason).toBe('stop');
    const sent = JSON.stringify(provider.requests.map(({ request }) => request.items));
    expect(sent).toContain('There is no output');
    expect(sent).not.toContain('magic');
    expect((await agent.replay(session)).divergence).toBeUndefined();
  },
);

test.each([
  ['stops', { verdict: 'stop', reason: 'refused' }],
  ['changes', { verdict: 'change', to: 'Read the rest.' }],
] as const)(
  '18.1290: attack: the model reads an output in the same answer, before a guardrail %s it',
  async (_, verdict) => {
    const output = long('magic');
    const guardrail = inputGuardrail({
      name: 'calm',
      check: ({ text }) => (text.includes('magic') ? verdict : 'pass'),
    });
    const hash = createHash('sha256').update(output).digest('hex');
    const { agent, end, provider, log } = createTestAgent(
      [[toolCall('look', {}, 'c1'), toolCall('read_output', { output: hash }, 'c2')], 'Done.'],
      {
        ...{ tools: [look, readOutputTool()], guardrails: [guardrail], whileAsking: 'park' },
        approve: ({ name }) => (name === 'read_output' ? 'ask' : 'allow'),
      },
    );
    await end(agent.run('Hi', { session }));
    await agent.provideToolResult(session, 'c1', { output });
    await end(agent.resume(session));
    await agent.approve(session, 'c2');
    await end(agent.resume(session));
    expect(JSON.stringify(transcript(await snapshot(log, session)))).toContain(
      'There is no output',
    );
    const sent = JSON.stringify(provider.requests.map(({ request }) => request.items));
    expect(sent).not.toContain('magic');
    expect((await agent.replay(session)).divergence).toBeUndefined();
  },
);

test('18.1291: attack: an agent reads a covered output of a client, which the guardrails of an earlier agent passed', async () => {
  const output = long('magic');
  const hash = createHash('sha256').update(output).digest('hex');
  const next = scriptedProvider([toolCall('read_output', { output: hash }, 'c3'), 'I see.']);
  const check: Check = ({ text }) =>
    text.includes('magic') ? { verdict: 'stop', reason: 'refused' } : 'pass';
  const other = createAgent({
    ...{ name: 'other', provider: next, tools: [readOutputTool()] },
    guardrails: [inputGuardrail({ name: 'calm', check })],
  });
  const { agent, end, log } = createTestAgent(
    [
      ...[toolCall('look', {}, 'c1'), 'One.', 'Two.', 'Three.', 'Four.', 'A summary'],
      toolCall('transfer_to_other', {}, 'c2'),
    ],
    {
      ...{ name: 'first', whileAsking: 'park' },
      tools: [look, handOff({ to: other, description: 'Other' })],
    },
  );
  await end(agent.run('Hi', { session }));
  await agent.provideToolResult(session, 'c1', { output });
  await end(agent.resume(session));
  for (const input of ['a', 'b', 'c']) await end(agent.run(input, { session }));
  await submitCommand(log, session, { type: 'compact' });
  const { reason, text } = await end(agent.run('d', { session }));
  expect([reason, text]).toEqual(['stop', 'I see.']);
  const sent = JSON.stringify(next.requests.map(({ request }) => request.items));
  expect(sent).toContain('There is no output');
  expect(sent).not.toContain('magic');
});

// An agent without guardrails copies a text of a client into results of its own tools. Then it hands off to an agent
// with a guardrail that refuses the text.
const copies = defineTool({
  ...{ name: 'recall', description: 'Repeats the last output', input: z.object({}) },
  async execute(_, { sessionState, isWithheld }) {
    const items = sessionState === undefined ? [] : toArray(sessionState().items);
    for (const { id, parts } of items.toReversed())
      for (const { part } of parts)
        if (part?.kind === 'tool_result' && part.name === 'look' && !(await isWithheld?.(id)))
          return part.text;
    return 'Nothing.';
  },
});

async function handCopies(
  check: Check,
  { output, reads, isCompacted }: { output: string; reads: unknown[]; isCompacted: boolean },
) {
  const texts: string[] = [];
  const next = scriptedProvider(['I see.', 'And again.']);
  const guardrail = inputGuardrail({
    name: 'calm',
    check: (input, step) => {
      texts.push(input.text);
      return check(input, step);
    },
  });
  const other = createAgent({ name: 'other', provider: next, guardrails: [guardrail] });
  const { agent, end, log } = createTestAgent(
    [
      ...[toolCall('look', {}, 'c1'), 'One.'],
      ...(isCompacted ? [] : reads),
      ...['Two.', 'Three.', 'Four.'],
      ...(isCompacted ? ['A summary', ...reads] : []),
      toolCall('transfer_to_other', {}, 'c9'),
    ] as never,
    {
      ...{ name: 'first', whileAsking: 'park' },
      tools: [look, copies, readOutputTool(), handOff({ to: other, description: 'Other' })],
    },
  );
  await end(agent.run('Hi', { session }));
  await agent.provideToolResult(session, 'c1', { output });
  await end(agent.resume(session));
  for (const input of ['a', 'b', 'c']) await end(agent.run(input, { session }));
  if (isCompacted) await submitCommand(log, session, { type: 'compact' });
  const { reason } = await end(agent.run('d', { session }));
  await end(agent.run('e', { session }));
  expect((await agent.replay(session)).divergence).toBeUndefined();
  expect(await problemsLeftIn(log)).toEqual([]);
  const items = next.requests.map(({ request }) => request.items);
  return { reason, items, sent: JSON.stringify(items), texts };
}

const hidden = long('magic');
const hiddenHash = createHash('sha256').update(hidden).digest('hex');
const read = (id: string, range: object) =>
  toolCall('read_output', { output: hiddenHash, ...range }, id);
const middle = hidden.indexOf('magic') + 2;

test.each(
  [true, false].flatMap((isCompacted) =>
    (['stop', 'change'] as const).flatMap((verdict) => [
      { isCompacted, verdict, way: 'at once', output: hidden, reads: [read('c2', {})] },
      {
        ...{ isCompacted, verdict, way: 'in two pieces', output: hidden },
        reads: [read('c2', { length: middle }), read('c3', { start: middle })],
      },
      {
        ...{ isCompacted, verdict, way: 'by another tool', output: 'magic' },
        reads: [toolCall('recall', {}, 'c2')],
      },
    ]),
  ),
)(
  '18.1420: attack: an agent copies an output of a client $way, and hands off to an agent with a guardrail (compacted: $isCompacted, $verdict)',
  async ({ verdict, ...given }) => {
    const check: Check = ({ text }) =>
      !text.includes('magic')
        ? 'pass'
        : verdict === 'stop'
          ? { verdict, reason: 'refused' }
          : { verdict, to: text.replaceAll('magic', '[gone]') };
    const { reason, items, sent } = await handCopies(check, given);
    expect(reason).toBe(verdict === 'stop' ? 'blocked' : 'stop');
    const results = items
      .flat()
      .flatMap(({ parts }) => parts.flatMap((part) => ('text' in part ? part.text : '')));
    for (const piece of ['magic', '-ma', 'gic-'])
      expect(results.filter((text) => text.includes(piece))).toEqual([]);
    expect(sent).not.toContain('magic');
  },
);

test('18.1420: the next agent reads the copy of an output that its guardrails pass', async () => {
  const given = { output: hidden, reads: [read('c2', { start: 1000 })], isCompacted: false };
  const { reason, sent, texts } = await handCopies(() => 'pass', given);
  expect(reason).toBe('stop');
  expect(sent).toContain('magic');
  // The guardrail reads the whole text of the output, and of the copy.
  expect(texts.filter((text) => text === hidden)).toHaveLength(2);
});
