import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonObject, sessionId, transcript } from '@millrace/core';
import { memoryLog, snapshot } from '@millrace/log';
import { expect, test } from 'vitest';
import { noExtensions } from '../extensions/load-extensions.ts';
import { picturePaths } from '../input/attachments/mentioned-pictures.ts';
import { runPrint } from '../testing/run-print.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { keys, TestChat } from '../testing/test-chat.ts';

const folder = temporaryFolder('chat-input');
const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3);

async function messagesOf({ log, session }: Pick<TestChat, 'log' | 'session'>) {
  const items = transcript(await snapshot(log, session));
  return items.filter(({ kind }) => kind === 'user').map(({ parts }) => parts);
}

test('a path with backslashes names a picture on Windows, and escapes characters elsewhere', () => {
  const text = String.raw`See C:\Users\me\a.png, .\b.png, "C:\my files\c.png" and @"d\e.png"`;
  expect(picturePaths(text, 'win32')).toEqual([
    String.raw`d\e.png`,
    String.raw`C:\Users\me\a.png`,
    String.raw`.\b.png`,
    String.raw`C:\my files\c.png`,
  ]);
  expect(picturePaths(String.raw`/a\ b.png`, 'linux')).toEqual(['/a b.png']);
});

test('23.10: a mentioned picture reaches the model as a picture', async () => {
  writeFileSync(join(folder(), 'shot.png'), png);
  writeFileSync(join(folder(), 'text.png'), 'no picture');
  const chat = new TestChat({ script: ['A square.'], cwd: folder(), columns: 120 });
  await chat.send('What is @shot.png, beside @text.png and @none.png?');
  await chat.waitForText('A square.');
  expect((await messagesOf(chat))[0]).toMatchObject([
    { kind: 'text', text: 'What is @shot.png, beside @text.png and @none.png?' },
    { kind: 'media', mimeType: 'image/png', source: { type: 'bytes', bytes: png } },
  ]);
  expect((await messagesOf(chat))[0]).toHaveLength(2);
  await chat.waitForText('[picture: image/png]');
});

