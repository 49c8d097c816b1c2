import type { ReadingProgram } from './programs.ts';

/** What all that shows changes takes. Without --output, --ext-diff, --textconv and --no-index. */
const changes =
  `stat numstat shortstat name-only name-status cached staged patch no-patch color no-color
  no-ext-diff no-textconv word-diff check summary diff-filter quiet exit-code unified ignore-all-space
  ignore-space-change ignore-blank-lines find-renames minimal`.split(/\s+/);

const commits = `oneline graph all decorate no-decorate follow reverse first-parent merges no-merges
  abbrev-commit since until after before author committer grep format pretty date max-count skip
  branches tags`.split(/\s+/);

/** -U3: its value never is the next word. */
const digits = '0123456789';

const whole = { operands: 'paths', searchesBy: 'always', where: '.' } as const;

/** Commands of git that only look when they are used so. Their operands may be commits; inside they are anyway. */
export const gitPrograms: ReadonlyMap<string, ReadingProgram> = new Map([
  [
    'status',
    {
      ...{ operands: 'paths', where: '.', letters: 'sbzuvnolarm' },
      long: 'short branch porcelain long show-stash untracked-files ignored renames'.split(' '),
    },
  ],
  ['diff', { ...whole, letters: `pwbRMzsU${digits}`, long: changes }],
  [
    'log',
    {
      ...{ ...whole, letters: `pwbMzisU${digits}`, valued: 'nSGL', counts: true },
      long: [...changes, ...commits],
    },
  ],
  ['show', { ...whole, letters: `pwbMzsU${digits}`, long: [...changes, ...commits] }],
  ['blame', { ...whole, letters: 'wMCelns', valued: 'L' }],
  [
    'ls-files',
    { ...whole, letters: 'cdmosz', long: ['others', 'cached', 'modified', 'exclude-standard'] },
  ],
  [
    'rev-parse',
    {
      operands: 'text',
      long: 'abbrev-ref short show-toplevel verify is-inside-work-tree git-dir'.split(' '),
    },
  ],
  // With a name it makes one.
  [
    'branch',
    { operands: 'none', letters: 'avr', long: ['all', 'remotes', 'show-current', 'list'] },
  ],
]);
