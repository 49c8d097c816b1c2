import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { TestChat, type TestChatOptions } from '../testing/test-chat.ts';

// A text that somebody else wrote starts with `!`, so that it looks like a command of the user.

const folder = temporaryFolder('pasted-command');
let ran: string[];
beforeEach(() => {
  ran = [];
});

const openChat = (options: TestChatOptions = {}) =>
  new TestChat({
    cwd: folder(),
    script: ['First answer.', 'Second answer.'],
    runUserCommand: async (command) => {
      ran.push(command);
      return '';
    },
    ...options,
  });

/** Opens a chat that gets its input in these reads. */
async function chatWith(reads: readonly string[]) {
  const chat = openChat();
  await chat.idle();
  for (const read of reads) {
    chat.type(read);
    await chat.advance(1);
  }
  await chat.quiet();
  return chat;
}

/** The same, and presses Enter later. */
async function chatAfter(reads: readonly string[]) {
  const chat = await chatWith(reads);
  await chat.press('\r');
  return chat;
}

const paste = (text: string) => `\x1b[200~${text}\x1b[201~`;

test.for([
  '!touch /tmp/x',
  '\n\n  !touch /tmp/x; exit #',
  `!touch /tmp/x; exit #${'\nline'.repeat(60)}`,
])('attack: a pasted text is sent as a message and does not run: %j', async (text) => {
  const chat = openChat();
  await chat.idle();
  chat.type(paste(text));
  await chat.quiet();
  await chat.press('\r');
  await chat.waitForText('First answer.');
  expect(ran).toEqual([]);
});

test('attack: a message that is put back does not run when it is sent again', async () => {
  const chat = openChat();
  await chat.idle();
  chat.type(paste(`!touch /tmp/x; exit #${'\nline'.repeat(60)}`));
  await chat.quiet();
  await chat.press('\r');
  await chat.waitForText('First answer.');
  await chat.idle();
  await chat.send('/undo');
  await chat.waitForText('You went back.');
  await chat.quiet();
  await chat.press('\r');
  await chat.waitForText('Second answer.');
  expect(ran).toEqual([]);
});

test('a command that the user types runs, also if the rest of it is pasted', async () => {
  const chat = openChat();
  await chat.idle();
  chat.type('!');
  await chat.quiet();
  chat.type(`ls ${paste('!a')}`);
  await chat.quiet();
  await chat.press('\r');
  await chat.until(() => ran.length > 0);
  expect(ran).toEqual(['ls !a']);
});

const end = '\x1b[201~';
const shiftTab = '\x1b[Z';

// A pasted text can contain the marker that ends a paste. Some terminals send no markers at all, and
// all of them split a long paste into several reads.
test.for([
  [[paste(`${end}!touch x\r`)]],
  [[paste(`log${end}\x15\x15!touch x\r`)]],
  [[paste(`log${end}`), '!touch x\r']],
  [[paste(`log${end}`), '!', 'touch x', '\r']],
  [[`\x1b[200~log${end}`, `!touch x\r${end}`]],
  [['!touch x\r']],
  [['\x15!touch x\r']],
  [['hello\r!touch x\r']],
  [['hello\r', '!', 'touch x\r']],
] as const)('18.127: attack: %j runs no command', async ([reads]) => {
  const chat = await chatAfter(reads);
  await chat.waitForText('First answer.');
  expect(ran).toEqual([]);
});

test.for([
  [[paste(`look${end}${shiftTab}${shiftTab}\r`)]],
  [[paste(`look${end}`), shiftTab, shiftTab]],
  [[`look${shiftTab}${shiftTab}`]],
  [[paste(`${end}/mode auto\r`)]],
  [['/mode auto\r']],
  [['/mode auto', '\r']],
  [['/mod\tauto\r']],
] as const)('18.127: attack: %j does not change the mode', async ([reads]) => {
  const chat = await chatWith(reads);
  expect(chat.terminal.screen).toContain('asks first · script');
});

