import { spawn } from 'node:child_process';
import { access, constants, lstat, realpath } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, sep } from 'node:path';
import { isInside } from '../workspace/match-path.ts';
import { type GitSetting, gitSafetyEnv } from './git-environment.ts';
import { isOwnRepository } from './repository-owner.ts';
import { findRepositoryRisk } from './repository-risk.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Options of `runGit`. */
export interface RunGitOptions {
  /** The folder in which git starts. It can be a subfolder of the repository. */
  readonly cwd: string;
  /** The environment of the user. Git gets only the path variables from it, and a fixed language. */
  readonly env: Env;
  /** Stops git when the signal aborts. Default: only the timeout stops git. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum duration. After this time, git is stopped. Default: 30 s. */
  readonly timeoutMs?: number | undefined;
  /**
   * After git reached `timeoutMs` in a repository, calls with this option do not start git there for this time. A FIFO
   * with the name `.gitignore`, for example, makes git wait in each call. Default: 0.
   */
  readonly pauseMs?: number | undefined;
  /** Maximum size of the output. Above this size, git is stopped. Default: 64 MiB. */
  readonly maxOutputBytes?: number | undefined;
}

/** The result of a git command that ended by itself, or that was stopped because of too much output. */
export interface GitResult {
  readonly output: Buffer;
  /** True if git was stopped because its output was too long. */
  readonly isCut: boolean;
}

/**
 * Runs a git command that only reads, without a shell. Git cannot run programs of the repository (see
 * `gitSafetyEnv`), and it uses only the checked repository. Returns undefined if there is no git or no
 * repository, if the repository belongs to another user or has a risk (see `findRepositoryRisk`), or if the
 * command fails.
 *
 * @example const files = await runGit(['ls-files', '-z'], { cwd, env: process.env });
 */
export async function runGit(
  words: readonly string[],
  options: RunGitOptions,
): Promise<GitResult | undefined> {
  const cwd = await realpath(options.cwd).catch(() => undefined);
  const root = cwd && (await findRepositoryRoot(cwd));
  if (!cwd || !root || (await findRepositoryRisk(root)) !== undefined) return undefined;
  const program = await findProgram('git', root, options.env['PATH']);
  if (program === undefined) return undefined;
  const base = closedEnv(options.env, root);
  const settings = await userGitSettings(program, root, { ...options, env: base });
  const where = { GIT_DIR: join(root, '.git'), GIT_WORK_TREE: root };
  if (!(await isOwnRepository([root, where.GIT_DIR], settings))) return undefined;
  const { pauseMs = 0 } = options;
  if (pauseMs > 0 && performance.now() < (blockedUntil.get(root) ?? 0)) return undefined;
  const env = { ...gitSafetyEnv(base, { root, settings }), ...where };
  const onTimeout = () => pauseMs > 0 && pause(root, pauseMs);
  return execute(program, ['--no-pager', ...words], { ...options, cwd, env, onTimeout });
}

/** Maximum number of repositories to remember. */
const maxBlocked = 100;
/** The repositories in which git reached its time limit, with the time at which git may start again. */
const blockedUntil = new Map<string, number>();

function pause(root: string, pauseMs: number): void {
  blockedUntil.delete(root);
  blockedUntil.set(root, performance.now() + pauseMs);
  const [oldest] = blockedUntil.keys();
  if (blockedUntil.size > maxBlocked && oldest !== undefined) blockedUntil.delete(oldest);
}

/** Returns the nearest folder that contains a `.git`. It starts with this folder and goes upwards. */
export async function findRepositoryRoot(from: string): Promise<string | undefined> {
  // No operating system accepts a deeper path.
  const maxDepth = 1000;
  let folder = from;
  for (let depth = 0; depth < maxDepth; depth++) {
    const found = await lstat(join(folder, '.git')).catch(() => undefined);
    if (found !== undefined) return folder;
    if (dirname(folder) === folder) return undefined;
    folder = dirname(folder);
  }
  return undefined;
}

