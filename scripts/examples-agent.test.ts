import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** What an example prints, run as a reader would. */
function printed(name: string, ...args: readonly string[]): string {
  const flags = ['--conditions=@millrace/source', `examples/${name}/main.ts`, ...args];
  return execFileSync(process.execPath, flags, { encoding: 'utf8' });
}

test('03-first-agent calls a tool and answers', () => {
  expect(printed('03-first-agent')).toBe(
    'Let me look. \n[the weather in Bath …]\nTake a coat: it rains in Bath.\n(stop; 15 tokens out)\n',
  );
});

test.each([
  ['yes', 'May I use pay? yes\nIt was done.\nPaid.\n'],
  ['no', 'May I use pay? no\nAs you wish.\n'],
])('04-approval asks, and does as it is told: %s', (answer, said) => {
  expect(printed('04-approval', answer)).toBe(said);
});

test('05-stop-and-resume keeps what was said before it was stopped', () => {
  const lines = printed('05-stop-and-resume').split('\n');
  const [said = '', stop, later] = lines;
  expect(said.startsWith('The water comes down')).toBe(true);
  expect(stop).toBe('(aborted)');
  expect(later).toBe(`I had said “${said}”, and you stopped me.`);
});

test('06-steer hears what is said while it works, and what follows', () => {
  const said = printed('06-steer');
  expect(said).toContain('To the left, then.');
  expect(said.trimEnd().endsWith('And now the gate.')).toBe(true);
});

test('07-subagents works in two sessions', () => {
  const said = printed('07-subagents');
  expect(said).toContain('The fall is four metres.');
  expect(said).toContain('Four metres: enough for an overshot wheel.');
  expect(said).toContain('2 sessions');
});

test('08-replay runs a session again without running anything, and forks it', () => {
  const [again, same, fork] = printed('08-replay').split('\n');
  expect(again).toMatch(/^\d+ records again, the gate was opened 1 time$/);
  expect(same).toMatch(/^the same \| Record \d+ is tool_execution_started of open_gate /);
  expect(fork).toBe('then 2 items; instead: “I had rather not.” in a fork');
});
