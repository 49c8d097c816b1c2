import { createHash } from 'node:crypto';
import { toolCall } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createTestAgent, session } from '../testing/test-agent.ts';
import { clientTool } from '../tool/client-tool.ts';
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
