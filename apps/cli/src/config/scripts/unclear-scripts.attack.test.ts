// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these texts are shell commands
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loadExtensions } from '../../extensions/load-extensions.ts';
import { homeAndProject, hookSettings } from '../../testing/test-agent.ts';
import { loadConfig } from '../load-config.ts';
import { findServerScripts } from '../server-scripts.ts';
import { shellWords } from './shell-tokens.ts';
import { hasUnclearScript } from './unclear-scripts.ts';

// A model changes a script that a trusted hook or MCP server runs. The command does not show the whole name.

const named: readonly (readonly [command: string, script: string])[] = [
  ["bash $'scripts/\\x63heck.sh'", 'scripts/check.sh'],
  ["bash $'scripts/\\143heck.sh'", 'scripts/check.sh'],
  ['bash -c "sh $\'scripts/\\\\u0063heck\'"', 'scripts/check'],
  ['sh -- -check.sh', '-check.sh'],
  ['sh scripts/lint-$(uname)', 'scripts/lint-Linux'],
  ['sh scripts/lint-$(uname $(echo -s))', 'scripts/lint-Linux'],
  ['sh scripts/lint-$((1+1))', 'scripts/lint-2'],
  ['sh "$CLAUDE_PROJECT_DIR"/scripts/lint-$(uname)', 'scripts/lint-Linux'],
  ['X=eck; sh scripts/ch$X', 'scripts/check'],
  ['sh scripts/ch$@', 'scripts/check'],
  ['sh scripts/{check,other}', 'scripts/check'],
  ['. scripts/env.*', 'scripts/env.local'],
  ['if true; then . scripts/env.*; fi', 'scripts/env.local'],
  ['for f in scripts/d/*; do . "$f"; done', 'scripts/d/10-env'],
  ["bash -c 'for f in scripts/d/*; do source ${f}; done'", 'scripts/d/10-env'],
  ['cat scripts/d/* | sh', 'scripts/d/10-env'],
  ['ls scripts | while read f; do sh scripts/$f; done', 'scripts/check'],
  ['run-parts scripts', 'scripts/check'],
  ['cat scripts/?heck | bash', 'scripts/check'],
  ['awk -f scripts/c*.txt', 'scripts/check.txt'],
  ['sed -f scripts/c* x', 'scripts/check.sed'],
  ['make -f build/*.mk', 'build/x.mk'],
  ['python3 scripts/c*', 'scripts/check'],
  ['node scripts/ch$X', 'scripts/check'],
  ['source "$DIR/env.local"', 'scripts/env.local'],
];

test.each(named)('18.1648: attack: the script of the hook %s changes', async (command, script) => {
  const place = homeAndProject({
    'project/.claude/settings.json': hookSettings('Stop', command),
    [`project/${script}`]: 'echo one\n',
  });
  const { extensions } = await loadExtensions({ ...place, trust: true });
  expect(await extensions.areHooksUnchanged()).toBe(true);
  expect(extensions.hookFiles).toContain(join(place.cwd, script));
  writeFileSync(join(place.cwd, script), 'echo two\n');
  expect(await extensions.areHooksUnchanged()).toBe(false);
  expect((await loadExtensions(place)).untrusted).toBeDefined();
});

test.each(named)('18.1648: attack: the script of the server %s changes', async (code, script) => {
  const { cwd } = homeAndProject({ [`project/${script}`]: '' });
  const { files } = await findServerScripts([{ command: 'bash', args: ['-c', code] }], cwd);
  expect(files).toContain(join(cwd, script));
  expect(files).not.toContain('');
});

const unclear: readonly string[] = [
  ...['sh $A', 'sh "$A/$B$C"', 'A=scripts B=che C=ck.sh; sh $A/$B$C', '. "$f"', 'source ${F}'],
  ...['sh "$(printf scripts/%s check.sh)"', 'sh "$(echo scripts/CHECK.sh | tr A-Z a-z)"'],
  ...['exec bash `cat name`', 'bash -e -o pipefail "$X"', 'bash --rcfile $X -i', "bash -c 'sh $1'"],
  ...['bash -c "$X"', 'bash -lc "sh $X"', 'python3 -m $X', 'node -r "$X" a.js', 'node -- $X'],
  ...[
    'deno run $X',
    'java -jar $X',
    'awk -f $X',
    'make -f "$X"',
    'sed -n -f $X a',
    'make --file=$X',
  ],
  ...['cat "$X" | sh', 'cat $X | tr a b | bash -s', 'sh < $X', 'bash <<< "$X"', 'ls | xargs sh'],
  ...['find . -exec sh {} \\;', 'for f in *; do . $f; done', 'for f in a; do f=$1; . $f; done'],
  ...[
    'S=$X; sh "$S"',
    'S=a sh $S',
    '[ a ] && S=a; sh $S',
    'if a; then S=a; fi; sh $S',
    'S=a; S=$1; sh $S',
  ],
  ...['S=a; read S; sh $S', 'S=a | b; sh $S', 'S=; sh $S'],
  ...[
    'while read f; do sh $f; done < list',
    '$(echo scripts/x)',
    'echo "$(sh $X)"',
    'env A=1 sh $X',
  ],
  ...['echo ${A:-$(sh $B)}', '[ -f "$X" ] && . "$X"', 'if . "$X"; then a; fi', 'sh "$X', 'sh $(a'],
  ...['eval "$X"', 'eval "$(cat x)"', 'eval "sh $X"', 'trap "sh $X" EXIT', 'timeout 5 "$(a b)"'],
  ...['env A=1 nohup "$(a)"', 'X=$(a b); "$X"', 'printf -v X a; "$X" b', 'read -r Y X; $X'],
  ...['A=$(a || sh x); "$A" y', 'go run "$X"', 'X=$(command -v a; cat b); $X'],
  ...['{ . "$X"; }', 'builtin source $X', '/bin/sh $X', "bash $'$X' '", 'tcsh $X', 'sh *'],
];

