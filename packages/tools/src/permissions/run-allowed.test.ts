import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isFull } from '../../../core/src/testing/runs.ts';
import { commandLines, createTrapWorld } from '../testing/policy/command-lines.ts';
import { commandRuling } from '../testing/policy/policy-ruling.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { permissionPolicy } from './permission-policy.ts';
import { splitCommand } from './split-command.ts';

// Real shells run every line that the policy allows. Each program on their PATH only records its arguments.

const prefixes = ['git', 'npm test', 'ls'];
const policy = permissionPolicy({
  root: '/workspace',
  rules: prefixes.map((command) => ({ tool: 'bash', command, decision: 'allow' })),
});
const isAllowed = (command: string) =>
  policy.decide({ tool: 'bash', input: { command } }).decision === 'allow';

const programs = ['git', 'npm', 'ls', 'rm', 'evil', 'curl', 'status', 'test', 'a', '-rf', '{', '!'];
const recorder = `#!/bin/sh\nprintf '%s\\001' "\${0##*/}" "$@" END >> "$CALLS"\n`;

/** Runs a line. Returns the recorded calls and the number of commands in the trace of the shell. */
function run(shell: string, command: string, folder: string) {
  const [bin, cwd, calls] = ['bin', 'cwd', 'calls'].map((name) => join(folder, name));
  const env = {
    PATH: bin ?? '',
    CALLS: calls ?? '',
    HOME: '/home-of-nobody',
    LC_ALL: 'C.UTF-8',
  };
  const { stderr } = spawnSync(shell, ['-x', '-c', '--', command], {
    cwd,
    env,
    encoding: 'utf8',
    // With a socket as its input, bash assumes a remote shell and reads the settings of the user.
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = existsSync(env.CALLS) ? readFileSync(env.CALLS, 'utf8') : '';
  rmSync(env.CALLS, { force: true });
  return {
    calls: text
      .split('END\u0001')
      .slice(0, -1)
      .map((call) => call.split('\u0001').slice(0, -1)),
    traced: countTraced(shell, command, stderr),
    made: readdirSync(cwd ?? ''),
    stderr,
  };
}

/** A redirection without a command, as in `;2>&1`. */
const bareRedirection =
  /(?<=^|[;&|\n])[ \t]*(?:[012]?(?:>&[12]|>>?[ \t]*\/dev\/null|<[ \t]*\/dev\/null)[ \t]*)+(?=[;&|\n]|$)/g;
/** Commands that run at the same time: `a & b`, `a | b`. */
const parallel = /(?<![&>])&(?!&)|(?<!\|)\|(?!\|)/;

/**
 * Returns the minimum and maximum number of commands in a trace. It counts marks and not lines. Parallel
 * commands write at the same time, and `sh` writes a mark and its command separately. For a redirection
 * without a command, `sh` writes a mark without text. With parallel commands, it is unknown to which mark the
 * next text belongs.
 */
function countTraced(shell: string, command: string, stderr: string) {
  const marks = stderr.match(/\++ /g)?.length ?? 0;
  const bare = shell.endsWith('bash') ? 0 : (command.match(bareRedirection)?.length ?? 0);
  if (bare === 0) return { least: marks, most: marks };
  if (parallel.test(command)) return { least: marks - bare, most: marks };
  const filled = stderr.match(/\++ (?=[^\n])/g)?.length ?? 0;
  return { least: filled, most: filled };
}

const nasty = [
  ...['$HOME', '$(evil)', '`evil`', '"$(evil)"', '"`evil`"', '$' + '{x:-evil}', "$'\\n'", '$((1))'],
  ...['>', '> out', '>> out', '< in', '2>&1', '&> out', '<<E\nevil\nE\n', '<(evil)', '|&'],
  ...['(', ')', '()', '(evil)', '{', '}', '{ evil; }', '!', '[[', ']]', '((', '))'],
  ...['if', 'then', 'fi', 'while', 'do', 'done', 'time', 'function git', 'coproc', 'case'],
  ...[
    'A=b',
    'PATH=.',
    'eval',
    'exec',
    'command',
    'builtin',
    '.',
    'source',
    'alias git=evil',
    'cd /',
  ],
  ...[
    "'",
    '"',
    '\\',
    '\\\n',
    '\\\\',
    "\\'",
    '\\"',
    '#',
    '# evil',
    "'#'",
    '\n#\n',
    '\r',
    '\u000b',
    '\u00a0',
  ],
  ...['*', '?', '[a]', '~', '{git,evil}', '{a,b}', '\\*', '"*"', '%1', '^', '\u2028', '\u0085'],
];
const plain = [
  'git',
  'npm',
  'test',
  'ls',
  'status',
  '-s',
  'rm',
  'evil',
  '/',
  'ü',
  'a#b',
  'a=b',
  '--x=y',
];
const quoted = [
  "'; evil'",
  '"a b"',
  "'$(evil)'",
  "''",
  '"|"',
  "'a\nb'",
  '"\\""',
  '"\\\\"',
  'a\\ b',
  'a\\;',
  "it\\'s",
];
const separators = [
  ';',
  '&',
  '&&',
  '||',
  '|',
  '\n',
  ' ; ',
  ' & ',
  ' && ',
  ' || ',
  ' | ',
  ' \n ',
  ';;',
  ';&',
];

const argument = fc.oneof(fc.constantFrom(...plain), fc.constantFrom(...quoted));
const space = fc.constantFrom('', ' ');
const spaced = fc.tuple(space, fc.constantFrom(...nasty), space).map((pieces) => pieces.join(''));
const program = fc.constantFrom(...prefixes, ...prefixes, "'git'", 'g"i"t', 'n\\pm test');
/** An allowed command, sometimes with odd text before or after it. */
const command = fc
  .tuple(program, fc.array(argument, { maxLength: 3 }), fc.nat(20), spaced)
  .map(([name, rest, where, odd]) => {
    const text = [name, ...rest].join(' ');
    if (where === 0) return odd + text;
    return where === 1 ? text + odd : text;
  });
const line = fc
  .tuple(command, fc.array(fc.tuple(fc.constantFrom(...separators), command), { maxLength: 3 }))
  .map(([first, rest]) => first + rest.map(([separator, next]) => separator + next).join(''));
/** A line with odd text inserted at any position. */
const mutated = fc.tuple(line, fc.nat(), spaced).map(([text, at, odd]) => {
  const index = at % (text.length + 1);
  return text.slice(0, index) + odd + text.slice(index);
});
const soup = fc
  .tuple(
    space,
    fc.array(fc.oneof(spaced, argument, fc.constantFrom(...separators)), { maxLength: 8 }),
  )
  .map(([glue, tokens]) => `git ${tokens.join(glue)}`);

const pathOf = (shell: string) =>
  execFileSync('sh', ['-c', `command -v ${shell}`], { encoding: 'utf8' }).trim();

test.each(['bash', 'sh'])('%s runs only allowed commands of an allowed line', (shell) => {
  const folder = temporaryFolder();
  for (const name of ['bin', 'cwd']) mkdirSync(join(folder, name));
  for (const name of programs) writeFileSync(join(folder, 'bin', name), recorder, { mode: 0o755 });
  const path = pathOf(shell);
  let [allowed, joined] = [0, 0];
  fc.assert(
    fc.property(fc.oneof(line, mutated, mutated, soup), (text) => {
      if (!isAllowed(text)) return;
      const { calls, traced, made, stderr } = run(path, text, folder);
      const { parts } = splitCommand(text);
      const isPlain = parts.flat().every((word) => word.isPlain);
      const expected = parts.map((part) => JSON.stringify(part.map(({ text }) => text)));
      for (const call of calls) {
        expect(prefixes.some((prefix) => `${call.join(' ')} `.startsWith(`${prefix} `))).toBe(true);
        if (isPlain) expect(expected).toContain(JSON.stringify(call));
      }
      // Builtins are not recorded, but the shell traces them.
      expect(calls.length, stderr).toBeGreaterThanOrEqual(traced.least);
      expect(calls.length, stderr).toBeLessThanOrEqual(traced.most);
      expect(calls.length, stderr).toBeLessThanOrEqual(parts.length);
      if (isPlain && !text.includes('||') && !/syntax error|unexpected/i.test(stderr)) {
        expect(calls.length, stderr).toBe(parts.length);
      }
      expect(made).toEqual([]);
      allowed++;
      if (parts.length > 1) joined++;
    }),
  );
  // Checks that enough lines were allowed and tested.
  if (isFull) expect(allowed).toBeGreaterThan(100);
  if (isFull) expect(joined).toBeGreaterThan(50);
});

test('bash runs the commands of a line without a rule exactly as the policy read them', async () => {
  const folder = temporaryFolder();
  const world = createTrapWorld(folder);
  mkdirSync(join(folder, 'bin'));
  const names = 'cat head tail ls grep rg find wc sort uniq cut diff sed stat du date tr basename';
  for (const name of [
    ...names.split(' '),
    ...'which git rm touch tee cp sh xargs env awk'.split(' '),
  ])
    writeFileSync(join(folder, 'bin', name), recorder, { mode: 0o755 });
  symlinkSync(world.root, join(folder, 'cwd'));
  const before = readdirSync(world.root);
  const shell = pathOf('bash');
  let allowed = 0;
  await fc.assert(
    fc.asyncProperty(commandLines(world), async (line) => {
      if (line.includes('\0') || (await commandRuling(world.root, line)) !== 'allow') return;
      const { calls, made, stderr } = run(shell, line, folder);
      const expected = splitCommand(line).parts.map((part) =>
        JSON.stringify(part.map(({ text }) => text)),
      );
      for (const call of calls) expect(expected, stderr).toContain(JSON.stringify(call));
      expect(made).toEqual(before);
      allowed++;
    }),
  );
  if (isFull) expect(allowed).toBeGreaterThan(100);
});
