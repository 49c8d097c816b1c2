import { type FSWatcher, lstatSync, statSync, watch } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { SandboxError } from '../../contract/sandbox.ts';
import { IndexReader } from '../../git/index-reader.ts';
import {
  type FoundRepository,
  RepositorySearch,
} from '../../git/repositories/repository-search.ts';
import { worktreesOf } from '../../git/repositories/settings-places.ts';
import { gitFolderOf } from '../../git/repositories/submodules.ts';
import { isBelow, isInside } from '../../workspace/match-path.ts';
import { entryOf } from '../../workspace/real-form.ts';
import { foldersAbove, type GitPlaces, gitPlaces, isOwn } from './git-places.ts';

/** Reads the indexes of repositories above a workspace. No command can change them, so nothing is read twice. */
const indexesAbove = new IndexReader();

/** Maximum number of submodules without a repository that the sandbox can guard. */
const maxEmpty = 500;

/**
 * Returns the places of submodules that are not checked out. Git enters such a folder by itself, for example for
 * `git status` in the folder above. A command could create a repository there, and remove it before the next check. So
 * the whole folder is guarded, also if it contains files.
 */
export function emptySubmodules(
  root: string,
  indexes: Indexes,
  below: readonly FoundRepository[],
  options: IndexOptions = {},
): readonly string[] {
  const places = submodulesIn(root, indexes, below, options)
    .filter((path) => entryOf(join(path, '.git')) === undefined)
    .map((path) => (entryOf(path)?.isDirectory() === true ? path : join(path, '.git')));
  if (places.length <= maxEmpty) return places;
  const message = `Cannot protect the submodules in ${root}: more than ${maxEmpty} of them are not checked out. Check them out, or work in a folder below`;
  throw new SandboxError('cannot_confine', message, { path: root });
}

type Indexes = Pick<RepositorySearch, 'startCheck' | 'readIndex'>;

/** Returns the paths of all submodules below the root. */
function submodulesIn(
  root: string,
  indexes: Indexes,
  below: readonly FoundRepository[],
  { onRead = () => {}, acceptsUnreadable = false }: IndexOptions,
): readonly string[] {
  indexes.startCheck();
  indexesAbove.startCheck();
  const above = foldersAbove(root).filter((folder) => isOwn(join(folder, '.git'), root));
  const inside = [root, ...below.filter(({ hasGit }) => hasGit).map(({ folder }) => folder)];
  const paths = [...above, ...inside].flatMap((worktree) => {
    const git = gitFolderOf(worktree);
    if (git === undefined) return [];
    onRead(join(git, 'index'));
    const isAbove = !isInside(root, worktree);
    const { submodules } = isAbove ? indexesAbove.read(git) : indexes.readIndex(git);
    if (submodules === undefined && !acceptsUnreadable) throw unreadableIndex(root, git);
    if (submodules === undefined || submodules.length === 0) return [];
    return worktreesOf(git, worktree).flatMap((at) => submodules.map((name) => join(at, name)));
  });
  return [...new Set(paths)].filter((path) => isBelow(root, path));
}

interface IndexOptions {
  /** Gets each index immediately before it is read. Default: nothing. */
  readonly onRead?: ((path: string) => void) | undefined;
  /** If true, an index that cannot be read has no submodules. Default: false. */
  readonly acceptsUnreadable?: boolean | undefined;
}

function unreadableIndex(root: string, git: string): SandboxError {
  const message = `Cannot protect the submodules in ${root}: the index in ${git} cannot be read. It is damaged, locked or too large. Run git status, or switch the sandbox off`;
  return new SandboxError('cannot_confine', message, { path: git });
}

/** The files and folders that a plan has read, with their states immediately before. */
export class ReadPlaces {
  readonly #stamps = new Map<string, string>();

