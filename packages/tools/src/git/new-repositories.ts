import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync } from 'node:fs';
import { lstat, rename } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type Folder, folderOpener } from '../workspace/folder.ts';
import { submodulePaths } from './git-index.ts';
import { readRegularFile } from './read-regular-file.ts';
import type { FoundRepository, RepositorySearch } from './repository-search.ts';
import { riskOfGit, riskOfSettings } from './settings-risk.ts';

/** Watches a workspace for repositories that a command creates. */
export interface RepositoryWatch {
  /** Aborts when a new repository makes git run programs. */
  readonly blocked: AbortSignal;
  /** Renames such repositories, and stops watching. Returns what happened, for the model. */
  finish(): Promise<readonly string[]>;
}

interface WatchOptions {
  /** The real path of the workspace. */
  readonly root: string;
  /** The repositories that were there before. Their settings are guarded. */
  readonly known: readonly FoundRepository[];
  readonly search: RepositorySearch;
  /** Time between two checks while the command runs. Default: 1 s. */
  readonly everyMs?: number | undefined;
}

/** A check takes at most this part of the time. A search of a large workspace takes long. */
const maxShare = 20;

/**
 * Watches for new repositories whose settings or hooks run programs. A command can create one in any
 * folder and make it a submodule. Then `git status` in the workspace runs these programs outside of
 * the sandbox, and many shells and editors run it by themselves. A repository without such settings
 * stays. Nothing can keep a command from creating the name `.git`, so it is found afterwards.
 */
export function watchRepositories(options: WatchOptions): RepositoryWatch {
  const { everyMs = 1000 } = options;
  const controller = new AbortController();
  const before = indexesOf(options);
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const checkLater = (ms: number) => {
    timer = setTimeout(async () => {
      const start = performance.now();
      // The check at the end reports a problem.
      const { risks } = await findRisks(options, before).catch(() => nothing);
      if (risks.length > 0) controller.abort();
      else if (!isOver) checkLater(Math.max(everyMs, maxShare * (performance.now() - start)));
    }, ms).unref();
  };
  checkLater(everyMs);
  return {
    blocked: controller.signal,
    async finish() {
      isOver = true;
      clearTimeout(timer);
      const { risks, problem } = await findRisks(options, before).catch((error: unknown) => ({
        ...{ risks: [], problem: cannotCheck(error) },
      }));
      const notes: string[] = problem === undefined ? [] : [problem];
      for (const risk of risks) notes.push(await removeRisk(options.root, risk));
      return notes;
    },
  };
}

/** Something in a folder that makes git run programs. */
interface Risk {
  readonly folder: string;
  /** The entries of the folder without which git runs no programs. */
  readonly names: readonly string[];
  readonly why: string;
}

interface FoundRisks {
  readonly risks: readonly Risk[];
  /** Why not everything could be checked, as a sentence for the model. */
  readonly problem?: string | undefined;
}

const nothing: FoundRisks = { risks: [] };

function cannotCheck(error: unknown): string {
  const why = error instanceof Error ? error.message : 'unknown error';
  return `The sandbox cannot check which repositories the command created. Tell the user before git is used. ${why}`;
}

async function findRisks(options: WatchOptions, before: Indexes): Promise<FoundRisks> {
  const { root, known } = options;
  const isKnown = (folder: string, kind: 'isBare' | 'hasGit') =>
    folder === root || known.some((one) => one.folder === folder && one[kind]);
  // Commands cannot change the worktrees and submodules of known repositories.
  const guarded = [root, ...known.map(({ folder }) => folder)].flatMap((folder) =>
    ['modules', 'worktrees'].map((name) => join(folder, '.git', name)),
  );
  const { found, problem } = search(options);
  const changed = await changedIndexes(before);
  const risks: Risk[] = [...changed.risks];
  const all = new Map([...found, ...changed.submodules].map((one) => [one.folder, one]));
  for (const { folder, isBare, hasGit } of all.values()) {
    if (hasGit && !isKnown(folder, 'hasGit')) {
      const why = await riskOfGit(join(folder, '.git'), { root, guarded });
      if (why !== undefined) risks.push({ folder, names: ['.git'], why });
    }
    if (isBare && !isKnown(folder, 'isBare')) {
      const why = await riskOfSettings(folder, root);
      if (why !== undefined) risks.push({ folder, names: ['config', 'hooks', 'commondir'], why });
    }
  }
  return { risks, problem };
}

