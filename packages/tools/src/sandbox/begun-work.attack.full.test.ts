import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bashTool } from '../shell/bash-tool.ts';
import { attackAgent, endAgents, sandboxUsers } from '../testing/sandbox/use-sandbox.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { findSandbox } from './find-sandbox.ts';

// Commands leave an unfinished rebase or cherry-pick. The user finds it in `git status` and continues it. Git
// then runs its merge strategy as a program. If the name of the strategy has a slash, the program is in the
// worktree.

endAgents();

/** Creates a repository of the agent's user. Its branch `side` has a commit for a cherry-pick. */
const prepare = [
  'git init -q .',
  'git config user.name a && git config user.email a@example.org',
  'git commit -q --allow-empty -m one',
  'git checkout -q -b side && echo 2 > b && git add b && git commit -q -m two',
  'git checkout -q -B main HEAD~1 && git commit -q --allow-empty -m three',
  'chown -R --reference=. .',
].join(' && ');

/** Git refuses the repositories of other users, and tests can run as root. */
const trusting = {
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};
/** Runs a line outside of the sandbox, like the user. Returns false if the line fails. */
function runOutside(cwd: string, line: string): boolean {
  const env = { ...process.env, ...trusting };
  return spawnSync('bash', ['-c', line], { cwd, env }).status === 0;
}

const program =
  'mkdir git-merge-x && printf "#!/bin/sh\\ntouch ran\\n" > git-merge-x/y && chmod +x git-merge-x/y';
const pick = '"pick $(git rev-parse side) two"';
const head = 'git rev-parse HEAD';

const rebase = (strategy: string) =>
  `cd .git && mkdir rebase-merge && cd rebase-merge && echo refs/heads/main > head-name && ${head} > onto && ${head} > orig-head && echo ${pick} > git-rebase-todo && touch done interactive && ${strategy}`;
const sequencer = (options: string) =>
  `mkdir .git/sequencer && cd .git/sequencer && ${head} > head && ${head} > abort-safety && echo ${pick} > todo && echo ${pick} >> todo && ${options}`;

const left = [
  ['a rebase', rebase('echo x/y > strategy'), 'rebase'],
  ['a rebase without a line end', rebase('printf x/y > strategy'), 'rebase'],
  ['a rebase with a link', rebase('echo x/y > ../z && ln -s ../z strategy'), 'rebase'],
  ['a cherry-pick', sequencer("printf '[options]\\nstrategy = x/y\\n' > opts"), 'cherry-pick'],
  [
    'a cherry-pick in one line',
    sequencer('echo "[options] StraTegy = \\"x/\\"y" > opts'),
    'cherry-pick',
  ],
  [
    'a cherry-pick with a longer value',
    sequencer("printf '[options]\\nstrategy = ort\\nstrategy = x\\\\\\n/y\\n' > opts"),
    'cherry-pick',
  ],
] as const;

