import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { liveTranscript } from '@millrace/core';
import { snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { TestChat } from '../testing/test-chat.ts';

// The user pastes a text of another person. The text contains the path of a private picture.

const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3);
const outer = temporaryFolder('pasted-picture');

/** Opens a chat in a folder with a picture. Another picture is beside the folder. */
async function openChat() {
  const cwd = join(outer(), 'project');
  mkdirSync(cwd, { recursive: true });
  writeFileSync(join(outer(), 'private.png'), png);
  writeFileSync(join(outer(), 'my scan.png'), png);
  writeFileSync(join(cwd, 'own.png'), png);
  const chat = new TestChat({ cwd, script: ['First.', 'Second.', 'Third.'], columns: 200 });
  await chat.idle();
  return chat;
}

type Chat = Awaited<ReturnType<typeof openChat>>;

/** Types one read, and waits until the next read no longer belongs to it. */
async function read(chat: Chat, text: string) {
  chat.type(text);
  await chat.quiet();
}

async function typeAlone(chat: Chat, text: string) {
  for (const key of text) await read(chat, key);
}

/** Presses Enter, and returns the number of pictures in the last message. */
async function picturesAfterEnter(chat: Chat, answer = 'First.') {
  await chat.press('\r');
  await chat.waitForText(answer);
  const items = liveTranscript(await snapshot(chat.log, chat.session));
  const sent = items.findLast(({ kind }) => kind === 'user');
  return (sent?.parts ?? []).filter(({ kind }) => kind === 'media').length;
}

const paste = (text: string) => `\x1b[200~${text}\x1b[201~`;
const end = '\x1b[201~';
const privatePath = () => join(outer(), 'private.png');

test.for([
  (path: string) => [paste(`Please sum this up. See ${path} for more.`)],
  (path: string) => [paste(`a ${path}`)],
  (path: string) => [paste(`See @${path} and @../private.png`)],
  (path: string) => [paste(`Sum up.${'\nline'.repeat(60)}\n${path}`)],
  (path: string) => [`Please sum this up. See ${path} for more.`],
  (path: string) => [paste(`log ${end}${path}`)],
  (path: string) => [paste(`log ${end}`), path],
  (path: string) => [paste(`${path}${end} log`)],
  (path: string) => [paste(`${path}\nlog`)],
])(
  '18.1500: attack: a pasted text sends a picture from outside of the folder: %#',
  async (readsOf) => {
    const chat = await openChat();
    for (const one of readsOf(privatePath())) {
      chat.type(one);
      await chat.advance(1);
    }
    await chat.quiet();
    expect(await picturesAfterEnter(chat)).toBe(0);
    expect(chat.terminal.text).toContain('Not attached: ');
  },
);

test('18.1500: attack: a pasted text sends a picture when it comes from the history', async () => {
  const chat = await openChat();
  await read(chat, paste(`See ${privatePath()}`));
  expect(await picturesAfterEnter(chat)).toBe(0);
  await chat.idle();
  await read(chat, '\x1b[A');
  expect(await picturesAfterEnter(chat, 'Second.')).toBe(0);
});

test('18.1500: attack: a pasted text after typed words sends a picture', async () => {
  const chat = await openChat();
  await typeAlone(chat, 'Look: ');
  await read(chat, paste(`the log says ${privatePath()}`));
  expect(await picturesAfterEnter(chat)).toBe(0);
});

test('18.1501: a file that is dropped into the prompt is attached, and the chat names it', async () => {
  const chat = await openChat();
  await read(chat, paste(`${privatePath()} `));
  await typeAlone(chat, 'what?');
  expect(await picturesAfterEnter(chat)).toBe(1);
  expect(chat.terminal.text).toContain(`Attached: ${privatePath()}`);
  await chat.idle();
  await read(chat, '\x1b[A');
  expect(await picturesAfterEnter(chat, 'Second.')).toBe(1);
});

test('18.1501: two dropped files are attached, also if the terminal marks no pastes', async () => {
  const chat = await openChat();
  const both = `'${join(outer(), 'my scan.png')}' ${privatePath()}`;
  await read(chat, paste(both));
  expect(await picturesAfterEnter(chat)).toBe(2);
  await chat.idle();
  await read(chat, both);
  expect(await picturesAfterEnter(chat, 'Second.')).toBe(2);
});

test('18.1501: a path that the user types is attached, and so is a picture of the folder', async () => {
  const chat = await openChat();
  await typeAlone(chat, '../private.png ');
  await read(chat, paste('says the log, see own.png'));
  expect(await picturesAfterEnter(chat)).toBe(2);
});
