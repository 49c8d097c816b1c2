import { type Clock, systemClock } from '@millrace/agent';
import { executionId, runId, sessionId, toolCallId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { createWorkspace, globTool, runGit } from '@millrace/tools';

interface FileListOptions {
  /** Returns the current files. */
  readonly list: (signal: AbortSignal) => Promise<readonly string[]>;
  /** Called when the list has changed. */
  readonly onChange: (files: readonly string[]) => void;
  /** Maximum age of the list. An older list is read again. Default: 10 s. */
  readonly maxAgeMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Caches the files of a workspace. It lists them on first use, and again when the list is too old.
 */
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

  /** Resolves when the list is fresh enough. If the files cannot be listed, the old list stays. */
  refresh(): Promise<void> {
    const { clock = systemClock, maxAgeMs = 10_000 } = this.#options;
    const isFresh = clock.now() - this.#listedMs < maxAgeMs;
    if (this.#stop.signal.aborted || isFresh) return this.#listing ?? Promise.resolve();
    this.#listing ??= this.#list(clock).finally(() => {
      this.#listing = undefined;
    });
    return this.#listing;
  }

  /** Aborts a listing that is in progress. */
  close(): void {
    this.#stop.abort();
  }

  async #list(clock: Clock): Promise<void> {
    const { list, onChange } = this.#options;
    const files = await list(this.#stop.signal).catch(() => undefined);
    // The time is also set after a failure. Otherwise each key would repeat the failed listing.
    this.#listedMs = clock.now();
    if (files === undefined || this.#stop.signal.aborted || sameFiles(files, this.#files)) return;
    this.#files = files;
    onChange(files);
  }
}

/** Maximum number of files. Files after this limit are not offered. */
export const maxWorkspaceFiles = 200_000;

type WorkspaceFilesOptions = Pick<ListOptions, 'cwd' | 'env'> &
  Partial<Pick<ListOptions, 'maxPaths' | 'signal'>>;

/**
 * Returns the files of a folder, except files that .gitignore excludes. The paths are relative to
 * the folder and use `/`.
 */
export async function workspaceFiles(options: WorkspaceFilesOptions): Promise<readonly string[]> {
  const list = {
    ...options,
    maxPaths: options.maxPaths ?? maxWorkspaceFiles,
    signal: options.signal ?? new AbortController().signal,
  };
  // In a repository, git is the fastest way to list files. Elsewhere, the code searches the folder
  // with the same rules as the tools.
  return (await gitFiles(list)) ?? (await walkFiles(list));
}

function sameFiles(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((path, index) => path === b[index]);
}

interface ListOptions {
  readonly cwd: string;
  /** The environment of the user. Its PATH is used to find git. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly maxPaths: number;
  readonly signal: AbortSignal;
}

/**
 * Returns the files below a folder that git tracks or would add. Returns undefined if there is no
 * repository or no git, or if running git there is not safe.
 */
async function gitFiles(options: ListOptions): Promise<readonly string[] | undefined> {
  const [there, deleted] = await Promise.all([
    lsFiles(['--cached', '--others', '--exclude-standard', '--deduplicate'], options),
    lsFiles(['--deleted'], options),
  ]);
  const gone = new Set(deleted);
  return there?.filter((path) => !gone.has(path)).slice(0, options.maxPaths);
}

/** A FIFO with the name `.gitignore` would make git wait for ever. The code then searches the folder itself. */
const limits = { timeoutMs: 3000, pauseMs: 60_000 } as const;

async function lsFiles(
  which: readonly string[],
  { cwd, env, signal }: ListOptions,
): Promise<readonly string[] | undefined> {
  const result = await runGit(['ls-files', '-z', ...which], { cwd, env, signal, ...limits });
  // The text after the last NUL is empty, or it is an incomplete path because the output was cut.
  return result?.output.toString('utf8').split('\0').slice(0, -1);
}

/** Maximum length of git's output. It is enough for the maximum number of files. */
const maxOutputLength = 2 ** 25;

/**
 * Returns the files below a folder, except files that .gitignore excludes. It uses the glob tool,
 * which runs in a separate thread.
 */
async function walkFiles({
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
    idempotencyKey: 'files',
    context: undefined,
    executionId: executionId('files'),
    child: undefined,
    blobs: memoryLog().blobs,
    update: () => {},
  });
  return pathsIn(result);
}

/**
 * Returns the paths in the output of the glob tool. After the paths, there is an empty line and a
 * summary. The tool prints names with control characters as JSON. These names are skipped.
 */
function pathsIn(result: unknown): readonly string[] {
  const { text, value } = (result as { output: { text: string; value: { files: number } } }).output;
  if (value.files === 0) return [];
  const [paths = ''] = text.split('\n\n', 1);
  return paths.split('\n').filter((path) => !/^".*\\.*"$/.test(path));
}
