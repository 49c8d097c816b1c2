import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import {
  readOnlyGitCommands,
  readOnlyPrograms,
} from '../../permissions/read-only/read-only-programs.ts';
import { writeTree } from '../temporary-folder.ts';

// This file creates random command lines and the folder that they use. Most commands are harmless, but most
// lines contain an odd piece. Many lines are therefore almost allowed.

/** A folder `inner` with traps, next to a folder `outside` with a key. */
export interface TrapWorld {
  readonly base: string;
  readonly root: string;
  readonly outside: string;
}

export function createTrapWorld(base: string): TrapWorld {
  const root = join(base, 'inner');
  const outside = join(base, 'outside');
  writeTree(outside, { key: 'the key\n', 'sub/x': 'the key\n', 'inner/a.txt': 'the key\n' });
  writeTree(root, {
    'a.txt': 'one\ntwo\n',
    'b c.txt': 'three\n',
    'src/c.ts': 'four\n',
    'src/deep/d.txt': 'five\n',
    'denied/k': 'hush\n',
    '--output=o': 'an option\n',
    '-rf': 'an option\n',
  });
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-C', root, '-c', 'user.name=a', '-c', 'user.email=a@b', ...words], {
      stdio: 'pipe',
    });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', 'one');
  writeTree(root, { '.env': 'KEY=hush\n', 'tls/server.pem': 'hush\n', 'a.txt': 'one\n2\n' });
  mkdirSync(join(root, 'links'));
  const links: Readonly<Record<string, string>> = {
    out: '../outside',
    sub: '../outside/sub',
    key: '../outside/key',
    in: 'src',
    secret: '.env',
    'links/up': '../..',
    'links/loop': 'loop',
    'links/abs': outside,
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, name));
  return { base, root, outside };
}

const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

/** Returns names of files in the world. Some of them are reached through links or `..`. */
function pathIn({ root, outside }: TrapWorld): fc.Arbitrary<string> {
  const good = ['a.txt', 'b c.txt', 'src', 'src/c.ts', 'in', 'in/c.ts', '.', './a.txt', 'src/deep'];
  const odd = [
    ...['src/../a.txt', 'in/../a.txt', 'in/../src/c.ts', `${root}/a.txt`, root, 'nothing', 'tls'],
    ...[
      '.env',
      'secret',
      './.env',
      'src/../.env',
      'denied',
      'denied/k',
      'src/../denied/k',
      'DENIED',
    ],
    ...['out', 'out/key', 'key', 'sub/../key', 'sub/x', 'sub/..', 'links/up', 'links/abs/key'],
    ...['links/up/outside/key', 'links/loop', 'sub/../inner/a.txt', '../outside/key', '..', '-rf'],
    ...[`${outside}/key`, '/etc/hostname', '/proc/self/environ', '/dev/null', '--output=o', '-'],
    ...[
      'tls/server.pem',
      'src//c.ts',
      'src/./c.ts',
      'src/',
      '.git/config',
      'HEAD',
      'HEAD:denied/k',
    ],
  ];
  return fc.oneof({ weight: 4, arbitrary: pick(...good) }, { weight: 3, arbitrary: pick(...odd) });
}

/** The options of each program. The first text has allowed options, and the second text has traps. */
const programs: Readonly<Record<string, readonly [good: string, traps: string]>> = {
  cat: ['-n -A --number --', '-z --output=o'],
  head: ['-n -5 -2 -c3 --lines=1', '-f --x'],
  tail: ['-n -1 +2 -q', '-f --follow -F'],
  ls: ['-la -R -1 --color=never -d', '--hyperlink -L -H'],
  grep: ['o -n -i -r -e --include=*.ts -c', '-R -f --file=key -rf --directories=recurse'],
  rg: ['o -n --files -g --hidden', '--pre -L -z -f --no-ignore'],
  find: [
    "-name *.ts -type f -maxdepth 1 -print '!'",
    '-L -delete -exec touch o ; -fprint o -ok -H',
  ],
  wc: ['-l -c', '--files0-from=key'],
  sort: ['-u -n -k1', '-o o --output=o -T'],
  uniq: ['-c', 'o'],
  cut: ['-c1 -d: -f1', '--output-delimiter=x'],
  diff: ['-u -q', '-r -N -rN --to-file=key'],
  sed: ["-n 1p 1,2p '1,$p'", "-i -e 's/o/x/w o' '1e touch o'"],
  stat: ['-c %s', '-L'],
  du: ['-s -h', '-L --files0-from=key'],
  echo: ['-n x', ''],
  pwd: ['-P', ''],
  cd: ['', ''],
  date: ['+%s', '-s -f'],
  tr: ['a b -d', ''],
  basename: ['x', ''],
  true: ['', ''],
  which: ['ls', ''],
  'git status': ['-s --short -uno', '-v'],
  'git log': ['-1 --oneline -p --stat main -S', '--output=o --ext-diff --format=%G?'],
  'git diff': ['--stat HEAD main --cached', '--output=o --no-index --textconv -o'],
  'git show': ['HEAD main --stat HEAD:a.txt', 'HEAD:denied/k HEAD:.env --output=o'],
  'git blame': ['-s', '--contents=key'],
  'git branch': ['-a --list', 'new -D main'],
  'git rev-parse': ['HEAD --show-toplevel', ''],
  'git ls-files': ['-m', '-X'],
};
/**
 * Returns a word of joined letters that the policy knows for this program. The real program may read some of them
 * as the value of others, or read the next word as an option.
 */
