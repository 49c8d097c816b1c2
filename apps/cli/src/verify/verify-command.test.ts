import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { itemId } from '@millrace/core';
import { exportSession } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeAll, expect, test } from 'vitest';
import type { VerifyArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { openStore } from '../store/open-store.ts';
import { CapturedOutput } from '../testing/output-streams.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { verifyCommand } from './verify-command.ts';

const folder = temporaryFolder('verify');
const config = () => ({ store: join(folder(), 'a.db'), chain: true });

beforeAll(async () => {
  const { log, close } = await openStore({ config: config(), env: {} });
  const agent = createAgent({ log, provider: scriptedProvider(['It is on its way', 'Bye']) });
  await agent.run('Where is my order?', { session: 'orders' }).result;
  const lines: string[] = [];
  for await (const line of exportSession(log, 'orders')) lines.push(line);
  writeFileSync(join(folder(), 'orders.jsonl'), `${lines.join('\n')}\n`);
  await close();
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const pem = {
    privateKey: { type: 'pkcs8', format: 'pem' },
    publicKey: { type: 'spki' },
  } as const;
  writeFileSync(join(folder(), 'key.pem'), privateKey.export(pem.privateKey));
  writeFileSync(join(folder(), 'key.pub'), publicKey.export({ ...pem.publicKey, format: 'pem' }));
});

async function verify(operand: string, args: Partial<VerifyArgs> = {}) {
  const [stdout, stderr] = [new CapturedOutput(), new CapturedOutput()];
  const code = await verifyCommand({
    args: { command: 'verify', operands: [operand], heads: [], json: false, color: false, ...args },
    ...{ config: config(), stdout, stderr, env: {}, cwd: folder() },
  });
  return { code, out: stdout.text, notes: stderr.text };
}

test('25.6: millrace verify signs a session, and checks it against the signed head later', async () => {
  const signed = await verify('orders', { sign: 'key.pem' });
  expect(signed.notes).toMatch(/^orders: verified \(\d+ links, through offset \d+\)\n$/);
  writeFileSync(join(folder(), 'head.json'), signed.out);
  const { log, close } = await openStore({ config: config(), env: {} });
  const { records } = await log.read('orders');
  const item = records.find(({ fact }) => fact?.type === 'item_started')?.fact;
  const id = item?.type === 'item_started' ? item.itemId : itemId('none');
  await log.settle('orders', 1);
  await log.redact('orders', id);
  await close();
  const heads = { heads: ['head.json'], key: 'key.pub' };
  const later = await verify('orders', heads);
  expect(later.code).toBe(exitCodes.done);
  expect(later.out).toMatch(
    /^orders: verified, except the offsets that changed after the signed head: \d/,
  );
  expect(later.out).toContain('  settled turn 1: ');
  expect(later.out).toContain(`  redacted item ${id}: `);
  const json = JSON.parse((await verify('orders', { ...heads, json: true })).out);
  expect(json).toMatchObject({ session: 'orders', isValid: true, problems: [] });
});

test('25.6: millrace verify finds a changed record in an exported file', async () => {
  expect((await verify('orders.jsonl')).code).toBe(exitCodes.done);
  const text = readFileSync(join(folder(), 'orders.jsonl'), 'utf8');
  writeFileSync(join(folder(), 'changed.jsonl'), text.replace('my order', 'my money'));
  const { code, out } = await verify('changed.jsonl');
  expect(code).toBe(exitCodes.error);
  expect(out).toContain('changed.jsonl: NOT VERIFIED');
});

test('25.6: a file that is not a key is a usage error', async () => {
  await expect(verify('orders', { sign: 'orders.jsonl' })).rejects.toMatchObject({ code: 'usage' });
});
