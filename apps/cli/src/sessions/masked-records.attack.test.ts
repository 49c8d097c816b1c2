import { createAgent } from '@millrace/agent';
import { decodeRecord, type LogRecord, sessionId, toolCallId, transcript } from '@millrace/core';
import { memoryLog, readRecords } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { secretMasks } from '@millrace/tools';
import { expect, test } from 'vitest';
import { foldAll } from '../../../../packages/core/src/testing/fold-all.ts';
import { collect } from '../testing/sessions.ts';
import { maskedRecords } from './masked-records.ts';

const foldOf = (records: readonly LogRecord[]) => transcript(foldAll(records));

const key = `sk-ant-${'a1B2'.repeat(8)}`;
const value = 'correct-horse-battery';

/** Returns the records of a session that contains a text in a message, an answer and a call. */
async function sessionWith(text: string): Promise<readonly LogRecord[]> {
  const log = memoryLog();
  const call = { kind: 'tool_call', toolCallId: toolCallId('c1'), name: 'none' } as const;
  const provider = scriptedProvider(
    [
      {
        content: {
          parts: [
            { kind: 'reasoning', form: 'full', text: `It is ${text}.` },
            `The key is ${text}. 😀`,
            { ...call, arguments: JSON.stringify({ command: `echo ${text}` }) },
          ],
        },
      },
      'Done.',
    ],
    { pieces: 'character' },
  );
  await createAgent({ provider, log }).run(`Use ${text}, please`, { session: sessionId('s') })
    .result;
  return collect(readRecords(log, 's'));
}

test.each([
  ['a key with a known form', key, {}],
  ['the value of a secret variable', value, { DATABASE_PASSWORD: value }],
])('18.245: attack: %s is in the masked records', async (_, secret, env) => {
  const records = await sessionWith(secret);
  const lines = maskedRecords(records, secretMasks(env));
  const decoded = lines.map((line) => decodeRecord(line));
  expect(lines.join('\n')).not.toContain(secret);
  const text = JSON.stringify(foldOf(decoded));
  expect(text).not.toContain(secret);
  expect(text).not.toContain(secret.slice(8));
  expect(text).toMatch(/The key is \S*\[masked\]\.? 😀/);
  expect(text).toContain('[masked], please');
  // The number of records, their order and their times stay.
  expect(decoded.map(({ offset, time }) => [offset, time])).toEqual(
    records.map(({ offset, time }) => [offset, time]),
  );
});

test('18.294: attack: a secret with quotes and line breaks is in the masked records', async () => {
  const secret = 'p"w\\d/ü-SECRET-9\nline';
  const records = await sessionWith(secret);
  const lines = maskedRecords(records, secretMasks({ DB_PASSWORD: secret }));
  expect(lines.join('\n')).not.toContain('SECRET-9');
  expect(lines.map((line) => decodeRecord(line))).toHaveLength(records.length);
});
