import { expect, test } from 'vitest';
import { conditionAccepts } from './hook-condition.ts';

// The user has a guard hook with a condition. A hostile model chooses another spelling of the call.

const place = { cwd: '/repo/app', projectFolder: '/repo', home: '/homes/me' };
const acceptsCommand = (condition: string, command: string) =>
  conditionAccepts(condition, { names: ['Bash', 'bash'], input: { command } }, place);
const acceptsPath = (condition: string, path: string) => {
  const names = ['Read', 'Write', 'Edit'];
  return conditionAccepts(condition, { names, input: { file_path: path } }, place);
};

test.each([
  ['git reset *', 'git --no-pager reset --hard'],
  ['git reset *', 'git -C . reset --hard'],
  ['git reset *', 'git -c core.pager=cat --git-dir .git reset'],
  ['git reset *', "git -C 'a b' reset --hard"],
  ['git reset *', '/usr/bin/git -C . reset'],
  ['git reset:*', 'ls && git -C . reset'],
  ['git reset', 'git --no-pager reset'],
  ['git push*', 'git -C . push origin'],
  ['git push *', 'git -C . {push,origin}'],
  ['git push *', 'git -C . pus[h] origin'],
  ['git push *', 'git -c alias.p=push p origin'],
  ['git push *', 'git -calias.p=push p origin'],
  ['npm publish*', 'npm --silent publish'],
  ['rm -rf *', 'rm -fr x'],
  ['rm -rf *', 'rm -r -f x'],
  ['rm -rf *', 'rm x -rf'],
  ['rm -rf *', 'rm --recursive --force x'],
  ['git push --force *', 'git push origin main --force'],
  ['git push --force *', 'git push --forc origin'],
  ['git push --force*', 'git push -f origin'],
  ['git push * --force', 'git -C . push origin --force'],
  ['docker * rm', 'docker -H x volume prune rm'],
  ['rm *', 'prlimit rm x'],
])('18.1644: attack: the condition Bash(%s) is avoided by %j', (pattern, command) => {
  expect(acceptsCommand(`Bash(${pattern})`, command)).toBe(true);
});

test.each([
  ['git reset *', 'git status'],
  ['git reset *', 'git -C . status'],
  ['git reset *', 'git add reset.txt'],
  ['git push *', 'git commit -m "what?"'],
  ['rm -rf *', 'rm a'],
  ['rm -rf *', 'rm -f a'],
  ['git push --force *', 'git push origin'],
  ['git push --force *', 'git push --tags'],
])('18.1644: the condition Bash(%s) does not accept %j', (pattern, command) => {
  expect(acceptsCommand(`Bash(${pattern})`, command)).toBe(false);
});

test.each([
  ['Read(./secrets/**)', '/repo/app/secrets/a'],
  ['Read(./secrets/**)', '/repo/secrets/a'],
  ['Read(secrets/**)', '/repo/app/deep/secrets/a/b'],
  ['Read(secrets)', '/repo/app/secrets/a/b'],
  ['Read(/repo/secrets)', '/repo/secrets/a/b'],
  ['Read(secrets/)', '/repo/secrets/a'],
  ['Read(~/.ssh/**)', '/homes/me/.ssh/id'],
  ['Read(//etc/**)', '/etc/passwd'],
  ['Edit(/src/**)', '/repo/src/a.ts'],
  ['Edit(/src/**)', '/repo/app/src/a.ts'],
  ['Edit(*.{ts,js})', '/repo/src/a.js'],
  ['Edit(src/?.ts)', '/repo/src/a.ts'],
  ['Edit(src/[ab].ts)', '/repo/src/a.ts'],
  ['Write(.env)', '/repo/.ENV'],
  ['Write(src/**/*.ts)', '/repo/src/a.ts'],
  ['Edit|Write(*.ts)', '/repo/a.ts'],
  ['Read(../secrets/**)', '/secrets/a'],
  ['Read($HOME/.ssh/**)', '/homes/me/.ssh/id'],
  ['Read({a,b', '/repo/a'],
])('18.1645: attack: the condition %s does not accept %s', (condition, path) => {
  expect(acceptsPath(condition, path)).toBe(true);
});

test.each([
  ['Read(./secrets/**)', '/repo/app/deep/secrets/a'],
  ['Read(~/.ssh/**)', '/repo/.ssh/id'],
  ['Read(//etc/**)', '/repo/etc/a'],
  ['Edit(/src/**)', '/repo/lib/src/a.ts'],
  ['Edit(*.{ts,js})', '/repo/src/a.css'],
  ['Read(secrets/**)', '/repo/secrets.txt'],
])('18.1645: the condition %s does not accept %s', (condition, path) => {
  expect(acceptsPath(condition, path)).toBe(false);
});

test('18.1645: a condition is compared with the path before and after its links', () => {
  const paths = ['/repo/real/a', '/repo/link/a'];
  const call = { names: ['Read'], input: { file_path: '/repo/real/a' }, paths };
  for (const condition of ['Read(real/**)', 'Read(link/**)'])
    expect(conditionAccepts(condition, call, place)).toBe(true);
  expect(conditionAccepts('Read(other/**)', call, place)).toBe(false);
});