test.runIf(process.platform === 'linux')(
  '23, to build 5: Ctrl-V adds the picture in the clipboard, and nothing of a project runs',
  async () => {
    const [cwd, data] = [join(folder(), 'clip'), join(folder(), 'data')];
    mkdirSync(join(cwd, 'bin'), { recursive: true });
    mkdirSync(join(folder(), 'programs'), { recursive: true });
    const program = (path: string, text: string) =>
      writeFileSync(join(path, 'wl-paste'), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    writeFileSync(join(folder(), 'clip.png'), png);
    program(join(folder(), 'programs'), `cat ${join(folder(), 'clip.png')}`);
    program(join(cwd, 'bin'), `touch ${join(cwd, 'ran')}`);
    const path = [join(cwd, 'bin'), join(folder(), 'programs'), process.env['PATH']].join(':');
    const env = { NO_COLOR: '1', XDG_DATA_HOME: data, PATH: path };
    const chat = new TestChat({ script: ['A square.'], cwd, env, columns: 120 });
    await chat.waitForText('Say what to do');
    chat.type('\u0016');
    await chat.until(() => chat.terminal.screen.includes('.png'));
    chat.type('What is this?\r');
    await chat.waitForText('A square.');
    const [parts] = await messagesOf(chat);
    expect(parts?.[1]).toMatchObject({ kind: 'media', source: { type: 'bytes', bytes: png } });
    expect(existsSync(join(cwd, 'ran'))).toBe(false);
  },
);

test('23, to build 5: a mentioned PDF reaches the model as a document', async () => {
  const pdf = new TextEncoder().encode('%PDF-1.7\n%text');
  writeFileSync(join(folder(), 'order.pdf'), pdf);
  writeFileSync(join(folder(), 'text.pdf'), 'no document');
  const chat = new TestChat({ script: ['A chair.'], cwd: folder(), columns: 120 });
  await chat.send('What is in @order.pdf and @text.pdf?');
  await chat.waitForText('A chair.');
  const [parts] = await messagesOf(chat);
  expect(parts).toHaveLength(2);
  expect(parts?.[1]).toMatchObject({
    ...{ kind: 'file', name: 'order.pdf', mimeType: 'application/pdf' },
    source: { type: 'bytes', bytes: pdf },
  });
});

test('23, to build 5: a mentioned text file reaches the model as content', async () => {
  const runUnasked = async (name: string, { path }: JsonObject) =>
    `${name} ${path}` === 'read notes.txt' ? '1\tShip on Friday.' : undefined;
  const options = { script: ['On Friday.'], cwd: folder(), columns: 120 };
  const chat = new TestChat({ ...options, runUnasked });
  await chat.send('When, @notes.txt and @none.txt?');
  await chat.waitForText('On Friday.');
  const [parts] = await messagesOf(chat);
  expect(parts).toHaveLength(2);
  expect(parts?.[1]).toMatchObject({
    kind: 'text',
    text: expect.stringContaining('Ship on Friday.'),
  });
  await chat.waitForText('[attached: notes.txt]');
});

/** A chat with a command `/go`, whose shell block runs until the test ends it. */
function chatWithBlock() {
  const ends: ((output: string | undefined) => void)[] = [];
  const command = { name: 'go', description: 'Goes', origin: 'user', path: '/go.md' } as const;
  const extensions = { ...noExtensions, commands: [{ ...command, text: 'Run: !`sleep 9`' }] };
  const chat = new TestChat({
    ...{ script: ['First.'], extensions, columns: 120 },
    runUnasked: (_name, _input, { signal, onStart } = {}) =>
      new Promise((resolve) => {
        onStart?.();
        ends.push(resolve);
        signal?.addEventListener('abort', () => resolve(undefined));
      }),
  });
  return { chat, ends };
}

test('18.640: the shell block of a command is shown, and later messages wait for it', async () => {
  const { chat, ends } = chatWithBlock();
  await chat.send('/go');
  await chat.waitForText('$ sleep 9');
  chat.type('Later');
  await chat.advance(100);
  chat.type('\r');
  await chat.advance(100);
  expect(await chat.log.list()).toEqual([]);
  ends[0]?.('rested');
  await chat.waitForText('First.');
  const sent = (await messagesOf(chat)).map(([part]) => part);
  expect(sent).toMatchObject([{ text: '/go' }, { text: 'Later' }]);
});

test('18.640: attack: Esc does not stop the shell blocks of a command', async () => {
  const { chat } = chatWithBlock();
  await chat.send('/go');
  await chat.waitForText('$ sleep 9');
  chat.type('\x1b');
  await chat.waitForText('because you stopped it');
  expect(await chat.log.list()).toEqual([]);
  await chat.idle();
});

test('23.10: the prompt of -p sends its pictures too', async () => {
  writeFileSync(join(folder(), 'a b.png'), png);
  const printed = await runPrint({
    script: ['A square.'],
    cwd: folder(),
    args: { prompt: "Look at './a b.png'" },
  });
  const [parts] = await messagesOf(printed);
  expect(parts?.[1]).toMatchObject({ kind: 'media', mimeType: 'image/png' });
});

test('23.10: paths of pictures are found as terminals write them', () => {
  const text = 'See @a.png, ./b.JPG "c d.gif" \'e f.webp\' /g\\ h.jpeg and x.pngs or mail@i.png';
  expect(picturePaths(text)).toEqual(['a.png', './b.JPG', 'c d.gif', 'e f.webp', '/g h.jpeg']);
});

test('23.10: a command of the user runs, and the next message has its output', async () => {
  const ran: string[] = [];
  const runUserCommand = async (command: string) => {
    ran.push(command);
    return 'README.md\nsrc';
  };
  const chat = new TestChat({ script: ['I see.'], runUserCommand, columns: 120 });
  await chat.send('!ls -a');
  await chat.waitForText('README.md');
  expect(ran).toEqual(['ls -a']);
  expect(await chat.log.list()).toEqual([]);
  await chat.send('What is this?');
  await chat.waitForText('I see.');
  await chat.send('And now?');
  await chat.until(() => chat.terminal.text.includes('And now?'));
  expect((await messagesOf(chat))[0]).toMatchObject([
    { text: 'What is this?' },
    { text: '<user_command>\n$ ls -a\nREADME.md\nsrc\n</user_command>' },
  ]);
  expect(chat.terminal.text).toContain('[output of !ls -a]');
});

test('23.10: Esc stops a command of the user', async () => {
  const runUserCommand = (_: string, signal: AbortSignal) =>
    new Promise<string>((resolve) => {
      signal.addEventListener('abort', () => resolve('The command was stopped'));
    });
  const chat = new TestChat({ runUserCommand });
  await chat.send('!sleep 100');
  await chat.waitForText('!sleep 100');
  // Enter counts only if no other key arrives together with it.
  await chat.quiet();
  chat.type(keys.escape);
  await chat.waitForText('The command was stopped');
});

test('23.5: the prompt is there while servers connect, and each problem is shown once', async () => {
  let connecting = ['slow'];
  let problems: readonly string[] = [];
  let tell = () => {};
  const servers = {
    connecting: () => connecting,
    problems: () => problems,
    onChange: (listener: () => void) => {
      tell = listener;
    },
  };
  const chat = new TestChat({ servers });
  await chat.idle();
  expect(chat.terminal.screen).toContain('connecting to slow');
  [connecting, problems] = [[], ['Cannot connect to slow. The server is skipped.']];
  tell();
  tell();
  await chat.waitForText('The server is skipped.');
  await chat.waitUntilGone('connecting to slow');
  expect(chat.terminal.text.split('The server is skipped.')).toHaveLength(2);
});

test('23.5: Enter before the prompt is there sends the message', async () => {
  const chat = new TestChat({ script: ['Said.'] });
  chat.type('Hello\n');
  await chat.waitForText('Said.');
});

test('23.9: the screen says that nothing is asked', async () => {
  const log = memoryLog();
  const chat = new TestChat({ mode: 'allow', log, session: sessionId('yes') });
  await chat.idle();
  expect(chat.terminal.screen).toContain('asks nothing (--yes)');
  const usual = new TestChat({ log });
  await usual.idle();
  expect(usual.terminal.screen).not.toContain('asks nothing');
});
