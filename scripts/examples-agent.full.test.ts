import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

/** Runs an example as a user would. Returns its output. */
function printed(name: string, ...args: readonly string[]): string {
  const flags = ['--conditions=@millrace/source', `examples/${name}/main.ts`, ...args];
  return execFileSync(process.execPath, flags, { encoding: 'utf8' });
}

test('03-first-agent calls a tool and answers', () => {
  expect(printed('03-first-agent')).toBe(
    'Let me check. \n[the weather in Bath …]\nTake a coat: it is raining in Bath.\n(stop; 17 tokens out)\n',
  );
});

test.each([
  ['yes', 'Allow refund? yes\nThe tool has run.\nRefunded.\n'],
  ['no', 'Allow refund? no\nNo refund.\n'],
])('04-approval asks and follows the answer %s', (answer, output) => {
  expect(printed('04-approval', answer)).toBe(output);
});

test('05-stop-and-resume keeps the text before the stop', () => {
  const lines = printed('05-stop-and-resume').split('\n');
  const [text = '', stop, later] = lines;
  expect(text.startsWith('The forecast for Bath')).toBe(true);
  expect(stop).toBe('(aborted)');
  expect(later).toBe(`I said “${text}”, then you stopped me.`);
});

test('06-steer receives messages while it works and a follow-up after it', () => {
  const output = printed('06-steer');
  expect(output).toContain('I will skip the photos.');
  expect(output.trimEnd().endsWith('Report sent.')).toBe(true);
});

test('07-subagents uses two sessions', () => {
  const output = printed('07-subagents');
  expect(output).toContain('The cheapest flight is on Tuesday.');
  expect(output).toContain('Fly on Tuesday: it is the cheapest day.');
  expect(output).toContain('2 sessions');
});

test('08-replay replays a session without running its tool, and forks it', () => {
  const [replayed, difference, fork] = printed('08-replay').split('\n');
  expect(replayed).toMatch(/^\d+ records replayed, orders shipped: 1$/);
  expect(difference).toMatch(
    /^no difference \| Record \d+ is tool_execution_started of ship_order /,
  );
  expect(fork).toBe('earlier: 2 items; edited: “I cannot cancel it.” in a fork');
});
