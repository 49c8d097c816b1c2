import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { TestChat } from '../testing/test-chat.ts';

// A text that somebody else wrote starts with `!`, so that it looks like a command of the user.

const folder = temporaryFolder('pasted-command');
let ran: string[];
beforeEach(() => {
  ran = [];
});

const openChat = () =>
  new TestChat({
    cwd: folder(),
    script: ['First answer.', 'Second answer.'],
    runUserCommand: async (command) => {
      ran.push(command);
      return '';
    },
  });

const paste = (text: string) => `\x1b[200~${text}\x1b[201~`;

test.for([
  '!touch /tmp/x',
  '\n\n  !touch /tmp/x; exit #',
  `!touch /tmp/x; exit #${'\nline'.repeat(60)}`,
])('attack: a pasted text is sent as a message and does not run: %j', async (text) => {
  const chat = openChat();
  chat.type(paste(text));
  await chat.quiet();
  await chat.press('\r');
  await chat.waitForText('First answer.');
  expect(ran).toEqual([]);
});

test('attack: a message that is put back does not run when it is sent again', async () => {
  const chat = openChat();
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
  chat.type(`!ls ${paste('!a')}`);
  await chat.quiet();
  await chat.press('\r');
  await chat.until(() => ran.length > 0);
  expect(ran).toEqual(['ls !a']);
});
