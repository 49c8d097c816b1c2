import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { describe, expect, onTestFinished, test } from 'vitest';
import { buildAgent } from '../agent/build-agent.ts';
import { loadConfig } from '../config/load-config.ts';
import { demoProvider } from '../demo/demo-provider.ts';
import { temporaryFolder, writeExtension } from '../testing/temporary-folder.ts';
import { defaultAgents } from './default-agents.ts';
import { agentsFromExports, loadAgents } from './served-agents.ts';

const log = memoryLog();
const folder = temporaryFolder('agents');
const options = { log, fileName: 'agents.ts' };
const provider = scriptedProvider(['Yes.']);
const sync = { type: 'sync', name: 'one', onMessage: async () => [] };
const later = { type: 'async', name: 'two', onEvent: async () => {} };

describe('what a module exports', () => {
  test('is served under its own name, one by one, in lists, and made by functions', async () => {
    const made = await agentsFromExports(
      { sync, more: [later], all: async () => [{ ...sync, name: 'three' }] },
      options,
    );
    expect(made.map(({ type, name }) => [type, name])).toEqual([
      ['sync', 'one'],
      ['async', 'two'],
      ['sync', 'three'],
    ]);
  });

  test('is an agent loop where a function makes one with the log, named after the export or the file', async () => {
    const make = (given: { readonly log: typeof log }) => {
      expect(given.log).toBe(log);
      return createAgent({ provider, ...given });
    };
    const made = await agentsFromExports({ reviewBot: make, default: make }, options);
    expect(made).toMatchObject([
      { type: 'loop', name: 'review-bot' },
      { type: 'loop', name: 'agents' },
    ]);
  });

  test.each([
    ['nothing', {}, 'Cannot load agents from agents.ts: it exports nothing'],
    ['a number', { answer: 42 }, 'its export "answer" is a number. An agent is {'],
    ['null', { answer: null }, 'its export "answer" is null'],
    ['an object that is none', { answer: {} }, 'its export "answer" is not an agent'],
    ['one without its handler', { a: { ...sync, onMessage: 1 } }, 'its export "a" is not an agent'],
    ['a name that cannot be in a path', { a: { ...sync, name: 'A b' } }, 'needs a `name` of lower'],
    ['a loop with another log', { a: createAgent({ provider }) }, 'has its own log. Export ({'],
    [
      'a served loop with another log',
      { a: { type: 'loop', name: 'a', agent: createAgent({ provider }) } },
      'has its own log. Export ({ log }) =>',
    ],
  ])('cannot be %s', async (_, exports, message) => {
    await expect(agentsFromExports(exports, options)).rejects.toThrow(message);
  });
});

describe('a file of agents', () => {
  test('may be TypeScript', async () => {
    const path = join(folder(), 'mine.ts');
    const text = 'async (): Promise<readonly never[]> => []';
    writeFileSync(path, `export default { type: 'sync', name: 'mine', onMessage: ${text} };`);
    expect(await loadAgents(path, log)).toMatchObject([{ name: 'mine' }]);
  });

  test('that does not exist or does not load is reported with its name and the problem', async () => {
    const path = join(folder(), 'none.ts');
    await expect(loadAgents(path, log)).rejects.toThrow(
      `Cannot load agents from ${path}: the file does not exist`,
    );
    const broken = join(folder(), 'broken.ts');
    writeFileSync(broken, 'throw new RangeError("no key")');
    await expect(loadAgents(broken, log)).rejects.toThrow(
      `Cannot load ${broken}: RangeError: no key`,
    );
  });
});

test('22.10: an error in a module has its line', () => {
  const cwd = folder();
  const sources = {
    'types.ts': 'export const a: number = 1;\nexport const b: number = ;\n',
    'enum.ts': 'export const a: number = 1;\n\nenum X { A }\n',
    'twice.ts': 'export const a: number = 1;\n// a\nconst a = 2;\n',
    'plain.mjs': 'export const a = 1;\nexport const b = ;\n',
    'throws.ts': 'const a: number = 1;\n\nexport const b = missing(a);\n',
  };
  for (const [name, source] of Object.entries(sources)) writeFileSync(join(cwd, name), source);
  // Vitest compiles modules itself. So a separate Node process loads the module.
  const script = `
    const { loadAgents } = await import(${JSON.stringify(new URL('./served-agents.ts', import.meta.url).href)});
    for (const path of process.argv.slice(1))
      await loadAgents(path, undefined).catch((error) => console.log(error.message));`;
  const paths = Object.keys(sources).map((name) => join(cwd, name));
  const flags = ['--conditions=@millrace/source', '--no-warnings', '--input-type=module', '-e'];
  const output = execFileSync(process.execPath, [...flags, script, ...paths], { encoding: 'utf8' });
  expect(output.trimEnd().split('\n')).toEqual([
    `Cannot load ${paths[0]}: SyntaxError: Expression expected, at ${paths[0]}:2`,
    expect.stringMatching(/^Cannot load .*: SyntaxError: .*enum.*, at .*enum\.ts:3$/),
    expect.stringMatching(/^Cannot load .*: SyntaxError: .*already.*, at .*twice\.ts:3$/),
    expect.stringMatching(/^Cannot load .*: SyntaxError: .*, at .*plain\.mjs:2$/),
    expect.stringMatching(/^Cannot load .*: ReferenceError: .*, at .*throws\.ts:3$/),
  ]);
});

