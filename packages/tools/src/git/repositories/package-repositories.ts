import { setTimeout } from 'node:timers/promises';
import { readFolder } from './read-folder.ts';
import {
  type FoundRepositories,
  type FoundRepository,
  RepositorySearch,
} from './repository-search.ts';

/** Maximum number of folders in folders with packages. */
const maxFolders = 200_000;
/** Maximum number of workspaces of which results are kept. */
const maxWorkspaces = 8;
/** Maximum number of sentences that wait for the next command. */
const maxNotes = 20;

/** What a check of a workspace found. */
export interface PackageCheck extends Pick<FoundRepositories, 'found' | 'problem'> {
  /** What happened, for the model. */
  readonly notes: readonly string[];
}

/** Searches folders with packages. */
type Survey = (packages: readonly string[]) => Promise<FoundRepositories>;

/**
 * Finds repositories in folders with packages (`node_modules`). Git looks into such a repository if a
 * branch has it as a submodule, and no list of branches tells which one a user checks out later. So
 * all folders are searched, after each command.
 *
 * A folder has to be looked at even if nothing above it has changed, which takes about 3 µs a folder.
 * That is too long to wait for after a short command, so a check runs beside other work. The next
 * command starts after it.
 */
export class PackageRepositories {
  readonly #search = new RepositorySearch({ maxFolders, searchesPackages: true });
  readonly #outer: RepositorySearch;
  readonly #known = new Map<string, PackageCheck>();
  /** The search that was started last. They run one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  /** `outer` searches the rest of the workspaces. */
  constructor(outer: RepositorySearch) {
    this.#outer = outer;
  }

  /**
   * Returns the repositories that were there before the first command, and those that a check after a
   * command accepted, as they are now. Throws a `SandboxError` if not all folders can be searched.
   */
  async find(root: string): Promise<readonly FoundRepository[]> {
    await this.settled();
    const known = this.#known.get(root);
    if (known === undefined || known.problem !== undefined) {
      const { found, problem } = await this.survey(root, this.#outer.survey(root).packages);
      // What was out of sight after a command is no repository that a check accepted.
      this.#keep(root, { notes: [], found, ...known, problem });
      if (problem !== undefined) throw problem;
      // Another command may have started and ended meanwhile.
      await this.settled();
    }
    // Others may have removed one. A new one in its place must be checked.
    return (this.#known.get(root)?.found ?? []).flatMap(({ folder }) => {
      const now = readFolder(folder, undefined, 0);
      return now?.isBare || now?.hasGit ? [{ folder, isBare: now.isBare, hasGit: now.hasGit }] : [];
    });
  }

  /** Searches these folders with packages now, while commands may run. */
  survey(root: string, packages: readonly string[]): Promise<FoundRepositories> {
    return this.#next(() => this.#search.surveyInSlices(root, packages));
  }

  /**
   * Runs a check of a workspace after a command, and returns its sentences for the model. If it takes
   * longer than `waitMs`, the next call returns them. `check` must find what a command created.
   */
  async checkAfter(
    root: string,
    waitMs: number,
    check: (survey: Survey) => Promise<PackageCheck>,
  ): Promise<readonly string[]> {
    const checked = this.#next(async () => {
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
