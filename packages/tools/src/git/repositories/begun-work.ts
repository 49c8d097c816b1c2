import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { entryOf } from '../../workspace/real-form.ts';
import { readRegularFileSync } from '../read-regular-file.ts';

/**
 * A file of an unfinished operation, a pattern that detects a risk in the file, and a description of the
 * risk.
 */
type BegunCheck = readonly [file: string, risk: RegExp, why: string];

/**
 * The built-in merge strategies. Git runs any other strategy as a program. If the name of a strategy has a
 * slash, the program is in the worktree.
 */
const strategies = '(?:ort|recursive|subtree|ours)';
/** The harmless options. Other options, such as `--build-fake-ancestor`, can write to any file. */
const patchOptions =
  "'(?:-[pC]\\d+|--(?:whitespace|directory|include|exclude)=[^']*|--(?:ignore-space-change|ignore-whitespace|reject))'";

/** The state folders of an unfinished rebase, of `git am`, and of a series of cherry-picks or reverts. */
type BegunName = 'rebase-merge' | 'rebase-apply' | 'sequencer';

/** The checks of unfinished operations that the user may continue. */
const begunChecks: Readonly<Record<BegunName, readonly BegunCheck[]>> = {
  'rebase-merge': [
    [
      'git-rebase-todo',
      /^[ \t]*(?:x|exec)(?:\s|$)/m,
      'commands, which git rebase --continue would run',
    ],
    [
      'strategy',
      new RegExp(`^(?!${strategies}\\n?$)`),
      'a strategy, which git rebase --continue would run',
    ],
  ],
  'rebase-apply': [
    [
      'apply-opt',
      new RegExp(`^(?!(?: ?${patchOptions})*\\n?$)`),
      'options, with which git am --continue would write other files',
    ],
  ],
  sequencer: [
    [
      'opts',
      new RegExp(
        `^(?![ \\t]*strategy(?:[ \\t]*=[ \\t]*${strategies}$|-option[ \\t]*=)).*strategy`,
        'im',
      ),
      'a strategy, which git cherry-pick --continue would run',
    ],
  ],
};

/** The names of the state folders of unfinished operations. */
export const begunNames: readonly BegunName[] = Object.keys(begunChecks) as readonly BegunName[];

/**
 * Returns the reason why it would be dangerous for the user to continue an unfinished operation in a
 * repository.
 */
export function riskOfBegun(git: string, name: BegunName): string | undefined {
  for (const [file, risk, why] of begunChecks[name])
    if (mayMatch(join(git, name), file, risk)) return `its ${name} has ${why}`;
  return undefined;
}

/** Returns the reason why it would be dangerous to continue any unfinished operation in a repository. */
export function riskOfAnyBegun(git: string): string | undefined {
  for (const name of begunNames) {
    const why = riskOfBegun(git, name);
    if (why !== undefined) return why;
  }
  return undefined;
}

const maxStateBytes = 1_048_576;

/** True if a file in the folder matches the pattern or cannot be read. False if the file does not exist. */
function mayMatch(folder: string, name: string, pattern: RegExp): boolean {
  const entry = entryOf(folder);
  if (entry === undefined || entry.isFile()) return false;
  if (!entry.isDirectory()) return true;
  const file = join(folder, name);
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return false;
  } catch {
    return true;
  }
  const bytes = readRegularFileSync(file, maxStateBytes);
  return bytes === undefined || pattern.test(bytes.toString('latin1'));
}
