import { createHash } from 'node:crypto';
import { lstatSync, readdirSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { isKeptName } from '../../workspace/kept-names.ts';
import { isBelow, isInside } from '../../workspace/match-path.ts';
import { entryOf } from '../../workspace/real-form.ts';
import { readRegularFileSync } from '../read-regular-file.ts';
import { type EarlierKeys, type EarlierState, earlierKey } from '../repositories/earlier-keys.ts';
import type { Risk } from '../repositories/removal/remove-risk.ts';
import { realPath } from '../repositories/submodules.ts';

/**
 * The entries that git itself writes, and which are harmless or which other code judges or guards:
 *
 * - Git reads most files in upper case only as names of commits, as states or as messages.
 * - Other checks judge the index, the settings, `commondir`, and the unfinished operations.
 * - The sandbox guards `config`, `hooks`, `modules` and `worktrees`.
 * - `rr-cache` has only contents of files with conflicts. `MERGE_RR` names the files, so it is not in this list.
 * - The locks and the temporary files of git, and the locks and swap files of editors.
 *
 * Everything else counts as unusual. For example, `sl`, `arc` and `lazygit.yml` are settings of programs, and git can
 * connect to an address in `remotes`.
 */
const usual = new RegExp(
  `^(?:(?:${[
    'HEAD|(?:[A-Z]+_)+HEAD|AUTO_MERGE|MERGE_(?:MODE|MSG|AUTOSTASH)|SQUASH_MSG',
    '(?:[A-Z]+_)+EDITMSG|EDIT_DESCRIPTION|REPLACE_EDITOBJ|GITGUI_\\w+|NOTES_MERGE_(?:PARTIAL|REF|WORKTREE)',
    'BISECT_(?:ANCESTORS_OK|EXPECTED_REV|FIRST_PARENT|LOG|NAMES|RUN|START|TERMS)',
    'index|config|config\\.worktree|commondir|gitdir|locked|packed-refs|shallow|description',
    'branches|hooks|info|logs|modules|objects|refs|reftable|worktrees|lfs|lost-found|rr-cache|subtree-cache',
    'rebase-merge|rebase-apply|sequencer|gc\\.log|gc\\.pid|fsmonitor--daemon|fsmonitor--daemon\\.ipc',
    'ADD_EDIT\\.patch|addp-hunk-edit\\.diff|fast_import_crash_\\d+|index\\.stash\\.\\d+|next-index-\\d+',
    'sharedindex[._]\\w+|shallow_\\w{6}|t\\w{6}',
  ].join('|')})(?:\\.lock)?|MERGE_RR\\.lock|\\.#.*|#[A-Z_]+#|[A-Z_]+~|\\.[A-Z_]+\\.sw[a-p])$`,
);

/** The entries in other folders of a git folder, in which all other entries count as unusual. */
const usualIn: readonly (readonly [place: string, usual: RegExp])[] = [
  ['info', /^(?:(?:attributes|exclude|sparse-checkout|refs)(?:\.lock)?|refs_\w{6}|fast-import)$/],
  ['objects/info', /^(?:(?:packs|commit-graph|commit-graphs)(?:\.lock)?|packs_\w{6})$/],
  ['branches', /^$/],
];

/** The entries whose content matters in each repository, also in a folder that is not only a git folder. */
const riskyEntries: readonly string[] = ['MERGE_RR', 'objects/info/alternates'];

interface Entry {
  readonly folder: string;
  readonly name: string;
  readonly isFile: boolean;
}

/**
 * Returns the unusual entries of a git folder. A bare repository can have files of other programs, and worktrees in
 * its folder, so only its risky entries count.
 */
function unusualEntries(git: string): readonly Entry[] {
  const all = [['', usual] as const, ...usualIn].flatMap(([place, isUsual]) =>
    entriesIn(join(git, place)).filter(({ name }) => !isUsual.test(name)),
  );
  const isGitOnly = git.split(sep).includes('.git');
  const risky = riskyEntries.map((path) => join(git, path));
  return all.filter(({ folder, name }) => isGitOnly || risky.includes(join(folder, name)));
}

/** Returns the entries of a folder, without empty folders, and without files that the sandbox renamed. */
function entriesIn(folder: string): readonly Entry[] {
  const list = (path: string) => {
    try {
      return readdirSync(path, { withFileTypes: true });
    } catch {
      // The folder does not exist, or other checks make it readable.
      return [];
    }
  };
  return list(folder)
    .filter(({ name }) => !isKeptName(name) && !name.includes('\uFFFD'))
    .map((entry) => ({ folder, name: entry.name, isFile: !entry.isDirectory() }))
    .filter(({ name, isFile }) => isFile || list(join(folder, name)).length > 0);
}

const nameKey = ({ folder, name }: Entry) => earlierKey('entry', join(folder, name));
const contentKey = ({ folder, name }: Entry) =>
  earlierKey('entry content', join(folder, name), digestOf(join(folder, name)));

const maxBytes = 1_048_576;

/** Returns a digest of a file. For a large file and for other entries, it returns a text that most changes change. */
function digestOf(path: string): string {
  const content = readRegularFileSync(path, maxBytes);
  if (content !== undefined) return createHash('sha256').update(content).digest('hex');
  const entry = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return `${entry?.ino} ${entry?.size} ${entry?.ctimeNs}`;
}

/** Returns the keys of the unusual entries of git folders. */
export function entryKeys(gitFolders: readonly string[]): readonly string[] {
  const all = gitFolders.flatMap(unusualEntries);
  return all.flatMap((one) => [nameKey(one), ...(one.isFile ? [contentKey(one)] : [])]);
}

/** Maximum number of entries to rename. If a command creates more, their git folder is renamed. */
const maxUnusual = 1000;

/**
 * Returns the unusual entries that a command created, and the unusual files that it changed. `seen` has the keys of
 * the entries before the command.
 */
export function entryRisks(
  gitFolders: readonly string[],
  seen: EarlierKeys,
  guarded: readonly string[] = [],
): readonly Risk[] {
  return gitFolders.flatMap((git) => {
    const left = unusualEntries(git).filter(
      (one) => !isAsBefore(one, seen, guarded) || (one.name === 'MERGE_RR' && !isPlain(git)),
    );
    if (left.length <= maxUnusual) return left.map(({ folder, name }) => riskOf(folder, name));
    const why = `it has more than ${maxUnusual} entries that git does not create`;
    return [{ folder: dirname(git), names: [basename(git)], effect: usedByOthers, why }];
  });
}

/** Returns the unusual entries that a command left in the git folders that existed before. */
export function entriesLeft({ searched, entries, guarded }: EarlierState): readonly Risk[] {
  return entryRisks(searched, entries, guarded);
}

/** How often a command can write `MERGE_RR` before the sandbox stops it. */
const maxRecords = 3;

/**
 * Returns a check for `MERGE_RR` while a command runs. It removes the file, because an honest `git merge` writes it
 * too. If the command writes it again and again, the check returns it as a risk.
 */
export function recordWatch(
  earlier: EarlierState,
  remove: (risks: readonly Risk[]) => Promise<void>,
): () => Promise<readonly Risk[]> {
  let renames = 0;
  return async () => {
    const records = entriesLeft(earlier).filter(({ names }) => names.includes('MERGE_RR'));
    if (records.length === 0) return [];
    if (++renames > maxRecords) return records;
    await remove(records);
    return [];
  };
}

function isAsBefore(one: Entry, seen: EarlierKeys, guarded: readonly string[]): boolean {
  if (guarded.some((path) => isInside(path, join(one.folder, one.name)))) return true;
  return seen.has(nameKey(one)) && (!one.isFile || seen.has(contentKey(one)));
}

const usedByOthers = 'other programs could use it';

function riskOf(folder: string, name: string): Risk {
  const about = { folder, names: [name] };
  if (name === 'MERGE_RR') {
    const effect = 'git commit would copy the files that it names';
    const why =
      'the command wrote it, or a file that it names is a link. Git rerere only misses a resolution';
    return { ...about, effect, why };
  }
  return { ...about, effect: usedByOthers, why: 'git does not create it' };
}

/**
 * True if `MERGE_RR` names only files of the worktree that are no links. Git copies the content of these files, also
 * if they are links to other files now.
 */
function isPlain(git: string): boolean {
  const worktree = worktreeOf(git);
  const record = readRegularFileSync(join(git, 'MERGE_RR'), maxBytes)?.toString('utf8');
  if (worktree === undefined || record === undefined) return false;
  const entries = record.split('\0');
  return (
    entries.pop() === '' &&
    entries.every((entry) => {
      const path = join(worktree, entry.slice(entry.indexOf('\t') + 1));
      return isBelow(worktree, path) && (entryOf(path) === undefined || realPath(path) === path);
    })
  );
}

/** Returns the real path of the worktree of a git folder, if the place or the file `gitdir` of the folder shows it. */
function worktreeOf(git: string): string | undefined {
  if (basename(git) === '.git') return dirname(git);
  const file = readRegularFileSync(join(git, 'gitdir'), maxBytes)?.toString('utf8').trim();
  return file?.endsWith('/.git') ? realPath(dirname(file)) : undefined;
}
