import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { sessionId, toolCallId, toolCallPart } from '@millrace/core';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../command/run-command.ts';
import { loadExtensions } from '../extensions/load-extensions.ts';
import { expandPrompt, isListed, slashPrompts } from '../extensions/slash-prompts.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { testAgent } from '../testing/test-agent.ts';

// Plugins with the folders and the manifest of Claude Code.

const folder = temporaryFolder('other-plugins');
let count = 0;
let base: string;
let env: { readonly HOME: string; readonly PATH: string | undefined };

const write = (path: string, text: string) => {
  mkdirSync(join(base, path, '..'), { recursive: true });
  writeFileSync(join(base, path), text);
};
const hooks = (events: Readonly<Record<string, string>>) => ({
  description: 'Hooks of orders',
  hooks: Object.fromEntries(
    Object.entries(events).map(([event, command]) => [
      event,
      [{ hooks: [{ type: 'command', command }] }],
    ]),
  ),
});

beforeEach(() => {
  base = join(folder(), String(++count));
  mkdirSync(join(base, 'project/.git'), { recursive: true });
  env = { HOME: join(base, 'home'), PATH: process.env['PATH'] };
  mkdirSync(env.HOME);
  const manifest = { name: 'orders', skills: './more/late/', commands: ['./more/refund.md'] };
  write('shop/.claude-plugin/plugin.json', JSON.stringify(manifest));
  write('shop/commands/help.md', `Read \${CLAUDE_PLUGIN_ROOT}/rules.md.`);
  write('shop/commands/README.md', 'These are the commands.');
  write('shop/more/refund.md', 'Refund order $1.');
  write(
    'shop/skills/status/SKILL.md',
    `---\ndescription: Status\n---\nRun \${CLAUDE_SKILL_DIR}/a.sh`,
  );
  write('shop/more/late/SKILL.md', '---\nname: late\ndescription: Late orders\n---\nLook.');
  write('shop/agents/clerk.md', '---\nname: clerk\ndescription: A clerk\n---\nYou are a clerk.');
  write('shop/hooks/hooks.json', JSON.stringify(hooks({ Stop: 'true' })));
});

async function add(path: string) {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const { signal } = new AbortController();
  const argv = ['plugins', 'add', path, '--yes'];
  const stdin = Readable.from([]);
  const code = await runCommand({ argv, env, cwd: base, stdin, stdout, stderr, signal });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

const load = async () =>
  (await loadExtensions({ env, cwd: join(base, 'project'), config: {} })).extensions;

describe('23: a plugin of Claude Code', () => {
  test('is added, and all its parts are used', async () => {
    expect(await add('./shop')).toMatchObject({ code: 0, stderr: '' });
    const { skills, commands, agents, hooks: found, problems } = await load();
    expect(problems).toEqual([]);
    const names = [...skills, ...commands, ...agents].map(({ name }) => name);
    expect(names).toEqual(['status', 'late', 'help', 'refund', 'clerk']);
    expect(found.map(({ event }) => event)).toEqual(['Stop']);
  });

  test('has commands and skills with its name in front, and lists show the short names', async () => {
    await add('./shop');
    const extensions = await load();
    const copy = join(env.HOME, '.config/millrace/plugins/orders');
    const listed = slashPrompts(extensions).filter(isListed);
    expect(listed.map(({ name }) => name)).toEqual(['/help', '/refund', '/status', '/late']);
    const texts = async (prompt: string) => (await expandPrompt(extensions, prompt)).join();
    expect(await texts('/orders:refund 17')).toContain('Refund order 17.');
    expect(await texts('/orders:help')).toContain(`Read ${copy}/rules.md.`);
    expect(await texts('/orders:status')).toContain(`Run ${copy}/skills/status/a.sh`);
    const provider = scriptedProvider([
      { content: { parts: [toolCallPart(toolCallId('1'), 'skill', { name: 'orders:late' })] } },
      'Done.',
    ]);
    const { agent } = await testAgent({ provider, extensions, env, cwd: join(base, 'project') });
    await agent.run('Go', { session: sessionId('s') }).result;
    expect(JSON.stringify(provider.requests.at(-1))).toContain('Skill late, in the folder');
  });

  test('with a name that another plugin has, keeps its commands under its full name', async () => {
    write('cafe/commands/refund.md', 'Refund the coffee.');
    expect((await add('./shop')).code).toBe(0);
    expect((await add('./cafe')).code).toBe(0);
    const extensions = await load();
    expect((await expandPrompt(extensions, '/refund 1')).join()).toContain('Refund order 1.');
    expect((await expandPrompt(extensions, '/cafe:refund')).join()).toContain('coffee');
  });

  test('has hooks that start in the folder of the session, and write into a folder of their own', async () => {
    const run = `cat "\${CLAUDE_PLUGIN_ROOT}/note.txt" state.txt > "\${CLAUDE_PLUGIN_DATA}/seen"`;
    write('shop/note.txt', 'plugin ');
    write('shop/hooks/check.sh', 'pwd > "$CLAUDE_PLUGIN_DATA/place"');
    write('project/state.txt', 'project');
    write('project/hooks/check.sh', 'echo EVIL');
    const own = hooks({ SessionStart: run });
    write('shop/hooks/hooks.json', JSON.stringify(own));
    const inline = hooks({ UserPromptSubmit: 'sh hooks/check.sh' }).hooks;
    write('shop/.claude-plugin/plugin.json', JSON.stringify({ name: 'orders', hooks: inline }));
    await add('./shop');
    const provider = scriptedProvider(['Hello.']);
    const extensions = await load();
    const { agent } = await testAgent({ provider, extensions, env, cwd: join(base, 'project') });
    await agent.run('Hi', { session: sessionId('s') }).result;
    const data = join(env.HOME, '.config/millrace/plugin-data/orders');
    expect(readFileSync(join(data, 'seen'), 'utf8')).toBe('plugin project');
    // A relative path names a script of the plugin, and never one of the project.
    expect(readFileSync(join(data, 'place'), 'utf8').trim()).toMatch(/plugins\/orders$/);
    expect((await load()).problems).toEqual([]);
  });

  test('in a list of plugins is named', async () => {
    const list = { name: 'market', plugins: [{ name: 'orders', source: './plugins/orders' }] };
    write('market/.claude-plugin/marketplace.json', JSON.stringify(list));
    const { code, stderr } = await add('./market');
    expect([code, stderr]).toEqual([2, expect.stringContaining('market/plugins/orders')]);
  });

  test('cannot name paths outside of its folder', async () => {
    write('secret/SKILL.md', '---\ndescription: Secret\n---\nSecret.');
    const manifest = { name: 'orders', skills: '../../../../../secret' };
    write('shop/.claude-plugin/plugin.json', JSON.stringify(manifest));
    expect((await add('./shop')).code).toBe(0);
    const { skills, problems } = await load();
    expect(skills.map(({ name }) => name)).toEqual(['status']);
    expect(problems).toEqual([expect.stringContaining('leads out of the plugin')]);
  });
});
