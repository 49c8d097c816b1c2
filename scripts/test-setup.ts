// Installs what some tests need besides Node, where it can (Debian, as root), and says what it could
// not: npm run test:setup. Tests of what is missing say that they skip; with MILLRACE_REQUIRE_ALL=1
// they fail instead.
import { spawnSync } from 'node:child_process';

interface Need {
  readonly name: string;
  /** A command that succeeds where it is there. */
  readonly check: readonly [string, ...string[]];
  readonly debian: readonly string[];
  readonly for: string;
}

const needs: readonly Need[] = [
  { name: 'tmux', check: ['tmux', '-V'], debian: ['tmux'], for: 'the chat, key by key' },
  {
    name: 'Chromium',
    check: ['chromium', '--version'],
    debian: ['chromium'],
    for: 'the page, in a real browser',
  },
];

/** Agentex's own kit for Python, for the tests of `compat`. Only where it is asked for: it is large. */
const venv = 'node_modules/.cache/agentex-sdk';

const succeeds = ([command, ...args]: Need['check']) => spawnSync(command, args).status === 0;

function install(packages: readonly string[]): void {
  const apt = (...args: readonly string[]) =>
    spawnSync('apt-get', ['-q', '-y', ...args], {
      stdio: 'inherit',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  apt('update');
  apt('install', '--no-install-recommends', ...packages);
}

if (process.argv.includes('--python')) {
  const run = (command: string, ...args: readonly string[]) =>
    spawnSync(command, args, { stdio: 'inherit' }).status === 0;
  const isMade =
    run('python3', '-m', 'venv', venv) &&
    run(`${venv}/bin/pip`, 'install', '-q', 'agentex-sdk==0.12.0');
  console.log(isMade ? 'ok      agentex-sdk for Python' : 'without agentex-sdk for Python');
}

const missing = needs.filter(({ check }) => !succeeds(check));
const canInstall = process.getuid?.() === 0 && succeeds(['apt-get', '--version']);
if (missing.length > 0 && canInstall) install(missing.flatMap(({ debian }) => debian));

for (const { name, check, debian, for: purpose } of needs) {
  const isThere = succeeds(check);
  const advice = `missing: install the Debian package ${debian.join(' ')}, or its like`;
  console.log(
    `${isThere ? 'ok     ' : 'without'} ${name}, for ${purpose}${isThere ? '' : `; ${advice}`}`,
  );
  if (!isThere && process.env['MILLRACE_REQUIRE_ALL'] === '1') process.exitCode = 1;
}
