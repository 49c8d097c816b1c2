import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { describeOnPostgres, startPostgres } from '../packages/log/src/testing/start-postgres.ts';
import { needsRedis, startRedis } from '../packages/log/src/testing/start-redis.ts';

/** What an example prints, run as a reader would. */
function printed(name: string, env: Readonly<Record<string, string>> = {}): readonly string[] {
  const flags = ['--conditions=@millrace/source', `examples/${name}/main.ts`];
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  return execFileSync(process.execPath, flags, options).trimEnd().split('\n');
}

test('09-sync-agent streams two messages at once, and keeps the full one', () => {
  const lines = printed('09-sync-agent');
  expect(lines.filter((line) => /^0 (?!start)/.test(line))).toEqual([
    '0 delta The fall is ',
    '0 delta four metres.',
    '0 full The fall is four metres [1]. [1] The survey of 1820',
  ]);
  expect(lines).toContain('1 done');
  expect(lines.slice(-2)).toEqual([
    'kept: The fall is four metres [1]. [1] The survey of 1820',
    'kept: You asked: How high is the fall?',
  ]);
});

test('10-async-agent-auto-send shows what the model says, and has it as messages', () => {
  expect(printed('10-async-agent-auto-send')).toEqual([
    'Water is heavy. An overshot wheel: the water falls into its buckets.',
    'The agent has them back: reasoning, text',
  ]);
});

test('11-async-agent-manual sends what it made of the stream, to another sink too', () => {
  const [kept, heard] = printed('11-async-agent-manual');
  expect(kept).toBe('DONE THE GATE IS OPEN. STAND BACK!');
  expect(heard).toMatch(/^another sink heard \d+ updates$/);
});

test('12-usechat shows the same to whoever comes in the middle', () => {
  const [first = '', second = '', later] = printed('12-usechat');
  expect(first).toMatch(/^first: {2}Let me look\. \[tool-weather\] It rains, .* grinding\.$/);
  expect(second).toBe(first.replace('first: ', 'second:'));
  expect(later).toBe('later:  null');
});

const twoServers = [
  'B hears that A asks about grind',
  'A is dead',
  'user: Grind some grain.',
  'assistant: I would grind three. ',
  'assistant: Three sacks of flour, and the wheel still turns.',
];

test('13-two-servers goes on with the run of a server that was killed', () => {
  expect(printed('13-two-servers')).toEqual(twoServers);
});

needsRedis(describeOnPostgres())('13-two-servers', () => {
  test('does the same on Postgres and Redis', async () => {
    const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    try {
      const env = { STORE: postgres.url, BUS: redis.url };
      expect(printed('13-two-servers', env)).toEqual(twoServers);
    } finally {
      await redis.stop();
      await postgres.remove();
    }
  });
});

test('15-openai-agents tells the same story as a sync and as an async agent', () => {
  expect(printed('15-openai-agents')).toEqual([
    'Let me look. ',
    '  weather {"town":"Bath"} → "Bath: rain"',
    'It rains, so there is flour. ',
    '  transfer_to_Baker {} → {"assistant":"Baker"}',
    'The bread is in the oven.',
    'The async one has it as: text, tool_call, tool_result, text, tool_call, tool_result, text',
  ]);
});
