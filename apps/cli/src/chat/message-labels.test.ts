import { memoryLog } from '@millrace/log';
import { describe, expect, test } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { keys, TestChat, type TestChatOptions } from '../testing/test-chat.ts';

const folder = temporaryFolder('chat-labels');
const ctrlE = '\u0005';
const ctrlU = '\u0015';

/** A chat with the messages “Plant the trees” and “Water the plants”. */
async function chatWithTwoMessages(options: TestChatOptions = {}) {
  const env = { NO_COLOR: '1', XDG_DATA_HOME: folder() };
  const chat = new TestChat({ script: ['One.', 'Two.', 'Three.'], env, cwd: folder(), ...options });
  await chat.send('Plant the trees');
  await chat.waitForText('One.');
  await chat.idle();
  await chat.send('Water the plants');
  await chat.waitForText('Two.');
  await chat.idle();
  return chat;
}

async function openRewind(chat: TestChat) {
  await chat.send('/rewind');
  await chat.waitForText('Go back to before which message?');
  await chat.quiet();
}

describe('a label of a message', () => {
  test('is set and removed with /label, and is found in /rewind by typing', async () => {
    const chat = await chatWithTwoMessages();
    await chat.send('/label before  the\u2028refactoring');
    await chat.waitForText('“Water the plants” is now labelled “before the refactoring”.');
    await openRewind(chat);
    expect(chat.terminal.screen).toContain('[before the refactoring] Water the plants');
    await chat.press('refac');
    expect(chat.terminal.screen).not.toContain('Plant the trees  just now');
    await chat.press(keys.enter);
    await chat.waitForText('You went back.');
    chat.type(keys.ctrlC);
    await chat.idle();
    // The label stays with the message in the original, and not with the copy before it.
    await openRewind(chat);
    expect(chat.terminal.screen).not.toContain('[before the refactoring]');
    await chat.press(keys.escape);
    await chat.send('/redo');
    await chat.idle();
    await chat.send('/label');
    await chat.waitForText('“Water the plants” has no label now.');
  });

  test('is set with Ctrl-E in /rewind, and a copy keeps it for its messages', async () => {
    const chat = await chatWithTwoMessages();
    await openRewind(chat);
    expect(chat.terminal.screen).toContain('Ctrl-E labels');
    await chat.press(keys.down);
    await chat.press(ctrlE);
    await chat.waitForText('Label. Enter saves');
    await chat.press('start');
    await chat.press(keys.enter);
    await chat.until(() => chat.terminal.screen.includes('[start] Plant the trees'));
    // The labelled message stays selected, and its label can be changed.
    expect(chat.terminal.screen).toMatch(/› \[start\] Plant/);
    await chat.press(ctrlE);
    await chat.waitForText('Label. Enter saves');
    await chat.press(ctrlU);
    await chat.press('seed');
    await chat.press(keys.enter);
    await chat.until(() => chat.terminal.screen.includes('[seed] Plant the trees'));
    await chat.press(keys.up);
    await chat.press(keys.enter);
    await chat.waitForText('You went back.');
    chat.type(keys.ctrlC);
    await chat.idle();
    await openRewind(chat);
    expect(chat.terminal.screen).toContain('[seed] Plant the trees');
    await chat.press(ctrlE);
    await chat.waitForText('Label. Enter saves');
    await chat.press(ctrlU);
    await chat.press(keys.enter);
    await chat.until(() => / Plant the trees/.test(chat.terminal.screen));
    await chat.until(() => !chat.terminal.screen.includes('[seed]'));
  });

  test('is shown in /tree, set there, and Esc leaves it', async () => {
    const chat = await chatWithTwoMessages();
    await chat.send('/label old way');
    await chat.waitForText('is now labelled');
    await chat.send('/fork');
    await chat.waitForText('This is a copy.');
    await chat.send('Water them again');
    await chat.waitForText('Three.');
    await chat.send('/tree');
    await chat.waitForText('Each line shows its name and its last message.');
    await chat.quiet();
    expect(chat.terminal.screen).toContain('○ [old way] Water the plants');
    expect(chat.terminal.screen).toContain('Ctrl-E labels');
    await chat.press(keys.down);
    await chat.press(ctrlE);
    await chat.waitForText('Label. Enter saves');
    await chat.press('not kept');
    await chat.press(keys.escape);
    await chat.waitUntilGone('Label. Enter saves');
    await chat.press(ctrlE);
    await chat.press('new way');
    await chat.press(keys.enter);
    await chat.until(() => chat.terminal.screen.includes('● [new way] Water them again'));
    // The last line compares two copies, so it has no label.
    await chat.press('\u001b[F');
    await chat.press(ctrlE);
    expect(chat.terminal.screen).not.toContain('Label. Enter saves');
    await chat.press(keys.escape);
    await chat.send('/label newest');
    await chat.waitForText('“Water them again” is now labelled “newest”.');
  });

  test('belongs to a message that was steered into a run', async () => {
    const clock = new VirtualClock();
    const log = memoryLog({ clock });
    const chat = new TestChat({ script: ['One two three four', 'Two.'], pauseMs: 50, clock, log });
    await chat.send('Go');
    await chat.waitForText('One two');
    chat.type('Also this');
    await chat.advance(1);
    chat.type(keys.enter);
    await chat.waitForText('Two.');
    await chat.idle();
    await chat.send('/label both');
    await chat.waitForText('“Go” is now labelled “both”.');
    await openRewind(chat);
    expect(chat.terminal.screen).toContain('[both] Go');
  });

  test('needs a message', async () => {
    const chat = new TestChat();
    await chat.send('/label x');
    await chat.waitForText('There is no message to label. Send one first');
  });

  test('shows its key in a narrow window', async () => {
    const narrow = await chatWithTwoMessages({ columns: 40, rows: 16 });
    await openRewind(narrow);
    expect(narrow.terminal.screen.replaceAll(/\s+/g, ' ')).toContain(
      'Enter selects, Ctrl-E labels, Esc cancels, typing filters',
    );
    expect(narrow.terminal.screen).toContain('Plant the trees');
  });

  test('is set by number in the chat that prints lines', async () => {
    const chat = new TestChat({ script: ['One.', 'Two.'], plain: true });
    const send = async (text: string, answer: string) => {
      chat.type(text);
      await chat.advance(100);
      chat.type(keys.enter);
      await chat.waitForText(answer);
      await chat.until(() => chat.terminal.screen.trimEnd().endsWith('>'));
    };
    await chat.until(() => chat.terminal.screen.trimEnd().endsWith('>'));
    await send('Plant the trees', 'One.');
    await send('Water the plants', 'Two.');
    // The first character of this command counts only if it does not arrive together with others.
    for (const key of ['/', 'rewind', keys.enter]) {
      chat.type(key);
      await chat.advance(1);
      await chat.advance(100);
    }
    await chat.waitForText('A number and Ctrl-E labels.');
    await chat.press('2');
    await chat.press(ctrlE);
    await chat.waitForText('Label. Enter saves');
    await chat.press('start');
    await chat.press(keys.enter);
    await chat.waitForText('2. [start] Plant the trees');
  });
});
