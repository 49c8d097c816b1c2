import {
  chownSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { processesIn } from '../testing/processes.ts';
import {
  type AttackedAgent,
  attackAgent,
  endAgents,
  sandboxUsers,
} from '../testing/sandbox/use-sandbox.ts';

// While a command runs, a program outside of the sandbox replaces a guarded file. Git and editors create a
// new file and rename it. The kernel then removes the mount that guards the file.

endAgents();

const config = '[core]\n\tbare = false\n';
const repository = {
  '.git/HEAD': 'ref: refs/heads/main\n',
  '.git/config': config,
  '.git/objects/x': '',
  '.git/refs/x': '',
};

/** Replaces a file after the command has started. */
async function replaceLater(agent: AttackedAgent, name: string, content: string): Promise<void> {
  while (!existsSync(join(agent.workspace, 'started'))) await setTimeout(5);
  const path = join(agent.workspace, name);
  const { uid, gid } = statSync(path);
  writeFileSync(`${path}.new`, content);
  chownSync(`${path}.new`, uid, gid);
  renameSync(`${path}.new`, path);
}

/** Returns a command that waits until it can write a file. */
const wait = (name: string, text: string) => `touch started
for i in $(seq 400); do (printf '${text}' >> ${name}) 2>/dev/null; sleep 0.02; done`;

describe.for(sandboxUsers)('as %s', (user) => {
  const read = (agent: AttackedAgent, name: string) =>
    readFileSync(join(agent.workspace, name), 'utf8');

  test('attack 7: a command writes .git/config after git has replaced it', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, repository);
    const attack = agent.run(wait('.git/config', '[core]\\nfsmonitor = evil\\n'));
    await replaceLater(agent, '.git/config', `${config}[user]\n\tname = A\n`);
    expect(await attack).toContain('It was stopped by the sandbox');
    expect(read(agent, '.git/config')).not.toContain('evil');
    expect(read(agent, '.git/config')).toContain('bare = false');
  });

  test('18.78: attack: a command redirects git push after git has replaced .git/config', async (context) => {
    const agent = await attackAgent(user, context);
    const remote = `${config}[remote "origin"]\n\turl = https://example.com/a\n`;
    agent.write(agent.workspace, { ...repository, '.git/config': remote });
    const redirect = '[remote "origin"]\\n\\tpushurl = https://evil.example/a\\n';
    const attack = agent.run(wait('.git/config', redirect));
    await replaceLater(agent, '.git/config', `${remote}[branch "main"]\n\tremote = origin\n`);
    expect(await attack).toContain('It was stopped by the sandbox');
    expect(read(agent, '.git/config')).not.toContain('evil');
    expect(read(agent, '.git/config')).toContain('example.com');
  });

  test('attack: a hidden .git/config stays guarded after git has replaced it', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, repository);
    const options = { hide: [join(agent.workspace, '.git/config')] };
    const attack = agent.run(wait('.git/config', '[core]\\nfsmonitor = evil\\n'), { options });
    await replaceLater(agent, '.git/config', `${config}[user]\n\tname = A\n`);
    expect(await attack).toContain('It was stopped by the sandbox');
    expect(read(agent, '.git/config')).not.toContain('evil');
    expect(read(agent, '.git/config')).toContain('bare = false');
  });

  test('attack: a command reads a hidden file after it was replaced', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, { 'keys/token': 'old' });
    const options = { hide: [join(agent.workspace, 'keys/token')] };
    const command = 'touch started; while ! grep hush keys/token; do sleep 0.02; done; sleep 20';
    const attack = agent.run(command, { options });
    await replaceLater(agent, 'keys/token', 'hush');
    expect(await attack).toContain('It was stopped by the sandbox');
    expect(read(agent, 'keys/token')).toBe('hush');
  });

  test('attack 7: a command writes the file .git after it was replaced', async (context) => {
    const agent = await attackAgent(user, context);
    const link = 'gitdir: ./bare\n';
    agent.write(agent.workspace, { '.git': link, 'bare/HEAD': 'ref: refs/heads/main\n' });
    const attack = agent.run(wait('.git', 'evil'));
    await replaceLater(agent, '.git', `${link}\n`);
    expect(await attack).toContain('It was stopped by the sandbox');
    expect(read(agent, '.git')).toBe(link);
    expect(readdirSync(agent.workspace).join()).toContain('.git.blocked-by-sandbox-');
  });

  test('a harmless change of git stays, and the result says why the command stopped', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, repository);
    const running = agent.run('touch started; sleep 20');
    const changed = `${config}[branch "main"]\n\tdescription = A\n`;
    await replaceLater(agent, '.git/config', changed);
    expect(await running).toContain('another program replaced');
    expect(read(agent, '.git/config')).toBe(changed);
    expect(readdirSync(join(agent.workspace, '.git')).join()).not.toContain('blocked');
  });

  /** A command that prints a file as soon as it can. */
  const printLater = (name: string) =>
    `for i in $(seq 1000); do cat ${name} 2>/dev/null; sleep 0.01; done`;

  test('18.288: attack: a command that only reads prints a hidden file after it was replaced', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, { '.env': 'old' });
    const closed = [join(agent.workspace, '.env')];
    const attack = agent.run(printLater('.e*'), { closed });
    await expect.poll(() => processesIn(agent.workspace).length).toBeGreaterThan(0);
    agent.write(agent.outside, { new: 'hush' });
    renameSync(join(agent.outside, 'new'), join(agent.workspace, '.env'));
    const text = await attack;
    expect(text).toContain('It was stopped by the sandbox');
    expect(text).toContain(`replaced or created ${closed[0]}`);
    expect(text).not.toContain('hush');
  });

  test.for(['closed', 'denied'] as const)(
    '18.288: attack: a %s command prints a hidden file that appears while it runs',
    async (view, context) => {
      const agent = await attackAgent(user, context);
      const request = { [view]: [], deniedNames: ['.env'] };
      const attack = agent.run(printLater('.env'), request);
      await expect.poll(() => processesIn(agent.workspace).length).toBeGreaterThan(0);
      agent.write(agent.workspace, { '.env': 'hush' });
      const text = await attack;
      expect(text).toContain('It was stopped by the sandbox');
      expect(text).not.toContain('hush');
    },
  );

  test('18.288: attack: a command prints a denied file after it was replaced', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, { 'keys/token': 'old' });
    const denied = [join(agent.workspace, 'keys/token')];
    const attack = agent.run(`touch started; ${printLater('keys/token')}`, { denied });
    await replaceLater(agent, 'keys/token', 'hush');
    const text = await attack;
    expect(text).toContain('It was stopped by the sandbox');
    expect(text).not.toContain('hush');
  });

  test.for([
    ['a protected file', '.npmrc', { guarded: ['.npmrc'] }],
    ['a script of a server', 'tools/server.js', { options: { protect: ['tools/server.js'] } }],
  ] as const)(
    '18.288: attack: a command changes %s after it was replaced',
    async ([, name, request], context) => {
      const agent = await attackAgent(user, context);
      agent.write(agent.workspace, { [name]: 'old' });
      const attack = agent.run(wait(name, 'evil'), request);
      await replaceLater(agent, name, 'new');
      expect(await attack).toContain(`another program replaced ${join(agent.workspace, name)}`);
      expect(read(agent, name)).toBe('old');
      const folder = dirname(join(agent.workspace, name));
      const away = readdirSync(folder).find((one) => one.includes('.blocked-by-sandbox-')) ?? '';
      expect(readFileSync(join(folder, away), 'utf8')).toMatch(/^new/);
    },
  );

  test('a change in place does not stop a command', async (context) => {
    const agent = await attackAgent(user, context);
    agent.write(agent.workspace, repository);
    const running = agent.run('touch started; sleep 0.5; echo done');
    while (!existsSync(join(agent.workspace, 'started'))) await setTimeout(5);
    writeFileSync(join(agent.workspace, '.git/config'), `${config}[user]\n\tname = A\n`);
    expect(await running).toBe('done');
  });
});
