import { setTimeout } from 'node:timers/promises';
import { readFolder } from './read-folder.ts';
import {
  type FoundRepositories,
  type FoundRepository,
  RepositorySearch,
} from './repository-search.ts';

/** Maximum number of folders to search in all `node_modules` folders. */
const maxFolders = 200_000;
/** Maximum number of workspaces whose results are kept in memory. */
const maxWorkspaces = 8;
/** Maximum number of sentences that wait for the next command. */
const maxNotes = 20;

/** The result of a check of a workspace. */
export interface PackageCheck extends Pick<FoundRepositories, 'found' | 'problem'> {
  /** Sentences for the model that describe what the check renamed. */
  readonly notes: readonly string[];
}

/** Searches the given `node_modules` folders. */
type Survey = (packages: readonly string[]) => Promise<FoundRepositories>;

/**
 * Finds repositories in `node_modules` folders. Git enters such a repository if the checked-out branch has it
 * as a submodule, and the user may check out any branch later. Therefore all folders are searched after each
 * command.
 *
 * A folder must be read even if its parent folders have not changed. This takes about 3 µs per folder, which
 * is too long to wait for after a short command. The check therefore runs in the background, and the next
 * command waits for it.
 */
export class PackageRepositories {
  readonly #search = new RepositorySearch({ maxFolders, searchesPackages: true });
  readonly #outer: RepositorySearch;
  readonly #known = new Map<string, PackageCheck>();
  /** The last search. Searches run one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  /** `outer` searches the workspaces outside of `node_modules`. */
  constructor(outer: RepositorySearch) {
    this.#outer = outer;
  }

  /**
   * Returns the current state of all known repositories. These existed before the first command, or a check
   * after a command has accepted them. Throws a `SandboxError` if not all folders can be searched.
   */
  async find(root: string): Promise<readonly FoundRepository[]> {
    await this.settled();
    const known = this.#known.get(root);
    if (known === undefined || known.problem !== undefined) {
      const { packages } = await this.#outer.surveyInSlices(root, [root]);
      const { found, problem } = await this.survey(root, packages);
      // The result of an earlier check takes precedence. A repository that the earlier check could not see
      // was never accepted.
      this.#keep(root, { notes: [], found, ...known, problem });
      if (problem !== undefined) throw problem;
      // A different command may have ended during this search, and its check may still run.
      await this.settled();
    }
    // A different program may have removed a repository. A new repository in its place must be checked.
    return (this.#known.get(root)?.found ?? []).flatMap(({ folder }) => {
      const now = readFolder(folder, undefined, 0);
      return now?.isBare || now?.hasGit ? [{ folder, isBare: now.isBare, hasGit: now.hasGit }] : [];
    });
  }

  /** Searches these `node_modules` folders now. Commands may be running. */
  survey(root: string, packages: readonly string[]): Promise<FoundRepositories> {
    return this.#next(() => this.#search.surveyInSlices(root, packages));
  }

  /**
   * Checks a workspace after a command, and returns sentences for the model. If the check takes longer than
   * `waitMs`, the next call returns these sentences. `check` must find all repositories that a command
   * created.
   */
  async checkAfter(
    root: string,
    waitMs: number,
    check: (survey: Survey) => Promise<PackageCheck>,
  ): Promise<readonly string[]> {
    const checked = this.#next(async () => {
      this.#search.forgetIndexes();
      const { notes, ...found } = await check((packages) =>
        this.#search.surveyInSlices(root, packages),
      );
      const earlier = this.#known.get(root)?.notes ?? [];
      this.#keep(root, { ...found, notes: [...earlier, ...notes].slice(-maxNotes) });
    });
    const over = new AbortController();
    const limit = setTimeout(waitMs, undefined, { signal: over.signal }).catch(() => {});
    await Promise.race([checked, limit]);
    over.abort();
    const known = this.#known.get(root);
    if (known !== undefined) this.#keep(root, { ...known, notes: [] });
    return known?.notes ?? [];
  }

  /** Resolves when all checks have ended. */
  async settled(): Promise<void> {
    for (let last: unknown; last !== this.#last; ) {
      last = this.#last;
      await last;
    }
  }

  #next<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(run);
    this.#last = result.catch(() => {});
    return result;
  }

  #keep(root: string, workspace: PackageCheck): void {
    this.#known.delete(root);
    this.#known.set(root, workspace);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxWorkspaces && oldest !== undefined) this.#known.delete(oldest);
  }
}
