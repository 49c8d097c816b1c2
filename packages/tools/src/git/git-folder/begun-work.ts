import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { entryOf } from '../../workspace/real-form.ts';
import { readRegularFileSync } from '../read-regular-file.ts';

/**
 * A file of an unfinished operation, a function that returns true for harmless content, and a description of the
 * risk of any other content.
 *
 * The functions accept only what git itself writes. A search for dangerous content would be unsafe, because git ends
 * lines, words and values in other places than a regular expression. For example, git reads a lone carriage return as
 * a space, but `$` with the flag `m` matches before it. Content with such a character never reaches the functions.
 */
type BegunCheck = readonly [file: string, isHarmless: (text: string) => boolean, why: string];

/**
 * The built-in merge strategies. Git runs any other strategy as a program. If the name of a strategy has a
 * slash, the program is in the worktree.
 */
const strategies = '(?:ort|recursive|subtree|ours)';
/**
 * The harmless options of `git am`. Other options, such as `--build-fake-ancestor`, can write to any file. With
 * `--reject`, old versions of git write through links.
 */
const patchOptions =
  "'(?:-[pC]\\d+|--(?:whitespace|directory|include|exclude)=[^'\\n]*|--ignore-(?:space-change|whitespace))'";
/** An option of a strategy. Old versions of git pass it to a shell. */
const strategyOption = '(?:--[a-z-]+(?:=[\\w%./,:@+-]*)?|"--[a-z-]+(?:=[^"\\\\$`\\n]*)?")';

/** The commands of a rebase list that run no programs, and their short forms. */
const listCommands: ReadonlySet<string> = new Set(
  'pick reword edit squash fixup drop revert break noop label reset merge update-ref p r e s f d b l t m u'.split(
    ' ',
  ),
);

/** The settings of a cherry-pick or revert, except the strategy. */
const pickSettings: ReadonlySet<string> = new Set(
  `no-commit edit allow-empty allow-empty-message drop-redundant-commits keep-redundant-commits signoff
    record-origin allow-ff mainline gpg-sign strategy-option allow-rerere-auto default-msg-cleanup
    commit-use-reference`.split(/\s+/),
);

/** True if a line of a rebase list is empty, a comment, or a command that runs no program. */
function isHarmlessStep(line: string): boolean {
  // The character for comments is a setting, but all commands begin with a letter.
  const command = /^[ \t]*([A-Za-z][^ \t]*)/.exec(line)?.[1];
  return command === undefined || listCommands.has(command);
}

/** True if a line has the form in which git writes a setting, without escaped characters and comments. */
function isHarmlessSetting(line: string): boolean {
  if (line === '' || line === '[options]') return true;
  const [, key = '', value = ''] = /^\t?([a-z-]+) = ("[^"\\\t]*"|[^"\\#;\t]*)$/.exec(line) ?? [];
  return key === 'strategy' ? new RegExp(`^${strategies}$`).test(value) : pickSettings.has(key);
}

/** The state folders of an unfinished rebase, of `git am`, and of a series of cherry-picks or reverts. */
type BegunName = 'rebase-merge' | 'rebase-apply' | 'sequencer';

const linesOf = (text: string) => text.split('\n');
const matches = (pattern: string) => (text: string) => new RegExp(`^${pattern}\\n?$`).test(text);

const optionChecks: readonly BegunCheck[] = [
  [
    'strategy_opts',
    matches(`(?: ?${strategyOption}(?: ${strategyOption})*)?`),
    'options, which git rebase --continue could run',
  ],
  ['gpg_sign_opt', matches('(?:-S[^\\n]*)?'), 'options, which git rebase --continue would use'],
];

/** The checks of unfinished operations that the user may continue. */
const begunChecks: Readonly<Record<BegunName, readonly BegunCheck[]>> = {
  'rebase-merge': [
    [
      'git-rebase-todo',
      (text) => linesOf(text).every(isHarmlessStep),
      'commands, which git rebase --continue would run',
    ],
    ['strategy', matches(strategies), 'a strategy, which git rebase --continue would run'],
    ...optionChecks,
  ],
  'rebase-apply': [
    [
      'apply-opt',
      matches(`(?: ?${patchOptions})*`),
      'options, with which git am --continue would write other files',
    ],
    ...optionChecks,
  ],
  sequencer: [
    [
      'opts',
      (text) => linesOf(text).every(isHarmlessSetting),
      'a strategy or options, which git cherry-pick --continue would use',
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
  for (const [file, isHarmless, why] of begunChecks[name])
    if (!mayContinue(join(git, name), file, isHarmless)) return `its ${name} has ${why}`;
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

/** True if a file in the folder is harmless or does not exist. False if the file cannot be read. */
function mayContinue(folder: string, name: string, isHarmless: BegunCheck[1]): boolean {
  const entry = entryOf(folder);
  if (entry === undefined || entry.isFile()) return true;
  if (!entry.isDirectory()) return false;
  const file = join(folder, name);
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return true;
  } catch {
    return false;
  }
  const bytes = readRegularFileSync(file, maxStateBytes);
  if (bytes === undefined) return false;
  // In a list of commits, a line can end with the line break of a commit message from Windows.
  const text = bytes.toString('latin1').replaceAll('\r\n', '\n');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: git reads some of them as spaces or as the end
  return !/[\x00-\x08\x0b-\x1f\x7f]/.test(text) && isHarmless(text);
}