  /** Call it immediately before a place is read. */
  add(path: string): void {
    if (!this.#stamps.has(path)) this.#stamps.set(path, stampOf(path));
  }

  /** True if one of the places has changed. */
  haveChanged(): boolean {
    return [...this.#stamps].some(([path, stamp]) => stampOf(path) !== stamp);
  }

  paths(): readonly string[] {
    return [...this.#stamps.keys()];
  }
}

/** Returns a text that changes if a file or folder, or the target of a link, changes. Empty if it does not exist. */
function stampOf(path: string): string {
  try {
    return [lstatSync(path, { bigint: true }), statSync(path, { bigint: true })]
      .map(({ dev, ino, size, ctimeNs }) => [dev, ino, size, ctimeNs].join(':'))
      .join(' ');
  } catch {
    return '';
  }
}

/** The places of git that a plan guards, and the files from which the plan knows them. */
interface KnownPlaces {
  readonly root: string;
  /** The folders that commands may change. */
  readonly writable: readonly string[];
  readonly places: Pick<GitPlaces, 'named' | 'below'>;
  /** See `emptySubmodules`. */
  readonly empty: readonly string[];
  readonly read: ReadPlaces;
}

/** Time after which the first check runs, and time between two checks, in milliseconds. */
const [firstAfterMs, everyMs] = [50, 1000];
/** Checks use at most 1/5 of the time. The index of a large repository needs some tenths of a second. */
const maxShare = 5;
/** Maximum number of folders to watch. Changes in others are found after `everyMs`. */
const maxWatched = 50;

/**
 * Finds out that git uses more places of the workspace than a plan guards. The user can change the settings of git, or
 * check out a branch with another submodule, while a command runs.
 */
export class LaterPlaces {
  readonly #known: KnownPlaces;
  readonly #isKnown: ReadonlySet<string>;
  readonly #indexes = new RepositorySearch();
  #read: ReadPlaces;
  #found: readonly string[] = [];
  #nextAt = 0;

  constructor(known: KnownPlaces) {
    this.#known = known;
    const worktrees = known.places.below.filter(({ hasGit }) => hasGit);
    const guarded = worktrees.map(({ folder }) => folder);
    this.#isKnown = new Set([...known.places.named, ...known.empty, ...guarded]);
    this.#read = known.read;
  }

  /** Returns the further places. */
  find(): readonly string[] {
    if (this.#found.length > 0 || performance.now() < this.#nextAt) return this.#found;
    const start = performance.now();
    if (this.#read.haveChanged()) this.#found = this.#findAgain();
    this.#nextAt = performance.now() + maxShare * (performance.now() - start);
    return this.#found;
  }

  #findAgain(): readonly string[] {
    const { root, writable, places } = this.#known;
    this.#read = new ReadPlaces();
    const onRead = (path: string) => this.#read.add(path);
    try {
      const { named } = gitPlaces(root, places.below, { onRead });
      // A command can have created or removed the repository of a submodule, so only what the plan guards counts.
      const submodules = submodulesIn(root, this.#indexes, places.below, { onRead });
      const isGuarded = (path: string) => this.#isKnown.has(path);
      return [
        ...named.filter((path) => !isGuarded(path)),
        ...submodules.filter((path) => !isGuarded(path) && !isGuarded(join(path, '.git'))),
      ].filter((path) => writable.some((folder) => isInside(folder, path)));
    } catch (error) {
      if (error instanceof SandboxError) return [root];
      throw error;
    }
  }

  /** Watches while a command runs. `blocked` aborts if there are further places. `finish` returns a sentence then. */
  watch(): { readonly blocked: AbortSignal; finish(): readonly string[] } {
    const controller = new AbortController();
    const watchers: FSWatcher[] = [];
    let timer: NodeJS.Timeout | undefined;
    const stop = () => {
      clearTimeout(timer);
      for (const watcher of watchers.splice(0)) watcher.close();
    };
    const check = () => {
      if (this.find().length === 0) return;
      stop();
      controller.abort();
    };
    const checkLater = () => {
      timer = setTimeout(() => {
        checkLater();
        check();
      }, everyMs).unref();
    };
    // Most commands end before that.
    timer = setTimeout(() => {
      const folders = Map.groupBy(this.#read.paths(), (path) => dirname(path));
      for (const [folder, paths] of [...folders].slice(0, maxWatched)) {
        const names = new Set(paths.map((path) => basename(path)));
        try {
          const watcher = watch(folder, { persistent: false }, (_event, name) => {
            if (name === null || names.has(name)) check();
          });
          watchers.push(watcher.on('error', () => watcher.close()));
        } catch {
          // The folder does not exist, or the system has no further watchers.
        }
      }
      checkLater();
      check();
    }, firstAfterMs).unref();
    return {
      blocked: controller.signal,
      finish: () => {
        stop();
        return controller.signal.aborted ? [sentenceAbout(this.#found)] : [];
      },
    };
  }
}

function sentenceAbout(found: readonly string[]): string {
  return `The sandbox stopped the command, because the settings of git or the submodules changed while it ran. Git now uses ${namesOf(found)}, which the command could change. Tell the user to check it, and run the command again`;
}

/** Returns the error for a command that starts while such a change is not guarded. */
export function unguardedPlaces(root: string, found: readonly string[]): SandboxError {
  const message = `Cannot start the command: the settings of git or the submodules changed while other commands run. Git now uses ${namesOf(found)}. End the other commands, and run it again`;
  return new SandboxError('cannot_confine', message, { path: root });
}

/** Maximum number of paths in a message. */
const maxShown = 3;

function namesOf(paths: readonly string[]): string {
  const more = paths.length > maxShown ? [`${paths.length - maxShown} more`] : [];
  return [...paths.slice(0, maxShown), ...more].join(', ');
}
