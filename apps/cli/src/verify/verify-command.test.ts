import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import { itemId, sessionId } from '@millrace/core';
import { exportSession } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { beforeAll, describe, expect, test } from 'vitest';
import type { VerifyArgs } from '../contract/args.ts';
import { exitCodes } from '../exit-code.ts';
import { exportLines } from '../sessions/export-sessions.ts';
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

/** Records two sessions with blobs, and returns the lines of an export of both. */
async function exported(): Promise<readonly string[]> {
  const { log, close } = await openStore({ config: config(), env: {} });
  const bytes = (text: string) => new TextEncoder().encode(text.repeat(20));
  for (const [session, picture] of [
    ['photo-1', 'sunshine'],
    ['photo-2', 'rain'],
  ] as const) {
    if ((await log.info(session)) !== undefined) continue;
    const agent = createAgent({ log, provider: scriptedProvider(['I see it']) });
    const source = { type: 'blob', ...(await log.blobs.put(bytes(picture))) } as const;
    const parts = [
      { kind: 'text', text: 'Look' },
      { kind: 'media', mimeType: 'image/png', source },
    ] as const;
    const said = { id: itemId(`look ${session}`), kind: 'user', parts } as const;
    expect((await agent.run(said, { session }).result).error).toBeUndefined();
  }
  const lines: string[] = [];
  for await (const line of exportLines(log, [sessionId('photo-1'), sessionId('photo-2')]))
    lines.push(line);
  await close();
  return lines;
}

/** Verifies a file with this content. Returns the exit code, and the first line of each session. */
async function verifyText(text: string | Uint8Array, args: Partial<VerifyArgs> = {}) {
  writeFileSync(join(folder(), 'file.jsonl'), text);
  const { code, out } = await verify('file.jsonl', args);
  const lines = out.split('\n').filter((line) => /^\S/.test(line));
  return { code, out, sessions: lines.map((line) => line.replace(/ \(.*/, '')) };
}

describe('25: a file of millrace sessions export', () => {
  test('with blobs and two sessions is verified', async () => {
    const lines = await exported();
    expect(lines.filter((line) => line.startsWith('{"hash":'))).toHaveLength(2);
    const { code, sessions } = await verifyText(lines.join(''));
    expect(code).toBe(exitCodes.done);
    expect(sessions).toEqual([
      'file.jsonl, session photo-1: verified',
      'file.jsonl, session photo-2: verified',
    ]);
    const { out } = await verifyText(lines.join(''), { json: true });
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { session: 'photo-1', file: 'file.jsonl', isValid: true },
      { session: 'photo-2', file: 'file.jsonl', isValid: true },
    ]);
  });

  test('is not verified if a bit of any line changes, and names the session and the line', async () => {
    const lines = await exported();
    const start = lines.findLastIndex((line) => line.startsWith('{"hash":'));
    const seed = lines.join('').length;
    for (const [at, line] of lines.entries()) {
      // The header has times that no link covers.
      if (line.startsWith('{"millrace":')) continue;
      const bytes = Buffer.from(lines.join(''));
      const before = Buffer.byteLength(lines.slice(0, at).join(''));
      const place = (seed * (at + 7)) % Buffer.byteLength(line);
      bytes[before + place] = (bytes[before + place] ?? 0) ^ (1 << (place % 7));
      const { code, out } = await verifyText(bytes);
      expect([at, code]).toEqual([at, exitCodes.error]);
      expect(out).toContain('NOT VERIFIED');
      expect(out).not.toMatch(/import/i);
    }
    const changed = lines.with(start, (lines[start] ?? '').replace('"bytes":"cm', '"bytes":"cn'));
    const { out, sessions } = await verifyText(changed.join(''));
    expect(sessions).toEqual([
      'file.jsonl, session photo-1: verified',
      'file.jsonl, session photo-2: NOT VERIFIED',
    ]);
    expect(out).toContain(`  line ${start + 1}: the line is not readable: the blob that ends here`);
  });

  test('is not verified if a line is missing, doubled or moved, or the file is cut off', async () => {
    const lines = await exported();
    for (const at of lines.keys()) {
      const line = lines[at] ?? '';
      const without = lines.toSpliced(at, 1);
      const swapped = without.toSpliced((at + 1) % lines.length, 0, line);
      for (const changed of [without, swapped, lines.toSpliced(at, 0, line)])
        expect([at, (await verifyText(changed.join(''))).code]).toEqual([at, exitCodes.error]);
    }
    const text = lines.join('');
    for (const length of [text.length - 20, text.indexOf('{"hash":', 9) + 30]) {
      const { code, sessions } = await verifyText(text.slice(0, length));
      expect(code).toBe(exitCodes.error);
      expect(sessions[0]).toBe('file.jsonl, session photo-1: verified');
    }
  });

  test('is not verified if it is empty, not text, or no export', async () => {
    expect(await verifyText('')).toMatchObject({ code: exitCodes.error });
    expect((await verifyText('')).out).toBe(
      'file.jsonl: NOT VERIFIED (0 links, through offset 0)\n  there is no session\n',
    );
    const { out } = await verifyText(Uint8Array.of(0x7b, 0xff, 0xfe));
    expect(out).toContain('it is not text in UTF-8');
    expect((await verifyText('Hello\n')).out).toContain('  line 1: the line is not readable');
    expect((await verifyText('import x;\n\nexport y;\nexport z;\n')).out).toMatch(
      /^file.jsonl: NOT VERIFIED \(0 links, through offset 0\)\n {2}this is not an export of a session: no line is readable \(line 1: .*\)\n$/,
    );
  });

  test('with two sessions is compared with the signed head of one of them', async () => {
    const lines = await exported();
    const { out: head } = await verify('photo-2', { sign: 'key.pem' });
    writeFileSync(join(folder(), 'photo.json'), head);
    const checks = { heads: ['photo.json'], key: 'key.pub' };
    expect(await verifyText(lines.join(''), checks)).toMatchObject({ code: exitCodes.done });
    const renamed = lines.map((line) => line.replace('"session":"photo-2"', '"session":"photo-3"'));
    const { code, out } = await verifyText(renamed.join(''), checks);
    expect(code).toBe(exitCodes.error);
    expect(out).toContain('the file does not contain session photo-2 of a signed head');
    const other = await verify('photo-1', checks);
    expect(other.code).toBe(exitCodes.error);
    expect(other.out).toMatch(
      /the signed head of session photo-2 with link \d+ belongs to another session, not to session photo-1/,
    );
  });

  test('that does not exist is named beside the session', async () => {
    const path = join(folder(), 'missing.jsonl');
    await expect(verify('missing.jsonl')).rejects.toThrow(
      /^Cannot find session missing.jsonl: .* There is no file .*missing.jsonl either$/,
    );
    await expect(verify(path)).rejects.toThrow(`There is no file ${path} either`);
    writeFileSync(join(folder(), 'talk'), '');
    await expect(verify('talk')).rejects.toThrow('millrace verify ./talk');
  });
});

test('25: the report about a session without a chain tells how to get one', async () => {
  const { log, close } = await openStore({ config: { store: config().store }, env: {} });
  await createAgent({ log, provider: scriptedProvider(['Hello']) }).run('Hi', { session: 'plain' })
    .result;
  await close();
  const { code, out } = await verify('plain');
  expect(code).toBe(exitCodes.error);
  expect(out).toContain('"chain": true');
});