describe.for(sandboxUsers)('as %s', (user) => {
  test.for(left)('18.90: attack: a command leaves %s that runs a program', async (...given) => {
    const [[, command, verb], context] = given;
    const agent = await attackAgent(user, context);
    expect(runOutside(agent.workspace, prepare)).toBe(true);
    await agent.run(`${program}; ${command}`);
    expect(existsSync(join(agent.workspace, 'git-merge-x/y'))).toBe(true);
    runOutside(agent.workspace, `git ${verb} --continue`);
    expect(existsSync(join(agent.workspace, 'ran'))).toBe(false);
  });

  test('18.953: attack: a command leaves a strategy that contains a carriage return', async (context) => {
    const agent = await attackAgent(user, context);
    expect(runOutside(agent.workspace, prepare)).toBe(true);
    // Git reads the carriage return as a space, also in the name of the folder with the program.
    const options = sequencer("printf '[options]\\nstrategy = ort\\r/y\\n' > opts");
    await agent.run(`${program.replaceAll('git-merge-x', '"git-merge-ort "')}; ${options}`);
    expect(existsSync(join(agent.workspace, 'git-merge-ort /y'))).toBe(true);
    runOutside(agent.workspace, 'git cherry-pick --continue');
    expect(existsSync(join(agent.workspace, 'ran'))).toBe(false);
  });

  test('18.855: attack: a command that goes on leaves a rebase that runs a program', async (context) => {
    const agent = await attackAgent(user, context);
    expect(runOutside(agent.workspace, prepare)).toBe(true);
    const list = rebase("echo 'exec touch ran' > git-rebase-todo");
    const text = await agent.run(`${list}; sleep 1000`, { background: 'wait' });
    expect(text).toContain('The sandbox renamed rebase-merge');
    runOutside(agent.workspace, 'git rebase --continue');
    expect(existsSync(join(agent.workspace, 'ran'))).toBe(false);
  });

  test('18.94: attack: a command leaves a git am that overwrites a file of the user', async (context) => {
    const agent = await attackAgent(user, context);
    const own = join(agent.home, 'notes');
    agent.write(agent.home, { notes: 'mine' });
    expect(runOutside(agent.workspace, prepare)).toBe(true);
    await agent.run(
      [
        'echo 3 > c && git add c && git commit -q -m c && echo 4 > c && git commit -q -a -m d',
        'mkdir .git/rebase-apply && git format-patch -1 --stdout > .git/rebase-apply/0002',
        'git reset -q --hard HEAD~1 && cd .git/rebase-apply && cp 0002 0001 && echo 1 > next && echo 2 > last',
        'for name in threeway no-verify; do echo f > $name; done; echo t > utf8',
        'touch quiet keep sign scissors applying rerere-autoupdate',
        `printf "'--build-fake-ancestor=${own}'" > apply-opt`,
      ].join('\n'),
    );
    runOutside(agent.workspace, 'git am --skip');
    expect(readFileSync(own, 'utf8')).toBe('mine');
  });

  test.for([
    ['in the repository', '.'],
    ['in a new repository', 'new'],
  ] as const)(
    '18.1264: attack: a command lets git commit copy a hidden key, %s',
    async ([, folder], context) => {
      const agent = await attackAgent(user, context);
      const key = join(agent.home, '.ssh/id_rsa');
      agent.write(agent.home, { '.ssh/id_rsa': 'the secret' });
      expect(runOutside(agent.workspace, prepare)).toBe(true);
      const record = `rr-cache/${'1'.repeat(40)}`;
      const said = await agent.run(
        `git init -q ${folder}; cd ${folder}/.git; mkdir -p ${record}; touch ${record}/preimage; printf '${'1'.repeat(40)}\\t${key}\\0' > MERGE_RR`,
      );
      expect(said).toContain('The sandbox renamed MERGE_RR');
      const commit = 'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x';
      expect(runOutside(join(agent.workspace, folder), commit)).toBe(true);
      expect(await agent.run(`cat ${folder}/.git/rr-cache/*/*`)).not.toContain('the secret');
    },
  );

  test.for([
    ['rebase-merge', rebase('echo recursive > strategy')],
    [
      'rebase-apply',
      `mkdir .git/rebase-apply; printf "'-p1' '--whitespace=fix'\\n" > .git/rebase-apply/apply-opt`,
    ],
    [
      'sequencer',
      sequencer("printf '[options]\\n\\tstrategy = ort\\n\\tstrategy-option = theirs\\n' > opts"),
    ],
  ] as const)('18.90: %s with harmless settings stays', async ([name, command], context) => {
    const agent = await attackAgent(user, context);
    expect(runOutside(agent.workspace, prepare)).toBe(true);
    await agent.run(command);
    expect(existsSync(join(agent.workspace, '.git', name))).toBe(true);
  });
});

test('18.846: attack: a command changes a rebase that began while another command ran', async (context) => {
  const { sandbox, ...missing } = await findSandbox({});
  if (sandbox === undefined) {
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(JSON.stringify(missing));
    return context.skip(JSON.stringify(missing));
  }
  onTestFinished(() => sandbox.close());
  const root = temporaryFolder();
  const at = (name: string) => join(root, name);
  expect(runOutside(root, prepare)).toBe(true);
  const tool = bashTool({ workspace: { root }, sandbox });
  const run = (command: string) => runTool(tool, { command, change_git: true });
  const until = (name: string) => `until [ -e ${name} ]; do sleep 0.02; done`;
  const first = run(`touch started; ${until('end')}`);
  await expect.poll(() => existsSync(at('started')), { timeout: 60_000 }).toBe(true);
  await run(rebase('echo recursive > strategy'));
  expect(existsSync(at('.git/rebase-merge'))).toBe(true);
  // This command uses the guards of the first one, which has no guard for the rebase.
  const third = run(
    `touch end; ${until('over')}; echo 'exec touch ran' > .git/rebase-merge/git-rebase-todo`,
  );
  await first;
  writeFileSync(at('over'), '');
  await third;
  runOutside(root, 'git rebase --continue');
  expect(existsSync(at('ran'))).toBe(false);
});