function search({ root, search }: WatchOptions): {
  readonly found: readonly FoundRepository[];
  readonly problem?: string;
} {
  try {
    return { found: search.find(root) };
  } catch (error) {
    return { found: [], problem: cannotCheck(error) };
  }
}

/** The index of a repository before the command ran. */
interface IndexBefore {
  /** Differs after each change. No command can choose the time of change. */
  readonly stamp: string;
  /** Whether it was split into two files. */
  readonly isSplit: boolean;
}

/** By the folder of the worktree. */
type Indexes = ReadonlyMap<string, IndexBefore>;

function indexesOf({ root, known }: WatchOptions): Indexes {
  const folders = [root, ...known.filter(({ hasGit }) => hasGit).map(({ folder }) => folder)];
  return new Map(
    folders.map((folder) => {
      const git = join(folder, '.git');
      return [folder, { stamp: stampOf(join(git, 'index')), isSplit: hasSharedIndex(git) }];
    }),
  );
}

function stampOf(path: string): string {
  try {
    const { ino, size, ctimeNs } = lstatSync(path, { bigint: true });
    return `${ino}:${size}:${ctimeNs}`;
  } catch {
    return '';
  }
}

function hasSharedIndex(git: string): boolean {
  try {
    return readdirSync(git).some((name) => name.startsWith('sharedindex.'));
  } catch {
    return false;
  }
}

const [maxIndexBytes, maxConfigBytes] = [134_217_728, 1_048_576];

interface ChangedIndexes extends FoundRisks {
  /** Submodules. They can be in folders that are not searched, such as `node_modules`. */
  readonly submodules: readonly FoundRepository[];
}

async function changedIndexes(before: Indexes): Promise<ChangedIndexes> {
  const risks: Risk[] = [];
  const submodules: FoundRepository[] = [];
  for (const [folder, { stamp, isSplit }] of before) {
    const git = join(folder, '.git');
    const now = stampOf(join(git, 'index'));
    if (now === stamp || now === '') continue;
    const index = await readRegularFile(join(git, 'index'), maxIndexBytes);
    const names = index && submodulePaths(index);
    if (names === undefined && !isSplit && !(await mayBeSparse(git)))
      risks.push({ folder: git, names: ['index'], why: 'its index cannot be checked' });
    for (const name of names ?? []) {
      const submodule = join(folder, name);
      const entry = await lstat(join(submodule, '.git')).catch(() => undefined);
      if (entry !== undefined) submodules.push({ folder: submodule, isBare: false, hasGit: true });
    }
  }
  return { risks, submodules };
}

/** Whether settings, which no command can change, ask for an index of another form. */
async function mayBeSparse(git: string): Promise<boolean> {
  const texts = ['config', 'config.worktree'].map(async (name) =>
    (await readRegularFile(join(git, name), maxConfigBytes))?.toString('utf8'),
  );
  return (await Promise.all(texts)).some((text) => /sparse|splitindex/i.test(text ?? ''));
}

/**
 * Renames the entries. It opens the folder without following links, because another command may
 * still run and replace a folder by a link to one outside of the workspace.
 */
async function removeRisk(root: string, { folder, names, why }: Risk): Promise<string> {
  const shown = relative(root, folder);
  const renamed: string[] = [];
  const opened: Folder[] = [];
  try {
    let at = await folderOpener(root)();
    opened.push(at);
    for (const name of shown.split(sep)) {
      at = await at.enter(name);
      opened.push(at);
    }
    for (const name of names) {
      const away = `${name}.blocked-by-sandbox-${randomUUID()}`;
      const isMoved = await rename(at.pathOf(name), at.pathOf(away)).then(
        () => true,
        (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? undefined : false),
      );
      if (isMoved === true) renamed.push(`${name} to ${away}`);
      if (isMoved === false) throw new Error('it cannot be renamed');
    }
    return `The sandbox renamed ${renamed.join(' and ')} in ${shown}, because git would run programs of a repository that the command created: ${why}. Tell the user`;
  } catch {
    return `The command created a repository in ${shown} that makes git run programs: ${why}. The sandbox could not rename it. Tell the user to remove it before git is used`;
  } finally {
    for (const one of opened) await one.close();
  }
}
