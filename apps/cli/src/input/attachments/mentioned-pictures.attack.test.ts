import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderWith } from '../../testing/test-agent.ts';
import { clipboardText } from '../../text/terminal/terminal-gate.ts';
import { readPictures } from './mentioned-pictures.ts';

// The user works in a repository of somebody else, and mentions a picture of it.

const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3);

function project() {
  const outer = folderWith();
  const cwd = join(outer, 'project');
  mkdirSync(cwd);
  writeFileSync(join(outer, 'private.png'), png);
  writeFileSync(join(cwd, 'own.png'), png);
  return { outer, cwd };
}

test('18.131: attack: a FIFO with the name of a picture does not block the program', async () => {
  const { cwd } = project();
  execFileSync('mkfifo', [join(cwd, 'shot.png')]);
  expect(await readPictures('What is in shot.png?', { cwd })).toEqual([]);
});

test('18.131: attack: a link of the project sends no picture outside of it', async () => {
  const { outer, cwd } = project();
  symlinkSync(join(outer, 'private.png'), join(cwd, 'logo.png'));
  symlinkSync(outer, join(cwd, 'assets'));
  symlinkSync('own.png', join(cwd, 'inner.png'));
  expect(await readPictures('See logo.png and assets/private.png', { cwd })).toEqual([]);
  expect(await readPictures('See inner.png and own.png', { cwd })).toHaveLength(2);
  expect(await readPictures('See ../private.png', { cwd })).toEqual([]);
  const chosen = ['../private.png'];
  expect(await readPictures('See ../private.png', { cwd, chosen })).toHaveLength(1);
});

test('18.131: attack: an address of another machine stays text', async () => {
  const { cwd } = project();
  expect(await readPictures('See file://host/a.png', { cwd })).toEqual([]);
});

test('18.132: attack: a copied answer contains no keys', () => {
  const { ansi } = clipboardText('ls\u001b[201~\u0003\u0015!id\r\u009b1A\u007f\ta\r\nb');
  const [, base64 = ''] = /;c;([\w+/=]*)/.exec(ansi) ?? [];
  expect(Buffer.from(base64, 'base64').toString()).toBe('ls[201~!id\n1A\ta\nb');
});
