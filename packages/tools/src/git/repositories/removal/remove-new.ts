import { atAllLevels, gitFoldersOf, nestedSearch } from '../inner-git-folders.ts';
import { isKnown, type JudgeOptions, risksOf } from '../judge-repositories.ts';
import { type FoundRepositories, moreRepositories } from '../repository-search.ts';
import { type Removed, type Risk, removeRisk, surveyAll } from './remove-risk.ts';

/** Renames the risks, and all repositories in the git folders of new repositories. The sentences start outside. */
export async function removeAll(
  options: JudgeOptions,
  risks: readonly Risk[],
  removed: Removed,
): Promise<void> {
  const { root } = options;
  const gits = gitFoldersOf(risks.filter((risk) => isNew(options, risk)));
  const search = nestedSearch();
  const nested =
    gits.length === 0
      ? { found: [], odd: [] }
      : await surveyAll(root, () => search.surveyInSlices(root, gits));
  const own: Removed = { renamed: [], failed: [] };
  const marked = risks.map((risk) => ({ ...risk, isCreated: isNew(options, risk) }));
  for (const risk of atAllLevels(marked, nested)) await removeRisk(root, risk, own);
  for (const sentence of own.renamed.toReversed()) removed.renamed.push(sentence);
  for (const sentence of own.failed.toReversed()) removed.failed.push(sentence);
}

/** Returns the risks that a search has found. */
type Judge = (all: FoundRepositories) => Promise<readonly Risk[]>;

/** Renames what a command created in the git folders that existed before. Returns the last search of them. */
export async function removeInGit(
  options: JudgeOptions,
  removed: Removed,
  survey: () => Promise<FoundRepositories>,
  judge: Judge,
): Promise<FoundRepositories> {
  const first = await surveyAll(options.root, survey);
  const risks = await judge(first);
  if (risks.length === 0) return first;
  await removeAll(options, risks, removed);
  // A renamed link is still a link, so only the first search judges the files.
  const judgeAgain = (all: FoundRepositories) => judge({ ...all, files: [] });
  return (await removeNew(options, removed, survey, judgeAgain)).all;
}

/** True if the command created the repository. The user's submodules are in the git folder of a known repository. */
function isNew(options: JudgeOptions, { folder }: Risk): boolean {
  return !isKnown(options, folder, 'hasGit');
}

/** Maximum number of searches. Each search except the last one renames about 2,000 repositories. */
export const maxSearches = 25;

/**
 * Searches for new repositories and renames those with risks. A search finds a limited number of repositories. The
 * function therefore searches again until a search finds no further risk. Returns the last search, and all risks. If
 * the last search has found a further risk, it has a problem.
 */
export async function removeNew(
  options: JudgeOptions,
  removed: Removed,
  survey: () => Promise<FoundRepositories>,
  judge: Judge = (all) => risksOf(all, options),
): Promise<{ readonly all: FoundRepositories; readonly risks: readonly Risk[] }> {
  const { root } = options;
  const risks = new Map<string, Risk>();
  for (let searches = 1; ; searches++) {
    const all = await surveyAll(root, survey);
    const further = (await judge(all)).filter((risk) => !risks.has(riskKey(risk)));
    for (const risk of further) risks.set(riskKey(risk), risk);
    await removeAll(options, further, removed);
    if (further.length > 0 && searches < maxSearches) continue;
    const problem = all.problem ?? (further.length > 0 ? moreRepositories(root) : undefined);
    return { all: { ...all, problem }, risks: [...risks.values()] };
  }
}

function riskKey({ folder, names, odd }: Risk): string {
  return [folder, ...names, odd?.toString('hex') ?? ''].join('/');
}
