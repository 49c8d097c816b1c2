import { createAgent } from '@millrace/agent';
import { memoryLog, readRecords } from '@millrace/log';
import { a2a } from '@millrace/providers/a2a';
import { expect, test } from 'vitest';
import { type RemoteTurn, serveRemoteA2a } from '../../testing/a2a/remote-a2a-agent.ts';

/** Returns the answer of an agent whose provider is a remote agent. */
async function askRemote(answer: (turn: RemoteTurn) => void) {
  const { url } = await serveRemoteA2a(async (turn) => answer(turn));
  const log = memoryLog();
  const { reason, text, session } = await createAgent({ provider: a2a({ url }), log }).run('Hi')
    .result;
  let logBytes = 0;
  for await (const record of readRecords(log, session)) logBytes += JSON.stringify(record).length;
  await log.close();
  return { reason, text, logBytes };
}

const append = (parts: readonly { readonly text: string }[], lastChunk = false) => ({
  artifactUpdate: { append: true, lastChunk, artifact: { artifactId: 'a', parts } },
});

test('18.391: attack: many small pieces after a long text take linear time', async () => {
  const long = 'x'.repeat(2_000_000);
  const { reason, text } = await askRemote((turn) => {
    turn.status('SUBMITTED');
    turn.write('a', long);
    turn.publish(append(Array.from({ length: 10_000 }, () => ({ text: 'y' }))));
    turn.status('COMPLETED');
  });
  expect(reason).toBe('stop');
  expect(text).toBe(long + 'y'.repeat(10_000));
});

test('18.392: attack: pieces after the last chunk do not write the whole text again', async () => {
  const { reason, text, logBytes } = await askRemote((turn) => {
    turn.status('SUBMITTED');
    turn.write('a', 'x'.repeat(100_000), false, true);
    for (let count = 0; count < 50; count++) turn.publish(append([{ text: 'y' }], true));
    turn.status('COMPLETED');
  });
  expect(reason).toBe('stop');
  expect(text).toHaveLength(100_050);
  expect(logBytes).toBeLessThan(200_000);
});

test('18.1732: attack: a copy of a session continues the remote context of the original', async () => {
  const said = new Map<string, string[]>();
  const { url } = await serveRemoteA2a(async (turn) => {
    const { contextId, text } = turn;
    said.set(contextId, [...(said.get(contextId) ?? []), text]);
    turn.status('SUBMITTED');
    turn.write('a', said.get(contextId)?.join(' | ') ?? '');
    turn.status('COMPLETED');
  });
  const log = memoryLog();
  const agent = createAgent({ provider: a2a({ url }), log });
  const say = async (session: string, text: string) =>
    (await agent.run(text, { session }).result).text;
  await say('original', 'hello');
  const { through = 0 } = (await log.info('original')) ?? {};
  await log.fork('original', { into: 'copy', through });
  await say('original', 'secret');
  expect(await say('copy', 'what did I say?')).toBe('what did I say?');
  expect(await say('original', 'and now?')).toBe('hello | secret | and now?');
  expect(await say('copy', 'more')).toBe('what did I say? | more');
  await log.close();
});
