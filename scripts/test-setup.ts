// Installs what some tests need besides Node, where it can (Debian, as root; Go where it is there), and
// says what it could not: npm run test:setup. Tests of what is missing say that they skip; with
// MILLRACE_REQUIRE_ALL=1 they fail instead.
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { temporalServerPath } from '../packages/temporal/src/testing/temporal-server-path.ts';

interface Need {
  readonly name: string;
  readonly for: string;
  isThere(): boolean;
  /** Of Debian, or how else to come by it. */
  readonly debian?: string;
  readonly otherwise?: string;
}

const succeeds = (command: string, ...args: readonly string[]) =>
  spawnSync(command, args).status === 0;

const go = ['go', '/usr/local/go/bin/go'].find((path) => succeeds(path, 'version'));

const needs: readonly Need[] = [
  {
    name: 'tmux',
    for: 'the chat, key by key',
    isThere: () => succeeds('tmux', '-V'),
    debian: 'tmux',
  },
  {
    name: 'Chromium',
    for: 'the page, in a real browser',
    isThere: () => succeeds('chromium', '--version'),
    debian: 'chromium',
  },
  {
    name: 'Postgres',
    for: 'the store of several machines',
    // Debian leaves its programs outside of the path.
    isThere: () =>
      succeeds('postgres', '--version') ||
      globSync('/usr/lib/postgresql/*/bin/postgres').length > 0,
    debian: 'postgresql',
  },
  {
    name: 'Redis',
    for: 'the bus of several machines',
    isThere: () => succeeds('redis-server', '--version'),
    debian: 'redis-server',
  },
  {
    name: 'a Temporal server',
    for: 'agents as workflows',
    isThere: () => succeeds(temporalServerPath, '--version'),
    otherwise: 'install Go 1.25 or later and run this again: it is built from its public modules',
  },
];

/** Agentex's own kit for Python, for the tests of `compat`. Only where it is asked for: it is large. */
const venv = 'node_modules/.cache/agentex-sdk';

const run = (command: string, ...args: readonly string[]) =>
  spawnSync(command, args, {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  }).status === 0;

function installFromDebian(packages: readonly string[]): void {
  run('apt-get', '-q', '-y', 'update');
  run('apt-get', '-q', '-y', 'install', '--no-install-recommends', ...packages);
}

/** Takes some minutes, once: it is kept outside of the project. */
function buildTemporalServer(compiler: string): void {
  console.log('builds a Temporal server: some minutes, once');
  mkdirSync(dirname(temporalServerPath), { recursive: true });
  const folder = 'scripts/temporal-server';
  const build = ['build', '-C', folder, '-trimpath', '-buildvcs=false', '-ldflags=-s -w'];
  run(compiler, ...build, '-o', temporalServerPath, 'github.com/temporalio/cli/cmd/temporal');
}

if (process.argv.includes('--python')) {
  const isMade =
    run('python3', '-m', 'venv', venv) &&
    run(`${venv}/bin/pip`, 'install', '-q', 'agentex-sdk==0.12.0');
  console.log(isMade ? 'ok      agentex-sdk for Python' : 'without agentex-sdk for Python');
}

const missing = needs.filter(({ isThere }) => !isThere());
const packages = missing.flatMap(({ debian }) => debian ?? []);
const canInstall = process.getuid?.() === 0 && succeeds('apt-get', '--version');
if (packages.length > 0 && canInstall) installFromDebian(packages);
if (go !== undefined && !succeeds(temporalServerPath, '--version')) buildTemporalServer(go);

for (const { name, isThere, debian, otherwise, for: purpose } of needs) {
  const isReady = isThere();
  const advice = otherwise ?? `install the Debian package ${debian}, or its like`;
  const line = `${name}, for ${purpose}`;
  console.log(isReady ? `ok      ${line}` : `without ${line}; missing: ${advice}`);
  if (!isReady && process.env['MILLRACE_REQUIRE_ALL'] === '1') process.exitCode = 1;
}
