import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, test } from 'vitest';
import { ConfigError, ModelError } from '../contract/errors.ts';
import { demoProvider } from '../demo/demo-provider.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { testAgent } from '../testing/test-agent.ts';
import { chooseModel } from './choose-model.ts';
import { type ModelsCommandOptions, modelsCommand } from './models-command.ts';

const folder = temporaryFolder('models');
const nowhere = () => Promise.reject(new TypeError('refused'));
let count = 0;

function homeWith(): Readonly<Record<string, string>> {
  return { XDG_CONFIG_HOME: join(folder(), `home${++count}`), ANTHROPIC_API_KEY: 'key' };
}

async function run(options: Partial<ModelsCommandOptions> & Pick<ModelsCommandOptions, 'env'>) {
  const stdout = new CapturedOutput();
  const args = { command: 'models', json: false, color: true } as const;
  const config = { models: {} };
  const code = await modelsCommand({ args, config, stdout, fetch: nowhere, ...options });
  return { code, text: stdout.text };
}

const listed = (price: number) =>
  JSON.stringify({
    'claude-sonnet-5-5': {
      ...{ litellm_provider: 'anthropic', mode: 'chat', max_input_tokens: 777 },
      ...{ input_cost_per_token: price, output_cost_per_token: price },
    },
  });

function fileWith(text: string): string {
  const path = join(folder(), `table${++count}.json`);
  writeFileSync(path, text);
  return path;
}

describe('millrace models', () => {
  test('lists the models that can be used, with limits and prices', async () => {
    const { code, text } = await run({ env: homeWith() });
    expect(code).toBe(0);
    expect(text).toMatch(/anthropic\/claude-sonnet-5-5 +1,000,000 +128,000 +\d/);
    expect(text).toContain('ANTHROPIC_API_KEY');
    expect(text).toContain('demo');
  });

  test('says what to do if there is only the demo', async () => {
    const { ANTHROPIC_API_KEY: _, ...env } = homeWith();
    expect((await run({ env })).text).toContain('millrace doctor lists what to set');
    const ready = [homeWith(), { ...env, AWS_BEARER_TOKEN_BEDROCK: 'key' }];
    for (const set of ready)
      expect((await run({ env: set })).text).toContain('use --model provider/model');
  });

  test('prints JSON with what is configured', async () => {
    const info = { prices: { input: '1', output: '2' } };
    const provider = 'compatible' as const;
    const model = { provider, model: 'x', baseUrl: 'http://a.example/v1', info };
    const config = { models: { mine: model } };
    const args = { command: 'models', json: true, color: true } as const;
    const { text } = await run({ env: homeWith(), config, args });
    expect(JSON.parse(text)[0]).toEqual({ name: 'mine', from: 'configured', info });
  });

  test('stores a newer table, which is used from then on', async () => {
    const env = homeWith();
    const refresh = fileWith(listed(7e-6));
    const args = { command: 'models', json: false, color: true, refresh } as const;
    const { text } = await run({ env, args });
    const stored = join(String(env['XDG_CONFIG_HOME']), 'millrace', 'models.json');
    expect(text).toMatch(/^Stored \d+ models in /);
    expect(statSync(stored).mode & 0o777).toBe(0o600);
    const chosen = await chooseModel({ config: { models: {} }, env, fetch: nowhere });
    expect(chosen.contextTokens).toBe(777);
    expect(chosen.provider.info?.prices).toEqual({ input: '7', output: '7' });
    const again = { ...args, refresh: stored };
    await run({ env, args: again });
    expect(readFileSync(stored, 'utf8')).toContain('"contextTokens":777');
  });

  test.each([
    ['a missing file', () => join(folder(), 'nothing.json'), 'does not exist'],
    ['another file', () => fileWith('{"a":1}'), 'no row has a model'],
    ['a folder', () => folder(), 'folder'],
  ])('refuses %s and keeps the old table', async (_, path, why) => {
    const env = homeWith();
    const good = { command: 'models', json: false, color: true } as const;
    await run({ env, args: { ...good, refresh: fileWith(listed(7e-6)) } });
    const bad = run({ env, args: { ...good, refresh: path() } });
    await expect(bad).rejects.toThrow(ConfigError);
    await expect(bad).rejects.toThrow(why);
    const chosen = await chooseModel({ config: { models: {} }, env, fetch: nowhere });
    expect(chosen.contextTokens).toBe(777);
  });

  test('a stored table that is damaged is an error with the way out', async () => {
    const env = homeWith();
    const args = { command: 'models', json: false, color: true } as const;
    await run({ env, args: { ...args, refresh: fileWith(listed(7e-6)) } });
    writeFileSync(join(String(env['XDG_CONFIG_HOME']), 'millrace', 'models.json'), '{');
    const chosen = chooseModel({ config: { models: {} }, env, fetch: nowhere });
    await expect(chosen).rejects.toThrow(/models\.json.*--refresh/s);
  });
});

describe('23.2: a maximum cost', () => {
  const limits = { maxCost: { amount: '1', currency: 'USD' } };
  const unpriced = () => scriptedProvider(['Hi'], { info: {} });

  test('without a known price is refused, with the ways out', async () => {
    const built = testAgent({ provider: unpriced(), config: { limits } });
    await expect(built).rejects.toThrow(ModelError);
    await expect(built).rejects.toMatchObject({ code: 'no_price' });
    await expect(built).rejects.toThrow(/"prices".*--refresh.*"allowUnknownPrices"/s);
  });

  test('is accepted with a price, with allowUnknownPrices, and for the demo', async () => {
    const allowed = { limits: { ...limits, allowUnknownPrices: true } };
    const prices = { input: '1', output: '1' };
    const priced = scriptedProvider([], { info: { prices } });
    await testAgent({ provider: unpriced(), config: allowed });
    await testAgent({ provider: priced, config: { limits } });
    await testAgent({ provider: demoProvider({ pauseMs: 0 }), config: { limits } });
  });

  test('applies to the models of vendors, whose prices are known', async () => {
    const env = homeWith();
    const { provider } = await chooseModel({ config: { models: {} }, env, fetch: nowhere });
    await testAgent({ provider, config: { limits } });
  });
});
