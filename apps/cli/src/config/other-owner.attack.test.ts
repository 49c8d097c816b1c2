import { chmodSync, lchownSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { isRequirementMissing } from '../../../../packages/log/src/testing/external-programs.ts';
import { readProjectInstructions } from '../agent/system-prompt.ts';
import { folderWith } from '../testing/test-agent.ts';
import { loadConfig } from './load-config.ts';

// A different user of the machine puts files into a folder that all users share, such as /tmp. The
// user works in a folder below it.

const missing = isRequirementMissing(
  process.geteuid?.() === 0,
  'The files get another owner, which needs root',
);
const neighbour = 65_534;
const other = 65_533;

let shared: string;
let cwd: string;
beforeEach(() => {
  shared = folderWith({ 'mine/a.txt': '' });
  chmodSync(shared, 0o1777);
  cwd = join(shared, 'mine');
});

function plant(files: Readonly<Record<string, string>>, owner = neighbour): void {
  const folder = folderWith(files);
  for (const name of Object.keys(files)) {
    symlinkSync(join(folder, name), join(shared, name));
    lchownSync(join(shared, name), owner, owner);
    lchownSync(join(folder, name), owner, owner);
  }
}
const load = () => loadConfig({ args: {}, env: { HOME: folderWith() }, cwd });

describe.skipIf(missing)('with files of another user', () => {
  test('attack: a repository in the folder above does not make its settings count', async () => {
    plant({ '.git': 'gitdir: x\n', 'millrace.json': '{"system":"evil"}', 'AGENTS.md': 'evil' });
    const { system, files } = await load();
    expect({ system, files }).toEqual({ system: undefined, files: [] });
    expect(await readProjectInstructions(cwd)).toEqual([]);
  });

  test('attack: files in a shared folder in which the user works do not count', async () => {
    plant({ 'millrace.json': '{"system":"evil"}', 'AGENTS.md': 'evil' });
    cwd = shared;
    const { system, warnings } = await load();
    expect(system).toBeUndefined();
    expect(warnings).toEqual([
      `${join(shared, 'millrace.json')} is not used: it belongs to another user.`,
    ]);
    const problems: string[] = [];
    expect(await readProjectInstructions(cwd, (one) => problems.push(one))).toEqual([]);
    expect(problems).toEqual([expect.stringContaining('it belongs to another user')]);
  });

  test('files of the owner of the folder count, also for root', async () => {
    plant({ 'millrace.json': '{"system":"good"}' });
    lchownSync(shared, neighbour, neighbour);
    cwd = shared;
    expect((await load()).system).toBe('good');
    lchownSync(shared, other, other);
    expect((await load()).system).toBeUndefined();
  });
});
