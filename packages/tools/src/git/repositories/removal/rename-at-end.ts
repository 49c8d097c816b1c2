import { dirname, join } from 'node:path';
import { moveAway } from '../../../workspace/kept-names.ts';
import { entryOf } from '../../../workspace/real-form.ts';
import { entriesLeft } from '../../git-folder/unusual-entries.ts';
import type { EarlierState } from '../earlier-keys.ts';
import { atAllLevels, gitFoldersOf, nestedSearch } from '../inner-git-folders.ts';
import {
  isKnown,
  type JudgeOptions,
  type RepositoryKind,
  risksOfBegun,
} from '../judge-repositories.ts';
import {
  type FoundRepositories,
  moreRepositories,
  RepositorySearch,
} from '../repository-search.ts';
import { maxSearches } from './remove-new.ts';
import { cannotCheck, permitOwner, problemOf, type Risk, surveyAllNow } from './remove-risk.ts';
import { renameOdd } from './rename-odd.ts';

/**
 * Maximum number of folders for this last search. Nobody can repeat it later, and a command cannot create so many
 * folders in the time that it gets to end.
 */
const maxLastFolders = 1_000_000;

/**
 * Renames all new repositories in a workspace synchronously, because the process ends. Returns sentences about the
 * changes.
 */
export function renameNew(options: JudgeOptions, earlier: EarlierState): readonly string[] {
  const search = new RepositorySearch({ maxFolders: maxLastFolders });
  const notes = [...risksOfBegun(earlier), ...entriesLeft(earlier)]
    .flatMap(pathsOf)
    .map(renameNowAndTell);
  const tried = new Set<string>();
  for (let searches = 1; searches <= maxSearches; searches++) {
    const all = surveyAllNow(options.root, search);
    const risks = all.found.flatMap(({ folder, ...one }) => {
      const isNew = (kind: RepositoryKind) => one[kind] && !isKnown(options, folder, kind);
      const names = [...(isNew('hasGit') ? ['.git'] : []), ...(isNew('isBare') ? ['HEAD'] : [])];
      return names.length === 0 ? [] : [{ folder, names, why: '' }];
    });
    const gits = gitFoldersOf(risks);
    const nested = gits.length === 0 ? none : surveyAllNow(options.root, nestedSearch(), gits);
    const odd = [...all.odd, ...nested.odd];
    const paths = atAllLevels(risks, { found: nested.found, odd: [] })
      .flatMap(pathsOf)
      .filter((path) => !tried.has(path));
    for (const path of paths) tried.add(path);
    for (const one of odd) notes.push(renameOddAndTell(one.folder, one.name));
    notes.push(...paths.map(renameNowAndTell));
    const isOver = odd.length === 0 && paths.length === 0;
    if (isOver) return [...notes, ...problemOf(all)];
  }
  return [...notes, cannotCheck(moreRepositories(options.root))];
}

const none: Pick<FoundRepositories, 'found' | 'odd'> = { found: [], odd: [] };

function renameNowAndTell(path: string): string {
  // A command may have made the folder read-only.
  const away = moveAway(path) ?? (permitOwner(dirname(path)) ? moveAway(path) : undefined);
  return `The sandbox renamed ${path}, because a command created it and could not be checked. The user can rename it back: ${away ?? 'it could not be renamed'}`;
}

function renameOddAndTell(folder: string, name: Buffer): string {
  try {
    return `The sandbox renamed ${name} in ${folder} to ${renameOdd(folder, name)}, because it contains a repository that could not be checked`;
  } catch {
    return `The sandbox could not rename ${name} in ${folder}. It contains a repository that could not be checked`;
  }
}

function pathsOf({ folder, names }: Pick<Risk, 'folder' | 'names'>): readonly string[] {
  return names.map((name) => join(folder, name)).filter((path) => entryOf(path) !== undefined);
}
