import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { bashTool } from './bash-tool.ts';

/** Sets a variable of this process for one test. */
function setVariable(name: string, value: string): void {
  const before = process.env[name];
  process.env[name] = value;
  onTestFinished(() => {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  });
}

/**
 * Creates a repository whose program comes first in PATH, as `npx` arranges it. Returns the root and a mark.
 */
function repositoryWithProgram(name: string, real: string) {
  const root = temporaryFolder();
  const mark = join(temporaryFolder(), 'ran');
  const folder = join(root, 'node_modules/.bin');
  writeTree(folder, { [name]: `#!/bin/sh\necho "key $AGENT_KEY" >> ${mark}\nexec ${real} "$@"\n` });
  chmodSync(join(folder, name), 0o755);
  setVariable('AGENT_KEY', 'hush-hush');
  setVariable('PATH', `${folder}${delimiter}${process.env['PATH']}`);
  return { root, mark };
}

test.for(['mkfifo', 'bash'])(
  'attack: a program of the repository named %s does not start a command',
  async (name) => {
    const { root, mark } = repositoryWithProgram(name, `/usr/bin/${name}`);
    const { text } = await runTool(bashTool({ workspace: { root } }), { command: 'echo works' });
    expect(text).toBe('works');
    expect(existsSync(mark) ? readFileSync(mark, 'utf8') : 'did not run').toBe('did not run');
  },
);

test('18.890: attack: a known program is a script that starts a program of the repository', async () => {
  const { root, mark } = repositoryWithProgram('helper', '/bin/true');
  const tools = temporaryFolder();
  writeTree(tools, { du: '#!/bin/sh\nhelper\necho size\n' });
  chmodSync(join(tools, 'du'), 0o755);
  setVariable(
    'PATH',
    `${process.env['PATH']?.replace(delimiter, `${delimiter}${tools}${delimiter}`)}`,
  );
  const run = async (command: string) =>
    (await runTool(bashTool({ workspace: { root } }), { command })).text;
  expect(await run('du && pwd')).toContain('size');
  expect(existsSync(mark)).toBe(false);
  // A person approves every line that does more than read. Its programs can start programs of the repository.
  expect(await run('du; touch a')).toContain('size');
  expect(existsSync(mark)).toBe(true);
});

test('a line that only reads can run a program of the repository after a person approved it', async () => {
  const { root, mark } = repositoryWithProgram('wc', '/usr/bin/wc');
  await runTool(bashTool({ workspace: { root } }), { command: 'echo a | wc -c' });
  expect(existsSync(mark)).toBe(true);
});