test.each(unclear)('18.1649: attack: the command %s can start any file', async (command) => {
  expect(hasUnclearScript(command)).toBe(true);
});

test.each([
  ...['sh scripts/check.sh "$FILE"', 'node "$CLAUDE_PROJECT_DIR"/x.js $1', 'npx eslint . "$X"'],
  ...['echo "$X" | python3 -c "import sys"', "node -e 'a(1)' $X", 'perl -ne "print" $X', 'ls $X'],
  ...['"$PYTHON" check.py', '${PYTHON:-python3} check.py $X', '"$(command -v node)" x.js "$X"'],
  ...[
    "jq -r '.tool_input.file_path' | xargs npx prettier --write",
    'cat | sh scripts/x.sh',
    'a # sh $X',
  ],
  ...["awk '{print $1}' $X", 'sed -i s/a/b/ "$X"', 'make test X=$X', 'bash -eu scripts/x.sh "$@"'],
  ...[
    'go test -run "$T" ./...',
    'make -C "$(git rev-parse --show-toplevel)" lint',
    'timeout 5 npx $X',
  ],
  ...[
    '"$(command -v a || command -v b)" x.py',
    'PY=$(command -v python3 || echo python); "$PY" x.py',
  ],
  ...['trap "rm -f x" EXIT; sh x.sh', 'timeout 5 sh x.sh "$X"', 'nohup "$EDITOR" $X'],
  ...['for f in a/* b.sh; do . "$f"; done', 'git diff > $X', "echo 'sh $X'", 'sh "$X/a" $Y', ''],
  ...[
    'f=$(cat); case "$f" in *.ts) npx tsc;; esac',
    'S=scripts/check.sh; bash "$S"',
    'set -e; cd "$(dirname "$0")"; ./x.sh $X',
  ],
])('18.1649: the command %s shows its scripts', (command) => {
  expect(hasUnclearScript(command)).toBe(false);
});

test('18.1649: attack: a hook that does not show its script counts as unchanged', async () => {
  const place = homeAndProject({
    'project/.claude/settings.json': hookSettings('PreToolUse', 'sh $A/$B$C'),
  });
  const { extensions } = await loadExtensions({ ...place, trust: true });
  expect(await extensions.areHooksUnchanged()).toBe(false);
  expect((await loadExtensions(place)).untrusted).toBeDefined();
});

test('18.1649: attack: a server that does not show its script starts without a question', async () => {
  const server = { command: 'bash', args: ['-c', 'exec bash "$(printf tools/%s serve)"'] };
  const { cwd, env } = homeAndProject({
    'project/millrace.json': JSON.stringify({ mcpServers: { s: server } }),
    'project/tools/serve': 'exit 1\n',
  });
  const first = await loadConfig({ args: { trust: true }, env, cwd });
  expect(first.mcpServers).toHaveLength(1);
  const second = await loadConfig({ args: {}, env, cwd });
  expect([second.mcpServers, second.untrusted?.parts]).toEqual([[], ['mcpServers']]);
});

test('18.1649: attack: command lines in command lines without an end', () => {
  let line = 'sh $X';
  for (let depth = 0; depth < 12; depth++) line = `bash -c '${line.replaceAll("'", `'\\''`)}'`;
  expect(hasUnclearScript(line.slice(0, 8000))).toBe(true);
  expect(hasUnclearScript('$('.repeat(4000))).toBe(true);
  expect(hasUnclearScript(`${'$(a '.repeat(2000)}${')'.repeat(2000)}`)).toBe(true);
  expect(shellWords(`${'"$(a '.repeat(1000)}${')"'.repeat(1000)}`).length).toBeLessThan(100);
});

test.for([
  ['a carriage return', 'echo a\rb; sh "$X"'],
  ['a form feed', '\f sh "$X"'],
  ['a vertical tab at the end', 'sh "$X" \v'],
  ['many commands in a pipe', `${'sh|'.repeat(30_000)} sh "$X"`],
  ['many loops', `${'for '.repeat(24_000)}; sh "$X"`],
  ['a line that is too long', 'a'.repeat(1_000_000)],
  ['many parentheses', '$('.repeat(40_000)],
] as const)('18.1670: attack: a command line contains %s', ([, line]) => {
  expect(hasUnclearScript(line)).toBe(true);
});

test('18.1671: all text of a line is split, also text that no shell accepts', () => {
  const signs = fc.constantFrom(...' \t\n\r\f\v;&|()<>{}[]*?$`\'"\\#!=-0aX\u2028\u0085\u00a0');
  const line = fc.string({ unit: signs, maxLength: 200 });
  fc.assert(fc.property(line, (text) => void [hasUnclearScript(text), shellWords(text)]));
});

test.for([
  'php -l "$f"',
  'node --check "$f"',
  'bash -n "$f"',
  'find . -name "*.php" | xargs -n1 php -l "$f"',
])('a command that only checks the syntax of a file is clear: %s', (line) =>
  expect(hasUnclearScript(line)).toBe(false),
);

test.for(['bash -n +n "$f"', 'node --check --require "$f" x'])(
  '18.1672: attack: a later option ends the check of the syntax: %s',
  (line) => expect(hasUnclearScript(line)).toBe(true),
);
