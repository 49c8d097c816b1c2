import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, onTestFinished, type TestContext } from 'vitest';
import { bundledProgram } from '../../../../../scripts/bundled-program.ts';
import { sharedFolder } from '../../../../../scripts/process-folder.ts';
import { fewOf } from '../../../../core/src/testing/runs.ts';
import { writeTree } from '../temporary-folder.ts';
import type { SandboxedAnswer, SandboxedRequest } from './sandboxed-agent.ts';

/** A key in the environment of the agent. No command may print it. */
export const agentKey = 'canary-7f3a9c';
const nobody = 65_534;

/** The users for the attacks: the current user, and also an ordinary user if the current user is root. */
export const sandboxUsers: readonly ('self' | 'nobody')[] =
  process.getuid?.() === 0 ? ['self', 'nobody'] : ['self'];

/**
 * Returns the attacks of a list that run as this user. `npm run test:full` runs all attacks as each user. The
 * other modes run all attacks as the ordinary user. If the tests run as root, they also run a random third of
 * them as root.
 */
export function attacksAs<T>(
  user: (typeof sandboxUsers)[number],
  attacks: readonly T[],
): readonly T[] {
  const isOrdinary = user === sandboxUsers.at(-1);
  return isOrdinary ? attacks : fewOf(attacks, Math.ceil(attacks.length / 3));
}

/** An agent of a user, with a home folder and a workspace that is new for each test. */
export interface AttackedAgent {
  /** The real path of the workspace. `outside` is neither below `/tmp` nor below the workspace. */
  readonly workspace: string;
  readonly outside: string;
  readonly home: string;
  readonly isRoot: boolean;
  readonly pid: number;
  /** Writes files and makes the user their owner. */
  write(folder: string, files: Readonly<Record<string, string>>): void;
  /** Runs a command in the sandbox and returns its output. */
  run(command: string, request?: Partial<SandboxedRequest>): Promise<string>;
}

/** The setting of an agent. */
interface AgentSetting {
  /**
   * Returns commands of a shell that mount file systems for this agent only. The test must run as root. Default: the
   * agent has the mounts of the system, and all tests of a file share it.
   */
  readonly mount?:
    | ((at: Pick<AttackedAgent, 'workspace' | 'outside' | 'home'>) => string)
    | undefined;
}

interface RunningAgent {
  readonly child: ChildProcess;
  ask(request: SandboxedRequest): Promise<SandboxedAnswer>;
}

const agents = new Map<string, RunningAgent>();

/**
 * Starts an agent for attacks. Skips the test if there is no sandbox. With MILLRACE_REQUIRE_ALL=1 the
 * test fails instead.
 */
export async function attackAgent(
  user: (typeof sandboxUsers)[number],
  context: Pick<TestContext, 'skip'>,
  { mount }: AgentSetting = {},
): Promise<AttackedAgent> {
  const base = join(import.meta.dirname, '../../../../../node_modules/.cache');
  mkdirSync(base, { recursive: true });
  const folder = realpathSync(mkdtempSync(join(base, 'sandbox-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [workspace, outside, home] = ['workspace', 'outside', 'home'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const give = (path: string) => {
    if (user === 'nobody') chownSync(path, nobody, nobody);
  };
  for (const path of [workspace, outside, home]) mkdirSync(path);
  for (const path of [folder, workspace, outside, home]) give(path);
  const script = mount?.({ workspace, outside, home });
  const name = script === undefined ? user : folder;
  const agent = agents.get(name) ?? startAgent(user, script);
  agents.set(name, agent);
  const run: AttackedAgent['run'] = async (command, request = {}) => {
    const input = { command: `export HOME='${home}'\n${command}`, change_git: true };
    const answer = await agent.ask({ root: workspace, input, ...request });
    if (!('missing' in answer)) return answer.text;
    if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(answer.missing);
    return context.skip(answer.missing);
  };
  return {
    ...{ workspace, outside, home, run, pid: agent.child.pid ?? 0 },
    isRoot: user === 'self' && process.getuid?.() === 0,
    write(at, files) {
      writeTree(at, files);
      for (const path of Object.keys(files)) {
        const names = path.split('/');
        for (const [index] of names.entries()) give(join(at, ...names.slice(0, index + 1)));
      }
    },
  };
}

/** Starts an agent. A shell runs `script` as root before it, and only the agent sees the mounts of the script. */
function startAgent(user: (typeof sandboxUsers)[number], script?: string): RunningAgent {
  const program = bundledProgram(new URL('sandboxed-agent.ts', import.meta.url));
  const node = [process.execPath, program];
  const drop = ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups', '--'];
  const own =
    script === undefined ? [] : ['unshare', '-m', 'sh', '-ec', `${script}\nexec "$@"`, '-'];
  const [command = '', ...args] = [...own, ...(user === 'nobody' ? drop : []), ...node];
  const env = { ...process.env, ...codeCacheOf(user), AGENT_API_KEY: agentKey, NODE_OPTIONS: '' };
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env });
  const lines = createInterface({ input: child.stdout });
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (request: SandboxedRequest) => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    const [line] = (await once(lines, 'line')) as [string];
    return JSON.parse(line) as SandboxedAnswer;
  };
  return {
    child,
    ask: (request) => {
      const asked = last.then(() => ask(request));
      last = asked.catch(() => {});
      return asked;
    },
  };
}

/** A folder for compiled code that the user can write. All test files of a run share it. */
function codeCacheOf(user: (typeof sandboxUsers)[number]): Readonly<Record<string, string>> {
  if (user === 'self') return {};
  const folder = sharedFolder('compile-cache-nobody');
  mkdirSync(folder, { recursive: true });
  chownSync(folder, nobody, nobody);
  return { NODE_COMPILE_CACHE: folder };
}

/** Ends the agents after the tests of a file. Call it at the top of the file. */
export function endAgents(): void {
  afterAll(() => {
    for (const { child } of agents.values()) child.stdin?.end();
    agents.clear();
  });
}

/** Starts a server on the host and counts its connections. Default address: a port on loopback. */
export async function countConnections(path?: string) {
  let count = 0;
  const server = createServer((socket) => {
    count++;
    socket.end('secret of the host');
  });
  await new Promise<void>((resolve) => {
    if (path === undefined) server.listen(0, '127.0.0.1', resolve);
    else server.listen(path, resolve);
  });
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, count: () => count };
}
