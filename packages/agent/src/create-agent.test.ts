import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentOptions, createAgent } from './create-agent.ts';
import { defineTool } from './tool/define-tool.ts';

const provider = scriptedProvider(['Hello.', 'Hello.', 'Hello.']);

/** The error that a function throws. */
function errorOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return expect.fail('it threw nothing');
}

describe('20.8: createAgent', () => {
  test.each<[string, object, string]>([
    [
      'a model',
      { model: 'gpt-5' },
      "createAgent({ provider: openaiResponses({ model: 'gpt-5' }) })",
    ],
    [
      'a model of Anthropic',
      { model: 'claude-sonnet-5' },
      "anthropic({ model: 'claude-sonnet-5' })",
    ],
    ['a misspelt option', { provider, instruction: '' }, 'Did you mean instructions?'],
    ['an option of another library', { provider, system: '' }, 'Use instructions'],
    ['an unknown option', { provider, zzz: 1 }, 'Known options: provider, fallbacks'],
    ['a misspelt limit', { provider, limits: { maxTurn: 1 } }, 'Did you mean maxTurns?'],
    [
      'a misspelt retry setting',
      { provider, retry: { maxAttempt: 1 } },
      'Did you mean maxAttempts?',
    ],
    ['a misspelt compaction', { provider, compaction: { whenToken: 1 } }, 'mean whenTokens?'],
    [
      'a compaction that keeps no step',
      { provider, compaction: { whenTokens: 1000, keepSteps: 0 } },
      'Cannot use keepSteps 0: it must be a number of at least 1',
    ],
    [
      'a compaction without a limit',
      { provider, compaction: { whenTokens: Number.NaN } },
      'Cannot use whenTokens NaN',
    ],
    ['a misspelt request option', { provider, request: { temprature: 1 } }, 'mean temperature?'],
    ['an unknown value', { provider, whileAsking: 'pause' }, 'wait or park'],
    ['no provider', {}, 'Pass a provider with its model'],
    ['a name as provider', { provider: 'gpt-5' }, "openaiResponses({ model: 'gpt-5' })"],
    ['a model of the AI SDK', { provider: { doStream() {} } }, 'fromAiSdk'],
    ['a fallback that is none', { provider, fallbacks: ['gpt-5'] }, 'Pass a provider'],
  ])('20.8: refuses %s, and the message says what is right', (_what, options, hint) => {
    expect(errorOf(() => createAgent(options as never))).toMatchObject({
      ...{ name: 'AgentError', code: 'bad_option', message: expect.stringContaining(hint) },
    });
  });

  test('20.8: refuses anything but an object', () => {
    for (const odd of [undefined, null, 'gpt-5'])
      expect(errorOf(() => createAgent(odd as never))).toMatchObject({ code: 'bad_option' });
  });

  test('20.8: ignores an unknown option without a value, as options are often spread', () => {
    const options = { provider, model: undefined };
    expect(createAgent(options as AgentOptions).name).toBe('agent');
  });
});

describe('20.8: the options of a method', () => {
  const agent = createAgent({ provider, log: memoryLog() });
  test.each<[string, () => unknown, string]>([
    ['run', () => agent.run('Go', { sesion: 's' } as never), 'Did you mean session?'],
    ['resume', () => agent.resume('s', { session: 's' } as never), 'Known options: signal'],
    ['regenerate', () => agent.regenerate('s', { items: 'i' } as never), 'Did you mean item?'],
    ['edit', () => agent.edit('s', 'i', 'Go', { int: 's' } as never), 'Did you mean into?'],
  ])('20.8: of %s are refused if they are unknown', (_name, act, hint) => {
    expect(errorOf(act)).toMatchObject({
      ...{ code: 'bad_option', message: expect.stringContaining(hint) },
    });
  });

  test('20.8: of replay are refused if they are unknown', async () => {
    await expect(agent.replay('s', { observer: [] } as never)).rejects.toMatchObject({
      ...{ code: 'bad_option', message: expect.stringContaining('Did you mean observers?') },
    });
  });
});

describe('20.8: an input', () => {
  const agent = createAgent({ provider });
  const inputs: Readonly<Record<string, unknown>> = {
    'a message of the AI SDK': { role: 'user', content: 'Hello' },
    'messages of the AI SDK': [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    'a UI message': { id: '1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] },
    'messages of OpenAI': [{ role: 'developer', content: 'Be brief' }],
    'an item without parts': { kind: 'user' },
    'an item with a part of another library': { kind: 'user', parts: [{ type: 'text' }] },
    'an item of an unknown kind': { kind: 'human', parts: [] },
    'a list of texts': ['Hello'],
    nothing: undefined,
    null: null,
    'a number': 7,
  };
  test.each(Object.entries(inputs))(
    '20.8: that is %s is refused with an example of an input',
    async (_what, input) => {
      const refused = {
        ...{ name: 'AgentError', code: 'bad_input' },
        message: expect.stringContaining(
          "{ kind: 'user', parts: [{ kind: 'text', text: 'Hello' }] }",
        ),
      };
      expect(errorOf(() => agent.run(input as never))).toMatchObject(refused);
      const run = agent.run('Go');
      await expect(run.steer(input as never)).rejects.toMatchObject(refused);
      await run.result;
    },
  );

  test('20.8: may be an item without an id, or with a plain text as its id', async () => {
    const log = memoryLog();
    const own = createAgent({ provider: scriptedProvider(['One.', 'Two.']), log });
    const parts = [{ kind: 'text', text: 'Hello' }] as const;
    const [first, second] = [
      { kind: 'user', parts } as const,
      { kind: 'user', id: 'u', parts } as const,
    ];
    const result = await own.run([first, second], { session: 'plain' }).result;
    expect([result.text, result.session]).toEqual(['One.', 'plain']);
    expect((await own.edit('plain', 'u', 'Bye').result).text).toBe('Two.');
  });

  test('20.8: with a session that is no id is refused', () => {
    expect(errorOf(() => agent.run('Go', { session: '' }))).toMatchObject({ code: 'bad_id' });
    expect(errorOf(() => agent.resume('a\nb'))).toMatchObject({ code: 'bad_id' });
  });
});

test('20.8: the options of a tool are refused with the nearest name', () => {
  const tool = { name: 't', description: 'T', input: z.object({}), execute: async () => '' };
  expect(() => defineTool({ ...tool, timeoutMS: 5 } as never)).toThrow('Did you mean timeoutMs?');
});