function joinedLetters(name: string, draw: number): string {
  const table = readOnlyPrograms.get(name) ?? readOnlyGitCommands.get(name.replace(/^git /, ''));
  const { letters = '', valued = '', words = [], valuedWords = [], numbered = '' } = table ?? {};
  const known = [letters, valued, ...words, ...valuedWords, numbered].join('').replaceAll('-', '');
  const all = [...new Set(`${known}5`)];
  const picked = [draw, draw >> 8, draw >> 16].slice(draw % 2).map((at) => all[at % all.length]);
  return `-${picked.join('')}`;
}

const others = [
  ...[
    'touch o',
    'rm a.txt',
    'tee o',
    'cp key o',
    'sh -c "touch o"',
    'xargs touch o',
    'eval touch o',
  ],
  ...[
    'env touch o',
    'exec cat key',
    'command cat key',
    'awk 1 key',
    'python3 -c 1',
    'yarn --version',
  ],
  ...[
    'cargo --version',
    './a.txt',
    'source a.txt',
    '. ./a.txt',
    'git commit -qm x',
    'git -C .. status',
  ],
  ...[
    'git -c alias.x=!touch\\ o x',
    'alias cat=touch',
    'cat() { touch o; }',
    'set -- key',
    'shopt -s x',
  ],
];

/**
 * Odd pieces of shell syntax. A piece that has an effect writes the file `o`, or reads a file that it
 * must not read.
 */
const syntax = [
  ...['> o', '>> o', '2> o', '&> o', '>| o', '>& o', '<> o', '{fd}> o', '2>&1x', '2>/dev/nullx'],
  ...[
    '2>&1',
    '2>/dev/null',
    '>/dev/null',
    '< a.txt',
    '< key',
    '<<< x',
    '<<E\ntouch o\nE\n',
    '1>&2',
  ],
  ...['$(touch o)', '`touch o`', '"$(touch o)"', '$' + '{x:-a.txt}', '$HOME', "$'a.txt'", '$((1))'],
  ...[
    '<(cat key)',
    '>(touch o)',
    '*',
    '*.txt',
    '?.txt',
    '[a].txt',
    '{a,b}.txt',
    '~',
    '~root',
    '!!',
  ],
  ...[
    '# x',
    '#',
    'A=b',
    'PATH=.',
    '(',
    ')',
    '{',
    '}',
    '!',
    '[[',
    'if',
    'then',
    'time',
    'coproc',
    ';;',
  ],
  ...["'", '"', '\\', '\\\n', '\r', '\u00a0', '\u000b', '\t', '\u2028', '&', '|&', '\n', '\0'],
];

/** Returns a word in one of the forms that a shell reads as the same word. */
function quoted(text: string, way: number): string {
  const [head = '', ...rest] = text;
  switch (way) {
    case 0:
      return `'${text.replaceAll("'", `'\\''`)}'`;
    case 1:
      return `"${text.replaceAll(/["\\$`]/g, '\\$&')}"`;
    case 2:
      return text.replaceAll(/[^\w\n]/g, '\\$&');
    case 3:
      return `'${head}'""${rest.join('')}`;
    default:
      return text;
  }
}

const blank = fc.oneof({ weight: 20, arbitrary: pick(' ') }, pick('\t', '  ', ' \\\n', '', ' \t '));
const separator = pick(' && ', ' || ', ' | ', '; ', '\n', ' & ', '&&', '|', ';', ' ;\n', '\n\n');

function commandIn(world: TrapWorld): fc.Arbitrary<string> {
  const known = fc
    .tuple(pick(...Object.entries(programs)), fc.array(fc.nat(99), { maxLength: 3 }), fc.nat())
    .chain(([[name, [good, traps]], draws, letters]) => {
      const [safe, unsafe] = [good, traps].map((text) => text.split(' ').filter(Boolean));
      const given = draws.flatMap((draw) => {
        const pool = draw % 12 === 0 ? (unsafe ?? []) : (safe ?? []);
        return pool.length === 0 ? [] : [pool[draw % pool.length] ?? ''];
      });
      const trap = unsafe?.[letters % unsafe.length] ?? '--output=o';
      if (letters % 15 === 0) given.push(joinedLetters(name, letters), trap);
      const path = fc
        .tuple(pathIn(world), fc.nat(12))
        .map(([text, way]) => quoted(text, text.includes(' ') ? way % 3 : way));
      return fc
        .tuple(fc.array(path, { maxLength: 2 }), blank)
        .map(([paths, space]) => [name, ...given, ...paths].join(space));
    });
  return fc.oneof({ weight: 30, arbitrary: known }, { weight: 1, arbitrary: pick(...others) });
}

/** Returns random command lines that use the files of a world. */
export function commandLines(world: TrapWorld): fc.Arbitrary<string> {
  const line = fc
    .tuple(commandIn(world), fc.array(fc.tuple(separator, commandIn(world)), { maxLength: 2 }))
    .map(([first, rest]) => first + rest.flat().join(''));
  const odd = fc
    .tuple(line, fc.nat(), pick(...syntax), pick('', ' '))
    .map(([text, at, piece, by]) => {
      // The piece is usually inserted at the border of a word, where a shell expects it.
      const borders = [...text.matchAll(/ |$/g)].map(({ index }) => index);
      const place = at % 4 === 0 ? at % (text.length + 1) : (borders[at % borders.length] ?? 0);
      return `${text.slice(0, place)}${by}${piece}${by}${text.slice(place)}`;
    });
  return fc.oneof({ weight: 3, arbitrary: line }, { weight: 2, arbitrary: odd });
}