test('22.10: with a key in the environment, the coding agent is served beside the demo', async () => {
  const cwd = folder();
  const env = { HOME: cwd, ANTHROPIC_API_KEY: 'sk-ant-test' };
  const { agents, close } = await defaultAgents({ log, cwd, env, data: [], mayChange: false });
  onTestFinished(close);
  expect(agents.map(({ type, name }) => [type, name])).toEqual([
    ['loop', 'coder'],
    ['loop', 'model'],
    ['loop', 'demo'],
    ['sync', 'echo'],
  ]);
  expect(agents[0]?.description).toMatch(/^anthropic\/claude-.*after approval$/);
});

test('22.10: the coding agent offers the models of all keys', async () => {
  const cwd = folder();
  const env = { HOME: cwd, ANTHROPIC_API_KEY: 'sk-ant-test', OPENAI_API_KEY: 'sk-test' };
  const { agents, close } = await defaultAgents({ log, cwd, env, data: [], mayChange: false });
  onTestFinished(close);
  const [coder] = agents;
  if (coder?.type !== 'loop') expect.fail();
  expect(coder.models?.[0]).toMatch(/^anthropic\/claude-/);
  expect(coder.models).toEqual(expect.arrayContaining([expect.stringMatching(/^openai\/gpt-/)]));
  expect(coder.models).not.toContain('demo');
  expect(new Set(coder.models).size).toBe(coder.models?.length);
});

test("23: the coding agent has the user's own extensions, and not those of the project", async () => {
  const cwd = folder();
  const provider = (name: string) => `export default (millrace) => {
    millrace.tool({ name: '${name}_tool', description: 'A tool', execute: () => 'Fine' });
    millrace.provider({
      name: '${name}',
      async *stream({ tools }) {
        const names = tools.map((tool) => tool.function.name);
        yield { type: 'text', text: names.filter((one) => one.endsWith('_tool')).join() };
      },
    });
  };`;
  writeExtension(join(cwd, '.config/millrace'), 'acme.ts', provider('acme'));
  writeExtension(join(cwd, '.millrace'), 'planted.ts', provider('planted'));
  const env = { HOME: cwd, MILLRACE_MODEL: 'acme' };
  const { agents, notes, close } = await defaultAgents({
    log,
    cwd,
    env,
    data: [],
    mayChange: false,
  });
  onTestFinished(close);
  expect(notes).toEqual([]);
  const [coder] = agents;
  if (coder?.type !== 'loop') expect.fail();
  const { text } = await coder.agent.run('Which tools do you have?').result;
  expect(text).toBe('acme_tool');
});

test('a served agent can ask the user, and a script cannot', async () => {
  const cwd = folder();
  const config = await loadConfig({ args: {}, env: { HOME: cwd }, cwd });
  const chosen = { provider: demoProvider({ cwd }), label: 'demo', why: '', isDemo: true };
  const built = (isServed: boolean) =>
    buildAgent({ chosen, log, cwd, approve: 'park', config, isServed });
  for (const isServed of [true, false]) {
    const { tools, close } = await built(isServed);
    onTestFinished(close);
    expect(tools.some(({ name }) => name === 'ask_user')).toBe(isServed);
  }
});

test('22.10: a model that cannot be used is a note, and the demo is served', async () => {
  const cwd = folder();
  const env = { HOME: cwd, MILLRACE_MODEL: 'anthropic/claude-sonnet-4-5' };
  const { agents, notes } = await defaultAgents({ log, cwd, env, data: [], mayChange: false });
  expect(agents.map(({ name }) => name)).toEqual(['demo', 'echo']);
  expect(notes[0]).toMatch(/^There is no agent with a model: .*ANTHROPIC_API_KEY/);
});
