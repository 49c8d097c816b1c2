import { spawn } from 'node:child_process';

export interface ListOptions {
  readonly cwd: string;
  /** For the programs that are asked. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly maxPaths: number;
  readonly signal: AbortSignal;
}

// A repository's own settings may name a program to ask for changes. To list files is no reason to run it.
const settings = ['-c', 'core.fsmonitor=false'];

/**
 * The files below a folder that git keeps, or would if they were added; nothing where it is no
 * repository, or there is no git.
 */
export async function gitFiles(options: ListOptions): Promise<readonly string[] | undefined> {
  const [there, deleted] = await Promise.all([
    lsFiles(['--cached', '--others', '--exclude-standard', '--deduplicate'], options),
    lsFiles(['--deleted'], options),
  ]);
  const gone = new Set(deleted);
  return there?.filter((path) => !gone.has(path));
}

async function lsFiles(
  which: readonly string[],
  { cwd, env, maxPaths, signal }: ListOptions,
): Promise<readonly string[] | undefined> {
  const child = spawn('git', [...settings, 'ls-files', '-z', ...which], {
    cwd,
    env: { ...env, GIT_OPTIONAL_LOCKS: '0' },
    stdio: ['ignore', 'pipe', 'ignore'],
    signal,
  });
  const ended = new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
  const paths: string[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\0');
    rest = parts.pop() ?? '';
    for (const path of parts) if (paths.length < maxPaths) paths.push(path);
    if (paths.length === maxPaths) child.kill();
  });
  const isEnded = await ended;
  return isEnded || paths.length === maxPaths ? paths : undefined;
}
