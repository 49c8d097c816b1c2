import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { SessionsArgs, TestArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { loadAgents } from '../serve/served-agents.ts';
import { sessionsCommand } from '../sessions/sessions-command.ts';
import { openStore } from '../store/open-store.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { testCommand } from './test-command.ts';

const folder = temporaryFolder('recorded');
const source = (path: string) =>
  JSON.stringify(new URL(`../../../../packages/${path}`, import.meta.url).href);
let count = 0;
let store: string;
let recordings: string;
let ran: string;
beforeEach(() => {
  count++;
  store = join(folder(), `${count}.db`);
  recordings = join(folder(), `recordings-${count}`);
  ran = join(folder(), `ran-${count}`);
});

interface Variant {
  readonly instructions?: string;
  readonly description?: string;
  readonly order?: string;
  readonly answers?: readonly string[];
}

/** Writes a module with an agent. Its tool appends a line to a file, which counts its executions. */
function moduleOf({
  instructions = 'You help customers.\nBe brief.',
  description = 'Looks up an order',
  order = '7',
  answers = ['It is on its way.', 'Still on its way.'],
}: Variant = {}): string {
  const path = join(folder(), `agents-${count}-${Math.random().toString(36).slice(2)}.ts`);
  writeFileSync(
    path,
    `import { appendFileSync } from 'node:fs';
import { createAgent, defineTool } from ${source('agent/src/index.ts')};
import { scriptedProvider } from ${source('providers/src/scripted/index.ts')};
const input = {
  '~standard': {
    version: 1, vendor: 'test', validate: (value) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
};
const look = defineTool({
  name: 'look', description: ${JSON.stringify(description)}, input,
  execute: async () => {
    appendFileSync(${JSON.stringify(ran)}, 'look\\n');
    return 'Order 7 is on its way. The key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789.';
  },
});
const call = { kind: 'tool_call', toolCallId: 'c1', name: 'look', arguments: ${JSON.stringify(JSON.stringify({ order }))} };
export const desk = ({ log }) => createAgent({
  log, tools: [look], instructions: ${JSON.stringify(instructions)},
  provider: scriptedProvider([{ content: { parts: [call] } }, ...${JSON.stringify(answers)}]),
});
`,
  );
  return path;
}

const common = () => ({
  ...{ config: { store }, env: {}, cwd: folder(), signal: new AbortController().signal },
  ...{ stdin: Object.assign(process.stdin, {}), stderr: new CapturedOutput() },
});

/** Records a session with the first version of the agent, and pins it. */
async function pin(session = 'monday', variant: Variant = {}): Promise<string> {
  const agents = moduleOf(variant);
  // The recording of a session with a hash chain has no links.
  const { log, close } = await openStore({ config: { store, chain: true }, env: {} });
  const [desk] = await loadAgents(agents, log);
  if (desk?.type !== 'loop') throw new Error('There is no agent');
  await desk.agent.run('Where is my order?', { session }).result;
  await close();
  const stdout = new CapturedOutput();
  const args: SessionsArgs = {
    ...{ command: 'sessions', action: 'pin', operands: [session, recordings], agents },
    ...{ all: false, json: false, yes: false, color: false },
  };
  const code = await sessionsCommand({ ...common(), args, stdout });
  expect(code).toBe(exitCodes.done);
  return stdout.text.trim();
}

async function run(variant: Variant, given: Partial<TestArgs> = {}) {
  const stdout = new CapturedOutput();
  const stderr = new CapturedOutput();
  const args: TestArgs = {
    ...{ command: 'test', operands: [recordings], agents: moduleOf(variant), mode: 'requests' },
    ...{ tools: 'recorded', accept: false, outputs: [], force: false, json: false, color: false },
    ...given,
  };
  const code = await testCommand({ ...common(), args, stdout, stderr });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

const executions = () => (existsSync(ran) ? readFileSync(ran, 'utf8').split('\n').length - 1 : 0);

test('an unchanged agent passes, and no tool runs', async () => {
  await pin();
  expect(executions()).toBe(1);
  for (const mode of ['exact', 'requests'] as const) {
    const { code, stdout } = await run({}, { mode });
    expect(stdout).toBe('1 recording: 1 same, 0 changed. 2 requests compared.\n');
    expect(code).toBe(exitCodes.done);
  }
  expect(executions()).toBe(1);
});

test('changes are grouped by cause, and accepted with --accept', async () => {
  await pin('monday');
  await pin('tuesday');
  const variant = { instructions: 'You help customers.\nBe kind.', description: 'Finds an order' };
  const { code, stdout } = await run(variant);
  expect(code).toBe(exitCodes.error);
  expect(stdout).toContain(
    'instructions: The instructions differ\n  4 requests in 2 recordings, first in turn 1 of monday\n',
  );
  expect(stdout).toContain('1 - Be brief.\n1 + Be kind.\n');
  expect(stdout).toContain('tool: description of tool look differs\n');
  expect(stdout).toContain('2 recordings: 0 same, 2 changed. 4 requests compared.');
  const accepted = await run(variant, { accept: true });
  expect(accepted.stdout).toContain('0 same, 2 changed, 2 accepted.');
  expect(accepted.code).toBe(exitCodes.done);
  expect((await run(variant)).code).toBe(exitCodes.done);
  expect((await run({})).code).toBe(exitCodes.error);
});

test('reports are written for people and machines, and texts cannot become markup', async () => {
  await pin();
  const outputs = ['html', 'xml', 'json', 'md'].map((type) =>
    join(folder(), `out-${count}/r.${type}`),
  );
  const { stdout } = await run(
    { instructions: '<script>alert(1)</script>\n```' },
    { outputs, json: true },
  );
  const [html = '', junit = '', json = '', markdown = ''] = outputs.map((path) =>
    readFileSync(path, 'utf8'),
  );
  expect(html).toContain('<ins>+&lt;script&gt;alert(1)&lt;/script&gt;</ins>');
  expect(html).not.toContain('<script');
  expect(junit).toContain('<testsuite name="millrace test" tests="1" failures="1" errors="0">');
  expect(junit).toContain('<failure message="turn 1, instructions: The instructions differ">');
  expect(JSON.parse(json)).toMatchObject({
    changed: 1,
    groups: [{ cause: 'instructions', count: 2 }],
  });
  expect(json).toBe(stdout);
  for (const path of outputs) expect(statSync(path).mode & 0o777).toBe(0o600);
  await expect(run({}, { outputs })).rejects.toThrow('exists already. Replace it with --force');
  expect(readFileSync(outputs[2] ?? '', 'utf8')).toBe(json);
  await run({}, { outputs, force: true });
  expect(JSON.parse(readFileSync(outputs[2] ?? '', 'utf8'))).toMatchObject({ changed: 0 });
  expect(markdown).toContain('| instructions | The instructions differ | 1 | 2 |');
  expect(markdown).toContain('````diff');
});

test('a recording has no keys, and is not overwritten', async () => {
  const path = await pin();
  expect(path).toBe(join(recordings, 'monday.recording.jsonl'));
  const text = readFileSync(path, 'utf8');
  expect(text).toContain('Order 7 is on its way.');
  expect(text).not.toContain('abcdefgh');
  await expect(pin()).rejects.toThrow('Session monday is pinned already');
});

test('a key in the arguments of a call is masked too, and the agent still does the same', async () => {
  const order = `7 ${'x'.repeat(60)} sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789`;
  const text = readFileSync(await pin('monday', { order }), 'utf8');
  expect(text).not.toContain('abcdefgh');
  expect((await run({ order })).code).toBe(exitCodes.done);
});

test('live, the model of the agent answers from the first difference on, with recorded results', async () => {
  await pin();
  const { stdout } = await run({ instructions: 'Be kind.' }, { mode: 'live' });
  expect(stdout).toContain(
    'Live monday: from turn 1, 2 instead of 2 turns, 1 recorded and 0 unknown calls, ended with stop',
  );
  expect(executions()).toBe(1);
  const real = await run({ instructions: 'Be kind.' }, { mode: 'live', tools: 'real' });
  expect(real.stdout).toContain('0 recorded and 0 unknown calls, ran look, ended with stop');
  expect(executions()).toBe(2);
});

test('25: live, the error of a run that fails is printed', async () => {
  await pin();
  const { stdout } = await run({ instructions: 'Be kind.', answers: [] }, { mode: 'live' });
  expect(stdout).toMatch(/^Live monday: .* ended with error: .*script/m);
});

test('a session of the store is compared without its requests', async () => {
  await pin();
  const { code, stdout, stderr } = await run(
    { instructions: 'Be kind.' },
    { operands: ['monday'] },
  );
  expect(stdout).toBe('1 recording: 1 same, 0 changed. 0 requests compared.\n');
  expect(stderr).toContain('1 of 1 sessions are not pinned');
  expect(code).toBe(exitCodes.done);
});

test('mistakes have a message with the fix', async () => {
  await pin();
  await expect(run({}, { agents: undefined })).rejects.toThrow('--agents <file>');
  const missing = join(folder(), 'missing.ts');
  await expect(run({}, { agents: missing })).rejects.toThrow(
    `Cannot load agents from ${missing}: the file does not exist. Choose another with --agents`,
  );
  const { stdout } = await run({}, { agent: 'nobody' });
  expect(stdout).toContain(
    'Failed: monday: There is no agent nobody. The agents of the module with a loop: desk',
  );
  writeFileSync(join(recordings, 'bad.recording.jsonl'), '{"millrace":"recording"}\n');
  const damaged = await run({});
  expect(damaged.stdout).toContain('Failed: bad: Cannot read the recording');
  expect(damaged.code).toBe(exitCodes.error);
  await expect(run({}, { operands: ['nope.jsonl'] })).rejects.toThrow(
    /^Cannot find session nope.jsonl: .* There is no file .*nope.jsonl either$/,
  );
  await expect(run({}, { operands: ['nothing'] })).rejects.toMatchObject({
    code: 'no_such_session',
  });
});
