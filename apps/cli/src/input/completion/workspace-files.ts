import { spawn } from 'node:child_process';
import { type Clock, systemClock } from '@millrace/agent';
import { executionId, runId, sessionId, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { createWorkspace, globTool } from '@millrace/tools';

interface FileListOptions {
  /** Looks for the files anew. */
  readonly list: (signal: AbortSignal) => Promise<readonly string[]>;
  /** The list is another one. */
  readonly onChange: (files: readonly string[]) => void;
  /** For so long a list is good enough. 10 s unless told. */
  readonly maxAgeMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** The files of a workspace as far as they are known: looked for when first wanted, and again when they are old. */
export class FileList {
  readonly #options: FileListOptions;
  readonly #stop = new AbortController();
  #files: readonly string[] = [];
  #listedMs = Number.NEGATIVE_INFINITY;
  #listing: Promise<void> | undefined;

  constructor(options: FileListOptions) {
    this.#options = options;
  }

  get files(): readonly string[] {
    return this.#files;
  }

  /** Settles when the list is no older than it may be. What cannot be listed stays as it was. */
  refresh(): Promise<void> {
    const { clock = systemClock, maxAgeMs = 10_000 } = this.#options;
    const isFresh = clock.now() - this.#listedMs < maxAgeMs;
    if (this.#stop.signal.aborted || isFresh) return this.#listing ?? Promise.resolve();
    this.#listing ??= this.#list(clock).finally(() => {
      this.#listing = undefined;
    });
    return this.#listing;
  }

  /** Ends what is under way. */
  close(): void {
    this.#stop.abort();
  }

  async #list(clock: Clock): Promise<void> {
    const { list, onChange } = this.#options;
    const files = await list(this.#stop.signal).catch(() => undefined);
    // A list that failed is not asked for at each key either.
    this.#listedMs = clock.now();
    if (files === undefined || this.#stop.signal.aborted || isSame(files, this.#files)) return;
    this.#files = files;
    onChange(files);
  }
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((path, index) => path === b[index]);
}

/** Of more than so many files, those at the end are not known. */
export const maxWorkspaceFiles = 200_000;

type WorkspaceFilesOptions = Pick<ListOptions, 'cwd' | 'env'> &
  Partial<Pick<ListOptions, 'maxPaths' | 'signal'>>;

/** The files of a folder that .gitignore does not name, relative to it and with `/`. */
export async function workspaceFiles(options: WorkspaceFilesOptions): Promise<readonly string[]> {
  const list = {
    ...options,
    maxPaths: options.maxPaths ?? maxWorkspaceFiles,
    signal: options.signal ?? new AbortController().signal,
  };
  // Git is quickest in what it keeps. Elsewhere the folder is walked, by the rules that the tools go by.
  return (await gitFiles(list)) ?? (await walkedFiles(list));
}

interface ListOptions {
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
async function gitFiles(options: ListOptions): Promise<readonly string[] | undefined> {
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

/** Enough for the longest list of paths. */
const maxOutputLength = 2 ** 25;

/** The files below a folder that .gitignore does not name, found as an agent's glob finds them; in a thread of its own. */
async function walkedFiles({
  cwd,
  maxPaths,
  signal,
}: Pick<ListOptions, 'cwd' | 'maxPaths' | 'signal'>): Promise<readonly string[]> {
  const glob = globTool({ workspace: createWorkspace({ root: cwd }), maxOutputLength });
  const input = { pattern: '**', path: '.', order: 'name', limit: maxPaths };
  const result = await glob.execute(input, {
    signal,
    session: sessionId('files'),
    runId: runId('files'),
    turn: 1,
    toolCallId: toolCallId('files'),
    executionId: executionId('files'),
    child: undefined,
    blobs: memoryLog().blobs,
    update: () => {},
  });
  return pathsIn(result);
}

/** What is said about them follows behind an empty line. Names with control characters in them come as JSON, and are left out. */
function pathsIn(result: unknown): readonly string[] {
  const { text, value } = (result as { output: { text: string; value: { files: number } } }).output;
  if (value.files === 0) return [];
  const [paths = ''] = text.split('\n\n', 1);
  return paths.split('\n').filter((path) => !/^".*\\.*"$/.test(path));
}
