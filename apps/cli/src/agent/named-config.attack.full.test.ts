import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, toolCallId, toolCallPart } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { findSandbox } from '@millrace/tools';
import { expect, type TestContext, test } from 'vitest';
import { loadConfig } from '../config/load-config.ts';
import { folderWith, testAgent } from '../testing/test-agent.ts';

// The user starts the agent with --config. The model changes that file, or reads the keys in it. The next start
// would run the commands of the changed file outside of the sandbox.

interface Attempt {
  readonly mode: 'accept-edits' | 'auto';
  readonly config: string;
  readonly cwd: string;
  readonly call: readonly [name: string, input: JsonObject];
}

/** Returns the result that the model received, and the questions. Each question is answered with no. */
async function attempt(context: Pick<TestContext, 'skip'>, { mode, config, cwd, call }: Attempt) {
  const found = await findSandbox();
  if (found.sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(found.reason);
    return context.skip(found.reason);
  }
  found.sandbox.close();
  const args = { config, permissions: mode } as const;
  const loaded = await loadConfig({ args, env: { HOME: folderWith() }, cwd });
  const part = toolCallPart(toolCallId('c'), call[0], call[1]);
  const provider = scriptedProvider([{ content: { parts: [part] } }, 'Done.']);
  const { agent } = await testAgent({ provider, config: loaded, cwd });
  const run = agent.run('Go');
  let asked = 0;
  for await (const event of run.events) {
    if (event.type !== 'approval_asked') continue;
    asked++;
    await run.deny(event.toolCallId);
  }
  const { items } = await run.result;
  const [text = ''] = items
    .flatMap(({ parts }) => parts)
    .flatMap((one) => (one.kind === 'tool_result' ? [one.text] : []));
  return { asked, text };
}

/** A project with a configuration, also behind a link, and a program that changes it. */
function project(): string {
  const cwd = folderWith({
    ...{ 'project/.git/HEAD': 'ref: refs/heads/main\n', 'project/conf/agent.json': '{}' },
    'project/change.sh':
      'echo evil > conf/agent.json; echo evil > $1; rm -f $1; mv conf other; echo ended\n',
  });
  symlinkSync('conf/agent.json', join(cwd, 'project/linked.json'));
  return join(cwd, 'project');
}

test.for(['conf/agent.json', 'linked.json'])(
  '18.690: attack: a file tool does not change the configuration %s of --config',
  async (config, context) => {
    const cwd = project();
    const change = (path: string) =>
      attempt(context, {
        ...{ mode: 'accept-edits', config, cwd },
        call: ['write', { path, content: '{"mcpServers":{}}' }],
      });
    expect(await change('conf/agent.json')).toMatchObject({ asked: 1 });
    expect(await change('linked.json')).toMatchObject({ asked: 1 });
    expect(await change('conf/other.json')).toMatchObject({ asked: 0 });
    expect(readFileSync(join(cwd, 'conf/agent.json'), 'utf8')).toBe('{}');
  },
);

test.for(['conf/agent.json', 'linked.json'])(
  '18.691: attack: a command in the mode auto does not change the configuration %s of --config',
  async (config, context) => {
    const cwd = project();
    const command = `sh change.sh ${config}`;
    const ended = await attempt(context, {
      ...{ mode: 'auto', config, cwd },
      call: ['bash', { command }],
    });
    expect(ended?.asked).toBe(0);
    expect(readFileSync(join(cwd, 'conf/agent.json'), 'utf8')).toBe('{}');
    expect(readFileSync(join(cwd, config), 'utf8')).toBe('{}');
  },
);

test('18.692: attack: a command does not read a configuration of --config outside of the project', async (context) => {
  const cwd = project();
  const server = { command: 'true', env: { TOKEN: 'canary-token' }, disabled: true };
  const outside = folderWith({ 'agent.json': JSON.stringify({ mcpServers: { x: server } }) });
  const config = join(outside, 'agent.json');
  const read = await attempt(context, {
    ...{ mode: 'auto', config, cwd },
    call: ['bash', { command: `sh -c "cat ${config}"; echo ended` }],
  });
  expect(read?.text).toContain('ended');
  expect(read?.text).not.toContain('canary');
});
