import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, type TestContext, test } from 'vitest';
import { attackAgent, endAgents, sandboxUsers } from '../../testing/sandbox/use-sandbox.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';

// A second mount shows hidden and protected files at a further path. Examples are `/mnt/wslg/distro` of WSL 2, bind
// mounts, and the top folder of a btrfs file system.

endAgents();

type User = (typeof sandboxUsers)[number];

/** Starts an agent that sees the mounts of a script. Only root can mount. */
function agentWith(
  user: User,
  context: Pick<TestContext, 'skip'>,
  mount: NonNullable<NonNullable<Parameters<typeof attackAgent>[2]>['mount']>,
) {
  if (process.getuid?.() !== 0) context.skip('only root can mount');
  return attackAgent(user, context, { mount });
}

describe.for(sandboxUsers)('as %s', (user) => {
  test('18.720: attack: a command reads keys in a second mount of the whole disk', async (context) => {
    const agent = await agentWith(
      user,
      context,
      ({ outside }) => `mkdir ${outside}/distro; mount --bind / ${outside}/distro`,
    );
    const { home, outside } = agent;
    agent.write(home, { '.ssh/id': 'hush', '.netrc': 'hush', 'notes.txt': 'plain' });
    const options = { hide: [join(home, '.ssh'), join(home, '.netrc')] };
    const paths = ['.ssh/id', '.netrc', 'notes.txt'].map(
      (name) => `${outside}/distro${home}/${name}`,
    );
    const output = await agent.run(
      `cat ${paths.join(' ')}; cp -r ${outside}/distro${home} .; cat home/.ssh/id`,
      {
        options,
      },
    );
    expect(output).toContain('plain');
    expect(output).not.toContain('hush');
  });

  test('18.721: attack: a command reads a denied path in a second mount of a folder', async (context) => {
    const agent = await agentWith(
      user,
      context,
      ({ workspace, outside }) =>
        `mkdir ${outside}/all ${workspace}/in; mount --bind ${workspace} ${outside}/all; mount --bind ${workspace} ${workspace}/in`,
    );
    agent.write(agent.workspace, { 'private/key': 'hush', '.env': 'hush', 'a.txt': 'plain' });
    const denied = ['private', '.env'].map((name) => join(agent.workspace, name));
    const output = await agent.run(
      `for at in ${agent.outside}/all in .; do cat $at/private/key $at/.env $at/a.txt; done; cat in/in/.env; mv in/private in/b; cat b/key in/b/key`,
      { denied },
    );
    expect(output.match(/plain/g)).toHaveLength(3);
    expect(output).not.toContain('hush');
  });

  test('18.722: attack: a command reads a part of a hidden folder that is mounted elsewhere', async (context) => {
    const agent = await agentWith(
      user,
      context,
      ({ home, outside }) =>
        `mkdir -p ${home}/.ssh/keys ${outside}/part; echo hush > ${home}/.ssh/keys/id; chmod -R a+rX ${home}; mount --bind ${home}/.ssh/keys ${outside}/part`,
    );
    const options = { hide: [join(agent.home, '.ssh')] };
    const output = await agent.run(`cat ${agent.outside}/part/id`, { options });
    expect(output).toContain('Permission denied');
    expect(output).not.toContain('hush');
  });

  test('18.723: attack: a command reads a key in the upper folder of an overlay', async (context) => {
    const agent = await agentWith(user, context, ({ home, outside }) =>
      [
        `mkdir ${outside}/low; mount -t tmpfs layers ${outside}/low`,
        `mkdir -p ${outside}/low/upper/.ssh ${outside}/low/work; echo hush > ${outside}/low/upper/.ssh/id`,
        `chmod -R a+rX ${outside}/low; mount -t overlay overlay -o lowerdir=${home},upperdir=${outside}/low/upper,workdir=${outside}/low/work ${home}`,
      ].join('\n'),
    );
    const options = { hide: [join(agent.home, '.ssh')] };
    const output = await agent.run(`cat ${agent.home}/.ssh/id ${agent.outside}/low/upper/.ssh/id`, {
      options,
    });
    expect(output.match(/Permission denied/g)).toHaveLength(2);
    expect(output).not.toContain('hush');
  });

  test('18.724: attack: a command changes protected files through a second mount in the workspace', async (context) => {
    const agent = await agentWith(user, context, ({ workspace, outside, home }) =>
      [
        `mkdir -p ${workspace}/in ${workspace}/home; mount --bind ${workspace} ${workspace}/in`,
        `mount --bind ${home} ${workspace}/home`,
        `mkdir ${outside}/all; mount --bind ${workspace} ${outside}/all`,
      ].join('\n'),
    );
    const { workspace, home, outside } = agent;
    agent.write(workspace, {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/config': '[core]\n\tbare = false\n',
      '.git/objects/x': '',
      '.git/refs/x': '',
      '.vscode/tasks.json': '{}',
    });
    agent.write(home, { tool: 'good' });
    const options = {
      protect: ['.vscode', join(home, 'tool')],
      writable: [join(outside, 'all')],
    };
    const targets = ['.git/config', '.vscode/tasks.json'].flatMap((name) => [
      `in/${name}`,
      `${outside}/all/${name}`,
    ]);
    await agent.run(
      `for one in ${targets.join(' ')} home/tool; do echo evil >> $one; done
       mv in/.git in/g; mv in/.vscode in/v; rm -rf in/.vscode ${outside}/all/.git`,
      { options },
    );
    expect(readFileSync(join(workspace, '.git/config'), 'utf8')).toBe('[core]\n\tbare = false\n');
    expect(readFileSync(join(workspace, '.vscode/tasks.json'), 'utf8')).toBe('{}');
    expect(readFileSync(join(home, 'tool'), 'utf8')).toBe('good');
  });
});

test('18.727: a mount of a denied folder contains the workspace, so the policy asks', (context) => {
  if (process.getuid?.() !== 0) context.skip('only root can mount');
  const folder = temporaryFolder();
  for (const name of ['data/work', 'again']) mkdirSync(join(folder, name), { recursive: true });
  const program = `
    import { findDeniedPaths } from '${import.meta.dirname}/../hidden-paths.ts';
    import { permissionPolicy } from '${import.meta.dirname}/../../permissions/permission-policy.ts';
    const rules = [{ path: '${folder}/data/**', decision: 'deny' }];
    const policy = permissionPolicy({ root: '${folder}/again/work', rules });
    console.log(JSON.stringify(await findDeniedPaths(policy, 'bash')));`;
  const gapAfter = (mount: string) => {
    const node = [
      process.execPath,
      '--conditions=@millrace/source',
      '--input-type=module',
      '-e',
      program,
    ];
    const shell = ['-m', 'sh', '-ec', `${mount}\nexec "$@"`, '-', ...node];
    return JSON.parse(execFileSync('unshare', shell, { encoding: 'utf8' }));
  };
  const place = join(folder, 'again');
  expect(gapAfter(`mount --bind ${folder}/data ${place}`)).toMatchObject({
    gap: `a mount shows a denied path at ${place}`,
  });
  const gap = gapAfter(`mkdir ${place}/work`).gap;
  expect(gap).toBeUndefined();
});
