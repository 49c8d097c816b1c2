import { sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { parseArgs } from '../args/parse-args.ts';
import { riskyParts, withoutRiskyParts } from '../config/trust.ts';
import { hostedSearch } from '../models/open-model.ts';
import { testAgent } from '../testing/test-agent.ts';

const env = { EXA_API_KEY: 'key-1', TAVILY_API_KEY: '' };
const provider = scriptedProvider([]);
const searches = async (options: Parameters<typeof testAgent>[0]) =>
  (await testAgent(options)).tools.some(({ name }) => name === 'web_search');

describe('23.5: web_search of the terminal agent', () => {
  test('is there if a key is set, and not in a session that only reads', async () => {
    expect(await searches({ provider })).toBe(false);
    expect(await searches({ provider, env })).toBe(true);
    expect(await searches({ provider, env, config: { webSearch: 'exa' } })).toBe(true);
    expect(await searches({ provider, env, config: { webSearch: 'off' } })).toBe(false);
    expect(await searches({ provider, env, config: { webSearch: 'hosted' } })).toBe(false);
    const permissions = { mode: 'read-only', rules: [] } as const;
    expect(await searches({ provider, env, config: { permissions } })).toBe(false);
    const missing = searches({ provider, env, config: { webSearch: 'brave' } });
    await expect(missing).rejects.toThrow('Set BRAVE_API_KEY');
  });

  test('asks before a query, also with --yes', async () => {
    const call = toolCallPart(toolCallId('c'), 'web_search', { query: 'x' });
    const { agent } = await testAgent({
      ...{ provider: scriptedProvider([{ content: { parts: [call] } }, 'Done.']), env },
      config: { permissions: { mode: 'allow', rules: [] } },
    });
    const run = agent.run('Search', { session: sessionId('s') });
    const asked: string[] = [];
    for await (const event of run.events) {
      if (event.type !== 'approval_asked') continue;
      asked.push(`${event.name}: ${event.reason}`);
      await run.deny(event.toolCallId);
    }
    expect(asked).toEqual(['web_search: No rule allows web_search from api.exa.ai']);
  });

  test('a flag chooses the service, and a project needs trust to switch a search on', () => {
    expect(parseArgs(['--web-search', 'hosted'])).toMatchObject({ webSearch: 'hosted' });
    expect(() => parseArgs(['--web-search', 'bing'])).toThrow('--web-search must be one of auto');
    expect(riskyParts({ webSearch: 'hosted' })).toEqual(['webSearch']);
    expect(withoutRiskyParts({ webSearch: 'hosted' })).toEqual({});
    expect(riskyParts({ webSearch: 'off' })).toEqual([]);
    expect(withoutRiskyParts({ webSearch: 'off' })).toEqual({ webSearch: 'off' });
  });

  test.each([
    [{ provider: 'anthropic', model: 'claude-x' }, true],
    [{ provider: 'openai', model: 'gpt-x' }, true],
    [{ provider: 'openai', model: 'gpt-x', api: 'chat' }, false],
    [{ provider: 'gemini', model: 'gemini-3-pro' }, true],
    [{ provider: 'gemini', model: 'gemini-2.5-pro' }, false],
    [{ provider: 'ollama', model: 'qwen3' }, false],
  ] as const)('knows whether the provider of %j has a search', (model, expected) => {
    expect(hostedSearch(model)).toBe(expected);
  });
});
