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
];

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