// The prompt decides at Enter, because keys can change the text after it arrived.
test.for([
  ['a!touch x\x01\x04\r'],
  ['a!touch x\x01\x1b[3~\r'],
  ['x!touch x\x01\x0b\x19\x01\x04\r'],
] as const)('18.1146: attack: the unmarked paste %j runs no command', async ([text]) => {
  const chat = openChat();
  await chat.idle();
  chat.type(text);
  await chat.quiet();
  await chat.waitForText('It did not run.');
  // Enter alone does not run it either, because the user did not type the `!`.
  await chat.press('\r');
  expect(chat.terminal.screen).toContain('It did not run.');
  expect(ran).toEqual([]);
});

const lines = '\n'.repeat(80);
test.for([
  [['/x\x7fmode auto\r']],
  [['/m', 'ode auto\r']],
  [['/MODE auto\r']],
  [['/mode auto', '\r']],
  [[paste(`/mode auto${lines}`)]],
  [[paste(`${lines}/mode auto`)]],
  [[paste(`/export x.md${lines}`)]],
] as const)('18.1147: attack: the paste %j changes no mode and writes no file', async ([reads]) => {
  const chat = await chatAfter(reads);
  await chat.waitForText('It did not run.');
  expect(chat.terminal.screen).toContain('asks first · script');
});

test.for([
  ...['/undo', '/redo', '/rewind', '/tree', '/copy', '/editor', '/permissions revoke 1'],
  ...['/mcp reconnect orders', '/share write 24h', '/background', '/Undo', '  /undo'],
])('18.1235: attack: a paste of %j acts outside of the conversation', async (text) => {
  for (const reads of [[paste(text)], [`${text}\r`]]) {
    const chat = await chatAfter(reads);
    await chat.waitForText('It did not run.');
    expect(chat.terminal.screen).not.toContain('›  /');
  }
});

test.for(['/help', '/cost', '/tools'])('a paste of %j runs', async (text) => {
  const chat = await chatAfter([paste(text)]);
  await chat.waitForText(`› ${text}`);
  expect(chat.terminal.screen).not.toContain('It did not run.');
});

const [ctrlC, ctrlR, ctrlU, ctrlY, undo, redo] = ['\x03', '\x12', '\x15', '\x19', '\x1f', '\x1b_'];
const [up, down, home, remove] = ['\x1b[A', '\x1b[B', '\x1b[H', '\x1b[3~'];

// The prompt still contains a text that the user did not type, although each key was pressed alone.
test.for([
  ['/mode auto', [ctrlC, up]],
  ['/mode auto', [ctrlU, ctrlY]],
  ['/mode auto', [ctrlU, undo]],
  ['/mode auto', [undo, redo]],
  ['/mode auto', [ctrlC, ctrlR, '\r']],
  ['/mode auto', ['a', ctrlU, ctrlY, home, remove, '/', undo]],
  ['/mode auto', ['\r', ctrlC, up, ctrlC, up]],
  ['/mode auto', [ctrlC, up, 'x', down, up]],
  ['x/mode auto', [home, remove]],
  ['mode auto\n/', [ctrlU, home, ctrlY, '\x7f', ctrlU, ctrlY]],
] as const)('18.1325: attack: after the paste %j, the keys %j run it', async ([text, keys]) => {
  for (const read of [paste(text), paste(`${text}${lines}`), text]) {
    const chat = openChat();
    await chat.idle();
    await typeAlone(chat, [read, ...keys]);
    await chat.press('\r');
    await chat.advance(100);
    expect(chat.terminal.screen).toContain('asks first · script');
  }
});

test('18.1326: attack: a pasted command that was cleared runs from the history of the next chat', async () => {
  const env = { NO_COLOR: '1', XDG_DATA_HOME: folder() };
  const stored = join(folder(), 'millrace', 'history.jsonl');
  const first = openChat({ env });
  await first.idle();
  await typeAlone(first, [paste(`/mode auto${lines}`), ctrlC]);
  await first.until(() => existsSync(stored) && readFileSync(stored, 'utf8').endsWith('}\n'));
  const second = openChat({ env });
  await second.idle();
  second.type(up);
  await second.waitForText('[pasted');
  await second.quiet();
  await second.press('\r');
  await second.waitForText('It did not run.');
  expect(second.terminal.screen).toContain('asks first · script');
});