/**
 * Returns the first program with this name on the search path that is outside the root. Programs inside the
 * root are not trusted: `npx` adds project folders to the search path, and they can contain a program with
 * any name.
 */
export async function findProgram(
  name: string,
  root: string,
  searchPath = '',
): Promise<string | undefined> {
  for (const folder of searchPath.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const path = await realpath(join(folder, name)).catch(() => undefined);
    if (path === undefined || !isTrustedPlace(folder, root) || !isTrustedPlace(path, root))
      continue;
    const isRunnable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isRunnable) return join(folder, name);
  }
  return undefined;
}

/**
 * True if programs at an absolute path do not come with the project. The root can be a subfolder of the project, so
 * `node_modules` can also be in a parent folder.
 */
export function isTrustedPlace(path: string, root: string): boolean {
  return !isInside(root, path) && !`${path}${sep}`.includes(`${sep}node_modules${sep}`);
}

const passedVariables = ['HOME', 'XDG_CONFIG_HOME', 'USERPROFILE', 'SYSTEMROOT', 'TMPDIR', 'TEMP'];

/** Returns only the variables that git needs to start and to find the user's ignore file. */
function closedEnv(env: Env, root: string): Env {
  const passed = passedVariables.map((name) => [name, env[name]] as const);
  const folders = (env['PATH'] ?? '').split(delimiter);
  const outside = folders.filter((folder) => isAbsolute(folder) && isTrustedPlace(folder, root));
  return { ...Object.fromEntries(passed), LC_ALL: 'C', PATH: outside.join(delimiter) };
}

/** Matches settings of the user that change the input and output of git but cannot run a program. */
const harmlessUserSettings =
  '^(safe\\.directory|core\\.(autocrlf|eol|excludesfile|quotepath|precomposeunicode|symlinks|filemode))$';
const maxUserSettings = 100;

/**
 * Returns the harmless settings from the configuration files of the user and of the system. Git then does not
 * need to read these files.
 */
export async function userGitSettings(
  program: string,
  root: string,
  options: RunGitOptions,
): Promise<readonly GitSetting[]> {
  const safe = gitSafetyEnv(options.env, { root });
  const { GIT_CONFIG_GLOBAL: _global, GIT_CONFIG_NOSYSTEM: _system, ...rest } = safe;
  // GIT_DIR is not a repository, so git does not read the configuration of a repository. GIT_CONFIG_COUNT is
  // 0, because git would otherwise also list the settings in the environment.
  const env = { ...rest, GIT_DIR: '/dev/null', GIT_CONFIG_COUNT: '0' };
  const words = ['config', '--null', '--get-regexp', harmlessUserSettings];
  const found = await execute(program, words, { ...options, cwd: '/', env });
  const lines = found?.output.toString('utf8').split('\0').slice(0, maxUserSettings) ?? [];
  return lines.flatMap((line) => {
    const [, name, value] = /^([^\n]+)\n(.*)$/s.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
}

interface ExecuteOptions extends RunGitOptions {
  readonly onTimeout?: () => void;
}

async function execute(
  program: string,
  words: readonly string[],
  { cwd, env, signal, timeoutMs = 30_000, maxOutputBytes = 67_108_864, onTimeout }: ExecuteOptions,
): Promise<GitResult | undefined> {
  const limit = AbortSignal.timeout(timeoutMs);
  const child = spawn(program, words, {
    ...{ cwd, env: { ...env }, stdio: ['ignore', 'pipe', 'ignore'], killSignal: 'SIGKILL' },
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  });
  const chunks: Buffer[] = [];
  let length = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    if (length >= maxOutputBytes) return;
    chunks.push(chunk.subarray(0, maxOutputBytes - length));
    length += chunk.length;
    if (length >= maxOutputBytes) child.kill('SIGKILL');
  });
  const isDone = await new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
  const isCut = length >= maxOutputBytes;
  if (!isDone && !isCut && limit.aborted && signal?.aborted !== true) onTimeout?.();
  return isDone || isCut ? { output: Buffer.concat(chunks), isCut } : undefined;
}
