import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { endsByItself } from '../../../../core/src/testing/ends-by-itself.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { riskOfAnyBegun } from './begun-work.ts';

// Commands write the files of an unfinished operation in a form that git reads differently than the check. The user
// continues the operation, and git runs a program or writes other files.

function riskOf(file: string, content: string): string | undefined {
  const git = temporaryFolder();
  mkdirSync(join(git, dirname(file)), { recursive: true });
  writeFileSync(join(git, file), content);
  return endsByItself(() => riskOfAnyBegun(git));
}

type Left = readonly [file: string, content: string];
const opts = (text: string): Left => ['sequencer/opts', `[options]\n${text}`];
const list = (text: string): Left => ['rebase-merge/git-rebase-todo', text];
const strategy = (text: string): Left => ['rebase-merge/strategy', text];
const strategyOptions = (text: string): Left => ['rebase-merge/strategy_opts', text];
const patch = (text: string): Left => ['rebase-apply/apply-opt', text];

const hostile: readonly Left[] = [
  ...[
    '\r',
    '\r\r',
    '\t',
    '\v',
    '\f',
    '\0',
    ' ',
    '\u0085',
    '\u2028',
    '\\\n',
    '""',
    '\ufeff',
  ].flatMap((between) => [
    opts(`\tstrategy = ort${between}/y\n`),
    opts(`\tedit = true${between}\tstrategy = x/y\n`),
    strategy(`ort${between}/y\n`),
  ]),
  opts('\tstrategy =\tx/y\n'),
  opts('\tstrategy=x/y\n'),
  opts('strategy = ort # /y\n'),
  opts('\tstrategy = "ort/y"\n'),
  opts('\tSTRATEGY = x/y\n'),
  opts('\tstrategy = ort\n\tstrategy = x/y\n'),
  opts('\tstrategy\n'),
  opts('\tedit = true\n[options] strategy = x/y\n'),
  opts('[options "a"]\n\tstrategy = x/y\n'),
  opts('[include]\n\tpath = ../../more\n'),
  opts('\tunknown = x\n'),
  opts('\tstrategy-option = a \\\n\tstrategy = x/y\n'),
  opts('\tstrategy-option = "a\n\tstrategy = x/y"\n'),
  ['sequencer/opts', '\ufeff[options]\n\tstrategy = x/y\n'],
  strategy(''),
  strategy('ort\n/y'),
  list('pick 1234567 a\nexec touch ran\n'),
  list('pick 1234567 a\n \tx\ttouch ran\n'),
  list('pick 1234567 a\r\nx touch ran\r\n'),
  list('pick 1234567 a\rexec touch ran\n'),
  list('exec\0 touch ran\n'),
  list('\0exec touch ran\n'),
  list('\vexec touch ran\n'),
  list('EXEC touch ran\n'),
  list('run touch ran\n'),
  strategyOptions(' --patience; touch ran\n'),
  strategyOptions(' --a=$(touch ran)\n'),
  strategyOptions(' "--a=`touch ran`"\n'),
  strategyOptions(' "--a=\\"; touch ran"\n'),
  strategyOptions(' --patience\ntouch ran\n'),
  strategyOptions(' --patience touch\n'),
  ['rebase-apply/gpg_sign_opt', '--directory=..\n'],
  ['rebase-merge/gpg_sign_opt', '-Sa\n--interactive\n'],
  patch("'--build-fake-ancestor=/srv/notes'"),
  patch("'--whitespace=fix\r' '--build-fake-ancestor=/srv/notes'"),
  patch("'--directory=a'\\''--build-fake-ancestor=x'"),
  patch("'-p1\0'"),
  patch("'--reject'"),
];

test('18.951: attack: a command leaves a list that is too long to read', () => {
  const [file, content] = list('#\n'.repeat(1_000_000));
  expect(riskOf(file, content)).toContain('its rebase-merge has');
});

test.for(hostile)('18.950: attack: a command leaves %s with %j', ([file, content]) => {
  expect(riskOf(file, content)).toContain(`its ${dirname(file)} has`);
});

const endless: readonly Left[] = [
  ...[' ', '\t', '#', 'a', 'p ', '\n'].map((part) => list(part.repeat(500_000 / part.length))),
  ...[' ', '-', ' --a', ' --a=b', ' "--a"', '"'].map((part) =>
    strategyOptions(`${part.repeat(500_000 / part.length)}\u0001`),
  ),
  ...[' ', ' --a', ' "--a"', '"'].map((part) =>
    strategyOptions(`${part.repeat(500_000 / part.length)};`),
  ),
  ...["'-p1'", " '-p1'", "'", '1'].map((part) => patch(`${part.repeat(500_000 / part.length)};`)),
  ...[' ', '\t', 'a', '\tedit = true\n'].map((part) => opts(part.repeat(500_000 / part.length))),
];

test('18.951: attack: a command leaves very long files, whose check keeps the process busy', () => {
  for (const [file, content] of endless) riskOf(file, content);
});

test('18.952: attack: a command leaves links instead of files', () => {
  for (const [folder, name] of [
    ['rebase-merge', 'strategy_opts'],
    ['rebase-merge', 'gpg_sign_opt'],
    ['sequencer', 'opts'],
  ] as const) {
    const git = temporaryFolder();
    mkdirSync(join(git, folder));
    symlinkSync('/dev/null', join(git, folder, name));
    expect(riskOfAnyBegun(git)).toContain(`its ${folder} has`);
  }
});

const harmless: readonly Left[] = [
  opts(''),
  opts(
    '\tno-commit = true\n\tedit = false\n\tsignoff = true\n\trecord-origin = true\n\tmainline = 1\n\tstrategy = ort\n\tgpg-sign = \n\tstrategy-option = subtree=a b\n\tstrategy-option = "x;y"\n\tdefault-msg-cleanup = scissors\n',
  ),
  list(
    '# a\n\n; b\npick 1234567 # caf\u00e9: exec x\nfixup -C 1234567 a\rb'.replace('\rb', '\r\n') +
      '  p 1234567\nbreak\nlabel onto\nmerge -C 1 a # b\nupdate-ref refs/heads/a\nnoop\n',
  ),
  strategy('ort\n'),
  strategyOptions(' --patience --find-renames=50%\n'),
  strategyOptions('"--subtree=a b" --ours'),
  ['rebase-merge/gpg_sign_opt', '-S\n'],
  ['rebase-apply/gpg_sign_opt', '-S1234 A <a@example.org>\n'],
  patch(" '-C1' '--whitespace=fix'\n"),
  patch(''),
];

test.for(harmless)('18.950: %s with %j stays', ([file, content]) => {
  expect(riskOf(file, content)).toBeUndefined();
});