test.for([
  ['/mode auto', [ctrlC, up]],
  ['/mode auto', [ctrlU, ctrlY]],
  ['/mode auto', [ctrlU, undo]],
  ['x/mode auto', [home, remove]],
] as const)('the typed command %j runs after the keys %j', async ([text, keys]) => {
  const chat = openChat();
  await chat.idle();
  await typeAlone(chat, [...text, ...keys, '\r']);
  await chat.until(() => !chat.terminal.screen.includes('asks first · script'));
});

test.for(['/model other', '/new', '/quit', '/help'])(
  '18.1328: attack: the command %j runs from a paste that the prompt does not show',
  async (text) => {
    const chat = await chatAfter([paste(`${text}${lines}`)]);
    await chat.waitForText('It did not run.');
    expect(chat.terminal.screen).toContain('asks first · script');
  },
);

const [right, ctrlA, ctrlK, altEnter, backspace] = ['\x1b[C', '\x01', '\x0b', '\x1b\r', '\x7f'];

test.for([
  ...[
    [['x', paste(`!touch x #${lines}`), home, remove]],
    [['x', paste('!touch x'), home, remove]],
    [['x', altEnter, paste('!touch x'), home, backspace, backspace]],
    [['x', paste(`/mode auto${lines}`), ctrlA, '\x04']],
    [[...'/search ', `${ctrlA}${right}${ctrlK}mode auto`]],
    [[...'/search ', `${backspace.repeat(7)}mode auto`]],
    [[...'/search ', `${ctrlA}${right}mode auto `]],
  ],
  [['/', paste(`mode auto${lines}`)]],
] as const)('18.1331: attack: the keys %j run a pasted command', async ([keys]) => {
  const chat = openChat();
  await chat.idle();
  await typeAlone(chat, [...keys, '\r']);
  await chat.waitForText('It did not run.');
  expect(chat.terminal.screen).toContain('asks first · script');
  expect(ran).toEqual([]);
});

test.for(['/mode auto', '  /MODE  auto', `/mode auto${lines}`, '/export x.md', '/undo'])(
  '18.1332: attack: the prompt %j of the command line acts outside of the conversation',
  async (prompt) => {
    const chat = openChat({ prompt });
    await chat.waitForText('✗ The command did not run');
    expect(chat.terminal.screen).toContain('asks first · script');
  },
);

test('the prompt of the command line runs another slash command', async () => {
  const chat = openChat({ prompt: '/cost' });
  await chat.waitForText('› /cost');
});

/** Types each key alone. */
async function typeAlone(chat: TestChat, typed: readonly string[]): Promise<void> {
  for (const key of typed) {
    chat.type(key);
    await chat.quiet();
  }
}

test.for([[[ctrlU, ...'/mode auto', '\r']], [[home, remove, '/', '\r']]] as const)(
  '18.1329: a command that a slow line brought in one piece runs after %j',
  async ([keys]) => {
    const chat = await chatAfter(['/m', 'ode auto']);
    const notice = 'It did not run. Press Ctrl-U and type it again, its first character alone.';
    await chat.waitForText(notice);
    await typeAlone(chat, keys);
    await chat.until(() => !chat.terminal.screen.includes('asks first · script'));
  },
);

test('18.1330: Enter that arrives together with a letter has a notice, and runs alone', async () => {
  const chat = openChat();
  await chat.idle();
  await typeAlone(chat, [...'/mode aut', 'o\r']);
  await chat.waitForText('It did not run. Press Enter once more, alone.');
  await typeAlone(chat, ['\r']);
  await chat.until(() => !chat.terminal.screen.includes('asks first · script'));
});

test('18.1148: a command with `!` of the history runs, and Enter counts only alone', async () => {
  const chat = openChat();
  await chat.send('!ls');
  await chat.until(() => ran.length === 1);
  await chat.idle();
  await chat.quiet();
  await chat.press('\x1b[A');
  await chat.press('\r');
  await chat.until(() => ran.length === 2);
  await chat.idle();
  await chat.quiet();
  chat.type('!');
  await chat.quiet();
  chat.type('pwd\r');
  await chat.waitForText('It did not run.');
  expect(ran).toEqual(['ls', 'ls']);
  await chat.quiet();
  await chat.press('\r');
  await chat.until(() => ran.length === 3);
  expect(ran).toEqual(['ls', 'ls', 'pwd']);
});
