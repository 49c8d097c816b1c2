import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { describeOnPostgres, startPostgres } from '../packages/log/src/testing/start-postgres.ts';
import { needsRedis, startRedis } from '../packages/log/src/testing/start-redis.ts';

/** Runs an example as a user would. Returns the lines of its output. */
function printed(name: string, env: Readonly<Record<string, string>> = {}): readonly string[] {
  const flags = ['--conditions=@millrace/source', `examples/${name}/main.ts`];
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  return execFileSync(process.execPath, flags, options).trimEnd().split('\n');
}

test('09-sync-agent streams two messages at once, and stores the full one', () => {
  const lines = printed('09-sync-agent');
  expect(lines.filter((line) => /^0 (?!start)/.test(line))).toEqual([
    '0 delta The order arrives ',
    '0 delta on Friday.',
    '0 full The order arrives on Friday [1]. [1] Delivery note 17',
  ]);
  expect(lines).toContain('1 done');
  expect(lines.slice(-2)).toEqual([
    'stored: The order arrives on Friday [1]. [1] Delivery note 17',
    'stored: You asked: When does my order arrive?',
  ]);
});

test('10-async-agent-auto-send streams the output of the model and stores it as messages', () => {
  expect(printed('10-async-agent-auto-send')).toEqual([
    'A west wind brings rain. Take an umbrella: it will rain in the afternoon.',
    'The agent received its messages: reasoning, text',
  ]);
});

test('11-async-agent-manual sends the transformed stream to a second destination too', () => {
  const [stored, received] = printed('11-async-agent-manual');
  expect(stored).toBe('DONE GATE B12 IS OPEN. PLEASE BOARD NOW!');
  expect(received).toMatch(/^the second destination received \d+ updates$/);
});

test('12-usechat shows the whole answer to a client that connects in the middle', () => {
  const [first = '', second = '', later] = printed('12-usechat');
  expect(first).toMatch(/^first: {2}Let me check\. \[tool-weather\] It is raining .* umbrella\.$/);
  expect(second).toBe(first.replace('first: ', 'second:'));
  expect(later).toBe('later:  null');
});

const twoServers = [
  'B sees the approval request of A: refund',
  'A is killed',
  'user: Please refund order 17.',
  'assistant: I can refund it. ',
  'assistant: Your order is refunded.',
];

test('13-two-servers continues the run of a killed server', () => {
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

test('15-openai-agents gives the same answer as a sync and as an async agent', () => {
  expect(printed('15-openai-agents')).toEqual([
    'Let me check. ',
    '  weather {"town":"Bath"} → "Bath: rain"',
    'It rains in Bath. ',
    '  transfer_to_Flights {} → {"assistant":"Flights"}',
    'Your flight to Lisbon is booked.',
    'The async agent stored: text, tool_call, tool_result, text, tool_call, tool_result, text',
  ]);
});
