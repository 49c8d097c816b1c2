import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent, systemClock } from '@millrace/agent';
import { scriptedProvider } from '@millrace/providers/scripted';
import { expect, test } from 'vitest';
import { loadConfig } from '../config/load-config.ts';
import { riskyParts, withoutRiskyParts } from '../config/trust.ts';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { homeAndProject, testAgent } from '../testing/test-agent.ts';
import { chooseModel, subAgentModels } from './choose-model.ts';

// The `model` of a project switches a web search on, which sends texts to a service and costs money.

const searching = 'openrouter/openai/gpt-5.5:online';

test.each([
  searching,
  'OpenRouter/openai/gpt-5.5:ONLINE',
  'openrouter/openai/gpt-5.5:free:online',
  'openrouter/openai/gpt-5.5:online:free ',
  'openrouter/perplexity/sonar-pro',
  'gpt-4o-search-preview',
  'openai/o3-deep-research',
])('18.1654: attack: a project that is not trusted chooses the model %s', (model) => {
  expect(riskyParts({ model })).toEqual(['model']);
  expect(withoutRiskyParts({ model, theme: 'dark' })).toEqual({ theme: 'dark' });
});

test.each([
  'groq/groq/compound ',
  'groq/compound\t',
  'groq/groq/compound:x',
  'groq/ groq/compound-mini',
  'openrouter/ perplexity/x',
  ' openrouter / perplexity/x',
  ' perplexity/r1',
  'openrouter/openai/gpt-5.5:online\u00a0',
])('18.1792: attack: white space or an ending hides that the model %j searches', async (model) => {
  expect(riskyParts({ model })).toEqual(['model']);
  const { cwd, env } = homeAndProject({ 'project/millrace.json': JSON.stringify({ model }) });
  const config = await loadConfig({ args: {}, env, cwd });
  expect([config.model, config.untrusted?.parts]).toEqual([undefined, ['model']]);
  const openModel = subAgentModels({ config, env, cwd });
  await expect(openModel(model, 'project')).rejects.toThrow('cannot choose this');
});

test('18.1792: a model of the configuration is used without the white space around its name', async () => {
  const { cwd, env } = homeAndProject({ 'project/millrace.json': '{"model":" groq/llama\\t"}' });
  expect((await loadConfig({ args: {}, env, cwd })).model).toBe('groq/llama');
});

test('18.1654: a project chooses other models, and models of the user, without trust', () => {
  for (const model of ['anthropic/claude-sonnet-5', 'ollama/online:7b', 'research'])
    expect([riskyParts({ model }), withoutRiskyParts({ model })]).toEqual([[], { model }]);
  const models = { [searching]: { provider: 'openrouter', model: 'x' } } as const;
  expect(riskyParts({ model: searching }, { models })).toEqual([]);
});

/** Returns the name of the model in the request, and the warning, for a configuration of the user and the project. */
async function requested(user: object, project: object, trust = true) {
  const { cwd, env: given } = homeAndProject({
    'home/.config/millrace/config.json': JSON.stringify(user),
    'project/millrace.json': JSON.stringify(project),
  });
  const env = { HOME: given.HOME, OPENROUTER_API_KEY: 'sk-or-test' };
  const config = await loadConfig({ args: { trust }, env, cwd });
  const sent: string[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const request = new Request(url, init);
    const text = await request.text();
    if (request.url.includes('openrouter.ai')) sent.push(/"model":"([^"]*)"/.exec(text)?.[1] ?? '');
    return new Response('{"error":{"message":"x"}}', { status: 400 });
  };
  const chosen = await chooseModel({ config, env, cwd, fetch, clock: systemClock });
  if (!chosen.isDemo) await createAgent({ provider: chosen.provider }).run('Go').result;
  return { model: sent[0], isDemo: chosen.isDemo, warning: chosen.warning ?? '' };
}

test.each([
  ['web search is off', { webSearch: 'off' }],
  ['a rule denies searches', { permissions: { deny: ['web_search'] } }],
  ['a rule asks about searches', { permissions: { ask: ['web_search'] } }],
  ['the session only reads', { permissions: { mode: 'read-only' } }],
])('18.1654: attack: the model of a trusted project searches although %s', async (_, user) => {
  const { model, warning } = await requested(user, { model: searching });
  expect(model).toBe('openai/gpt-5.5');
  expect(warning).toContain('in place of openai/gpt-5.5:online');
});

test('18.1654: the model of a trusted project searches if the user does not restrict searches', async () => {
  expect(await requested({}, { model: searching })).toMatchObject({
    model: 'openai/gpt-5.5:online',
    warning: '',
  });
});

test('18.1654: attack: without trust, the model of the user is used', async () => {
  const user = { model: 'openrouter/mine' };
  expect((await requested(user, { model: searching }, false)).model).toBe('mine');
});

const agentFile = (model: string) =>
  `---\nname: helper\ndescription: Helps\n${model && `model: ${model}\n`}---\nHelp.\n`;

test.each([searching, 'openrouter/perplexity/sonar-pro'])(
  '18.1714: attack: a sub-agent of a trusted project changes its model to %s',
  async (model) => {
    const place = homeAndProject({ 'project/.claude/agents/helper.md': agentFile('') });
    const env = { ...place.env, OPENROUTER_API_KEY: 'sk-or-test' };
    await loadExtensions({ ...place, env, trust: true });
    writeFileSync(join(place.cwd, '.claude/agents/helper.md'), agentFile(model));
    const { extensions, untrusted } = await loadExtensions({ ...place, env });
    expect([untrusted, extensions.agents.length]).toEqual([undefined, 1]);
    const config = await loadConfig({ args: {}, env, cwd: place.cwd });
    const openModel = subAgentModels({ config, env, cwd: place.cwd });
    const provider = scriptedProvider([]);
    const options = { provider, extensions, env, cwd: place.cwd, openModel };
    const { problems } = await testAgent(options);
    expect(problems).toEqual([expect.stringContaining('cannot choose this')]);
    // The user can choose such a model.
    const { label } = await openModel(model, 'user');
    expect(label).toBe(model);
    const models = { [model]: { provider: 'openrouter', model: 'x:online' } } as const;
    const own = subAgentModels({ config: { ...config, models }, env, cwd: place.cwd });
    expect((await own(model, 'project')).label).toBe('openrouter/x:online');
  },
);
